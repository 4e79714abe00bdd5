use crate::support::Server;
use serde_json::{Value, json};

fn ids(page: &Value, field: &str) -> Vec<String> {
    let results = page["results"].as_array().expect("results");
    results.iter().map(|one| one[field].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn pages_lead_through_a_list_both_ways() {
    let server = Server::start().await;
    for id in ["c1", "c2", "c3", "c4", "c5"] {
        server.post("/customers", json!({"customer_id": id, "name_last": "L"})).await.ok();
    }
    let whole = ids(&server.get("/customers").await.ok(), "customer_id");
    assert_eq!(whole.len(), 5);
    let mark = |page: &Value, name: &str| page["paging"][name].as_str().expect("a mark").to_owned();
    let first = server.get("/customers?limit=2").await.ok();
    assert_eq!((ids(&first, "customer_id").as_slice(), &first["paging"]["has_more"]), (&whole[..2], &json!(true)));
    let next = format!("/customers?limit=2&starting_after={}", mark(&first, "starting_after"));
    let second = server.get(&next).await.ok();
    assert_eq!(ids(&second, "customer_id"), whole[2..4]);
    let last = server.get(&format!("/customers?limit=2&starting_after={}", mark(&second, "starting_after"))).await.ok();
    assert_eq!((ids(&last, "customer_id").as_slice(), &last["paging"]["has_more"]), (&whole[4..], &json!(false)));
    let back = server.get(&format!("/customers?limit=2&ending_before={}", mark(&second, "ending_before"))).await.ok();
    assert_eq!(ids(&back, "customer_id"), whole[..2]);
}

#[tokio::test]
async fn every_list_takes_the_same_parameters() {
    let server = Server::with_account().await;
    for path in [
        "/products",
        "/customers",
        "/accounts",
        "/accounts/a/line_items",
        "/accounts/a/events",
        "/accounts/a/audit_trails/account_status_changes",
    ] {
        let page = server.get(&format!("{path}?limit=1")).await.ok();
        assert!(page["results"].as_array().is_some_and(|results| results.len() <= 1), "{path}: {page}");
        assert!(page["paging"]["has_more"].is_boolean(), "{path}: {page}");
        for (query, field) in [
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("starting_after=%21", "starting_after"),
            ("ending_before=%21", "ending_before"),
            ("page=2", "page"),
        ] {
            server.get(&format!("{path}?{query}")).await.refused_field(422, field);
        }
        let both = server.get(&format!("{path}?starting_after=YQ&ending_before=YQ")).await;
        both.refused_field(422, "ending_before");
    }
}

use crate::support::{ADMIN, Got, Server};
use daybook_operations::Operation;
use serde_json::{Value, json};

async fn bulk(server: &Server, headers: &[(&str, &str)], lines: &[String]) -> Got {
    bulk_to(server, "/bulk", headers, lines).await
}

async fn bulk_to(server: &Server, path: &str, headers: &[(&str, &str)], lines: &[String]) -> Got {
    let mut all = vec![("content-type", "application/x-ndjson")];
    all.extend_from_slice(headers);
    server.call("POST", path, Some(ADMIN), &all, lines.join("\n").into_bytes()).await
}

fn line(method: &str, path: &str, body: Value) -> String {
    json!({"method": method, "path": path, "body": body}).to_string()
}

fn answers(got: &Got) -> Vec<Value> {
    assert_eq!(got.status, 200, "{}", got.text);
    assert_eq!(got.header("content-type"), "application/x-ndjson");
    got.text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[tokio::test]
async fn lines_may_build_on_lines_before_them() {
    let server = Server::start().await;
    server.product("p").await;
    let account = json!({
        "account_id": "a", "product_id": "p", "effective_at": "2025-01-15T09:00:00-05:00",
        "summary": {"initial_principal_cents": 120_000}, "assign_customers": [{"customer_id": "c"}]
    });
    let items = "/accounts/a/line_items";
    let payment = |id: &str| json!({"line_item_id": id, "original_amount_cents": 500});
    let got = bulk(
        &server,
        &[],
        &[
            line("POST", "/customers", json!({"customer_id": "c", "name_last": "L"})),
            line("POST", "/accounts", account),
            line("POST", &format!("{items}/payments/payment_record"), payment("p1")),
            line("POST", &format!("{items}/payments/payment_record"), payment("p2")),
            line("POST", &format!("{items}/manual_fees"), json!({"line_item_id": "f1", "original_amount_cents": 100})),
            line("POST", &format!("{items}/fee_waiver/f1"), json!({})),
            line("POST", &format!("{items}/payment_reversals/p2"), json!({})),
            line("POST", &format!("{items}/credit_offsets"), json!({"original_amount_cents": 10})),
            line("POST", &format!("{items}/debit_offsets"), json!({"original_amount_cents": 10})),
            line(
                "PUT",
                "/accounts/a/notification_config",
                json!({"notification_type": "loan_end_date", "time_offset": "0 days"}),
            ),
            line("PUT", "/accounts/a/status", json!({"account_status": "SUSPENDED", "account_substatus": "FRAUD"})),
            line("POST", "/customers", json!({"customer_id": "d", "name_last": "M"})),
        ],
    )
    .await;
    let answers = answers(&got);
    assert_eq!(answers.len(), 12);
    assert!(answers.iter().all(|answer| answer["status"] == 200), "{answers:#?}");
    assert_eq!(answers[0]["body"]["customer_id"], "c");
    assert_eq!(answers[1]["body"]["customers"][0]["customer_id"], "c");
    assert_eq!(answers[3]["body"]["line_item_id"], "p2");
    assert_eq!(answers[11]["body"]["customer_id"], "d");
    let account = server.get("/accounts/a").await.ok();
    assert_eq!(account["summary"]["total_paid_to_date_cents"], 500);
    assert_eq!(account["summary"]["fees_balance_cents"], 0);
    assert_eq!(account["account_overview"]["account_status"], "SUSPENDED");
}

#[tokio::test]
async fn a_bad_line_is_answered_in_its_place() {
    let server = Server::with_account().await;
    let path = "/accounts/a/line_items/payments/payment_record";
    let lines = [
        line("POST", path, json!({"line_item_id": "p1", "original_amount_cents": 500})),
        "not json".to_owned(),
        String::new(),
        line("POST", path, json!({"line_item_id": "p2", "original_amount_cents": -1})),
        line(
            "POST",
            "/accounts/b/line_items/payments/payment_record",
            json!({"line_item_id": "p", "original_amount_cents": 1}),
        ),
        line("GET", "/accounts/a", json!({})),
        line("POST", "/organization/keys", json!({})),
        line("POST", "/bulk", json!({})),
        r#"{"method": "POST", "path": "/customers", "bdy": {}}"#.to_owned(),
        line("POST", path, json!({"line_item_id": "p3", "original_amount_cents": 500})),
    ];
    let answers = answers(&bulk(&server, &[], &lines).await);
    let seen: Vec<(u64, &str)> = answers
        .iter()
        .map(|answer| {
            (answer["status"].as_u64().expect("a status"), answer["body"]["error"]["code"].as_str().unwrap_or(""))
        })
        .collect();
    let invalid = (422, "invalid_request");
    let malformed = (400, "malformed_request");
    assert_eq!(
        seen,
        [(200, ""), malformed, malformed, invalid, (404, "not_found"), invalid, invalid, invalid, invalid, (200, "")]
    );
    assert_eq!(answers[3]["body"]["error"]["details"][0]["field"], "original_amount_cents");
    assert_eq!(server.get("/accounts/a").await.ok()["summary"]["total_paid_to_date_cents"], 1_000);
}

#[tokio::test]
async fn the_operations_that_the_table_names_are_accepted_and_no_others() {
    let server = Server::with_account().await;
    let path_of = |operation: &Operation| {
        let parts = operation.path().split('/').map(|part| if part.starts_with('{') { "a" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    let lines = Operation::ALL.iter().map(|operation| line(operation.method(), &path_of(operation), json!({})));
    let answers = answers(&bulk(&server, &[], &lines.collect::<Vec<_>>()).await);
    assert_eq!(answers.len(), Operation::ALL.len());
    for (operation, answer) in Operation::ALL.iter().zip(answers) {
        let is_refused = answer["body"]["error"]["details"][0]["field"] == "path";
        assert_eq!(is_refused, !operation.is_in_bulk(), "{operation}: {answer}");
        assert_ne!(answer["status"], 500, "{operation}: {answer}");
    }
}

#[tokio::test]
async fn many_calls_for_one_account_arrive_in_order() {
    let server = Server::with_account().await;
    let path = "/accounts/a/line_items/payments/payment_record";
    let lines: Vec<String> = (0..200)
        .map(|n| line("POST", path, json!({"line_item_id": format!("p{n:03}"), "original_amount_cents": 1})))
        .collect();
    assert!(answers(&bulk(&server, &[], &lines).await).iter().all(|answer| answer["status"] == 200));
    let events = server.get("/accounts/a/line_items?line_item_type=PAYMENT&limit=200").await.ok();
    let ids: Vec<&str> = events["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|item| item["line_item_id"].as_str().expect("id"))
        .collect();
    let expected: Vec<String> = (0..200).map(|n| format!("p{n:03}")).collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn an_idempotency_key_holds_for_each_line() {
    let server = Server::with_account().await;
    let fee = [line("POST", "/accounts/a/line_items/manual_fees", json!({"original_amount_cents": 100}))];
    let first = bulk(&server, &[("idempotency-key", "k1")], &fee).await;
    let second = bulk(&server, &[("idempotency-key", "k1")], &fee).await;
    assert_eq!(answers(&first), answers(&second));
    assert_eq!(server.get("/accounts/a").await.ok()["summary"]["fees_balance_cents"], 100);
}

#[tokio::test]
async fn a_whole_that_is_wrong_is_refused_as_a_whole() {
    let server = Server::start().await;
    bulk(&server, &[], &[]).await.refused(422, "invalid_request");
    let many: Vec<String> = (0..1_001).map(|_| "{}".to_owned()).collect();
    bulk(&server, &[], &many).await.refused(422, "invalid_request");
    let got = server.call("POST", "/bulk", Some(ADMIN), &[("content-type", "text/plain")], b"{}".to_vec()).await;
    got.refused(415, "unsupported_media_type");
    let large = ["x".repeat(2 << 20)];
    assert_eq!(bulk(&server, &[], &large).await.status, 200);
    let huge = ["x".repeat(17 << 20)];
    bulk(&server, &[], &huge).await.refused(413, "too_large");
}

/// A caller who loads history states which product must hold it: nothing is processed that should be held.
#[tokio::test]
async fn what_would_not_be_held_is_refused() {
    let server = Server::start().await;
    server.product("p").await;
    server.product("q").await;
    let loan = |id: &str, product: &str| {
        json!({
            "account_id": id, "product_id": product, "effective_at": "2025-01-15T09:00:00-05:00",
            "summary": {"initial_principal_cents": 120_000}
        })
    };
    let pay = |id: &str| {
        let path = format!("/accounts/{id}/line_items/payments/payment_record");
        line("POST", &path, json!({"line_item_id": "p1", "original_amount_cents": 500}))
    };
    let open = |id: &str, product: &str| line("POST", "/accounts", loan(id, product));
    let customer = line("POST", "/customers", json!({"customer_id": "c", "name_last": "L"}));
    let refused = bulk_to(&server, "/bulk?held_by=p", &[], &[customer, open("a", "p")]).await;
    refused.refused(409, "migration_mode");
    assert_eq!(server.get("/accounts/a").await.status, 404);
    assert_eq!(server.get("/customers/c").await.status, 404);
    for nothing in ["none", ""] {
        let path = format!("/bulk?held_by={nothing}");
        let rule = bulk_to(&server, &path, &[], &[open("a", "p")]).await.refused_field(422, "held_by");
        assert_eq!(rule, "there is no product with this id");
    }

    server.put("/products/p/migration_mode", json!({"migration_mode": true})).await.ok();
    let lines = [open("a", "p"), open("b", "q"), pay("a")];
    let taken = answers(&bulk_to(&server, "/bulk?held_by=p", &[], &lines).await);
    let statuses: Vec<&Value> = taken.iter().map(|answer| &answer["status"]).collect();
    assert_eq!(statuses, [200, 409, 200], "{taken:#?}");
    assert_eq!(taken[1]["body"]["error"]["code"], "migration_mode");
    assert_eq!(taken[2]["body"]["processing_state"], "HELD");
    assert_eq!(server.get("/accounts/b").await.status, 404);
}

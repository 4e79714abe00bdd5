//! Nodes of two builds on one PostgreSQL database. The test has only one build, so it makes the newer build's table
//! changes itself.

use crate::support::{fresh, lend};
use daybook_testkit::old_database::OldDatabase;
use daybook_testkit::postgres;
use daybook_testkit::server::{Server, ServerResponse};
use serde_json::json;
use std::time::Duration;

/// A version that this build does not know.
const NEWER: i64 = 999;
/// The number of checks until a node has noticed, and the pause between them.
const LOOKS: usize = 600;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

fn pay(node: &Server, secret: &str, name: &str) -> ServerResponse {
    let payment = json!({ "line_item_id": name, "original_amount_cents": 100 });
    node.post("/accounts/loan-1/line_items/payments/payment_record", secret, &payment)
}

/// Waits until a node is not ready. Returns the reason.
fn until_not_ready(node: &Server) -> String {
    for _ in 0..LOOKS {
        let answer = node.get("/readyz", "");
        if answer.status == 503 {
            return answer.text;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    panic!("the node goes on as if nothing had happened: {}", node.stderr())
}

#[test]
fn a_node_whose_tables_became_newer_stops_and_nothing_acknowledged_is_lost() {
    let (_folder, daybook) = fresh();
    let address = postgres::Server::shared().database();
    let daybook = daybook.with("DAYBOOK_DATABASE", &address);
    let database = OldDatabase::at(&address);
    let earlier = daybook.serve(&[]);
    let secret = earlier.first_secret();
    lend(&earlier, &secret, "loan-1");
    let mut acknowledged = vec!["p1".to_owned()];
    for number in 2..10 {
        let name = format!("p{number}");
        pay(&earlier, &secret, &name).good();
        acknowledged.push(name);
    }

    database.note_migration(NEWER);
    let refused = pay(&earlier, &secret, "at-once");
    assert_eq!(refused.status, 503, "nothing is written into newer tables: {}", refused.text);
    let why = until_not_ready(&earlier);
    assert!(why.contains("version 999") && why.contains("start the newer build"), "{why}");
    let refused = pay(&earlier, &secret, "late");
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("version 999"), "{}", refused.text);
    let product =
        json!({ "product_id": "p", "product_overview": { "product_name": "P", "product_type": "INSTALLMENT" } });
    for (path, body) in [
        ("/products", product),
        ("/customers", json!({ "customer_id": "ana" })),
        ("/organization/subscribe", json!({ "webhook_url": "https://93.184.215.14/hook" })),
        ("/organization/hmac_key/rotate", json!({})),
        ("/admin/roll/account", json!({ "account_id": "loan-1", "effective_at": "2099-01-01T00:00:00Z" })),
    ] {
        let refused = earlier.post(path, &secret, &body);
        assert_eq!(refused.status, 503, "{path}: {}", refused.text);
    }
    assert_eq!(earlier.get("/accounts/loan-1", &secret).status, 200, "reading goes on");
    let log = earlier.stderr();
    assert_eq!(log.matches("this node has stopped processing").count(), 1, "it is said once: {log}");

    let (status, refused) = daybook.try_serve(&[]).expect_err("a node of this build must not start on newer tables");
    assert_eq!(status.code(), Some(1));
    assert!(refused.contains("version 999") && refused.contains("newer build"), "{refused}");

    // The newer build, which knows those tables, is the same build again.
    database.run(&format!("DELETE FROM migrations WHERE number = {NEWER}"));
    let newer = daybook.serve(&[]);
    assert_eq!(pay(&earlier, &secret, "later").status, 503, "a node that was superseded stays so");
    assert_eq!(earlier.get("/readyz", "").status, 503);
    pay(&newer, &secret, "late").good();
    acknowledged.push("late".to_owned());
    earlier.stop();

    let paid = newer.get("/accounts/loan-1/line_items?line_item_type=PAYMENT&limit=200", &secret).good();
    let mut paid: Vec<String> = paid["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["line_item_id"].as_str().expect("an id").to_owned())
        .collect();
    paid.sort();
    acknowledged.sort();
    assert_eq!(paid, acknowledged, "what was acknowledged is there, once, and nothing else");
    newer.stop();
    assert!(daybook.stdout_of(&["verify"]).ends_with(": 0 differences\n"));
}

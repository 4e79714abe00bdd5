//! Every operation that changes something leaves one record in the audit trail. The operations are read from the table
//! of operations: a new operation that leaves no record fails here.

use crate::openapi::operations;
use crate::support::{ADMIN, Server};
use daybook_operations::Operation;
use serde_json::{Value, json};

/// A call that changes something.
struct Change {
    method: String,
    path: String,
    kind: &'static str,
    body: Vec<u8>,
}

/// Records the payment `p1`.
async fn pay(server: &Server) {
    let payment = json!({"line_item_id": "p1", "original_amount_cents": 500});
    server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
}

/// The path of an operation on a subscription or a message, which it creates.
async fn with_subscription(server: &Server, id: &str, path: &str) -> String {
    let mut path = path.to_owned();
    let made = server.subscription("https://example.com/hook").await;
    let uuid = made["webhook_uuid"].as_str().expect("an id").to_owned();
    let at = |what: &str| format!("/organization/subscriptions/{uuid}/{what}");
    if id.starts_with("resubscribe") || id == "resend_message" {
        server.put(&at("unsubscribe"), json!({})).await.ok();
    }
    if id == "resend_message" {
        // A message that a paused URL missed can be sent to it once it is active again.
        pay(server).await;
        server.put(&at("resubscribe"), json!({})).await.ok();
        let messages = server.get("/organization/messages?event=line_item_create").await.ok();
        let event_id = messages["results"][0]["event_id"].as_str().unwrap_or_else(|| panic!("{messages}"));
        path = path.replace("{event_id}", event_id);
    }
    path.replace("{webhook_uuid}", &uuid)
}

/// Makes what an operation needs to be there first; the path of the operation on it.
async fn with_what_it_needs(server: &Server, id: &str, path: &str) -> String {
    let path = path.replace("{product_id}", "p").replace("{account_id}", "a").replace("{customer_id}", "c");
    match id {
        "create_account" => {
            server.product("auto-36").await;
        }
        "update_customer" => {
            server.post("/customers", json!({"customer_id": "c", "name_last": "L"})).await.ok();
        }
        "revoke_key" => {
            let (client_id, _) = server.key("READ_ONLY").await;
            return path.replace("{client_id}", &client_id);
        }
        "withdraw_change" | "cancel_change" | "replace_interest_rate" => {
            let rate = json!({"change_id": "c1", "interest_rate": 9, "effective_at_inclusive_start": "2025-12-01"});
            server.post("/accounts/a/interest_rates", rate).await.ok();
            return path.replace("{change_id}", "c1");
        }
        _ if path.contains("{webhook_uuid}") || path.contains("{event_id}") => {
            return with_subscription(server, id, &path).await;
        }
        _ => return with_line_item(server, id, &path).await,
    }
    path
}

/// Makes the line item that an operation is about; the path of the operation on it.
async fn with_line_item(server: &Server, id: &str, path: &str) -> String {
    let line_item_id = match id {
        "waive_fee" => {
            let fee = json!({"line_item_id": "fee-1", "original_amount_cents": 2_500});
            server.post("/accounts/a/line_items/manual_fees", fee).await.ok();
            "fee-1"
        }
        "reverse_payment" => {
            pay(server).await;
            "p1"
        }
        "change_line_item" => {
            let waiting = json!({"line_item_id": "p1", "original_amount_cents": 500, "line_item_status": "PENDING"});
            server.post("/accounts/a/line_items/payments/payment_record", waiting).await.ok();
            "p1"
        }
        "withdraw_line_item" => {
            server.put("/products/p/migration_mode", json!({"migration_mode": true})).await.ok();
            pay(server).await;
            "p1"
        }
        "refund_surplus" | "reverse_refund" => {
            let payment = json!({"line_item_id": "p1", "original_amount_cents": 500_000});
            server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
            if id == "reverse_refund" {
                let refund = json!({"line_item_id": "r1", "original_amount_cents": 100});
                server.post("/accounts/a/line_items/refunds", refund).await.ok();
            }
            "r1"
        }
        _ => return path.to_owned(),
    };
    path.replace("{line_item_id}", line_item_id)
}

/// The body of an operation: its example, or one that suits the server.
fn body_of(id: &str, example: Value) -> Value {
    match id {
        "roll_account" | "roll_account_by_post" => {
            json!({"account_id": "a", "effective_at": "2025-07-01T00:00:00-04:00"})
        }
        "replay_failed_events" => json!({}),
        "replace_interest_rate" => json!({"interest_rate_id": "c1", "interest_rate": 8}),
        "create_temp_promo" => {
            json!({"temp_promo_inclusive_start": "2025-12-01", "temp_promo_exclusive_end": "2025-12-15",
                "interest_rate_percent": 3})
        }
        "create_interest_pause" => json!({"start": "2025-12-01", "end": "2025-12-15"}),
        "change_due_date" => json!({"next_due_date": "2025-12-20", "from_due_date": "2025-12-15"}),
        "defer_payments" | "defer_installments" => json!({"deferrals": [{"due_date": "2025-11-15"}]}),
        "re_age" => json!({"first_due_date": "2025-12-15", "installments": 12}),
        _ => example,
    }
}

/// A server on which an operation can succeed, and the call.
async fn prepared(id: &str, method: &str, path: &str, operation: &Value) -> (Server, Change) {
    let server = Server::with_account().await;
    let content = operation["requestBody"]["content"].as_object().and_then(|content| content.iter().next());
    let (kind, example) = match content {
        Some((kind, content)) if kind == "application/json" => ("application/json", content["example"].clone()),
        Some((_, content)) => ("application/x-ndjson", content["example"].clone()),
        None => ("", Value::Null),
    };
    let path = with_what_it_needs(&server, id, path).await;
    let body = match body_of(id, example) {
        Value::Null => Vec::new(),
        Value::String(lines) => lines.into_bytes(),
        body => body.to_string().into_bytes(),
    };
    (server, Change { method: method.to_owned(), path, kind, body })
}

#[tokio::test]
async fn every_operation_that_changes_something_leaves_one_record() {
    let mut seen = 0;
    for (path, method, operation) in operations() {
        let id = operation["operationId"].as_str().expect("an operation has an id");
        let (entry, _) = Operation::find(&method, &path).expect("the operation is in the table");
        if !entry.changes() {
            continue;
        }
        let (server, change) = prepared(id, &method, &path, &operation).await;
        let headers = [("content-type", change.kind), ("x-request-id", "the-call")];
        let headers = if change.kind.is_empty() { &headers[1..] } else { &headers[..] };
        let got = server.call(&change.method, &change.path, Some(ADMIN), headers, change.body).await;
        assert!((200..300).contains(&got.status), "{id}: {} {}", got.status, got.text);
        let found = server.get("/organization/audit?request_id=the-call").await.ok();
        let found = found["results"].as_array().expect("a list");
        assert_eq!(found.len(), 1, "{id} leaves one record: {found:?}");
        let action = if id == "defer_installments" { "defer_payments" } else { id.trim_end_matches("_by_post") };
        assert_eq!(found[0]["action"], action, "{id}");
        assert_eq!(found[0]["actor"], "first", "{id}");
        seen += 1;
    }
    assert!(seen >= 31, "{seen} operations were tried");
}

#[tokio::test]
async fn a_bulk_call_leaves_one_record_with_the_count_and_the_hash_of_its_lines() {
    let server = Server::with_account().await;
    let payment = |id: u32| {
        let body = json!({"line_item_id": format!("p{id}"), "original_amount_cents": 100});
        json!({"method": "POST", "path": "/accounts/a/line_items/payments/payment_record", "body": body}).to_string()
    };
    let lines: Vec<String> = (0..20).map(payment).collect();
    let body = lines.join("\n").into_bytes();
    // Another program computes the hash.
    let hash = sha256_by_another_program(&body);
    let headers = [("content-type", "application/x-ndjson"), ("x-request-id", "bulk-1")];
    assert_eq!(server.call("POST", "/bulk", Some(ADMIN), &headers, body).await.status, 200);
    let found = server.get("/organization/audit?request_id=bulk-1").await.ok();
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found["results"][0]["details"], json!({"lines": 20, "sha256": hash}));
    let all = server.get("/organization/audit?action=record_payment").await.ok();
    assert_eq!(all["results"], json!([]));
}

fn sha256_by_another_program(bytes: &[u8]) -> String {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let started = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = started.expect("sha256sum is there");
    child.stdin.take().expect("it reads").write_all(bytes).expect("it reads all");
    let said = child.wait_with_output().expect("it ends").stdout;
    String::from_utf8(said).expect("text").split_whitespace().next().expect("a hash").to_owned()
}

#[tokio::test]
async fn the_trail_is_for_administrators_and_wrong_filters_are_named() {
    let server = Server::with_account().await;
    for role in ["READ_ONLY", "SERVICING"] {
        let (_, key) = server.key(role).await;
        server.call("GET", "/organization/audit", Some(&key), &[], Vec::new()).await.refused(403, "not_authorized");
    }
    server.get("/organization/audit?since=yesterday").await.refused_field(422, "since");
    server.get("/organization/audit?actor=").await.refused_field(422, "actor");
    server.get("/organization/audit?action=0.5").await.refused_field(422, "action");
    server.get("/organization/audit?request_id=a%20b").await.refused_field(422, "request_id");
    server.get("/organization/audit?who=me").await.refused_field(422, "who");
    server.get("/organization/audit?starting_after=x").await.refused_field(422, "starting_after");
}

use crate::support::Server;
use serde_json::json;

#[tokio::test]
async fn a_pending_payment_is_settled_once() {
    let server = Server::with_account().await;
    let body = json!({"line_item_id": "p1", "original_amount_cents": 500, "line_item_status": "PENDING"});
    server.post("/accounts/a/line_items/payments/payment_record", body).await.ok();
    let item = server.put("/accounts/a/line_items/p1", json!({"line_item_status": "VALID"})).await.ok();
    assert_eq!(item["line_item_overview"]["line_item_status"], "VALID");
    let again = server.put("/accounts/a/line_items/p1", json!({"line_item_status": "INVALID"})).await;
    again.refused(409, "status_is_final");
}

#[tokio::test]
async fn a_payment_is_reversed_once() {
    let server = Server::with_account().await;
    let body = json!({"line_item_id": "p1", "original_amount_cents": 500});
    server.post("/accounts/a/line_items/payments/payment_record", body).await.ok();
    // An absent body is an empty form.
    let path = "/accounts/a/line_items/payment_reversals/p1";
    let reversal = server.call("POST", path, Some(crate::support::ADMIN), &[], Vec::new()).await.ok();
    assert_eq!(reversal["line_item_overview"]["line_item_type"], "PAYMENT_REVERSAL");
    assert_eq!(server.get("/accounts/a").await.ok()["summary"]["total_paid_to_date_cents"], 0);
    // The same call again returns the same reversal; another reversal is rejected.
    assert_eq!(server.post(path, json!({})).await.ok()["line_item_id"], reversal["line_item_id"]);
    server.post(path, json!({"line_item_id": "r2"})).await.refused(409, "already_reversed");
}

#[tokio::test]
async fn a_fee_is_charged_and_waived() {
    let server = Server::with_account().await;
    let fee = json!({"line_item_id": "f1", "original_amount_cents": 2_500});
    let item = server.post("/accounts/a/line_items/manual_fees", fee).await.ok();
    assert_eq!(item["line_item_overview"]["line_item_type"], "MANUAL_FEE");
    assert_eq!(server.get("/accounts/a").await.ok()["summary"]["fees_balance_cents"], 2_500);
    let waiver = server.post("/accounts/a/line_items/fee_waiver/f1", json!({})).await.ok();
    assert_eq!(waiver["line_item_overview"]["line_item_type"], "FEE_WAIVER");
    assert_eq!(server.get("/accounts/a").await.ok()["summary"]["fees_balance_cents"], 0);
    // The same call again returns the same waiver; another waiver has nothing to waive.
    let path = "/accounts/a/line_items/fee_waiver/f1";
    assert_eq!(server.post(path, json!({})).await.ok()["line_item_id"], waiver["line_item_id"]);
    server.post(path, json!({"line_item_id": "w2"})).await.refused(409, "nothing_to_waive");
    server.post("/accounts/a/line_items/payment_reversals/f1", json!({})).await.refused(409, "not_reversible");
}

#[tokio::test]
async fn a_credit_raises_the_balance_and_a_debit_lowers_it() {
    let server = Server::with_account().await;
    let principal = async |server: &Server| server.get("/accounts/a").await.ok()["summary"]["principal_cents"].clone();
    server.post("/accounts/a/line_items/credit_offsets", json!({"original_amount_cents": 700})).await.ok();
    assert_eq!(principal(&server).await, 120_700);
    server.post("/accounts/a/line_items/debit_offsets", json!({"original_amount_cents": 200})).await.ok();
    assert_eq!(principal(&server).await, 120_500);
}

#[tokio::test]
async fn only_what_is_held_can_be_withdrawn() {
    let server = Server::with_account().await;
    let path = "/accounts/a/line_items/payments/payment_record";
    server.post(path, json!({"line_item_id": "p1", "original_amount_cents": 500})).await.ok();
    server.delete("/accounts/a/line_items/p1").await.refused(409, "not_held");
    server.put("/products/p/migration_mode", json!({"migration_mode": true})).await.ok();
    let held = server.post(path, json!({"line_item_id": "p2", "original_amount_cents": 500})).await.ok();
    assert_eq!(held["processing_state"], "HELD");
    server.delete("/accounts/a/line_items/p2").await.ok();
    server.get("/accounts/a/line_items/p2").await.refused(404, "not_found");
    server.delete("/accounts/a/line_items/p2").await.refused(404, "not_found");
}

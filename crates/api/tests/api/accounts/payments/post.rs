use crate::support::Server;
use serde_json::json;

const PATH: &str = "/accounts/a/line_items/payments/payment_record";

#[tokio::test]
async fn a_payment_is_sent_positive_and_stored_negative() {
    let server = Server::with_account().await;
    let body = json!({
        "line_item_id": "p1", "original_amount_cents": 10_662, "effective_at": "2025-02-15T09:00:00-05:00",
        "external_fields": [{"key": "bank", "value": "42"}]
    });
    let item = server.post(PATH, body.clone()).await.ok();
    assert_eq!(item["line_item_id"], "p1");
    assert_eq!(item["account_id"], "a");
    assert_eq!(item["effective_at"], "2025-02-15T09:00:00-05:00");
    assert_eq!(item["line_item_overview"]["line_item_type"], "PAYMENT");
    assert_eq!(item["line_item_overview"]["line_item_status"], "VALID");
    assert_eq!(item["line_item_summary"]["original_amount_cents"], -10_662);
    assert_eq!(item["external_fields"], json!([{"key": "bank", "value": "42"}]));
    let again = server.post(PATH, body).await.ok();
    assert_eq!(again["line_item_id"], "p1");
    let account = server.get("/accounts/a").await.ok();
    assert_eq!(account["summary"]["total_paid_to_date_cents"], 10_662);
}

#[tokio::test]
async fn other_content_under_the_same_id_is_a_conflict() {
    let server = Server::with_account().await;
    server.post(PATH, json!({"line_item_id": "p1", "original_amount_cents": 1})).await.ok();
    let other = json!({"line_item_id": "p1", "original_amount_cents": 2});
    server.post(PATH, other).await.refused(409, "id_taken");
}

#[tokio::test]
async fn a_payment_needs_an_account() {
    let server = Server::with_account().await;
    let path = "/accounts/nothing/line_items/payments/payment_record";
    let body = json!({"line_item_id": "p1", "original_amount_cents": 1});
    server.post(path, body).await.refused(404, "not_found");
}

use crate::support::Server;
use serde_json::json;

#[tokio::test]
async fn line_items_are_filtered_and_read() {
    let server = Server::with_account().await;
    let path = "/accounts/a/line_items/payments/payment_record";
    for (id, at) in [("p1", "2025-02-01T12:00:00Z"), ("p2", "2025-03-01T12:00:00Z")] {
        server.post(path, json!({"line_item_id": id, "original_amount_cents": 500, "effective_at": at})).await.ok();
    }
    let ids = async |query: &str| {
        let list = server.get(&format!("/accounts/a/line_items?{query}")).await.ok();
        let items = list["results"].as_array().expect("results").clone();
        items.iter().map(|item| item["line_item_id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids("line_item_type=PAYMENT").await, ["p1", "p2"]);
    assert_eq!(ids("line_item_type=PAYMENT&effective_at_after=2025-02-10T00:00:00Z").await, ["p2"]);
    assert_eq!(ids("line_item_type=PAYMENT&effective_at_before=2025-02-10T00:00:00Z").await, ["p1"]);
    assert!(ids("line_item_status=INVALID").await.is_empty());
    let item = server.get("/accounts/a/line_items/p2").await.ok();
    assert_eq!(item["line_item_summary"]["original_amount_cents"], -500);
}

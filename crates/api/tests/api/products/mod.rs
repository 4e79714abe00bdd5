use crate::support::Server;
use serde_json::json;

#[tokio::test]
async fn a_product_of_a_few_lines_has_every_default() {
    let server = Server::start().await;
    let product = server.product("p").await;
    assert_eq!(product["product_overview"]["product_name"], "Auto 12");
    let billing = &product["product_lifecycle_policies"]["billing_cycle_policies"];
    assert_eq!(billing["cycle_interval"], "1 month");
    assert_eq!(billing["product_time_zone"], "America/New_York");
    assert_eq!(product["post_promotional_policies"]["post_promo_default_interest_rate_percent"], 12);
    assert_eq!(server.get("/products/p").await.ok(), product);
    assert_eq!(server.get("/products").await.ok()["results"][0]["product_id"], "p");
}

#[tokio::test]
async fn migration_mode_is_turned_on_and_off() {
    let server = Server::with_account().await;
    let on = server.put("/products/p/migration_mode", json!({"migration_mode": true})).await.ok();
    assert_eq!(on["migration_mode"], true);
    let payment = json!({"line_item_id": "p1", "original_amount_cents": 500});
    server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
    let progress = server.get("/products/p/migration_mode").await.ok();
    assert_eq!((&progress["state"], &progress["held_events"]), (&json!("HOLDING"), &json!(1)), "{progress}");
    server.put("/products/p/migration_mode", json!({"migration_mode": false})).await.ok();
    server.service.settle_due().await.expect("the release runs");
    let progress = server.get("/products/p/migration_mode").await.ok();
    assert_eq!((&progress["state"], &progress["held_events"]), (&json!("NORMAL"), &json!(0)), "{progress}");
}

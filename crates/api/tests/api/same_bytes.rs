//! A read returns the same bytes as the change that made the object, alone and in a list.

use crate::support::Server;
use serde_json::{Value, json};

/// Makes an object, and checks that its own path and the list return it byte for byte.
async fn check(server: &Server, (method, path, body): (&str, &str, Value), own: &str, list: &str) {
    let made = server.json(method, path, body).await;
    assert!(made.status < 300, "{path}: {}", made.text);
    assert_eq!(server.get(own).await.text, made.text, "{own}");
    let all = server.get(list).await.text;
    assert!(all.starts_with("{\"results\":[") && all.contains(&made.text), "{list}: {all}\n{}", made.text);
}

#[tokio::test]
async fn what_is_read_is_what_the_change_returned() {
    let server = Server::start().await;
    let customer = json!({
        "customer_id": "c", "name_last": "Torres", "ssn": "123-45-6789", "business_details": {"business_name": "T"},
        "metro2_config": {"b": 1, "a": 2}, "external_fields": [{"key": "crm", "value": "7"}]
    });
    check(&server, ("POST", "/customers", customer), "/customers/c", "/customers").await;
    let product = json!({
        "product_id": "p", "product_overview": {"product_name": "Auto 12", "product_type": "INSTALLMENT"},
        "post_promotional_policies": {"post_promo_len": 12, "post_promo_default_interest_rate_percent": 6.25}
    });
    check(&server, ("POST", "/products", product), "/products/p", "/products").await;
    let account = json!({
        "account_id": "a", "product_id": "p", "effective_at": "2025-01-15T09:00:00-05:00",
        "summary": {"initial_principal_cents": 120_000}, "assign_customers": [{"customer_id": "c"}],
        "metro2_config": {"b": 1, "a": 2}, "external_fields": [{"key": "crm", "value": "8"}]
    });
    check(&server, ("POST", "/accounts", account), "/accounts/a", "/accounts").await;
    let items = "/accounts/a/line_items";
    let payment = json!({
        "line_item_id": "p1", "original_amount_cents": 25_000, "external_fields": [{"key": "crm", "value": "9"}]
    });
    let record = format!("{items}/payments/payment_record");
    check(&server, ("POST", &record, payment), &format!("{items}/p1"), items).await;
}

#[tokio::test]
async fn what_is_configured_is_what_is_listed() {
    let server = Server::with_account().await;
    let notice = json!({"notification_type": "payment_due_date", "time_offset": "-3 days"});
    let set = server.put("/accounts/a/notification_config", notice).await;
    assert_eq!((set.status, &set.text), (200, &server.get("/accounts/a/notification_config").await.text));
    let made = server.put("/organization/subscribe", json!({"webhook_url": "https://example.com/a"})).await;
    let all = server.get("/organization/subscriptions").await.text;
    assert_eq!(all, format!("{{\"results\":[{}]}}", made.text));
}

/// The fields of a message in a list are in alphabetical order; those of a single message are not.
#[tokio::test]
async fn the_fields_of_messages_keep_their_order() {
    let server = Server::with_account().await;
    let list = server.get("/organization/messages").await.text;
    assert!(list.starts_with("{\"results\":[{\"account_id\":\"a\",\"cancelled_at\":null,\"due_at\":null,"), "{list}");
    let id = server.get("/organization/messages").await.ok()["results"][0]["event_id"].clone();
    let one = server.get(&format!("/organization/messages/{}", id.as_str().expect("an id"))).await.text;
    assert!(one.starts_with("{\"event\":\"") && one.contains(",\"state\":\"PUBLISHED\",\"effective_at\":"), "{one}");
}

use crate::support::{ADMIN, Got, Server};
use daybook_engine::time::Time;
use serde_json::{Value, json};

const FEES: &str = "/accounts/a/line_items/manual_fees";

async fn charge(server: &Server, key: &str, path: &str, body: Value) -> Got {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    server.call("POST", path, Some(ADMIN), &headers, body.to_string().into_bytes()).await
}

async fn fees(server: &Server) -> Value {
    server.get("/accounts/a").await.ok()["summary"]["fees_balance_cents"].clone()
}

#[tokio::test]
async fn the_same_call_gets_the_stored_answer_for_a_day() {
    let server = Server::with_account().await;
    let body = json!({"original_amount_cents": 100});
    let first = charge(&server, "k1", FEES, body.clone()).await;
    let second = charge(&server, "k1", FEES, body.clone()).await;
    assert_eq!((first.ok(), fees(&server).await), (second.ok(), json!(100)));
    charge(&server, "k2", FEES, body.clone()).await.ok();
    assert_eq!(fees(&server).await, 200);
    server.clock.set(Time::parse("2025-06-02T12:00:01Z").expect("a time"));
    charge(&server, "k1", FEES, body).await.ok();
    assert_eq!(fees(&server).await, 300);
}

#[tokio::test]
async fn other_content_under_the_same_key_is_a_conflict() {
    let server = Server::with_account().await;
    charge(&server, "k1", FEES, json!({"original_amount_cents": 100})).await.ok();
    let other = charge(&server, "k1", FEES, json!({"original_amount_cents": 200})).await;
    other.refused(409, "idempotency_key_reused");
    let elsewhere =
        charge(&server, "k1", "/accounts/a/line_items/credit_offsets", json!({"original_amount_cents": 100})).await;
    elsewhere.refused(409, "idempotency_key_reused");
    assert_eq!(fees(&server).await, 100);
}

#[tokio::test]
async fn creates_repeat_their_answer_too() {
    let server = Server::start().await;
    let product = json!({
        "product_overview": {"product_name": "A", "product_type": "INSTALLMENT"},
        "post_promotional_policies": {"post_promo_len": 12}
    });
    for (path, body) in [("/customers", json!({"name_last": "L"})), ("/products", product)] {
        let first = charge(&server, path, path, body.clone()).await.ok();
        let second = charge(&server, path, path, body).await.ok();
        assert_eq!(first, second);
        assert_eq!(server.get(path).await.ok()["results"].as_array().map(Vec::len), Some(1), "{path}");
    }
}

#[tokio::test]
async fn a_key_must_be_plain() {
    let server = Server::with_account().await;
    for key in ["", "two words", &"x".repeat(256)] {
        let got = charge(&server, key, FEES, json!({"original_amount_cents": 100})).await;
        got.refused_field(422, "Idempotency-Key");
    }
    charge(&server, &"x".repeat(255), FEES, json!({"original_amount_cents": 100})).await.ok();
}

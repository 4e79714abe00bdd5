use crate::support::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn a_customer_is_made_changed_and_read() {
    let server = Server::start().await;
    let body = json!({"customer_id": "ada", "name_last": "Byron", "email": "ada@example.com", "ssn": "123-45-6789"});
    let made = server.post("/customers", body).await;
    assert!(!made.text.contains("123-45") && !made.text.contains("12345"), "{}", made.text);
    assert_eq!(made.ok()["ssn_last_four"], "6789");
    let changed = server.put("/customers/ada", json!({"name_last": "Lovelace", "email": null})).await.ok();
    assert_eq!((&changed["name_last"], &changed["email"]), (&json!("Lovelace"), &Value::Null));
    assert_eq!(server.get("/customers/ada").await.ok()["name_last"], "Lovelace");
    assert_eq!(server.get("/customers").await.ok()["results"][0]["customer_id"], "ada");
}

#[tokio::test]
async fn a_customer_needs_a_name() {
    let server = Server::start().await;
    server.post("/customers", json!({"email": "a@b.c"})).await.refused_field(422, "name_first");
    assert_eq!(server.get("/customers").await.ok()["results"], json!([]));
}

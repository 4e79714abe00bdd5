mod messages;
mod webhooks;

use crate::support::Server;
use serde_json::{Value, json};

#[tokio::test]
async fn keys_are_made_listed_and_revoked() {
    let server = Server::start().await;
    let (client_id, secret) = server.key("READ_ONLY").await;
    assert_eq!(server.call("GET", "/products", Some(&secret), &[], Vec::new()).await.status, 200);
    let list = server.get("/organization/keys").await;
    assert!(!list.text.contains(&secret), "a secret is shown once");
    assert_eq!(list.ok()["results"].as_array().map(Vec::len), Some(2));
    let revoked = server.delete(&format!("/organization/keys/{client_id}")).await.ok();
    assert_ne!(revoked["revoked_at"], Value::Null);
    server.call("GET", "/products", Some(&secret), &[], Vec::new()).await.refused(401, "unauthenticated");
    server.delete("/organization/keys/nothing").await.refused(404, "not_found");
}

#[tokio::test]
async fn an_unknown_role_is_refused() {
    let server = Server::start().await;
    let body = json!({"name": "x", "role": "BOSS"});
    server.post("/organization/keys", body).await.refused_field(422, "role");
}

//! Calls every operation of the document without a key and with wrong ones.

use crate::openapi::operations;
use crate::support::{ADMIN, Got, Server};
use daybook_operations::{Operation, Right};
use serde_json::Value;

/// An operation that needs a key, ready to be called.
struct Guarded {
    method: String,
    path: String,
    headers: Vec<(&'static str, &'static str)>,
    body: Vec<u8>,
    is_of_an_object: bool,
    right: Right,
}

fn guarded() -> Vec<Guarded> {
    let mut found = Vec::new();
    for (path, method, operation) in operations() {
        let (entry, _) = Operation::find(&method, &path).expect("the operation is in the table");
        let Some(right) = entry.right() else { continue };
        let content = operation["requestBody"]["content"].as_object().and_then(|content| content.iter().next());
        let (headers, body) = match content {
            None => (Vec::new(), Vec::new()),
            Some((kind, content)) if kind == "application/json" => {
                (vec![("content-type", "application/json")], content["example"].to_string().into_bytes())
            }
            Some((_, content)) => {
                let text = content["example"].as_str().expect("an example of lines is text");
                (vec![("content-type", "application/x-ndjson")], text.as_bytes().to_vec())
            }
        };
        let is_of_an_object = path.contains('{') || path == "/admin/roll/account";
        let path = path
            .replace("{product_id}", "p")
            .replace("{account_id}", "a")
            .replace("{customer_id}", "c")
            .replace("{line_item_id}", "p1")
            .replace("{change_id}", "c1")
            .replace("{client_id}", "first");
        found.push(Guarded { method, path, headers, body, is_of_an_object, right });
    }
    found
}

impl Guarded {
    async fn call(&self, server: &Server, key: Option<&str>) -> Got {
        let mut path = self.path.clone();
        if path.contains("{webhook_uuid}") {
            path = path.replace("{webhook_uuid}", &webhook_uuid(server).await);
        }
        if path.contains("{event_id}") {
            path = path.replace("{event_id}", &event_id(server).await);
        }
        server.call(&self.method, &path, key, &self.headers, self.body.clone()).await
    }
}

/// The first organization's subscription.
async fn webhook_uuid(server: &Server) -> String {
    let subscriptions = server.get("/organization/subscriptions").await.ok();
    subscriptions["results"][0]["webhook_uuid"].as_str().unwrap_or("removed").to_owned()
}

/// A message of the first organization.
async fn event_id(server: &Server) -> String {
    let messages = server.get("/organization/messages").await.ok();
    messages["results"][0]["event_id"].as_str().expect("there is one").to_owned()
}

/// A server with an object at every path that [`guarded`] calls.
async fn server() -> Server {
    let server = Server::with_account().await;
    server.post("/customers", serde_json::json!({"customer_id": "c", "name_last": "L"})).await.ok();
    let payment = serde_json::json!({"line_item_id": "p1", "original_amount_cents": 500});
    server.post("/accounts/a/line_items/payments/payment_record", payment).await.ok();
    let rate = serde_json::json!({"change_id": "c1", "interest_rate": 9, "effective_at_inclusive_start": "2025-12-01"});
    server.post("/accounts/a/interest_rates", rate).await.ok();
    server.subscription("https://example.com/hook").await;
    server
}

#[test]
fn all_but_a_few_operations_need_a_key() {
    let open = operations().into_iter().filter(|(_, _, operation)| operation["security"].is_array());
    let open: Vec<String> = open.map(|(path, _, _)| path).collect();
    assert_eq!(open, ["/auth/token", "/healthz", "/metrics", "/readyz"]);
    assert!(guarded().len() >= 30);
}

#[tokio::test]
async fn nothing_is_done_without_a_key_or_with_a_bad_or_a_revoked_one() {
    let server = server().await;
    let (client_id, revoked) = server.key("ADMIN").await;
    server.delete(&format!("/organization/keys/{client_id}")).await.ok();
    for operation in guarded() {
        for key in [None, Some("nonsense"), Some("dbk_sk_nonsense"), Some(&format!("{ADMIN}x")), Some(&revoked)] {
            let got = operation.call(&server, key).await;
            assert_eq!(got.status, 401, "{} {} {key:?}: {}", operation.method, operation.path, got.text);
            got.refused(401, "unauthenticated");
            assert_eq!(got.header("www-authenticate"), "Bearer");
        }
    }
}

#[tokio::test]
async fn a_key_for_reading_changes_nothing() {
    let server = server().await;
    let (_, reader) = server.key("READ_ONLY").await;
    let before = everything(&server, ADMIN).await;
    for operation in guarded() {
        let got = operation.call(&server, Some(&reader)).await;
        let expected = if operation.right == Right::Read { 200 } else { 403 };
        assert_eq!(got.status, expected, "{} {}: {}", operation.method, operation.path, got.text);
        if expected == 403 {
            got.refused(403, "not_authorized");
        }
    }
    assert_eq!(everything(&server, ADMIN).await, before);
}

#[tokio::test]
async fn a_key_for_servicing_does_not_administer() {
    let server = server().await;
    let (_, servicing) = server.key("SERVICING").await;
    for operation in guarded() {
        let got = operation.call(&server, Some(&servicing)).await;
        let is_refused = operation.right == Right::Administer;
        assert_eq!(got.status == 403, is_refused, "{} {}: {}", operation.method, operation.path, got.text);
    }
}

#[tokio::test]
async fn another_organizations_objects_are_not_found() {
    let server = server().await;
    let other = server.service.create_organization_with_key("other", "TEST").await.expect("another organization");
    let other = other.client_secret.expect("a key that was made has a secret");
    let before = everything(&server, ADMIN).await;
    for operation in guarded().into_iter().filter(|operation| operation.is_of_an_object) {
        let got = operation.call(&server, Some(&other)).await;
        assert_eq!(got.status, 404, "{} {}: {}", operation.method, operation.path, got.text);
        got.refused(404, "not_found");
    }
    for path in [
        "/products",
        "/customers",
        "/accounts",
        "/organization/subscriptions",
        "/organization/deliveries",
        "/organization/dead_letters",
    ] {
        let list = server.call("GET", path, Some(&other), &[], Vec::new()).await.ok();
        assert_eq!(list["results"].as_array().map(Vec::len), Some(0), "{path}: {list}");
    }
    assert_eq!(everything(&server, ADMIN).await, before);
}

/// All readable data of the first organization, except its keys, whose last use changes.
async fn everything(server: &Server, key: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for path in [
        "/products",
        "/customers",
        "/accounts",
        "/accounts/a/line_items",
        "/accounts/a/events",
        "/organization/subscriptions",
        "/organization/hmac_key",
    ] {
        all.push(server.call("GET", path, Some(key), &[], Vec::new()).await.ok());
    }
    all
}

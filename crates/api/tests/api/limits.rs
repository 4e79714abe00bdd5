use crate::support::{ADMIN, Server};
use daybook_api::ApiSettings;

#[tokio::test]
async fn a_key_over_its_limit_waits_and_others_do_not() {
    let settings = ApiSettings { rate_limit_per_second: Some(1), ..ApiSettings::default() };
    let server = Server::with(settings, "TEST").await;
    // At one call per second, fifty calls would take most of a minute.
    let mut refused = None;
    for _ in 0..50 {
        let got = server.get("/products").await;
        if got.status == 429 {
            refused = Some(got);
            break;
        }
    }
    let refused = refused.expect("a key over its limit is refused");
    refused.refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), "1");
    let other = server.service.create_organization_with_key("other", "TEST").await.expect("another organization");
    let other = other.client_secret.expect("a secret");
    assert_eq!(server.call("GET", "/products", Some(&other), &[], Vec::new()).await.status, 200);
}

#[tokio::test]
async fn a_call_has_a_name() {
    let server = Server::start().await;
    let named = server.call("GET", "/products", Some(ADMIN), &[("x-request-id", "my-call.1")], Vec::new()).await;
    assert_eq!(named.header("x-request-id"), "my-call.1");
    let strange = server.call("GET", "/nothing", None, &[("x-request-id", "a b")], Vec::new()).await;
    assert!(strange.header("x-request-id").starts_with("dbk_req_"));
    assert_ne!(
        server.get("/products").await.header("x-request-id"),
        server.get("/products").await.header("x-request-id")
    );
}

#[tokio::test]
async fn a_body_limit_is_a_setting() {
    let settings = ApiSettings { body_limit_bytes: 10, ..ApiSettings::default() };
    let server = Server::with(settings, "TEST").await;
    let error = server.post("/customers", serde_json::json!({"name_last": "L"})).await.refused(413, "too_large");
    assert_eq!(error["message"], "the body may have at most 10 bytes");
}

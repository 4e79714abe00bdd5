use crate::support::{ADMIN, Server};
use daybook_engine::time::Time;
use serde_json::json;

#[tokio::test]
async fn a_token_works_until_it_expires() {
    let server = Server::start().await;
    let headers = [("content-type", "application/json")];
    let body = json!({"client_id": "first", "client_secret": ADMIN}).to_string().into_bytes();
    let token = server.call("POST", "/auth/token", None, &headers, body).await.ok();
    assert_eq!(token["token_type"], "Bearer");
    let bearer = token["access_token"].as_str().expect("a token");
    assert_eq!(server.call("GET", "/products", Some(bearer), &[], Vec::new()).await.status, 200);
    server.clock.set(Time::parse("2025-07-01T12:00:00Z").expect("a time"));
    let expired = server.call("GET", "/products", Some(bearer), &[], Vec::new()).await;
    expired.refused(403, "not_authorized");
}

#[tokio::test]
async fn wrong_credentials_get_no_token() {
    let server = Server::start().await;
    for body in [
        json!({"client_id": "first", "client_secret": "wrong"}),
        json!({"client_id": "nobody", "client_secret": ADMIN}),
    ] {
        let headers = [("content-type", "application/json")];
        let got = server.call("POST", "/auth/token", None, &headers, body.to_string().into_bytes()).await;
        got.refused(401, "unauthenticated");
        assert_eq!(got.header("www-authenticate"), "Bearer");
    }
}

#[tokio::test]
async fn the_scheme_may_have_any_case_and_must_be_bearer() {
    let server = Server::start().await;
    for (header, status) in [
        (format!("bearer {ADMIN}"), 200),
        (format!("BEARER  {ADMIN}"), 200),
        (format!("Basic {ADMIN}"), 401),
        (ADMIN.to_owned(), 401),
        ("Bearer ".to_owned(), 401),
        (String::new(), 401),
    ] {
        let got = server.call("GET", "/products", None, &[("authorization", &header)], Vec::new()).await;
        assert_eq!(got.status, status, "{header:?}: {}", got.text);
    }
}

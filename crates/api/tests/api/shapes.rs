//! Errors of HTTP itself have the same shape as every refusal.

use crate::openapi::operations;
use crate::support::{ADMIN, Server};

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let server = Server::start().await;
    for path in ["/nothing", "/accounts/", "/accounts/a/b/c/d", "/docs/nothing", "/docs/errors/nothing", "/v1/accounts"]
    {
        let error = server.get(path).await.refused(404, "not_found");
        assert!(error["message"].as_str().expect("a message").starts_with("there is no "), "{error}");
    }
    server.call("POST", "/nothing", None, &[], Vec::new()).await.refused(404, "not_found");
    assert_eq!(server.get("/").await.status, 303, "who comes without a path is led to the console");
}

#[tokio::test]
async fn other_methods_are_not_allowed_and_the_right_ones_are_named() {
    let server = Server::start().await;
    for (method, path, allow) in [
        ("DELETE", "/accounts", "POST,GET,HEAD"),
        ("PATCH", "/customers/c", "GET,HEAD,PUT"),
        ("GET", "/auth/token", "POST"),
        ("PUT", "/admin/roll/account", "PATCH,POST"),
        ("GET", "/organization/subscribe", "PUT,POST"),
        ("POST", "/healthz", "GET,HEAD"),
        ("POST", "/docs", "GET,HEAD"),
        ("TRACE", "/accounts", "POST,GET,HEAD"),
    ] {
        let got = server.call(method, path, Some(ADMIN), &[], Vec::new()).await;
        got.refused(405, "method_not_allowed");
        assert_eq!(got.header("allow"), allow, "{method} {path}");
    }
}

#[tokio::test]
async fn every_path_refuses_a_method_it_does_not_describe() {
    let server = Server::start().await;
    let described = operations();
    for (path, _, _) in &described {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if !described.iter().any(|(other, known, _)| other == path && known == method) {
                let got = server.call(method, &path.replace(['{', '}'], ""), Some(ADMIN), &[], Vec::new()).await;
                assert_eq!(got.status, 405, "{method} {path}: {}", got.text);
            }
        }
    }
}

#[tokio::test]
async fn answers_are_not_kept_nor_guessed_at() {
    let server = Server::start().await;
    for path in ["/products", "/nothing"] {
        let got = server.get(path).await;
        assert_eq!(got.header("cache-control"), "no-store");
        assert_eq!(got.header("x-content-type-options"), "nosniff");
    }
}

use crate::support::Server;

#[tokio::test]
async fn it_lives_and_is_ready() {
    let server = Server::start().await;
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let got = server.call("GET", path, None, &[], Vec::new()).await;
        assert_eq!((got.status, got.text.as_str()), (200, text));
    }
}

#[tokio::test]
async fn figures_tell_of_calls_by_their_route() {
    let server = Server::with_account().await;
    server.get("/accounts/a").await.ok();
    server.get("/accounts/b").await.refused(404, "not_found");
    server.get("/no/such/path").await.refused(404, "not_found");
    let got = server.call("GET", "/metrics", None, &[], Vec::new()).await;
    assert_eq!(got.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        "daybook_http_requests_total{method=\"GET\",path=\"/accounts/{account_id}\",status=\"2xx\"} 1",
        "daybook_http_requests_total{method=\"GET\",path=\"/accounts/{account_id}\",status=\"4xx\"} 1",
        "daybook_http_requests_total{method=\"GET\",path=\"unknown\",status=\"4xx\"} 1",
        "daybook_http_request_seconds_count{method=\"GET\",path=\"/accounts/{account_id}\"} 2",
        "# TYPE daybook_batch_seconds histogram",
    ] {
        assert!(got.text.lines().any(|given| given == line), "{line} is not in\n{}", got.text);
    }
    assert!(!got.text.contains("/no/such/path"));
}

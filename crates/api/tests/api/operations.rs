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
        "daybook_http_requests_total{path=\"/accounts/{account_id}\",method=\"GET\",status=\"2xx\"} 1",
        "daybook_http_requests_total{path=\"/accounts/{account_id}\",method=\"GET\",status=\"4xx\"} 1",
        "daybook_http_requests_total{path=\"unknown\",method=\"GET\",status=\"4xx\"} 1",
        "daybook_http_request_seconds_count{path=\"/accounts/{account_id}\",method=\"GET\"} 2",
        "# TYPE daybook_batches_total counter",
    ] {
        assert!(got.text.lines().any(|given| given == line), "{line} is not in\n{}", got.text);
    }
    assert!(!got.text.contains("/no/such/path"));
}

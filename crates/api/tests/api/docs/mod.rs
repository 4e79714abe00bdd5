use crate::support::Server;
use daybook_service::problem::CODES;

#[tokio::test]
async fn the_reference_is_a_page_without_scripts() {
    let server = Server::start().await;
    let got = server.call("GET", "/docs", None, &[], Vec::new()).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.header("content-type"), "text/html; charset=utf-8");
    let policy = got.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(got.text.contains("id=\"record_payment\"") && !got.text.contains("<script"));
    assert!(!got.text.contains("src=\"http") && !got.text.contains("href=\"http"), "nothing comes from elsewhere");
    let style = server.call("GET", "/docs/style.css", None, &[], Vec::new()).await;
    assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
    assert!(style.text.contains("prefers-color-scheme: dark"));
}

#[tokio::test]
async fn every_code_has_a_page_that_is_served() {
    let server = Server::start().await;
    let index = server.call("GET", "/docs/errors", None, &[], Vec::new()).await;
    for (code, _) in CODES {
        let path = format!("/docs/errors/{code}");
        assert!(index.text.contains(&path), "{path} is not in the index");
        let got = server.call("GET", &path, None, &[], Vec::new()).await;
        assert_eq!(got.status, 200, "{path}");
        assert!(got.text.contains(&format!("<code>{code}</code></h1>")), "{path}: {}", got.text);
        assert!(!got.header("content-security-policy").is_empty());
    }
}

#[tokio::test]
async fn the_concepts_are_served() {
    let server = Server::start().await;
    let pages = [
        "/docs/concepts",
        "/docs/concepts/waterfall",
        "/docs/scenarios",
        "/docs/operating",
        "/docs/operating/performance",
    ];
    for path in pages {
        assert_eq!(server.call("GET", path, None, &[], Vec::new()).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_document_is_served() {
    let server = Server::start().await;
    let got = server.call("GET", "/openapi.json", None, &[], Vec::new()).await;
    assert_eq!(got.json(), crate::openapi::document());
}

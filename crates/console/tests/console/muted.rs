//! While the database is muted, every page shows a banner.

use crate::setup::ConsoleSetup;
use axum::body::Body;
use axum::http::{Method, Request};
use daybook_console::routes;

const BANNER: &str = "class=\"banner\" role=\"status\"";

/// Every page whose path has no parameters, and one that does not exist.
async fn pages(setup: &ConsoleSetup) -> Vec<(String, String)> {
    let whole = routes().into_iter().filter(|route| route.method == "GET" && !route.path.contains('{'));
    let paths = whole.map(|route| route.path.to_owned()).chain(["/console/nothing-here".to_owned()]);
    let mut shown = Vec::new();
    for path in paths {
        let body = setup.get(&path).await.body;
        if body.starts_with("<!doctype html>") {
            shown.push((path, body));
        }
    }
    shown
}

#[tokio::test]
async fn every_page_of_a_muted_database_says_so() {
    let setup = ConsoleSetup::filled().await;
    let shown = pages(&setup).await;
    assert!(shown.len() > 15, "only {} pages were opened", shown.len());
    for (path, page) in shown {
        assert!(!page.contains(BANNER), "{path} says that it is muted");
    }
    setup.service.mute("a <test> asked for it").await.expect("it is muted");
    setup.service.follow_mark().await.expect("the mark is looked at");
    for (path, page) in pages(&setup).await {
        assert!(page.contains(BANNER), "{path} does not say that it is muted");
        assert!(page.contains("a &#60;test&#62; asked for it") && page.contains("daybook unmute"), "{path}: {page}");
    }
    // The sign-in page too.
    let request = Request::builder().method(Method::GET).uri("/console/sign-in").body(Body::empty());
    assert!(setup.send(request.expect("a request")).await.body.contains(BANNER));
}

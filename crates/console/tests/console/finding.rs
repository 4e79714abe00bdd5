//! Search, on its page and in the palette.

use crate::setup::{ConsoleSetup, assert_harmless};
use daybook_service::access::Role;

#[tokio::test]
async fn accounts_customers_products_and_pages_are_found() {
    let setup = ConsoleSetup::filled().await;
    for (q, path) in [
        ("ann", "/console/customers/ann"),
        ("ann", "/console/accounts/a1"),
        ("a2", "/console/accounts/a2"),
        ("hyperlink", "/console/accounts/a2"),
        ("product", "/console/products/loan"),
        ("dead", "/console/webhooks/dead-letters"),
        ("new+acc", "/console/accounts/new"),
    ] {
        let page = setup.get(&format!("/console/find?q={q}")).await.page();
        assert!(page.contains(&format!("href=\"{path}\"")), "{q} leads to {path}: {page}");
        assert_harmless(&page);
    }
}

#[tokio::test]
async fn the_palette_gets_the_list_alone() {
    let setup = ConsoleSetup::filled().await;
    let piece = setup.fragment("/console/find?q=ann", "results").await.page();
    assert!(piece.trim_start().starts_with("<ul class=\"results\">"), "{piece}");
    let nothing = setup.fragment("/console/find?q=%3Cscript%3Ealert(1)%3C/script%3Enobody", "results").await.page();
    assert!(!nothing.contains("<ul") && !nothing.contains("<html"), "{nothing}");
    assert_harmless(&nothing);
    let rooms = setup.fragment("/console/find?q=", "results").await.page();
    assert!(rooms.contains("href=\"/console/accounts\""), "{rooms}");
}

#[tokio::test]
async fn nobody_is_led_where_they_may_not_go() {
    let setup = ConsoleSetup::new().await;
    let reader = setup.seen_by(Role::ReadOnly).await;
    let page = reader.get("/console/find?q=new").await.page();
    assert!(!page.contains("/new\""), "{page}");
    let page = reader.fragment("/console/find?q=people", "results").await.page();
    assert!(!page.contains("/console/people\""), "{page}");
}

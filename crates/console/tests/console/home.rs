//! The home page, of an organization without data and of one with data.

use crate::setup::{ConsoleSetup, KeptFromAll, assert_harmless};
use daybook_service::access::Role;
use daybook_service::portfolio::Counting;
use daybook_testkit::postgres::Server;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn who_begins_is_led_through_the_first_steps() {
    let setup = ConsoleSetup::new().await;
    let page = setup.get("/console").await.page();
    for step in ["/console/products/new", "/console/customers/new", "/console/accounts/new", "/console/webhooks"] {
        assert!(page.contains(&format!("href=\"{step}\"")), "{step}");
    }
    assert!(!page.contains(">Done<"), "nothing is done yet");
    setup.product("loan", json!({}), false).await;
    let page = setup.get("/console").await.page();
    assert_eq!(page.matches(">Done<").count(), 1, "{page}");
    let reader = setup.seen_by(Role::ReadOnly).await;
    let page = reader.get("/console").await.page();
    assert!(!page.contains("/console/products/new"), "who may only look is offered nothing to do");
}

#[tokio::test]
async fn figures_lead_to_the_lists_behind_them() {
    let setup = ConsoleSetup::filled().await;
    setup.pay("a2", "p1", "2025-02-28T09:00:00-05:00", 4_321).await;
    let page = setup.get("/console").await.page();
    assert_harmless(&page);
    assert!(page.contains("/console/accounts?status=ACTIVE"), "{page}");
    assert!(page.contains("/console/accounts?status=SUSPENDED&#38;substatus=DELINQUENT"), "{page}");
    assert!(page.contains("/console/accounts?due=1-29"), "{page}");
    assert!(page.contains("$43.21"), "the payment is among those of the last 30 days: {page}");
    let late = setup.get("/console/accounts?due=1-29").await.page();
    assert!(late.contains(">a1<") && !late.contains(">a2<"), "{late}");
    let current = setup.get("/console/accounts?due=current").await.page();
    assert!(!current.contains(">a1<") && current.contains(">a2<"), "{current}");
    setup.go_to("2025-03-25T12:00:00-04:00").await;
    // Her session has ended by then, so another user looks.
    let setup = setup.seen_by(Role::ReadOnly).await;
    let later = setup.get("/console/accounts?due=30-59").await.page();
    assert!(later.contains(">a1<") && !later.contains(">a2<"), "{later}");
}

#[tokio::test]
async fn what_needs_attention_leads_to_where_it_is_mended() {
    let setup = ConsoleSetup::filled().await;
    setup.product("old", json!({}), true).await;
    let page = setup.get("/console").await.page();
    assert!(page.contains("1 product is in migration mode"), "{page}");
    assert!(page.contains("/console/products?state=HOLDING"), "{page}");
    let list = setup.get("/console/products?state=HOLDING").await.page();
    assert!(list.contains("Product old") && !list.contains("Product loan"), "{list}");
    for state in ["RELEASING", "failed"] {
        let list = setup.get(&format!("/console/products?state={state}")).await.page();
        assert!(list.contains("No products match"), "{list}");
    }
}

/// While many accounts are counted for the first time, the page states this and reloads automatically.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_long_to_count_is_told_and_shown_later() {
    let address = Server::shared().migrated_database();
    let setup = ConsoleSetup::on(&address, "TEST").await;
    let service = setup.service.clone().counting(Counting { many: 1, patience: Duration::ZERO, ..Counting::default() });
    let setup = setup.over(service);
    setup.product("loan", json!({}), false).await;
    setup.account("a1", "loan", "2025-02-01T12:00:00-05:00", json!({})).await;
    // Amounts by day cannot be summed while the line items are locked.
    let kept = KeptFromAll::of(&address, "line_items").await;
    let answer = setup.get("/console").await;
    assert_eq!(answer.header("refresh"), "2");
    let page = answer.page();
    assert!(page.contains("Daybook is counting the accounts"), "{page}");
    assert!(!page.contains("There are no accounts yet"), "{page}");
    kept.give_back().await;
    loop {
        let answer = setup.get("/console").await;
        if answer.header("refresh").is_empty() {
            assert!(answer.page().contains("<a href=\"/console/accounts\">1</a>"));
            return;
        }
    }
}

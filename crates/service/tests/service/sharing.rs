//! The slow reads of one organization do not stop the payments and reads of another.

use crate::support::{Home, LEVEL, Trial, form_of, json_of, on_both, view_of, whole};
use daybook_service::AccountQuery;
use daybook_service::access::Caller;
use serde_json::json;
use std::sync::Arc;

on_both!(slow_reads_of_one_organization_do_not_stop_another, counting_a_portfolio_uses_the_share_of_its_organization);

const NOW: &str = "2026-04-01T12:00:00-04:00";

/// Two organizations, each with the account `a1`.
async fn two(address: &str) -> (Trial, Trial) {
    let first = Trial::over(address, NOW).await;
    first.service.create_organization("second", "TEST").await.expect("it is made");
    let who = first.service.operator(Some("second")).await.expect("it is there");
    let second = Trial { who, ..first.clone() };
    for trial in [&first, &second] {
        trial.product("auto-12", json!({})).await;
        trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    }
    (first, second)
}

/// A call that lists accounts.
async fn lists(trial: Trial, who: Caller) -> usize {
    let listing = trial.service.list_accounts(&who, whole(), AccountQuery::default());
    view_of(trial.service.reading_for(who.org, listing).await)["results"].as_array().expect("a list").len()
}

async fn slow_reads_of_one_organization_do_not_stop_another(home: Home) {
    let (_folder, address) = home.kept();
    let (first, second) = two(&address).await;
    let sharing = Arc::clone(first.store.sharing());
    assert_eq!(sharing.most_each(), if home == Home::Sqlite { 2 } else { 8 });
    let held = first.service.hold_reads(first.who.org).await.expect("no other call reads");
    let waits = tokio::spawn(lists(first.clone(), first.who.clone()));
    while first.service.reads_waiting() == 0 {
        assert!(!waits.is_finished(), "the organization reads beyond its share");
        tokio::task::yield_now().await;
    }
    assert_eq!(lists(second.clone(), second.who.clone()).await, 1);
    json_of(second.pay("a1", "p1", LEVEL, NOW).await);
    json_of(first.pay("a1", "p1", LEVEL, NOW).await);
    assert!(!waits.is_finished());
    drop(held);
    assert_eq!(waits.await.expect("it ran"), 1);
    assert_eq!((sharing.organizations(), sharing.waiting()), (0, 0), "idle organizations take no memory");
}

async fn counting_a_portfolio_uses_the_share_of_its_organization(home: Home) {
    let (_folder, address) = home.kept();
    let (first, second) = two(&address).await;
    let held = first.service.hold_reads(first.who.org).await.expect("no other call reads");
    let counting = tokio::spawn({
        let first = first.clone();
        async move { first.service.portfolio(&first.who).await.is_ok() }
    });
    while first.service.reads_waiting() == 0 {
        assert!(!counting.is_finished(), "the count reads beyond the organization's share");
        tokio::task::yield_now().await;
    }
    json_of(second.service.create_customer(&second.who, None, form_of(&json!({"name_last": "L"}))).await);
    drop(held);
    assert!(counting.await.expect("it ran"));
}

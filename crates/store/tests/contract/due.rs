//! Accounts that are due.

use super::fixtures::*;
use daybook_engine::time::Time;
use daybook_store::batch::ProductWrite;
use daybook_store::records::{Mode, OrgId};
use daybook_store::{DueAccount, Inputs, Store};
use std::collections::BTreeMap;
use std::sync::Arc;

async fn timer(store: &Arc<dyn Store>, org: OrgId, id: &str, of: &str, seconds: Option<i64>) {
    let mut row = account_row(org, id, of);
    row.now.next_moment = seconds.map(at);
    account(store, row).await;
}

/// Takes with a lease that ends at once, so that it does not affect a later take.
async fn take(store: &Arc<dyn Store>, now: Time, limit: usize) -> Vec<DueAccount> {
    store.take_due(now, limit, now).await.unwrap()
}

fn ids(due: &[DueAccount]) -> Vec<&str> {
    let mut ids: Vec<&str> = due.iter().map(|due| &*due.key.account).collect();
    ids.sort_unstable();
    ids
}

fn by_product(due: &[DueAccount]) -> BTreeMap<&str, usize> {
    due.iter().fold(BTreeMap::new(), |mut counts, due| {
        *counts.entry(&*due.product).or_default() += 1;
        counts
    })
}

pub async fn due_accounts_are_found(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    product(&store, product_row(one, "loan")).await;
    product(&store, product_row(two, "lease")).await;
    timer(&store, one, "past", "loan", Some(10)).await;
    timer(&store, one, "just", "loan", Some(20)).await;
    timer(&store, one, "later", "loan", Some(21)).await;
    timer(&store, one, "idle", "loan", None).await;
    timer(&store, two, "other", "lease", Some(5)).await;
    assert_eq!(take(&store, at(4), 10).await, []);
    let due = take(&store, at(20), 10).await;
    assert_eq!(ids(&due), ["just", "other", "past"]);
    let other = DueAccount { key: account_key(two, "other"), product: "lease".into(), held: 0 };
    assert!(due.contains(&other), "{due:?}");
    // A commit removes it from the list.
    written(&store, vec![account_unit(update(&account_key(one, "past"), 1, now()))]).await;
    assert_eq!(ids(&take(&store, at(20), 10).await), ["just", "other"]);
    assert_eq!(take(&store, at(20), 0).await, []);
}

pub async fn holding_products_are_never_due(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let key = product(&store, product_row(org, "loan")).await;
    timer(&store, org, "a", "loan", Some(10)).await;
    timer(&store, org, "b", "loan", Some(30)).await;
    let mode = |version, holding| {
        let mode = Mode { version, holding, ..Mode::default() };
        vec![product_unit(ProductWrite::Mode(key.clone(), mode))]
    };
    written(&store, mode(2, true)).await;
    assert_eq!(take(&store, at(20), 10).await, []);
    assert_eq!(store.next_due(at(20)).await.unwrap(), None);
    written(&store, mode(3, false)).await;
    assert_eq!(ids(&take(&store, at(20), 10).await), ["a"]);
    assert_eq!(store.next_due(at(20)).await.unwrap(), Some(at(30)));
}

pub async fn due_accounts_are_counted(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    let held = product(&store, product_row(one, "held")).await;
    product(&store, product_row(one, "loan")).await;
    product(&store, product_row(two, "loan")).await;
    for (org, id, of, seconds) in [
        (one, "a", "loan", Some(10)),
        (one, "b", "loan", Some(20)),
        (one, "c", "loan", None),
        (one, "h", "held", Some(5)),
    ] {
        timer(&store, org, id, of, seconds).await;
    }
    timer(&store, two, "a", "loan", Some(20)).await;
    assert_eq!(store.count_due(at(4)).await.unwrap(), 0);
    assert_eq!(store.count_due(at(20)).await.unwrap(), 4);
    let mode = Mode { version: 2, holding: true, ..Mode::default() };
    written(&store, vec![product_unit(ProductWrite::Mode(held, mode))]).await;
    assert_eq!(store.count_due(at(19)).await.unwrap(), 1);
    assert_eq!(store.count_due(at(20)).await.unwrap(), 3);
    // An account that was taken stays due until it is committed.
    store.take_due(at(20), 1, at(30)).await.unwrap();
    assert_eq!(store.count_due(at(20)).await.unwrap(), 3);
}

pub async fn products_share_the_limit(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for of in ["big", "small"] {
        product(&store, product_row(org, of)).await;
    }
    for n in 0..20 {
        timer(&store, org, &format!("b{n}"), "big", Some(1)).await;
    }
    for n in 0..5 {
        timer(&store, org, &format!("s{n}"), "small", Some(50)).await;
    }
    assert_eq!(by_product(&take(&store, at(100), 6).await), BTreeMap::from([("big", 3), ("small", 3)]));
}

pub async fn what_one_product_leaves_goes_to_others(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for of in ["big", "small"] {
        product(&store, product_row(org, of)).await;
    }
    for n in 0..20 {
        timer(&store, org, &format!("b{n:02}"), "big", Some(n)).await;
    }
    timer(&store, org, "s", "small", Some(50)).await;
    let due = take(&store, at(100), 10).await;
    assert_eq!(by_product(&due), BTreeMap::from([("big", 9), ("small", 1)]));
    // No duplicates, and only the oldest accounts.
    assert_eq!(ids(&due), ["b00", "b01", "b02", "b03", "b04", "b05", "b06", "b07", "b08", "s"]);
    assert_eq!(take(&store, at(200), 100).await.len(), 21);
}

/// With more products than the limit, no product waits for ever.
pub async fn many_products_take_turns_by_age(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for n in 0..6 {
        let of = format!("p{n}");
        product(&store, product_row(org, &of)).await;
        timer(&store, org, &of, &of, Some(100 - n)).await;
    }
    let mut seen = Vec::new();
    for turn in 0..3 {
        let due = take(&store, at(1_000 + turn), 2).await;
        assert_eq!(due.len(), 2);
        for due in due {
            written(&store, vec![account_unit(update(&due.key, 1, now()))]).await;
            seen.push(due.key.account.to_string());
        }
    }
    seen.sort();
    assert_eq!(seen, ["p0", "p1", "p2", "p3", "p4", "p5"]);
}

pub async fn the_next_moment_is_after_now(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    assert_eq!(store.next_due(at(0)).await.unwrap(), None);
    for of in ["loan", "lease"] {
        product(&store, product_row(org, of)).await;
    }
    timer(&store, org, "a", "loan", Some(30)).await;
    timer(&store, org, "b", "lease", Some(20)).await;
    timer(&store, org, "c", "lease", None).await;
    assert_eq!(store.next_due(at(10)).await.unwrap(), Some(at(20)));
    assert_eq!(store.next_due(at(30)).await.unwrap(), None);
}

async fn failed(store: &Arc<dyn Store>) -> OrgId {
    let org = organization(store, "one").await;
    for of in ["loan", "lease"] {
        product(store, product_row(org, of)).await;
    }
    for (id, of, failure) in [("a", "loan", true), ("b", "loan", true), ("c", "loan", false), ("d", "lease", true)] {
        let mut row = account_row(org, id, of);
        row.now.failure = failure.then(|| "why".to_owned());
        account(store, row).await;
    }
    org
}

pub async fn failed_accounts_are_due_again_when_retried(store: Arc<dyn Store>) {
    let org = failed(&store).await;
    assert_eq!(take(&store, at(100), 10).await, []);
    assert_eq!(store.retry_failed(&product_key(org, "loan"), at(100)).await.unwrap(), 2);
    assert_eq!(ids(&take(&store, at(100), 10).await), ["a", "b"]);
    assert_eq!(store.retry_failed(&product_key(org, "none"), at(100)).await.unwrap(), 0);
    let loaded = load(&store, &account_key(org, "a"), Inputs::None).await.unwrap().row;
    assert_eq!(loaded.now.next_moment, Some(at(100)));
}

pub async fn a_retry_makes_work_under_way_stale(store: Arc<dyn Store>) {
    let org = failed(&store).await;
    let key = account_key(org, "a");
    let before = load(&store, &key, Inputs::None).await.unwrap().row;
    store.retry_failed(&product_key(org, "loan"), at(100)).await.unwrap();
    stale(&store, account_unit(update(&key, before.version, before.now))).await;
    assert_eq!(ids(&take(&store, at(100), 10).await), ["a", "b"]);
}

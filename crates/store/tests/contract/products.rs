//! Products and their modes.

use super::fixtures::*;
use daybook_store::Store;
use daybook_store::batch::{Claimed, ProductWrite, Unit};
use daybook_store::records::{HeldCounts, Mode, PageRequest};
use std::sync::Arc;

fn full_mode(version: i64) -> Mode {
    Mode {
        version,
        holding: true,
        releasing: true,
        suppress_before: Some(at(30)),
        started_at: Some(at(31)),
        finished_at: Some(at(32)),
        accounts_total: 33,
        events_total: 34,
    }
}

pub async fn a_product_is_read_back(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let mut row = product_row(org, "loan");
    row.mode = full_mode(1);
    let key = product(&store, row.clone()).await;
    assert_eq!(store.product(&key).await.unwrap(), Some(row));
    let plain = product_row(org, "plain");
    let plain_key = product(&store, plain.clone()).await;
    assert_eq!(store.product(&plain_key).await.unwrap(), Some(plain));
    assert_eq!(store.product(&product_key(org, "none")).await.unwrap(), None);
}

pub async fn a_product_is_made_once(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let first = product_row(org, "loan");
    let key = product(&store, first.clone()).await;
    let mut second = first.clone();
    second.body = "{}".into();
    stale(&store, product_unit(ProductWrite::Insert(Box::new(second)))).await;
    assert_eq!(store.product(&key).await.unwrap(), Some(first));
}

pub async fn a_mode_follows_the_one_before(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let row = product_row(org, "loan");
    let key = product(&store, row.clone()).await;
    for wrong in [0, 1, 3] {
        stale(&store, product_unit(ProductWrite::Mode(key.clone(), full_mode(wrong)))).await;
    }
    assert_eq!(store.product(&key).await.unwrap().unwrap(), row);
    written(&store, vec![product_unit(ProductWrite::Mode(key.clone(), full_mode(2)))]).await;
    let mut expected = row;
    expected.mode = full_mode(2);
    assert_eq!(store.product(&key).await.unwrap().unwrap(), expected);
    let off = Mode { version: 3, ..Mode::default() };
    written(&store, vec![product_unit(ProductWrite::Mode(key.clone(), off.clone()))]).await;
    assert_eq!(store.product(&key).await.unwrap().unwrap().mode, off);
    stale(&store, product_unit(ProductWrite::Mode(product_key(org, "none"), full_mode(1)))).await;
}

pub async fn a_unit_under_another_mode_is_stale(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let loan = product(&store, product_row(org, "loan")).await;
    let lease = product(&store, product_row(org, "lease")).await;
    let mut unit = account_unit(insert(account_row(org, "a", "loan")));
    unit.modes = vec![(lease.clone(), 1), (loan.clone(), 2)];
    stale(&store, unit).await;
    assert!(load(&store, &account_key(org, "a"), daybook_store::Inputs::None).await.is_none());
    let mut unit = account_unit(insert(account_row(org, "a", "loan")));
    unit.modes = vec![(lease, 1), (loan, 1)];
    written(&store, vec![unit]).await;
}

pub async fn a_unit_of_an_unknown_product_is_stale(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let mut unit = account_unit(insert(account_row(org, "a", "loan")));
    unit.modes = vec![(product_key(org, "loan"), 1)];
    stale(&store, unit).await;
}

/// One batch may hold a mode and an account computed under the previous mode.
pub async fn modes_are_those_before_the_batch(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let loan = product(&store, product_row(org, "loan")).await;
    let unit = |account: &str, version| Unit {
        modes: vec![(loan.clone(), version)],
        ..account_unit(insert(account_row(org, account, "loan")))
    };
    let change = product_unit(ProductWrite::Mode(loan.clone(), full_mode(2)));
    let claimed = commit(&store, vec![change, unit("a", 1), unit("b", 2)]).await;
    assert_eq!(claimed, [Claimed::Written, Claimed::Written, Claimed::Stale]);
    assert_eq!(commit(&store, vec![unit("b", 2)]).await, [Claimed::Written]);
}

pub async fn releasing_products_are_listed(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    for (org, id, releasing) in [(two, "a", true), (one, "b", true), (one, "c", false)] {
        let mut row = product_row(org, id);
        row.mode.releasing = releasing;
        product(&store, row).await;
    }
    let mut found = store.releasing_products().await.unwrap();
    found.sort();
    assert_eq!(found, [product_key(one, "b"), product_key(two, "a")]);
    let off = Mode { version: 2, ..Mode::default() };
    written(&store, vec![product_unit(ProductWrite::Mode(product_key(one, "b"), off))]).await;
    assert_eq!(store.releasing_products().await.unwrap(), [product_key(two, "a")]);
}

async fn accounts_with(store: &Arc<dyn Store>, accounts: &[(&str, &str, i64, Option<&str>)]) -> i64 {
    let org = organization(store, "one").await;
    for (id, of, held_events, failure) in accounts {
        let mut row = account_row(org, id, of);
        row.now.held_events = *held_events;
        row.now.failure = failure.map(str::to_owned);
        account(store, row).await;
    }
    org
}

pub async fn held_counts_tell_failed_from_waiting(store: Arc<dyn Store>) {
    let accounts = [
        ("a", "loan", 3, None),
        ("b", "loan", 4, None),
        ("c", "loan", 0, None),
        ("d", "loan", 5, Some("overflow")),
        ("e", "loan", 0, Some("no zone")),
        ("f", "lease", 100, None),
    ];
    let org = accounts_with(&store, &accounts).await;
    let counts = store.held_counts(&product_key(org, "loan")).await.unwrap();
    assert_eq!(counts, HeldCounts { accounts: 2, events: 7, failed_accounts: 2, failed_events: 5 });
    let none = store.held_counts(&product_key(org, "none")).await.unwrap();
    assert_eq!(none, HeldCounts::default());
    // A commit changes the counts.
    written(&store, vec![account_unit(update(&account_key(org, "a"), 1, now()))]).await;
    let counts = store.held_counts(&product_key(org, "loan")).await.unwrap();
    assert_eq!(counts, HeldCounts { accounts: 1, events: 4, failed_accounts: 2, failed_events: 5 });
}

pub async fn failed_accounts_are_listed_by_id(store: Arc<dyn Store>) {
    let accounts = [
        ("z", "loan", 0, Some("late")),
        ("b", "loan", 1, Some("why")),
        ("a", "loan", 1, None),
        ("c", "lease", 1, Some("x")),
    ];
    let org = accounts_with(&store, &accounts).await;
    let key = product_key(org, "loan");
    let expected: [(Arc<str>, String); 2] = [("b".into(), "why".into()), ("z".into(), "late".into())];
    assert_eq!(store.failed_accounts(&key, 10).await.unwrap(), expected);
    assert_eq!(store.failed_accounts(&key, 1).await.unwrap(), expected[..1]);
    assert_eq!(store.products(org, &PageRequest { limit: 10, ..PageRequest::default() }).await.unwrap(), []);
}

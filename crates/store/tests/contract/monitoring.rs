//! The state of the database, for operators.

use super::fixtures::*;
use super::outbox::{pause, subscribe};
use daybook_store::Store;
use daybook_store::batch::ProductWrite;
use daybook_store::monitoring::{MOST_FAILED_COUNTED, OverdueWork, Releases};
use daybook_store::records::{AccountRow, Mode, OrgId, ProductRow};
use std::sync::Arc;

async fn product_in(store: &Arc<dyn Store>, org: OrgId, id: &str, mode: Mode) {
    product(store, ProductRow { mode: Mode { version: 1, ..mode }, ..product_row(org, id) }).await;
}

fn due(org: OrgId, id: &str, product: &str, seconds: i64) -> AccountRow {
    let mut row = account_row(org, id, product);
    row.now.next_moment = Some(at(seconds));
    row
}

fn held(org: OrgId, id: &str, product: &str, held_events: i64, failure: Option<&str>) -> AccountRow {
    let mut row = account_row(org, id, product);
    (row.now.held_events, row.now.failure) = (held_events, failure.map(str::to_owned));
    row
}

pub async fn the_oldest_moment_that_is_due_is_told(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    product_in(&store, one, "loan", Mode::default()).await;
    product_in(&store, two, "lease", Mode::default()).await;
    product_in(&store, one, "held", Mode { holding: true, ..Mode::default() }).await;
    product_in(&store, one, "let go", Mode { releasing: true, ..Mode::default() }).await;
    let rows = [
        due(one, "past", "loan", 30),
        due(one, "later", "loan", 50),
        due(two, "other", "lease", 20),
        due(one, "holding", "held", 5),
        due(one, "releasing", "let go", 6),
        account_row(one, "idle", "loan"),
    ];
    for row in rows {
        account(&store, row).await;
    }
    let oldest_due = async |seconds| store.overdue_work(at(seconds)).await.unwrap().oldest_due;
    assert_eq!(oldest_due(19).await, None);
    assert_eq!(oldest_due(20).await, Some(at(20)));
    assert_eq!(oldest_due(40).await, Some(at(20)));
    // An account that was given to a node is not processed yet.
    assert_eq!(store.take_due(at(40), 10, at(400)).await.unwrap().len(), 3);
    assert_eq!(oldest_due(40).await, Some(at(20)));
    written(&store, vec![account_unit(update(&account_key(two, "other"), 1, now()))]).await;
    assert_eq!(oldest_due(40).await, Some(at(30)));
    let on = Mode { version: 2, holding: true, ..Mode::default() };
    written(&store, vec![product_unit(ProductWrite::Mode(product_key(one, "loan"), on))]).await;
    assert_eq!(oldest_due(100).await, None);
}

pub async fn messages_whose_moment_has_come_are_told(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    account(&store, account_row(org, "a", "loan")).await;
    let mut cancelled = waiting("a", 1, "e1", at(10));
    cancelled.cancelled_at = Some(at(5));
    let messages = vec![(org, cancelled), (org, waiting("a", 2, "e2", at(30))), (org, waiting("a", 3, "e3", at(20)))];
    written(&store, vec![message_unit(messages)]).await;
    let oldest = async |seconds| store.overdue_work(at(seconds)).await.unwrap().oldest_unpublished;
    assert_eq!(oldest(19).await, None);
    assert_eq!(oldest(40).await, Some(at(20)));
    assert_eq!(store.publish_due(at(40), 1).await.unwrap(), 1);
    assert_eq!(oldest(40).await, Some(at(30)));
    assert_eq!(store.publish_due(at(40), 10).await.unwrap(), 1);
    assert_eq!(oldest(40).await, None);
}

pub async fn failed_accounts_are_counted_up_to_a_limit(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    assert_eq!(store.overdue_work(at(NOW)).await.unwrap(), OverdueWork::default());
    let rows = [
        held(one, "a", "loan", 2, Some("why")),
        held(two, "a", "loan", 0, Some("why")),
        held(one, "b", "loan", 3, None),
    ];
    for row in rows {
        account(&store, row).await;
    }
    assert_eq!(store.overdue_work(at(NOW)).await.unwrap().failed_accounts, 2);
    let many =
        (0..MOST_FAILED_COUNTED).map(|n| account_unit(insert(held(one, &format!("n{n}"), "loan", 0, Some("why")))));
    written(&store, many.collect()).await;
    assert_eq!(store.overdue_work(at(NOW)).await.unwrap().failed_accounts, MOST_FAILED_COUNTED.unsigned_abs());
}

pub async fn releases_under_way_are_summed(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    assert_eq!(store.releases().await.unwrap(), Releases::default());
    let releasing = |events_total| Mode { releasing: true, events_total, ..Mode::default() };
    product_in(&store, one, "loan", releasing(100)).await;
    product_in(&store, two, "loan", releasing(20)).await;
    product_in(&store, one, "held", Mode { holding: true, events_total: 7, ..Mode::default() }).await;
    product_in(&store, one, "plain", Mode::default()).await;
    let rows = [
        held(one, "a", "loan", 3, None),
        held(one, "b", "loan", 4, None),
        held(one, "done", "loan", 0, None),
        held(one, "c", "loan", 5, Some("why")),
        held(two, "d", "loan", 6, None),
        held(one, "e", "held", 1_000, None),
        held(one, "f", "plain", 0, Some("why")),
    ];
    for row in rows {
        account(&store, row).await;
    }
    let expected = Releases { products: 2, events: 120, held_events: 18, held_accounts: 3, failed_accounts: 1 };
    assert_eq!(store.releases().await.unwrap(), expected);
    let off = Mode { version: 2, ..Mode::default() };
    written(&store, vec![product_unit(ProductWrite::Mode(product_key(two, "loan"), off))]).await;
    let expected = Releases { products: 1, events: 100, held_events: 12, held_accounts: 2, failed_accounts: 1 };
    assert_eq!(store.releases().await.unwrap(), expected);
}

pub async fn room_and_schema_are_told(store: Arc<dyn Store>) {
    assert_eq!(store.schema(), store.tables().await.unwrap().at);
    let is_in_memory = store.log_size().is_none() && store.connections().is_none();
    let Some(before) = store.storage_space().await.unwrap() else { return assert!(is_in_memory) };
    assert!(!is_in_memory && before.database_bytes > 0, "{before:?}");
    if let Some(files) = before.files {
        assert!(files.free_bytes > 0 && files.disk_bytes > files.free_bytes, "{files:?}");
    }
    let org = organization(&store, "one").await;
    for part in 0..4 {
        let mut units = Vec::new();
        for n in 0..500 {
            let mut row = account_row(org, &format!("{part}-{n}"), "loan");
            row.terms = vec![7; 2_000];
            units.push(account_unit(insert(row)));
        }
        written(&store, units).await;
    }
    let after = store.storage_space().await.unwrap().unwrap();
    let grown = |storage_space: &daybook_store::monitoring::StorageSpace| {
        storage_space.database_bytes + storage_space.files.map_or(0, |files| files.log_bytes)
    };
    assert!(grown(&after) >= grown(&before) + 1_000_000, "4,000,000 bytes were written: {before:?}, {after:?}");
}

pub async fn urls_tell_why_they_are_paused(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let reasons = async || -> Vec<Option<String>> {
        store.url_metrics().await.unwrap().into_iter().map(|url| url.pause_reason).collect()
    };
    let of = subscribe(&store, org, "https://example.com/a", None).await;
    assert_eq!(reasons().await, [None]);
    pause(&store, &of, 50).await;
    assert_eq!(reasons().await, [Some("UNSUBSCRIBED".to_owned())]);
}

//! Accounts and their claims.

use super::fixtures::*;
use daybook_engine::time::Time;
use daybook_store::records::{AccountNow, AccountRow};
use daybook_store::{AccountToLoad, Inputs, Store};
use std::sync::Arc;

/// Every field set, each to a different value.
fn full_now() -> AccountNow {
    AccountNow {
        updated_at: at(41),
        state: (0..=255).collect(),
        profile: "{\"customers\":[\"ü\"]}".into(),
        processed_through: Some(at(42)),
        rolled_to: Some(at(43)),
        next_moment: Some(at(44)),
        oldest_unpaid_due: Some(at(45)),
        status: "LATE".into(),
        substatus: Some("GRACE".into()),
        next_seq: 46,
        settled_seq: 47,
        held_events: 48,
        scheduled_events: 49,
        message_seq: 50,
        failure: Some("it did not work".into()),
        balance: -12_345,
    }
}

pub async fn an_account_is_read_back_whole(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let row = AccountRow { now: full_now(), ..account_row(org, "a", "loan") };
    let key = account(&store, row.clone()).await;
    let loaded = load(&store, &key, Inputs::All).await.unwrap();
    assert_eq!(loaded.row, row);
    assert_eq!(loaded.inputs, []);
}

pub async fn an_account_with_nothing_optional_is_read_back(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let mut row = account_row(org, "a", "loan");
    row.now.state = vec![];
    row.effective_at = Time::from_micros(-1);
    row.created_at = Time::BEGINNING;
    row.now.updated_at = Time::NEVER;
    let key = account(&store, row.clone()).await;
    assert_eq!(load(&store, &key, Inputs::None).await.unwrap().row, row);
}

pub async fn an_account_is_made_once(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let key = account(&store, account_row(org, "a", "loan")).await;
    stale(&store, account_unit(insert(account_row(org, "a", "lease")))).await;
    assert_eq!(load(&store, &key, Inputs::None).await.unwrap().row, account_row(org, "a", "loan"));
}

pub async fn an_update_writes_all_that_changes(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let key = account(&store, account_row(org, "a", "loan")).await;
    let other = account(&store, account_row(org, "b", "loan")).await;
    written(&store, vec![account_unit(update(&key, 1, full_now()))]).await;
    let expected = AccountRow { version: 2, now: full_now(), ..account_row(org, "a", "loan") };
    assert_eq!(load(&store, &key, Inputs::None).await.unwrap().row, expected);
    assert_eq!(load(&store, &other, Inputs::None).await.unwrap().row, account_row(org, "b", "loan"));
    written(&store, vec![account_unit(update(&key, 2, now()))]).await;
    let expected = AccountRow { version: 3, now: now(), ..account_row(org, "a", "loan") };
    assert_eq!(load(&store, &key, Inputs::None).await.unwrap().row, expected);
}

pub async fn an_update_of_another_version_is_stale(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let key = account(&store, account_row(org, "a", "loan")).await;
    written(&store, vec![account_unit(update(&key, 1, now()))]).await;
    for version in [0, 1, 3] {
        stale(&store, account_unit(update(&key, version, full_now()))).await;
    }
    let expected = AccountRow { version: 2, ..account_row(org, "a", "loan") };
    assert_eq!(load(&store, &key, Inputs::None).await.unwrap().row, expected);
}

pub async fn an_update_of_a_missing_account_is_stale(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    stale(&store, account_unit(update(&account_key(org, "a"), 1, now()))).await;
    assert!(load(&store, &account_key(org, "a"), Inputs::None).await.is_none());
}

pub async fn accounts_load_in_the_order_asked(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for id in ["a", "b", "c"] {
        let mut write = insert(account_row(org, id, "loan"));
        write.inputs = vec![input(1, &format!("of {id}"))];
        written(&store, vec![account_unit(write)]).await;
    }
    let want = |id: &str, inputs| AccountToLoad { key: account_key(org, id), inputs, names: vec![] };
    let wanted = [
        want("c", Inputs::All),
        want("none", Inputs::All),
        want("a", Inputs::None),
        want("b", Inputs::Pending),
        want("c", Inputs::None),
    ];
    let loaded = store.load(&wanted).await.unwrap();
    let seen: Vec<_> = loaded
        .iter()
        .map(|loaded| loaded.as_ref().map(|loaded| (&*loaded.row.key.account, loaded.inputs.len())))
        .collect();
    assert_eq!(seen, [Some(("c", 1)), None, Some(("a", 0)), Some(("b", 1)), Some(("c", 0))]);
    assert_eq!(&*loaded[0].as_ref().unwrap().inputs[0].name, "of c");
    assert!(store.load(&[]).await.unwrap().is_empty());
}

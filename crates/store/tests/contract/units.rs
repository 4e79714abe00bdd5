//! A unit is written completely or not at all, and does not affect others.

use super::fixtures::*;
use daybook_store::batch::Claimed::{Stale, Written};
use daybook_store::batch::{CustomerWrite, ItemChange, Unit};
use daybook_store::records::{AccountKey, OrgId};
use daybook_store::{Inputs, Store};
use std::sync::Arc;

/// A unit with every kind of row that an account can have.
fn everything(key: &AccountKey, version: i64) -> Unit {
    let AccountKey { org, account } = key;
    let mut changed = now();
    changed.status = "CHANGED".into();
    let mut write = update(key, version, changed);
    write.inputs = vec![input(5, "new")];
    write.removed_inputs = vec![1];
    write.items = vec![item("new")];
    write.item_changes = vec![ItemChange {
        item_id: "old".into(),
        balance: Some(1),
        status: None,
        void: false,
        reversed_by: None,
        updated_at: at(999),
    }];
    write.customers = Some(vec![("y".into(), "PRIMARY".into())]);
    write.publish_until = Some(at(10));
    Unit {
        answers: vec![new_answer(*org, &format!("key of {account}"), at(1), at(1_000))],
        accounts: vec![write],
        messages: vec![
            (*org, message(Some(account), 2, &format!("{account} now"))),
            (*org, waiting(account, 3, &format!("{account} later"), at(2_000))),
        ],
        ..Unit::default()
    }
}

/// An account with one row of each kind, and a waiting message.
async fn furnished(store: &Arc<dyn Store>, org: OrgId, id: &str) -> AccountKey {
    let mut write = insert(account_row(org, id, "loan"));
    write.inputs = vec![input(1, "old")];
    write.items = vec![item("old")];
    write.customers = Some(vec![("x".into(), "PRIMARY".into())]);
    let mut unit = account_unit(write);
    unit.messages = vec![(org, waiting(id, 1, &format!("{id} waited"), at(10)))];
    written(store, vec![unit]).await;
    account_key(org, id)
}

/// All that can be read of an account, as text.
async fn seen(store: &Arc<dyn Store>, key: &AccountKey) -> String {
    let loaded = load(store, key, Inputs::All).await.unwrap();
    let inputs: Vec<_> = loaded.inputs.iter().map(|input| &*input.name).collect();
    let items = store.items(key).await.unwrap();
    let items: Vec<_> = items.iter().map(|item| format!("{}={}", item.item_id, item.balance)).collect();
    let messages = store.messages_of(key, 0, 100).await.unwrap();
    let messages: Vec<_> = messages.iter().map(|message| &*message.event_id).collect();
    let mut customers = Vec::new();
    for customer in ["x", "y"] {
        let accounts = store.customer_accounts(key.org, customer, 100).await.unwrap();
        customers.extend(accounts.iter().any(|(account, _)| *account == key.account).then_some(customer));
    }
    let answer = store.answer(key.org, &format!("key of {}", key.account), at(2)).await.unwrap().is_some();
    let (version, status) = (loaded.row.version, loaded.row.now.status);
    format!("{version} {status} {inputs:?} {items:?} {messages:?} {customers:?} {answer}")
}

fn untouched(id: &str) -> String {
    format!("1 ACTIVE [\"old\"] [\"old=9000\"] [\"{id} waited\"] [\"x\"] false")
}

fn changed(id: &str) -> String {
    format!(
        "2 CHANGED [\"new\"] [\"new=9000\", \"old=1\"] [\"{id} waited\", \"{id} now\", \"{id} later\"] [\"y\"] true"
    )
}

pub async fn units_stand_or_fall_by_themselves(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let (a, b, c) =
        (furnished(&store, org, "a").await, furnished(&store, org, "b").await, furnished(&store, org, "c").await);
    let claimed = commit(&store, vec![everything(&c, 1), everything(&b, 7), everything(&a, 1)]).await;
    assert_eq!(claimed, [Written, Stale, Written]);
    assert_eq!(seen(&store, &a).await, changed("a"));
    assert_eq!(seen(&store, &b).await, untouched("b"));
    assert_eq!(seen(&store, &c).await, changed("c"));
    // No gap in place of the stale unit's messages.
    let expected = [(1, "c waited"), (2, "c now"), (3, "a waited"), (4, "a now")];
    assert_eq!(log(&store, org).await, expected.map(|(position, id)| (position, id.to_owned())));
    // A stale unit is written when it is computed again.
    written(&store, vec![everything(&b, 1)]).await;
    assert_eq!(seen(&store, &b).await, changed("b"));
    assert_eq!(log(&store, org).await.last().unwrap().0, 6);
}

pub async fn a_stale_unit_leaves_nothing(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let a = furnished(&store, org, "a").await;
    product(&store, product_row(org, "loan")).await;
    let wrong_version = everything(&a, 2);
    let mut wrong_mode = everything(&a, 1);
    wrong_mode.modes = vec![(product_key(org, "loan"), 2)];
    stale(&store, wrong_version).await;
    stale(&store, wrong_mode).await;
    assert_eq!(seen(&store, &a).await, untouched("a"));
    assert_eq!(log(&store, org).await, []);
    assert_eq!(store.publish_due(at(5_000), 10).await.unwrap(), 1, "only what waited before");
}

pub async fn a_unit_with_two_accounts_is_all_or_nothing(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let (a, b) = (furnished(&store, org, "a").await, furnished(&store, org, "b").await);
    for (version_a, version_b) in [(1, 7), (7, 1)] {
        let mut unit = everything(&a, version_a);
        let second = everything(&b, version_b);
        unit.accounts.extend(second.accounts);
        unit.messages.extend(second.messages);
        unit.answers.extend(second.answers);
        stale(&store, unit).await;
        assert_eq!(seen(&store, &a).await, untouched("a"));
        assert_eq!(seen(&store, &b).await, untouched("b"));
        assert_eq!(log(&store, org).await, []);
    }
    let mut unit = everything(&a, 1);
    let second = everything(&b, 1);
    unit.accounts.extend(second.accounts);
    unit.messages.extend(second.messages);
    unit.answers.extend(second.answers);
    written(&store, vec![unit]).await;
    assert_eq!(seen(&store, &a).await, changed("a"));
    assert_eq!(seen(&store, &b).await, changed("b"));
}

pub async fn a_unit_with_customer_and_accounts_is_all_or_nothing(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let a = furnished(&store, org, "a").await;
    let unit = |version, customer: &str| {
        let mut unit = everything(&a, version);
        unit.customers = vec![CustomerWrite::Insert(Box::new(customer_row(org, customer)))];
        unit
    };
    stale(&store, unit(7, "y")).await;
    assert_eq!(store.customer(org, "y").await.unwrap(), None);
    let customers = vec![CustomerWrite::Insert(Box::new(customer_row(org, "taken")))];
    written(&store, vec![Unit { customers, ..Unit::default() }]).await;
    stale(&store, unit(1, "taken")).await;
    assert_eq!(seen(&store, &a).await, untouched("a"));
    written(&store, vec![unit(1, "y")]).await;
    assert_eq!(store.customer(org, "y").await.unwrap(), Some(customer_row(org, "y")));
    assert_eq!(seen(&store, &a).await, changed("a"));
}

pub async fn an_empty_batch_is_fine(store: Arc<dyn Store>) {
    assert_eq!(commit(&store, vec![]).await, []);
    assert_eq!(commit(&store, vec![Unit::default()]).await, [Written]);
}

/// A batch as large as those of a release, in one transaction.
pub async fn a_large_batch_is_written(store: Arc<dyn Store>) {
    const ACCOUNTS: usize = 500;
    let org = organization(&store, "one").await;
    let units = |rows: bool| {
        (0..ACCOUNTS).map(move |n| {
            let id = format!("account-{n:04}");
            let mut write = insert(account_row(org, &id, "loan"));
            let mut unit = Unit::default();
            if rows {
                write = update(&account_key(org, &id), 1, now());
                write.inputs = (1..=10).map(|seq| input(seq, &format!("p{seq}"))).collect();
                write.items = (0..20).map(|n| item(&format!("i{n}"))).collect();
                unit.messages = (1..=30).map(|n| (org, message(Some(&id), n, &format!("{id}-{n}")))).collect();
            }
            unit.accounts = vec![write];
            unit
        })
    };
    written(&store, units(false).collect()).await;
    written(&store, units(true).collect()).await;
    let last = account_key(org, "account-0499");
    assert_eq!(load(&store, &last, Inputs::All).await.unwrap().inputs.len(), 10);
    assert_eq!(store.items(&last).await.unwrap().len(), 20);
    let messages = store.messages(org, 30 * ACCOUNTS as i64 - 1, 10).await.unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].event_id, "account-0499-30");
}

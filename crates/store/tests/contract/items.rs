//! Line items.

use super::fixtures::*;
use daybook_store::Store;
use daybook_store::batch::ItemChange;
use daybook_store::records::{AccountKey, ItemRow};
use std::sync::Arc;

async fn with_items(store: &Arc<dyn Store>, items: Vec<ItemRow>) -> AccountKey {
    let org = organization(store, "one").await;
    let mut write = insert(account_row(org, "a", "loan"));
    write.items = items;
    written(store, vec![account_unit(write)]).await;
    account_key(org, "a")
}

fn change(item_id: &str) -> ItemChange {
    ItemChange {
        item_id: item_id.into(),
        balance: None,
        status: None,
        void: false,
        reversed_by: None,
        updated_at: at(900),
    }
}

pub async fn items_are_read_back_by_id(store: Arc<dyn Store>) {
    let mut plain = item("a");
    plain.extra = None;
    plain.splits = vec![];
    plain.amount = i64::MIN;
    plain.balance = i64::MAX;
    let key = with_items(&store, vec![item("c"), plain.clone(), item("b")]).await;
    assert_eq!(store.items(&key).await.unwrap(), [plain, item("b"), item("c")]);
    assert_eq!(store.items(&account_key(key.org, "none")).await.unwrap(), []);
}

pub async fn an_item_made_anew_keeps_its_creation(store: Arc<dyn Store>) {
    let key = with_items(&store, vec![item("a"), item("b")]).await;
    let anew = ItemRow {
        item_id: "a".into(),
        kind: "FEE".into(),
        status: "VOID".into(),
        effective_at: at(800),
        applied_at: at(801),
        created_at: at(802),
        updated_at: at(803),
        amount: 1,
        balance: 2,
        principal: 3,
        interest: 4,
        fees: 5,
        splits: vec![6],
        extra: None,
        reversed_by: Some("r".into()),
        reason: Some("CAPITALIZED".into()),
    };
    let mut write = update(&key, 1, now());
    write.items = vec![anew.clone()];
    written(&store, vec![account_unit(write)]).await;
    let expected = ItemRow { created_at: item("a").created_at, ..anew };
    assert_eq!(store.items(&key).await.unwrap(), [expected, item("b")]);
}

pub async fn a_change_touches_only_what_it_says(store: Arc<dyn Store>) {
    let key = with_items(&store, vec![item("a"), item("b"), item("c"), item("d"), item("e")]).await;
    let mut write = update(&key, 1, now());
    write.item_changes = vec![
        ItemChange { balance: Some(0), ..change("a") },
        ItemChange { status: Some("SETTLED"), ..change("b") },
        ItemChange { balance: Some(-7), status: Some("SETTLED"), ..change("c") },
        ItemChange { reversed_by: Some("r".into()), ..change("e") },
        ItemChange { balance: Some(1), ..change("none") },
    ];
    written(&store, vec![account_unit(write)]).await;
    let expected = [
        ItemRow { balance: 0, updated_at: at(900), ..item("a") },
        ItemRow { status: "SETTLED".into(), updated_at: at(900), ..item("b") },
        ItemRow { balance: -7, status: "SETTLED".into(), updated_at: at(900), ..item("c") },
        item("d"),
        ItemRow { reversed_by: Some("r".into()), updated_at: at(900), ..item("e") },
    ];
    assert_eq!(store.items(&key).await.unwrap(), expected);
}

pub async fn a_void_wipes_amounts_but_the_whole(store: Arc<dyn Store>) {
    let key = with_items(&store, vec![item("a"), item("b")]).await;
    let mut write = update(&key, 1, now());
    write.item_changes =
        vec![ItemChange { void: true, status: Some("VOID"), ..change("a") }, ItemChange { void: true, ..change("b") }];
    written(&store, vec![account_unit(write)]).await;
    let wiped = |id: &str, status: &str| ItemRow {
        status: status.into(),
        balance: 0,
        principal: 0,
        interest: 0,
        fees: 0,
        splits: vec![],
        updated_at: at(900),
        ..item(id)
    };
    assert_eq!(store.items(&key).await.unwrap(), [wiped("a", "VOID"), wiped("b", "POSTED")]);
}

pub async fn items_are_picked_by_id(store: Arc<dyn Store>) {
    let key = with_items(&store, ["a", "b", "c"].map(item).to_vec()).await;
    let ids = ["c", "none", "a", "c"].map(Arc::from);
    assert_eq!(store.items_by_id(&key, &ids).await.unwrap(), [item("a"), item("c")]);
    assert_eq!(store.items_by_id(&key, &[]).await.unwrap(), []);
}

//! Organizations never see each other.

use super::fixtures::*;
use daybook_store::batch::{CustomerWrite, ProductWrite, Unit};
use daybook_store::records::{HeldCounts, MessageRow, OrgId, PageRequest};
use daybook_store::{AccountToLoad, Inputs, Store};
use std::sync::Arc;

/// The same ids in each organization, with different contents.
fn tenant(org: OrgId, mark: &str) -> Unit {
    let mut row = account_row(org, "a", "loan");
    row.now.status = mark.into();
    row.now.held_events = org;
    let mut write = insert(row);
    write.inputs = vec![daybook_store::records::InputRow { payload: mark.as_bytes().to_vec(), ..input(1, "in") }];
    write.items = vec![daybook_store::records::ItemRow { kind: mark.into(), ..item("li") }];
    write.customers = Some(vec![("c".into(), mark.into())]);
    let mut customer = customer_row(org, "c");
    customer.body = mark.into();
    let mut product = product_row(org, "loan");
    product.body = mark.into();
    let mut new = new_answer(org, "k", at(1), at(100));
    new.answer = answer(mark);
    let about = MessageRow { event: mark.into(), ..message(Some("a"), 1, &format!("e {mark}")) };
    Unit {
        answers: vec![new],
        accounts: vec![write],
        customers: vec![CustomerWrite::Insert(Box::new(customer))],
        products: vec![ProductWrite::Insert(Box::new(product))],
        messages: vec![(org, about)],
        ..Unit::default()
    }
}

const ALL: PageRequest = PageRequest { after: None, before: None, limit: 100 };

pub async fn the_same_ids_live_in_two_organizations(store: Arc<dyn Store>) {
    let orgs = [organization(&store, "one").await, organization(&store, "two").await];
    let marks = ["ONE", "TWO"];
    for (org, mark) in orgs.into_iter().zip(marks) {
        written(&store, vec![tenant(org, mark)]).await;
    }
    for (org, mark) in orgs.into_iter().zip(marks) {
        let key = account_key(org, "a");
        let loaded = load(&store, &key, Inputs::All).await.unwrap();
        assert_eq!((loaded.row.key.org, loaded.row.now.status.as_str()), (org, mark));
        assert_eq!(loaded.inputs.len(), 1);
        assert_eq!(loaded.inputs[0].payload, mark.as_bytes());
        let want = AccountToLoad { key: key.clone(), inputs: Inputs::None, names: vec!["in".into()] };
        let named = store.load(&[want]).await.unwrap().remove(0).unwrap().inputs;
        assert_eq!((named.len(), &*named[0].payload), (1, mark.as_bytes()));
        let items = store.items(&key).await.unwrap();
        assert_eq!((items.len(), items[0].kind.as_str()), (1, mark));
        assert_eq!(store.items_by_id(&key, &["li".into()]).await.unwrap(), items);
        assert_eq!(store.customer(org, "c").await.unwrap().unwrap().body, mark);
        assert_eq!(store.customer_accounts(org, "c", 10).await.unwrap(), [("a".into(), mark.to_owned())]);
        assert_eq!(store.product(&product_key(org, "loan")).await.unwrap().unwrap().body, mark);
        assert_eq!(store.answer(org, "k", at(1)).await.unwrap(), Some(answer(mark)));
        assert_eq!(store.held_counts(&product_key(org, "loan")).await.unwrap().events, org);
        for messages in [store.messages(org, 0, 10).await.unwrap(), store.messages_of(&key, 0, 10).await.unwrap()] {
            assert_eq!((messages.len(), messages[0].event.as_str(), messages[0].position), (1, mark, Some(1)));
        }
        assert_eq!(store.products(org, &ALL).await.unwrap().len(), 1);
        assert_eq!(store.customers(org, &ALL).await.unwrap().len(), 1);
        assert_eq!(store.accounts(org, &ALL).await.unwrap().len(), 1);
    }
    // Writing to one does not affect the other.
    let mut write = update(&account_key(orgs[0], "a"), 1, now());
    write.removed_inputs = vec![1];
    write.customers = Some(vec![]);
    written(&store, vec![account_unit(write)]).await;
    let other = load(&store, &account_key(orgs[1], "a"), Inputs::All).await.unwrap();
    assert_eq!((other.row.version, other.inputs.len()), (1, 1));
    assert_eq!(store.customer_accounts(orgs[1], "c", 10).await.unwrap().len(), 1);
}

pub async fn an_unknown_organization_has_nothing(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![tenant(org, "ONE")]).await;
    for nobody in [org + 1, 0, -1, i64::MAX, i64::MIN] {
        assert_eq!(store.keys(nobody).await.unwrap(), []);
        assert_eq!(store.products(nobody, &ALL).await.unwrap(), []);
        assert_eq!(store.customers(nobody, &ALL).await.unwrap(), []);
        assert_eq!(store.accounts(nobody, &ALL).await.unwrap(), []);
        assert_eq!(store.messages(nobody, 0, 10).await.unwrap(), []);
        assert_eq!(store.answer(nobody, "k", at(1)).await.unwrap(), None);
        assert_eq!(store.customers_exist(nobody, &["c".into()]).await.unwrap(), [false]);
        assert_eq!(store.held_counts(&product_key(nobody, "loan")).await.unwrap(), HeldCounts::default());
        assert!(load(&store, &account_key(nobody, "a"), Inputs::All).await.is_none());
        assert_eq!(store.items(&account_key(nobody, "a")).await.unwrap(), []);
    }
}

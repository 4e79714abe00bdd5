//! Customers, and their accounts.

use super::fixtures::*;
use daybook_store::Store;
use daybook_store::batch::{CustomerWrite, Unit};
use daybook_store::records::CustomerRow;
use std::sync::Arc;

fn made(row: CustomerRow) -> Unit {
    Unit { customers: vec![CustomerWrite::Insert(Box::new(row))], ..Unit::default() }
}

fn changed(row: CustomerRow) -> Unit {
    Unit { customers: vec![CustomerWrite::Update(Box::new(row))], ..Unit::default() }
}

pub async fn a_customer_is_read_back(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let (sealed, mut open) = (customer_row(org, "a"), customer_row(org, "b"));
    open.sealed = None;
    written(&store, vec![made(sealed.clone()), made(open.clone())]).await;
    assert_eq!(store.customer(org, "a").await.unwrap(), Some(sealed));
    assert_eq!(store.customer(org, "b").await.unwrap(), Some(open));
    assert_eq!(store.customer(org, "c").await.unwrap(), None);
}

pub async fn a_customer_is_made_once(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![made(customer_row(org, "a"))]).await;
    let again = CustomerRow { body: "{\"other\":1}".into(), ..customer_row(org, "a") };
    stale(&store, made(again)).await;
    assert_eq!(store.customer(org, "a").await.unwrap(), Some(customer_row(org, "a")));
}

pub async fn a_customer_follows_its_version(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![made(customer_row(org, "a"))]).await;
    for version in [1, 3] {
        stale(&store, changed(CustomerRow { version, body: "{}".into(), ..customer_row(org, "a") })).await;
    }
    assert_eq!(store.customer(org, "a").await.unwrap(), Some(customer_row(org, "a")));
    let next = CustomerRow {
        version: 2,
        body: "{\"name\":\"ä\"}".into(),
        sealed: None,
        updated_at: at(99),
        ..customer_row(org, "a")
    };
    written(&store, vec![changed(next.clone())]).await;
    assert_eq!(store.customer(org, "a").await.unwrap(), Some(next));
    stale(&store, changed(CustomerRow { version: 2, ..customer_row(org, "none") })).await;
}

pub async fn existence_is_answered_in_order(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![made(customer_row(org, "a")), made(customer_row(org, "b"))]).await;
    let ids: Vec<Arc<str>> = ["b", "none", "a", "b"].map(Arc::from).to_vec();
    assert_eq!(store.customers_exist(org, &ids).await.unwrap(), [true, false, true, true]);
    assert_eq!(store.customers_exist(org, &[]).await.unwrap(), [false; 0]);
}

fn roles(list: &[(&str, &str)]) -> Vec<(Arc<str>, String)> {
    list.iter().map(|(id, role)| (Arc::from(*id), (*role).to_owned())).collect()
}

pub async fn accounts_of_a_customer_follow_the_accounts_list(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for (id, customers) in [("2", vec![("x", "PRIMARY"), ("y", "SECONDARY")]), ("1", vec![("y", "PRIMARY")])] {
        let mut write = insert(account_row(org, id, "loan"));
        write.customers = Some(roles(&customers));
        written(&store, vec![account_unit(write)]).await;
    }
    let of = async |customer: &str, limit| store.customer_accounts(org, customer, limit).await.unwrap();
    assert_eq!(of("y", 10).await, roles(&[("1", "PRIMARY"), ("2", "SECONDARY")]));
    assert_eq!(of("y", 1).await, roles(&[("1", "PRIMARY")]));
    assert_eq!(of("x", 10).await, roles(&[("2", "PRIMARY")]));

    // Without a list, nothing changes. A list replaces the previous one.
    written(&store, vec![account_unit(update(&account_key(org, "2"), 1, now()))]).await;
    assert_eq!(of("x", 10).await, roles(&[("2", "PRIMARY")]));
    let mut write = update(&account_key(org, "2"), 2, now());
    write.customers = Some(roles(&[("z", "PRIMARY"), ("y", "OTHER")]));
    written(&store, vec![account_unit(write)]).await;
    assert_eq!(of("x", 10).await, []);
    assert_eq!(of("z", 10).await, roles(&[("2", "PRIMARY")]));
    assert_eq!(of("y", 10).await, roles(&[("1", "PRIMARY"), ("2", "OTHER")]));
    let mut write = update(&account_key(org, "2"), 3, now());
    write.customers = Some(vec![]);
    written(&store, vec![account_unit(write)]).await;
    assert_eq!(of("y", 10).await, roles(&[("1", "PRIMARY")]));
}

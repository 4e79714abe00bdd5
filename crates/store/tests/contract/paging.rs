//! Lists in pages.

use super::fixtures::*;
use daybook_store::Store;
use daybook_store::batch::{CustomerWrite, Unit};
use daybook_store::records::{AccountFilter, Page};
use std::sync::Arc;

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

fn page(after: Option<&str>, before: Option<&str>, limit: usize) -> Page {
    Page { after: after.map(Arc::from), before: before.map(Arc::from), limit }
}

/// Pages of a list of `IDS`, and what they hold.
fn cases() -> Vec<(Page, &'static str)> {
    vec![
        (page(None, None, 10), "abcde"),
        (page(None, None, 2), "ab"),
        (page(Some("b"), None, 2), "cd"),
        (page(Some("d"), None, 2), "e"),
        (page(Some("e"), None, 2), ""),
        (page(Some("bb"), None, 2), "cd"),
        (page(None, Some("d"), 2), "bc"),
        (page(None, Some("b"), 2), "a"),
        (page(None, Some("a"), 2), ""),
        (page(Some("a"), Some("e"), 10), "bcd"),
        (page(Some("a"), Some("e"), 2), "cd"),
        (page(None, None, 0), ""),
    ]
}

pub async fn pages_of_products(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for id in IDS.iter().rev() {
        product(&store, product_row(org, id)).await;
    }
    for (page, expected) in cases() {
        let found = store.products(org, &page).await.unwrap();
        let ids: String = found.iter().map(|row| &*row.key.product).collect();
        assert_eq!(ids, expected, "{page:?}");
    }
}

pub async fn pages_of_customers(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for id in IDS.iter().rev() {
        let customers = vec![CustomerWrite::Insert(Box::new(customer_row(org, id)))];
        written(&store, vec![Unit { customers, ..Unit::default() }]).await;
    }
    for (page, expected) in cases() {
        let found = store.customers(org, &page).await.unwrap();
        let ids: String = found.iter().map(|row| &*row.customer_id).collect();
        assert_eq!(ids, expected, "{page:?}");
    }
}

pub async fn pages_of_accounts(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for id in IDS.iter().rev() {
        account(&store, account_row(org, id, "loan")).await;
    }
    for (page, expected) in cases() {
        let found = store.accounts(org, &AccountFilter::default(), &page).await.unwrap();
        let ids: String = found.iter().map(|row| &*row.key.account).collect();
        assert_eq!(ids, expected, "{page:?}");
    }
}

pub async fn accounts_by_product_and_status(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for (id, of, status) in [
        ("a", "loan", "ACTIVE"),
        ("b", "lease", "ACTIVE"),
        ("c", "loan", "CLOSED"),
        ("d", "loan", "ACTIVE"),
        ("e", "lease", "CLOSED"),
        ("f", "loan", "ACTIVE"),
    ] {
        let mut row = account_row(org, id, of);
        row.now.status = status.into();
        account(&store, row).await;
    }
    for (product, status, page, expected) in [
        (Some("loan"), None, page(None, None, 10), "acdf"),
        (None, Some("CLOSED"), page(None, None, 10), "ce"),
        (Some("loan"), Some("ACTIVE"), page(None, None, 10), "adf"),
        (Some("loan"), Some("ACTIVE"), page(Some("a"), None, 1), "d"),
        (Some("loan"), Some("ACTIVE"), page(None, Some("f"), 1), "d"),
        (Some("none"), None, page(None, None, 10), ""),
        (None, Some("NONE"), page(None, None, 10), ""),
    ] {
        let filter = AccountFilter { product: product.map(Arc::from), status: status.map(str::to_owned) };
        let found = store.accounts(org, &filter, &page).await.unwrap();
        let ids: String = found.iter().map(|row| &*row.key.account).collect();
        assert_eq!(ids, expected, "{filter:?} {page:?}");
    }
}

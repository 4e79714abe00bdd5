//! Lists in pages.

use super::fixtures::*;
use daybook_store::Store;
use daybook_store::batch::{CustomerWrite, Unit};
use daybook_store::figures::AccountSearch;
use daybook_store::records::Page;
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
        let found = store.accounts(org, &page).await.unwrap();
        let ids: String = found.iter().map(|row| &*row.key.account).collect();
        assert_eq!(ids, expected, "{page:?}");
    }
}

pub async fn accounts_by_product_and_status(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    for (id, of, status, substatus) in [
        ("a", "loan", "ACTIVE", None),
        ("b", "lease", "ACTIVE", Some("PROMOTION")),
        ("c", "loan", "CLOSED", Some("PAID_OFF")),
        ("d", "loan", "ACTIVE", Some("PROMOTION")),
        ("e", "lease", "CLOSED", Some("CHARGE_OFF")),
        ("f", "loan", "ACTIVE", None),
        ("g", "loan", "CLOSED", Some("CHARGE_OFF")),
        ("h", "loan", "CLOSED", Some("CHARGE_OFF")),
    ] {
        for org in [org, other] {
            let mut row = account_row(org, id, of);
            row.now.status = status.into();
            row.now.substatus = substatus.map(str::to_owned);
            account(&store, row).await;
        }
    }
    for (product, status, substatus, page, expected) in [
        (Some("loan"), None, None, page(None, None, 10), "acdfgh"),
        (Some("loan"), None, None, page(Some("c"), None, 2), "df"),
        (Some("loan"), None, None, page(Some("a"), Some("g"), 2), "df"),
        (None, Some("CLOSED"), None, page(None, None, 10), "cegh"),
        (None, Some("CLOSED"), None, page(Some("c"), None, 2), "eg"),
        (None, Some("CLOSED"), None, page(None, Some("h"), 2), "eg"),
        (Some("loan"), Some("ACTIVE"), None, page(None, None, 10), "adf"),
        (Some("loan"), Some("ACTIVE"), None, page(Some("a"), None, 1), "d"),
        (Some("loan"), Some("ACTIVE"), None, page(None, Some("f"), 1), "d"),
        (Some("lease"), Some("CLOSED"), None, page(None, None, 10), "e"),
        (None, Some("CLOSED"), Some("CHARGE_OFF"), page(None, None, 10), "egh"),
        (None, Some("CLOSED"), Some("CHARGE_OFF"), page(Some("e"), None, 1), "g"),
        (None, Some("CLOSED"), Some("CHARGE_OFF"), page(None, Some("h"), 1), "g"),
        (Some("loan"), Some("CLOSED"), Some("CHARGE_OFF"), page(None, None, 10), "gh"),
        (None, None, Some("PROMOTION"), page(None, None, 10), "bd"),
        (Some("none"), None, None, page(None, None, 10), ""),
        (None, Some("NONE"), None, page(None, None, 10), ""),
        (None, Some("ACTIVE"), Some("CHARGE_OFF"), page(None, None, 10), ""),
    ] {
        let search = AccountSearch {
            product: product.map(Arc::from),
            status: status.map(str::to_owned),
            substatus: substatus.map(str::to_owned),
            not_status: None,
            text: None,
            due_by: None,
            due_from: None,
            now: at(1_000),
        };
        let found = store.search_accounts(org, &search, &page).await.unwrap();
        let ids: String = found.iter().map(|found| &*found.account).collect();
        assert_eq!(ids, expected, "{search:?} {page:?}");
    }
}

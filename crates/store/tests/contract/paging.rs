//! Lists in pages.

use super::fixtures::*;
use daybook_engine::time::Time;
use daybook_store::Store;
use daybook_store::batch::{CustomerWrite, Unit};
use daybook_store::portfolio_queries::AccountSearch;
use daybook_store::records::PageRequest;
use std::sync::Arc;

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

fn page(after: Option<&str>, before: Option<&str>, limit: usize) -> PageRequest {
    PageRequest { after: after.map(Arc::from), before: before.map(Arc::from), limit }
}

/// Pages of a list of `IDS`, and the ids they hold.
fn cases() -> Vec<(PageRequest, &'static str)> {
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
            ..everything()
        };
        let found = store.search_accounts(org, &search, &page).await.unwrap();
        let ids: String = found.iter().map(|found| &*found.account).collect();
        assert_eq!(ids, expected, "{search:?} {page:?}");
    }
}

/// If many accounts match, lists use other indexes, and give the same result.
pub async fn lists_of_many_accounts(store: Arc<dyn Store>) {
    const MANY: usize = 2_300;
    let org = organization(&store, "one").await;
    let id = |number: usize| format!("a{number:04}");
    let of = |number: usize| {
        (if number.is_multiple_of(3) { "lease" } else { "loan" }, if number % 20 == 7 { "ACTIVE" } else { "CLOSED" })
    };
    let why = |number: usize| if number % 100 == 9 { "CHARGE_OFF" } else { "PAID_OFF" };
    let due = |number: usize| (number % 10 != 4).then(|| at(100 + i64::from(number % 50 == 7)));
    let mut units = Vec::new();
    for number in 0..MANY {
        let mut row = account_row(org, &id(number), of(number).0);
        row.now.status = of(number).1.into();
        row.now.substatus = Some(why(number).to_owned());
        row.now.oldest_unpaid_due = due(number);
        units.push(account_unit(insert(row)));
    }
    written(&store, units).await;
    let late = |by: i64, from: Option<i64>| (Some(at(by)), from.map(at));
    for (product, status, substatus, (due_by, due_from)) in [
        (None, Some("CLOSED"), Some("PAID_OFF"), (None, None)),
        (None, Some("CLOSED"), Some("CHARGE_OFF"), (None, None)),
        (Some("lease"), Some("CLOSED"), None, (None, None)),
        (Some("lease"), Some("CLOSED"), Some("PAID_OFF"), (None, None)),
        (None, None, None, late(200, None)),
        (None, None, None, late(100, None)),
        (None, None, None, late(200, Some(101))),
        (None, None, None, late(100, Some(50))),
        (Some("loan"), None, None, late(200, None)),
        (Some("loan"), Some("ACTIVE"), None, late(200, Some(101))),
        (None, Some("CLOSED"), Some("CHARGE_OFF"), late(200, None)),
    ] {
        let fits = |number: &usize| {
            let lateness = |bound: Option<Time>, is_fine: fn(&Time, &Time) -> bool| {
                bound.is_none_or(|bound| due(*number).is_some_and(|due| is_fine(&due, &bound)))
            };
            product.is_none_or(|product| product == of(*number).0)
                && status.is_none_or(|status| status == of(*number).1)
                && substatus.is_none_or(|substatus| substatus == why(*number))
                && lateness(due_by, Time::le)
                && lateness(due_from, Time::ge)
        };
        let all: Vec<String> = (0..MANY).filter(fits).map(id).collect();
        let search = AccountSearch {
            product: product.map(Arc::from),
            status: status.map(str::to_owned),
            substatus: substatus.map(str::to_owned),
            due_by,
            due_from,
            ..everything()
        };
        let found = async |page: PageRequest| -> Vec<String> {
            let found = store.search_accounts(org, &search, &page).await.unwrap();
            found.into_iter().map(|found| found.account.to_string()).collect()
        };
        let middle = all.len() / 2;
        assert!(all.len() > 8, "{search:?}");
        assert_eq!(found(page(None, None, MANY)).await, all, "{search:?}");
        assert_eq!(found(page(Some(&all[middle]), None, 3)).await, all[middle + 1..middle + 4], "{search:?}");
        assert_eq!(found(page(None, Some(&all[middle]), 3)).await, all[middle - 3..middle], "{search:?}");
    }
}

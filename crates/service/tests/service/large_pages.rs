//! Lists of large customers and accounts: a page ends early when it is large, and no entry is lost.

use crate::support::{Home, Trial, form_of, json_of, on_both};
use daybook_service::paging::Paging;
use daybook_service::problem::Problem;
use daybook_service::view::{Page, render};
use daybook_service::{AccountQuery, CustomerQuery};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

on_both!(large_pages_end_early);

const NOW: &str = "2026-04-01T12:00:00-04:00";
/// How many customers and accounts there are. Each has more than 100,000 bytes of external fields.
const COUNT: usize = 42;
/// The largest page that ends early: 4 MiB, and the entry with which it got there.
const LARGEST: usize = (4 << 20) + 200_000;

/// Goes through a list, forwards or backwards, and returns the number of entries of each page and all ids.
async fn walk<F, T>(backwards: bool, id: &str, page_at: impl Fn(Paging) -> F) -> (Vec<usize>, BTreeSet<String>)
where
    F: Future<Output = Result<Page<T>, Problem>>,
    T: Serialize,
{
    let (mut lengths, mut ids) = (Vec::new(), BTreeSet::new());
    // "zzzz" sorts after all ids.
    let mut mark = backwards.then(|| "enp6eg".to_owned());
    loop {
        let (after, before) = if backwards { (None, mark.as_deref()) } else { (mark.as_deref(), None) };
        let shown = page_at(Paging::read(Some("200"), after, before).expect("the marks are right")).await;
        let shown = shown.map(|page| render(&page));
        assert!(shown.as_ref().is_ok_and(|page| page.len() < LARGEST), "a page is too large");
        let page = json_of(shown);
        let results = page["results"].as_array().expect("a list");
        lengths.push(results.len());
        for entry in results {
            let id = entry[id].as_str().expect("an id").to_owned();
            assert!(ids.insert(id), "an entry is on two pages");
        }
        if page["paging"]["has_more"] != true {
            return (lengths, ids);
        }
        mark = page["paging"][if backwards { "ending_before" } else { "starting_after" }].as_str().map(str::to_owned);
    }
}

async fn large_pages_end_early(home: Home) {
    let trial = Trial::at(home, NOW).await;
    trial.product("auto-12", json!({})).await;
    let fields: Vec<Value> =
        (0..100).map(|number| json!({"key": format!("note_{number}"), "value": "n".repeat(1_000)})).collect();
    for number in 0..COUNT {
        let id = format!("c-{number:02}");
        let customer = json!({"customer_id": id, "name_last": "Hopper", "external_fields": fields});
        json_of(trial.service.create_customer(&trial.who, None, form_of(&customer)).await);
        let account = json!({"product_id": "auto-12", "account_id": format!("a-{number:02}"),
            "effective_at": "2026-03-15T00:00:00-04:00", "external_fields": fields});
        trial.account_with(account).await;
    }
    let (service, who) = (&trial.service, &trial.who);
    for text in [None, Some("Hopper".to_owned())] {
        for backwards in [false, true] {
            let list = |paging| service.list_customers(who, paging, CustomerQuery { text: text.clone() });
            let (lengths, ids) = walk(backwards, "customer_id", list).await;
            assert_eq!((lengths.len(), lengths.iter().sum::<usize>(), ids.len()), (2, COUNT, COUNT), "{lengths:?}");
        }
    }
    for backwards in [false, true] {
        let list = |paging| service.list_accounts(who, paging, AccountQuery::default());
        let (lengths, ids) = walk(backwards, "account_id", list).await;
        assert_eq!((lengths.len(), lengths.iter().sum::<usize>(), ids.len()), (2, COUNT, COUNT), "{lengths:?}");
    }
}

//! A page of a long account's timeline costs only what it shows, and shows the same as the whole timeline.

use crate::support::{Home, Trial, form_of, json_of, list, on_both, view_of};
use daybook_service::changes::ChangeRequest;
use daybook_service::paging::Paging;
use serde_json::{Value, json};

on_both!(
    the_first_page_is_the_beginning_of_the_whole,
    many_payments_can_be_verified,
    a_record_that_arrived_last_is_on_the_first_page,
    scheduled_payments_keep_their_webhooks_on_the_first_page,
    a_long_account_can_be_read_and_verified,
);

/// Thirty payments on an account that was created in March; one bounced and one is scheduled.
async fn lived(trial: &Trial, product: &str, account: &str) {
    trial.account(product, account, "2026-03-15T00:00:00-04:00").await;
    for number in 0..30 {
        let at = format!("2026-04-01T12:00:{number:02}-04:00");
        json_of(trial.pay(account, &format!("p{number}"), 500 + number, &at).await);
    }
    json_of(trial.reverse(account, "p3", &json!({})).await);
    json_of(trial.pay(account, "ahead", 700, "2026-09-01T12:00:00-04:00").await);
}

async fn first(trial: &Trial, account: &str, limit: usize) -> (Vec<Value>, Value) {
    let paging = Paging { limit, ..Paging::default() };
    let page = view_of(trial.service.list_account_events(&trial.who, account, paging).await);
    let mark = page["paging"].clone();
    (list(page), mark)
}

/// The same as [`first`], but from the whole timeline: a page before another one.
async fn first_of_whole(trial: &Trial, account: &str, limit: usize) -> Vec<Value> {
    let (_, mark) = first(trial, account, limit + 1).await;
    let limit = limit.to_string();
    let before = Paging::read(Some(&limit), None, mark["starting_after"].as_str()).expect("a mark");
    list(view_of(trial.service.list_account_events(&trial.who, account, before).await))
}

async fn the_first_page_is_the_beginning_of_the_whole(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:01:00-04:00").await;
    trial.product("posted", json!({ "backdating_policy": "AS_POSTED" })).await;
    trial.product("replayed", json!({ "backdating_policy": "REPLAY" })).await;
    for (product, account) in [("posted", "a1"), ("replayed", "a2")] {
        lived(&trial, product, account).await;
        trial.clock.set(crate::support::time("2026-05-20T12:00:00-04:00"));
        let whole = trial.events(account).await;
        assert!(whole.len() > 34, "{}", whole.len());
        for limit in [1, 2, 5] {
            let (page, mark) = first(&trial, account, limit).await;
            assert_eq!(page, whole[..limit], "{account}: the first {limit}");
            assert_eq!(mark["has_more"], true);
            let after = mark["starting_after"].as_str().expect("a mark");
            let next = Paging::read(Some("3"), Some(after), None).expect("the mark leads on");
            let next = list(view_of(trial.service.list_account_events(&trial.who, account, next).await));
            assert_eq!(next, whole[limit..limit + 3], "{account}: what comes after the first {limit}");
        }
        trial.settle().await;
        trial.clock.set(crate::support::time("2026-04-01T12:01:00-04:00"));
    }
    trial.clock.set(crate::support::time("2026-05-20T12:00:00-04:00"));
    trial.verify().await;
}

/// Inputs loaded backwards in migration mode: their order of arrival is not that of the timeline.
async fn many_payments_can_be_verified(home: Home) {
    let trial = Trial::at(home, "2026-06-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    for number in (0..60).rev() {
        let at = format!("2026-04-01T12:00:{number:02}-04:00");
        let body = json!({ "line_item_id": format!("p{number}"), "original_amount_cents": 100, "effective_at": at });
        json_of(trial.service.change_account(&trial.who, None, "a1", ChangeRequest::Payment(form_of(&body))).await);
    }
    let held = trial.events("a1").await;
    assert_eq!(first(&trial, "a1", 2).await.0, held[..2], "what is held");
    trial.release("auto-12").await;
    let whole = trial.events("a1").await;
    assert_eq!(first(&trial, "a1", 3).await.0, whole[..3]);
    assert_eq!((&whole[0]["event"], &whole[1]["seq"]), (&json!("account_created"), &json!(61)), "the last came first");
    json_of(trial.reverse("a1", "p7", &json!({})).await);
    trial.verify().await;
    let verified = trial.service.verify(&mut |_| {}).await.expect("it can be verified");
    assert_eq!(verified.records, 62, "each record once, but for the opening");
}

/// More records than a first page reads at first; the last to arrive is the first of the timeline.
async fn a_record_that_arrived_last_is_on_the_first_page(home: Home) {
    let trial = Trial::at(home, "2026-06-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    let pay = |name: String, at: String| {
        let (service, who) = (trial.service.clone(), trial.who.clone());
        let body = json!({ "line_item_id": name, "original_amount_cents": 1, "effective_at": at });
        tokio::spawn(async move {
            json_of(service.change_account(&who, None, "a1", ChangeRequest::Payment(form_of(&body))).await)
        })
    };
    let at_once: Vec<_> = (0..1_200)
        .map(|number| pay(format!("p{number}"), format!("2026-04-01T12:{:02}:{:02}-04:00", number / 60, number % 60)))
        .collect();
    for paid in at_once {
        paid.await.expect("it is recorded");
    }
    pay("last".to_owned(), "2026-03-20T12:00:00-04:00".to_owned()).await.expect("it is recorded");
    let held = first(&trial, "a1", 2).await.0;
    assert_eq!(held[1]["seq"], 1_202, "what is held: {held:?}");
    trial.release("auto-12").await;
    let (page, _) = first(&trial, "a1", 2).await;
    assert_eq!((&page[0]["event"], &page[1]["seq"]), (&json!("account_created"), &json!(1_202)));
    assert_eq!(page, first_of_whole(&trial, "a1", 2).await, "with its webhooks");
}

/// A scheduled payment is announced when it is recorded, long before the payments of earlier dates are processed.
async fn scheduled_payments_keep_their_webhooks_on_the_first_page(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    for day in 1..=30 {
        json_of(trial.pay("a1", &format!("p{day}"), 100, &format!("2026-05-{day:02}T12:00:00-04:00")).await);
    }
    trial.clock.set(crate::support::time("2026-06-01T12:00:00-04:00"));
    trial.settle().await;
    let (page, _) = first(&trial, "a1", 5).await;
    assert_eq!(page, first_of_whole(&trial, "a1", 5).await);
    let webhooks = page.iter().map(|event| event["webhooks"].as_array().map_or(0, Vec::len));
    assert!(webhooks.sum::<usize>() > 5, "{page:?}");
}

/// `DAYBOOK_LONG_ACCOUNT` sets the number of payments; the duration of the first page and of `verify` is printed.
async fn a_long_account_can_be_read_and_verified(home: Home) {
    let count: i64 = std::env::var("DAYBOOK_LONG_ACCOUNT").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let trial = Trial::at(home, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    for number in 0..count {
        trial.clock.set(trial.clock_now().plus_micros(60_000_000));
        let body = json!({ "line_item_id": format!("p{number}"), "original_amount_cents": 1 });
        json_of(trial.pay_with("a1", &body).await);
    }
    let watch = daybook_clock::Stopwatch::start();
    let (page, _) = first(&trial, "a1", 1).await;
    let (page_took, watch) = (watch.elapsed(), daybook_clock::Stopwatch::start());
    assert_eq!(page[0]["event"], "account_created");
    let verified = trial.service.verify(&mut |_| {}).await.expect("it can be verified");
    println!("{count} payments: the first event took {page_took:?}, verify {:?}", watch.elapsed());
    assert_eq!(verified.differences, Vec::<String>::new());
    assert_eq!(verified.records, count as u64 + 1, "the payments and the first release");
}

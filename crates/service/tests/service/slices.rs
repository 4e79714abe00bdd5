//! Accounts with very much to process: one slice at a time, with other organizations in between, and the same result as
//! one fold.
//!
//! `verify` processes every account again in one fold, so 0 differences mean that the slices made the same state, line
//! items and messages.

use crate::support::{Home, Trial, balances, form_of, json_of, on_both};
use daybook_store::records::PageRequest;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

on_both!(
    a_long_opening_is_done_in_slices,
    a_long_release_is_done_in_slices,
    a_release_with_bounced_payments_is_done_in_slices,
    a_quiet_release_is_quiet_in_every_slice,
    a_long_roll_is_done_in_slices,
    what_is_asked_of_an_account_under_way_waits_for_it,
    another_organization_is_served_between_slices,
    an_opening_too_far_back_is_refused_unless_it_is_held,
);

const NOW: &str = "2026-11-16T12:00:00-05:00";
/// The first due date is 2 January 2021, the last past one 15 November 2026: 2,144 days.
const LONG_AGO: &str = "2021-01-01T12:00:00-05:00";
const DAYS: usize = 2_144;

/// Instalments that fall due each day, and no fees.
fn daily() -> Value {
    json!({
        "billing_cycle_policies": { "cycle_interval": "1 day" },
        "default_attributes": { "default_late_fee_cents": 0 },
    })
}

/// The number of slices written so far.
async fn slices(trial: &Trial) -> u64 {
    let text = trial.service.metrics_text().await;
    let line = text.lines().find_map(|line| line.strip_prefix("daybook_slices_total "));
    line.and_then(|count| count.parse().ok()).expect("the figure is there")
}

/// The number of days whose interest is a line item. Checks that the account's messages are numbered without gaps.
async fn days(trial: &Trial, account: &str) -> usize {
    let mut after = 0;
    loop {
        let some = trial.store.messages_of(&trial.key(account), after, 1_000).await.expect("the log is read");
        let Some(last) = some.last() else { break };
        for (number, message) in (after + 1..).zip(&some) {
            assert_eq!(message.sequence, number);
        }
        after = last.sequence;
    }
    let items = trial.store.items(&trial.key(account)).await.expect("the line items are read");
    items.iter().filter(|item| item.kind == "INTEREST").count()
}

async fn a_long_opening_is_done_in_slices(home: Home) {
    let trial = Trial::at(home, NOW).await;
    trial.product("daily", daily()).await;
    let account = trial.account("daily", "a1", LONG_AGO).await;
    assert!(slices(&trial).await > 3, "{} slices", slices(&trial).await);
    assert_eq!(account["processed_through"], "2026-11-16T12:00:00-05:00");
    assert_eq!(account["held_events"], 0);
    assert_eq!(balances(&account)[0], 120_000, "nothing was paid");
    assert_eq!(days(&trial, "a1").await, DAYS);
    assert_eq!(trial.account("daily", "a1", LONG_AGO).await["account_id"], "a1", "the same call again is the same");
    trial.verify().await;
}

async fn a_long_release_is_done_in_slices(home: Home) {
    let trial = Trial::at(home, NOW).await;
    trial.product("daily", daily()).await;
    trial.migration_mode("daily", true).await;
    trial.account("daily", "a1", LONG_AGO).await;
    json_of(trial.pay("a1", "p1", 5_000, "2021-03-01T12:00:00-05:00").await);
    json_of(trial.pay("a1", "p2", 5_000, "2025-03-01T12:00:00-05:00").await);
    json_of(trial.pay("a1", "p3", 5_000, "2027-03-01T12:00:00-05:00").await);
    trial.release("daily").await;
    assert!(slices(&trial).await > 3, "{} slices", slices(&trial).await);
    let account = trial.read("a1").await;
    assert_eq!(account["summary"]["total_paid_to_date_cents"], 10_000);
    assert_eq!(trial.item("a1", "p3").await["processing_state"], "SCHEDULED");
    assert_eq!(trial.progress("daily").await["state"], "NORMAL");
    assert_eq!(days(&trial, "a1").await, DAYS);
    trial.verify().await;
}

async fn a_release_with_bounced_payments_is_done_in_slices(home: Home) {
    for backdating in ["AS_POSTED", "REPLAY"] {
        let trial = Trial::at(home, NOW).await;
        let mut policies = daily();
        policies["backdating_policy"] = json!(backdating);
        trial.product("daily", policies).await;
        trial.migration_mode("daily", true).await;
        trial.account("daily", "a1", LONG_AGO).await;
        json_of(trial.pay("a1", "p1", 5_000, "2023-03-01T12:00:00-05:00").await);
        json_of(trial.pay("a1", "p2", 7_000, "2023-03-02T12:00:00-05:00").await);
        json_of(trial.reverse("a1", "p1", &json!({ "effective_at": "2023-09-01T12:00:00-05:00" })).await);
        trial.release("daily").await;
        assert!(slices(&trial).await > 2, "{} slices", slices(&trial).await);
        assert_eq!(trial.read("a1").await["summary"]["total_paid_to_date_cents"], 7_000, "{backdating}");
        trial.verify().await;
    }
}

async fn a_quiet_release_is_quiet_in_every_slice(home: Home) {
    let trial = Trial::at(home, NOW).await;
    trial.product("daily", daily()).await;
    trial.migration_mode("daily", true).await;
    trial.account("daily", "a1", LONG_AGO).await;
    let form = form_of(&json!({ "migration_mode": false, "historical_webhooks": "SUPPRESS" }));
    json_of(trial.service.set_migration_mode(&trial.who, None, "daily", form).await);
    trial.settle().await;
    assert!(slices(&trial).await > 3, "{} slices", slices(&trial).await);
    assert_eq!(trial.messages("a1").await.len(), 0);
    trial.verify().await;
}

async fn a_long_roll_is_done_in_slices(home: Home) {
    let trial = Trial::at(home, NOW).await;
    trial.product("daily", daily()).await;
    trial.account("daily", "a1", NOW).await;
    let before = trial.messages("a1").await.len() as u64;
    let rolled = json_of(trial.roll("a1", "2032-10-01T12:00:00-04:00", true).await);
    assert!(slices(&trial).await > 3, "{} slices", slices(&trial).await);
    // From 16 November 2026 to 30 September 2032, the last day that has ended.
    assert_eq!(days(&trial, "a1").await, 2_145);
    let mut log = 0;
    while let Some(last) = trial.store.messages_of(&trial.key("a1"), log, 1_000).await.expect("it is read").last() {
        log = last.sequence;
    }
    assert_eq!(rolled["webhooks_sent"], log as u64 - before, "each was sent at once, and counted once");
    assert_eq!(rolled["rolled_to"], "2032-10-01T12:00:00-04:00");
    trial.verify().await;
}

/// The opening is interrupted between two slices because its node stops. The account is consistent then, another node
/// continues the work, and a payment waits until it is done.
async fn what_is_asked_of_an_account_under_way_waits_for_it(home: Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let address = match home {
        Home::Sqlite => format!("sqlite:{}", folder.path().join("daybook.db").display()),
        Home::Postgres => home.address(),
    };
    let stopped = address.clone();
    let node = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let trial = Trial::over(&stopped, NOW).await;
            trial.product("daily", daily()).await;
            let opening = trial.clone();
            let opening =
                tokio::spawn(async move { opening.account("daily", "a1", "1990-01-01T12:00:00-05:00").await });
            while slices(&trial).await < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(!opening.is_finished(), "there is more to do");
        });
        runtime.shutdown_timeout(Duration::from_secs(60));
    });
    node.join().expect("the first node was stopped");
    let trial = Trial::over(&address, NOW).await;
    let rows = trial
        .store
        .accounts(trial.who.org, &PageRequest { limit: 10, ..PageRequest::default() })
        .await
        .expect("it is read");
    let under_way = &rows[0].now;
    assert!(under_way.held_events == 1 && under_way.processed_through.is_some(), "{under_way:?}");
    trial.verify().await;
    json_of(trial.pay("a1", "p1", 5_000, NOW).await);
    let account = trial.read("a1").await;
    assert_eq!(account["summary"]["total_paid_to_date_cents"], 5_000);
    assert_eq!(account["processed_through"], "2026-11-16T12:00:00-05:00");
    // From 1 January 1990 to 15 November 2026, the last day that has ended.
    assert_eq!(days(&trial, "a1").await, 13_467);
    trial.verify().await;
}

/// Does not measure time: while an organization creates accounts far in the past, another one's payments are answered,
/// and between two of them only a few of those accounts are done.
async fn another_organization_is_served_between_slices(home: Home) {
    const LOANS: usize = 16;
    let trial = Trial::at(home, NOW).await;
    trial.product("daily", daily()).await;
    trial.service.create_organization("other", "TEST").await.expect("it is made");
    let other = Trial { who: trial.service.operator(Some("other")).await.expect("it is there"), ..trial.clone() };
    other.product("auto", json!({})).await;
    other.account("auto", "b1", NOW).await;
    let done = Arc::new(AtomicUsize::new(0));
    let mut opening = JoinSet::new();
    for number in 0..LOANS {
        let (trial, done) = (trial.clone(), done.clone());
        opening.spawn(async move {
            trial.account("daily", &format!("a{number}"), "2023-01-01T12:00:00-05:00").await;
            done.fetch_add(1, Ordering::SeqCst);
        });
    }
    let (mut payments, mut most_between, mut before) = (0, 0, 0);
    while done.load(Ordering::SeqCst) < LOANS {
        json_of(other.pay("b1", &format!("p{payments}"), 1, NOW).await);
        payments += 1;
        let now = done.load(Ordering::SeqCst);
        most_between = most_between.max(now - before);
        before = now;
    }
    while let Some(opened) = opening.join_next().await {
        opened.expect("it was opened");
    }
    assert!(payments > LOANS, "{payments} payments were answered meanwhile");
    assert!(most_between <= LOANS / 2, "{most_between} accounts were done between two payments");
    trial.verify().await;
}

async fn an_opening_too_far_back_is_refused_unless_it_is_held(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let open = async |product: &str, id: &str, at: &str| {
        let body = json!({ "product_id": product, "account_id": id, "effective_at": at,
                           "summary": { "initial_principal_cents": 120_000 } });
        trial.service.create_account(&trial.who, None, form_of(&body)).await
    };
    let shown = trial.product("monthly", json!({})).await;
    let openings = &shown["product_lifecycle_policies"]["opening_policies"];
    assert_eq!(*openings, json!({ "most_years_back": 60, "most_due_dates_back": 40_000 }));
    json_of(open("monthly", "a1", "1966-11-16T12:00:00-05:00").await);
    let problem = open("monthly", "a2", "1966-11-15T12:00:00-05:00").await.expect_err("60 years and a day");
    assert_eq!((problem.code, problem.details[0].field.as_str()), ("invalid_request", "effective_at"));
    assert!(problem.details[0].message.contains("60 years back"), "{problem:?}");
    trial.product("few", json!({ "opening_policies": { "most_years_back": 100, "most_due_dates_back": 24 } })).await;
    json_of(open("few", "a3", "2024-10-20T12:00:00-04:00").await);
    let problem = open("few", "a4", "2024-10-10T12:00:00-04:00").await.expect_err("25 due dates");
    assert!(problem.details[0].message.contains("24 due dates back"), "{problem:?}");
    trial.migration_mode("few", true).await;
    json_of(open("few", "a4", "1950-10-10T12:00:00-05:00").await);
    trial.release("few").await;
    assert_eq!(trial.read("a4").await["held_events"], 0);
    trial.verify().await;
}

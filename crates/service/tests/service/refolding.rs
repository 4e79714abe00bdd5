//! A database written under rules version 1, folded again by the current rules.
//!
//! The last build before version 2 made the database, see [`daybook_testkit::old_database`].

use crate::support::{Home, Trial, code_of, data, json_of, on_both};
use daybook_engine::terms::RULES_VERSION;
use daybook_service::refold::{Moved, Refolded};
use daybook_store::records::MessageRow;
use daybook_testkit::old_database::OldDatabase;
use serde_json::json;
use std::collections::BTreeMap;

on_both!(
    every_account_is_folded_again_and_nothing_is_sent,
    what_moved_is_listed_with_before_and_after,
    held_scheduled_and_failed_accounts_stay_so,
    life_goes_on_and_verify_finds_nothing,
    a_changed_refold_is_found,
    an_account_met_before_the_pass_is_folded_on_the_spot,
    an_account_that_cannot_be_folded_fails_alone,
    nodes_that_start_at_once_fold_each_account_once,
);

/// The day after the database was made.
const NOW: &str = "2026-11-18T12:00:00Z";
const ACCOUNTS: u64 = 49;

struct Old {
    trial: Trial,
    database: OldDatabase,
    _folder: tempfile::TempDir,
}

impl Old {
    async fn on(home: Home) -> Old {
        Old::with(home, "").await
    }

    /// With a change by SQL before it is opened.
    async fn with(home: Home, sql: &str) -> Old {
        let folder = tempfile::tempdir().expect("a folder");
        let database = match home {
            Home::Sqlite => OldDatabase::sqlite(folder.path()),
            Home::Postgres => OldDatabase::postgres(folder.path()),
        };
        database.run(sql);
        let trial = Trial::over(&database.address, NOW).await;
        Old { trial, database, _folder: folder }
    }

    async fn refold(&self) -> Refolded {
        self.trial.service.refold(&mut |_| {}).await.expect("accounts are folded again")
    }

    /// All messages, published and scheduled, of both organizations.
    async fn messages(&self) -> Vec<MessageRow> {
        let mut all = Vec::new();
        for organization in self.trial.store.organizations().await.expect("there are two") {
            let log = self.trial.store.messages(organization.org, 0, 100_000).await.expect("the log can be read");
            all.extend(log);
        }
        for account in ["rolled", "rolled-late", "rolled-and-sent", "scheduled"] {
            all.extend(self.trial.messages(account).await);
        }
        all
    }

    async fn moved(&self) -> BTreeMap<(String, String), Moved> {
        let mut moved = BTreeMap::new();
        let mut give = |account: Moved| {
            moved.insert((account.organization.clone(), account.account_id.clone()), account);
        };
        self.trial.service.rules_report(&mut give).await.expect("the list can be read");
        moved
    }
}

async fn every_account_is_folded_again_and_nothing_is_sent(home: Home) {
    let old = Old::on(home).await;
    let before = old.messages().await;
    assert_eq!(old.trial.service.accounts_to_refold().await, Ok(ACCOUNTS as i64));
    assert_eq!(old.trial.differences().await.len(), ACCOUNTS as usize, "what is not folded again is told");

    let done = old.refold().await;
    assert_eq!((done.accounts, done.failed), (ACCOUNTS, 0));
    assert_eq!(old.messages().await, before, "bytes, ids, signatures and positions stay, and nothing is added");
    assert_eq!(old.trial.service.accounts_to_refold().await, Ok(0));
    old.trial.verify().await;
    assert_eq!(old.refold().await, Refolded::default(), "a second time there is nothing to do");
}

async fn what_moved_is_listed_with_before_and_after(home: Home) {
    let old = Old::on(home).await;
    let done = old.refold().await;
    let moved = old.moved().await;
    assert_eq!(moved.len() as u64, done.moved);
    for account in moved.values() {
        assert_eq!(account.rules_version, i64::from(RULES_VERSION));
        assert_ne!(account.before, account.after);
        assert_eq!(account.failure, None);
    }
    let of = |account: &str| {
        let moved = &moved[&("first".to_owned(), account.to_owned())];
        (moved.before.clone().expect("it was processed"), moved.after.clone().expect("it is folded"))
    };
    // In bankruptcy since before the first late fee of 15.00, which is no longer charged.
    let (before, after) = of("bankrupt");
    assert_eq!((before.fees_cents, after.fees_cents), (1_500, 0));
    assert_eq!((before.principal_cents, after.principal_cents), (120_000, 120_000));
    // Each instalment was paid a day or two late: interest that accrued since is no longer past due.
    let (before, after) = of("late-by-a-day");
    assert_ne!(before.past_due_cents, Some(0));
    assert_eq!(after.past_due_cents, Some(0));
    // The quoted payoff of a flat loan was paid, and 2 x 12.00 of interest stayed owed.
    let (before, after) = of("flat-early");
    assert_eq!(before.principal_cents + before.interest_cents, 2_400);
    assert_eq!((before.status_pair(), after.status_pair()), ("ACTIVE".to_owned(), "CLOSED/PAID_OFF".to_owned()));
    assert_eq!(after.principal_cents + after.interest_cents + after.fees_cents, 0);
    // Paid on time, every cent as before: not in the list.
    assert!(!moved.contains_key(&("first".to_owned(), "on-time".to_owned())));
    let events = old.trial.events("on-time").await;
    let told = events.iter().find(|event| event["event"] == "rules_change").expect("the timeline tells it");
    assert_eq!(
        told["description"],
        format!("The account was recalculated under version {RULES_VERSION} of the rules.")
    );
    assert_eq!(told["state"], "PROCESSED");
}

async fn held_scheduled_and_failed_accounts_stay_so(home: Home) {
    let old = Old::on(home).await;
    old.refold().await;
    let trial = &old.trial;
    assert_eq!(trial.read("held-new").await["held_events"], 5);
    assert_eq!(trial.read("processed-then-held").await["held_events"], 2);
    assert_eq!(trial.progress("released").await["failed_accounts"][0]["account_id"], "failed");
    assert_eq!(trial.progress("failing").await["failed_accounts"][0]["account_id"], "failed-with-history");
    assert_eq!(trial.item("scheduled", "p1").await["processing_state"], "SCHEDULED");
    assert_eq!(trial.item("scheduled", "p2").await["line_item_overview"]["line_item_status"], "INVALID");
    let sql = "SELECT count(*) FROM accounts WHERE account IN ('held-new', 'processed-then-held', 'failed')
               AND settled_seq < next_seq - 1";
    assert_eq!(old.database.number(sql), 3, "what was held is held");
}

async fn life_goes_on_and_verify_finds_nothing(home: Home) {
    let old = Old::on(home).await;
    old.refold().await;
    let trial = &old.trial;
    let last = trial.messages("delinquent").await.last().expect("it announced something").sequence;
    json_of(trial.pay("delinquent", "after", 10_662, "2026-11-18T09:00:00Z").await);
    let first = trial.messages("delinquent").await.into_iter().find(|message| message.sequence > last);
    let first = first.expect("the payment is announced");
    assert_eq!(data(&first)["account_sequence"], last + 1, "messages count on");

    trial.release("held").await;
    trial.go_to("2026-12-20T12:00:00Z").await;
    json_of(trial.reverse("daily-late", "p1", &json!({})).await);
    json_of(trial.reverse("replayed", "p2", &json!({})).await);
    json_of(trial.roll("on-time", "2027-03-01T12:00:00Z", false).await);
    json_of(trial.pay("rolled", "after", 5_000, "2026-12-20T12:00:00Z").await);
    trial.go_to("2027-05-01T12:00:00Z").await;
    trial.verify().await;
    trial.settle().await;
    for product in ["released", "failing"] {
        let form = crate::support::form_of(&json!({ "migration_mode": false }));
        let _ = trial.service.set_migration_mode(&trial.who, None, product, form).await;
        trial.settle().await;
    }
    trial.verify().await;
}

async fn a_changed_refold_is_found(home: Home) {
    let old = Old::on(home).await;
    old.refold().await;
    let item = if home == Home::Sqlite { "item" } else { "item_id" };
    old.database.run(&format!(
        "UPDATE line_items SET balance = balance + 1 WHERE org = 1 AND account = 'on-time' AND {item} = 'dbk_loan'"
    ));
    let sentence = "account on-time: line item dbk_loan differs from the journal";
    let differences = old.trial.differences().await;
    assert!(differences.iter().any(|found| found.starts_with(sentence)), "{differences:?}");
}

async fn an_account_met_before_the_pass_is_folded_on_the_spot(home: Home) {
    let old = Old::on(home).await;
    let before = old.messages().await;
    let read = old.trial.read("on-time").await;
    assert_eq!(read["account_overview"]["account_status"], "ACTIVE");
    assert_eq!(old.trial.service.accounts_to_refold().await, Ok(ACCOUNTS as i64 - 1), "it is off the list");
    assert_eq!(old.messages().await, before, "reading it announced nothing");
    json_of(old.trial.pay("cured", "now", 100, NOW).await);
    assert_eq!(old.trial.service.accounts_to_refold().await, Ok(ACCOUNTS as i64 - 2));
    assert_eq!(old.refold().await.accounts, ACCOUNTS - 2);
    old.trial.verify().await;
}

async fn an_account_that_cannot_be_folded_fails_alone(home: Home) {
    let broken = if home == Home::Sqlite { "x'01ff'" } else { "'\\x01ff'::bytea" };
    let old =
        Old::with(home, &format!("UPDATE accounts SET terms = {broken} WHERE org = 1 AND account = 'cured'")).await;
    let done = old.refold().await;
    assert_eq!((done.accounts, done.failed), (ACCOUNTS - 1, 1));
    let trial = &old.trial;
    let moved = old.moved().await;
    let listed = &moved[&("first".to_owned(), "cured".to_owned())];
    assert!(listed.failure.as_ref().is_some_and(|why| why.contains("its terms cannot be read")), "{listed:?}");
    assert_eq!(listed.after, None);
    assert_eq!(code_of(trial.service.get_account(&trial.who, "cured", None).await), "account_failed");
    assert_eq!(code_of(trial.pay("cured", "now", 100, NOW).await), "account_failed");
    assert_eq!(trial.read("on-time").await["account_overview"]["account_status"], "ACTIVE");
    let differences = trial.differences().await;
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert!(differences[0].contains("\"cured\" cannot be used"), "{differences:?}");
    assert_eq!(old.refold().await, Refolded { failed: 1, ..Refolded::default() }, "it is tried again");
}

async fn nodes_that_start_at_once_fold_each_account_once(home: Home) {
    if home == Home::Sqlite {
        // Only one process uses a file.
        return;
    }
    let old = Old::on(home).await;
    let other = old.trial.node().await;
    let (mut one, mut two) = (|_| {}, |_| {});
    let (first, second) = tokio::join!(old.trial.service.refold(&mut one), other.service.refold(&mut two));
    let (first, second) = (first.expect("it folds"), second.expect("it folds"));
    let sql = "SELECT count(*) FROM inputs WHERE name LIKE 'dbk_refold_%'";
    assert_eq!(old.database.number(sql), ACCOUNTS as i64, "{first:?} {second:?}");
    old.trial.verify().await;
}

//! A portfolio under another policy, or with a change. Nothing is stored.
//!
//! The loans are those of the other tests: 1,200.00 over 12 months at 12 %, due on the 15th from 2026-04-15, with a late
//! fee of 15.00 at the close of each unpaid due date.

use crate::support::{Home, LEVEL, Trial, code_of, json_of, on_both};
use daybook_service::problem::Problem;
use daybook_service::what_if::{
    AccountDifference, AccountResult, Failure, JobState, Observer, WhatIfQuestion, WhatIfSummary,
};
use serde_json::{Value, json};
use std::time::Duration;

on_both!(
    under_the_same_policy_nothing_differs,
    another_late_fee_differs_by_exactly_the_fees,
    a_longer_grace_period_spares_late_fees,
    values_of_an_account_stay,
    accounts_that_cannot_be_folded_are_listed,
    a_waiver_without_its_fee_is_counted,
    conditions_choose_the_accounts,
    accounts_of_another_organization_are_not_seen,
    a_day_is_compared_at_its_close_of_business,
    backdated_payments_move_with_the_rule_about_them,
    questions_are_checked,
    a_skip_moves_the_maturity,
    a_job_runs_once_and_can_be_cancelled,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
/// Three instalments have fallen due.
const NOW: &str = "2026-06-20T12:00:00-04:00";

/// Collects the result of each account.
#[derive(Default)]
struct Collected {
    accounts: u64,
    results: Vec<AccountResult>,
}

impl Observer for Collected {
    fn begins(&mut self, accounts: u64) -> Result<(), Problem> {
        self.accounts = accounts;
        Ok(())
    }

    fn done(&mut self, results: &[AccountResult]) -> Result<(), Problem> {
        self.results.extend_from_slice(results);
        Ok(())
    }
}

impl Collected {
    fn of(&self, account: &str) -> &AccountDifference {
        let compared = self.results.iter().find_map(|result| match result {
            AccountResult::Compared(difference) if *difference.account_id == *account => Some(difference),
            _ => None,
        });
        compared.unwrap_or_else(|| panic!("{account} is not compared: {:?}", self.results))
    }

    fn compared(&self) -> Vec<String> {
        let id = |result: &AccountResult| match result {
            AccountResult::Compared(difference) => Some(difference.account_id.to_string()),
            _ => None,
        };
        self.results.iter().filter_map(id).collect()
    }
}

async fn asked(trial: &Trial, question: Value) -> Result<(WhatIfSummary, Collected), Problem> {
    let question: WhatIfQuestion = serde_json::from_value(question).expect("a question");
    let mut collected = Collected::default();
    let summary = trial.service.what_if(&trial.who, &question, &mut collected).await?;
    Ok((summary, collected))
}

async fn what_if(trial: &Trial, question: Value) -> (WhatIfSummary, Collected) {
    asked(trial, question).await.unwrap_or_else(|problem| panic!("{problem} {:?}", problem.details))
}

/// Policies under which the late fee is this many cents.
fn late_fee(cents: i64) -> Value {
    json!({ "product_lifecycle_policies": { "default_attributes": { "default_late_fee_cents": cents } } })
}

fn cents(differences: &AccountDifference, name: &str) -> i64 {
    differences.amounts().named().find(|(known, _)| *known == name).expect("an amount").1
}

/// `late` paid nothing, `once` paid the first instalment on its due date, `good` paid all three.
async fn portfolio(home: Home) -> Trial {
    let trial = Trial::at(home, OPENING).await;
    trial.product("auto-12", json!({})).await;
    for id in ["good", "late", "once"] {
        trial.account("auto-12", id, OPENING).await;
    }
    for (number, month) in [(1, "04"), (2, "05"), (3, "06")] {
        let at = format!("2026-{month}-15T10:00:00-04:00");
        trial.go_to(&at).await;
        json_of(trial.pay("good", &format!("p{number}"), LEVEL, &at).await);
        if number == 1 {
            json_of(trial.pay("once", "p1", LEVEL, &at).await);
        }
    }
    trial.go_to(NOW).await;
    trial
}

async fn under_the_same_policy_nothing_differs(home: Home) {
    let trial = portfolio(home).await;
    let (summary, collected) = what_if(&trial, json!({ "product_id": "auto-12", "policy": late_fee(1_500) })).await;
    assert_eq!((summary.accounts, summary.differing, collected.accounts), (3, 0, 3));
    assert_eq!(summary.before, summary.after);
    assert_eq!(collected.compared(), ["good", "late", "once"], "in the order of their ids");
    assert!(summary.largest.is_empty() && summary.difference.named().all(|(_, cents)| cents == 0));
    // 1,200.00 each; the two payers of the first instalment paid 94.62 of principal, one went on with 95.57 and 96.52.
    assert_eq!(summary.before.amounts.named().next(), Some(("principal", 120_000 + 110_538 + 91_329)));
    for account in ["good", "late", "once"] {
        let read = trial.read(account).await;
        let figures = serde_json::to_value(&collected.of(account).before).expect("figures");
        assert_eq!(figures["principal_cents"], read["summary"]["principal_cents"], "{read:#}");
    }
}

async fn another_late_fee_differs_by_exactly_the_fees(home: Home) {
    let trial = portfolio(home).await;
    let stored = trial.read("late").await;
    let (summary, collected) = what_if(&trial, json!({ "product_id": "auto-12", "policy": late_fee(2_500) })).await;
    // `late` has three late fees, `once` two, each 10.00 higher.
    for (account, difference) in [("good", 0), ("late", 3_000), ("once", 2_000)] {
        let found = collected.of(account);
        for name in ["fees", "fees_charged", "payoff"] {
            assert_eq!(cents(found, name), difference, "{account} {name}");
        }
        for name in ["principal", "interest", "interest_charged", "surplus"] {
            assert_eq!(cents(found, name), 0, "{account} {name}");
        }
    }
    assert_eq!(summary.differing, 2);
    assert_eq!(summary.difference.named().find(|(name, _)| *name == "fees_charged"), Some(("fees_charged", 5_000)));
    assert_eq!((summary.before.late_accounts, summary.after.late_accounts), (2, 2));
    assert_eq!((summary.before.late_fees, summary.after.late_fees), (5, 5));
    let largest: Vec<&str> = summary.largest.iter().map(|account| &*account.account_id).collect();
    assert_eq!(largest, ["late", "once"], "the largest difference first");
    assert_eq!(trial.read("late").await, stored, "nothing is stored");
    trial.verify().await;
}

async fn a_longer_grace_period_spares_late_fees(home: Home) {
    let trial = portfolio(home).await;
    let policy = json!({ "product_lifecycle_policies": { "fee_policies": { "late_fee_grace": "10 days" } } });
    let (summary, collected) = what_if(&trial, json!({ "product_id": "auto-12", "policy": policy })).await;
    // The grace period of the third instalment has not ended on 20 June.
    assert_eq!(
        (cents(collected.of("late"), "fees_charged"), cents(collected.of("once"), "fees_charged")),
        (-1_500, -1_500)
    );
    assert_eq!((summary.before.late_fees, summary.after.late_fees), (5, 3));
    assert_eq!((summary.before.late_accounts, summary.after.late_accounts), (2, 2), "they are past due all the same");
}

async fn values_of_an_account_stay(home: Home) {
    let trial = portfolio(home).await;
    let own = json!({
        "product_id": "auto-12", "account_id": "own", "effective_at": OPENING, "summary": { "late_fee_cents": 700 },
    });
    trial.account_with(own).await;
    let (summary, collected) = what_if(&trial, json!({ "product_id": "auto-12", "policy": late_fee(2_500) })).await;
    assert_eq!(cents(collected.of("own"), "fees_charged"), 0);
    assert!(collected.of("own").keeps_own_values && !collected.of("late").keeps_own_values);
    assert_eq!((summary.accounts, summary.keep_own_values), (4, 1));
}

async fn accounts_that_cannot_be_folded_are_listed(home: Home) {
    let trial = portfolio(home).await;
    trial.migration_mode("auto-12", true).await;
    // The fee was never charged.
    json_of(trial.waive("good", "dbk_late_fee_1", &json!({ "effective_at": NOW })).await);
    let (held, _) = what_if(&trial, json!({ "product_id": "auto-12", "policy": late_fee(2_500) })).await;
    assert_eq!((held.accounts, held.failed), (2, 1));
    assert_eq!(&*held.failures[0].account_id, "good");
    assert!(held.failures[0].reason.contains("cannot be released"), "{:?}", held.failures);
    trial.release("auto-12").await;
    let (failed, collected) = what_if(&trial, json!({ "product_id": "auto-12", "policy": late_fee(2_500) })).await;
    assert_eq!((failed.accounts, failed.failed), (2, 1));
    let failures: Vec<&str> = failed.failures.iter().map(|Failure { account_id, .. }| &**account_id).collect();
    assert_eq!((failures, collected.results.len()), (vec!["good"], 3));
}

async fn a_waiver_without_its_fee_is_counted(home: Home) {
    let trial = portfolio(home).await;
    json_of(trial.waive("late", "dbk_late_fee_3", &json!({})).await);
    let policy = json!({ "product_lifecycle_policies": { "fee_policies": { "late_fee_grace": "10 days" } } });
    let (summary, collected) = what_if(&trial, json!({ "product_id": "auto-12", "policy": policy })).await;
    let late = collected.of("late");
    assert_eq!((late.not_applied_before, late.not_applied_after, summary.inputs_not_applied), (0, 1, 1));
    // The third fee was waived; under the policy it is not charged.
    assert_eq!(cents(late, "fees_charged"), 0);
}

async fn conditions_choose_the_accounts(home: Home) {
    let trial = portfolio(home).await;
    let ann = json!({ "customer_id": "ann", "name_first": "Ann", "address_zip": "10001" });
    json_of(trial.service.create_customer(&trial.who, None, crate::support::form_of(&ann)).await);
    let zip = json!({
        "product_id": "auto-12", "account_id": "zip", "effective_at": OPENING,
        "assign_customers": [{ "customer_id": "ann" }], "external_fields": [{ "key": "region", "value": "west" }],
    });
    trial.account_with(zip).await;
    trial.settle().await;
    for (conditions, accounts) in [
        (json!(["address_zip=10001,10002"]), vec!["zip"]),
        (json!(["external_fields.region=west"]), vec!["zip"]),
        (json!(["account_status=ACTIVE"]), vec!["good"]),
        (json!(["account_status=SUSPENDED/DELINQUENT"]), vec!["late", "once", "zip"]),
        // `late` and `zip` are past due since 15 April, `once` since 15 May: 66 and 36 days.
        (json!(["days_past_due>=37"]), vec!["late", "zip"]),
        (json!(["days_past_due>=36", "account_status=SUSPENDED"]), vec!["late", "once", "zip"]),
        (json!(["days_past_due>=36", "account_status=ACTIVE"]), vec![]),
    ] {
        let question = json!({ "product_id": "auto-12", "policy": late_fee(2_500), "where": conditions });
        let (summary, collected) = what_if(&trial, question).await;
        assert_eq!(collected.compared(), accounts, "{conditions}");
        assert_eq!(summary.left_out, 4 - accounts.len() as u64);
    }
}

async fn accounts_of_another_organization_are_not_seen(home: Home) {
    let first = portfolio(home).await;
    first.service.create_organization("second", "TEST").await.expect("it is made");
    let who = first.service.operator(Some("second")).await.expect("it is there");
    let second = Trial { who, ..first.clone() };
    assert_eq!(
        code_of(
            asked(&second, json!({ "product_id": "auto-12", "policy": late_fee(1) })).await.map(|(summary, _)| summary)
        ),
        "not_found"
    );
    second.product("auto-12", json!({})).await;
    second.account("auto-12", "theirs", OPENING).await;
    let (_, collected) = what_if(&second, json!({ "product_id": "auto-12", "policy": late_fee(2_500) })).await;
    assert_eq!(collected.compared(), ["theirs"]);
    let (_, collected) = what_if(&first, json!({ "product_id": "auto-12", "policy": late_fee(2_500) })).await;
    assert_eq!(collected.compared(), ["good", "late", "once"]);
}

async fn a_day_is_compared_at_its_close_of_business(home: Home) {
    let trial = portfolio(home).await;
    let fees = async |as_of: &str| {
        let question = json!({ "product_id": "auto-12", "policy": late_fee(2_500), "as_of": as_of });
        let (summary, collected) = what_if(&trial, question).await;
        (summary.accounts, collected.results.len(), summary.before.late_fees)
    };
    assert_eq!(fees("2026-03-14").await, (0, 3, 0), "no account has begun");
    assert_eq!(fees("2026-05-14").await, (3, 3, 1));
    assert_eq!(fees("2026-05-15").await, (3, 3, 3), "the late fees of that day are charged at its close");
    assert_eq!(fees("2026-05-15T23:59:58-04:00").await, (3, 3, 1));
    // No further payment arrives: the fees of `good` begin on 15 July.
    assert_eq!(fees("2026-07-15").await, (3, 3, 8));
}

/// Under `AS_POSTED` a payment that came late counts from its arrival, under `REPLAY` from its own date.
async fn backdated_payments_move_with_the_rule_about_them(home: Home) {
    let trial = portfolio(home).await;
    trial.product("replay-12", json!({ "backdating_policy": "REPLAY" })).await;
    let on_time = "2026-04-15T12:00:00-04:00";
    json_of(trial.pay("late", "p1", LEVEL, on_time).await);
    trial.account("replay-12", "again", OPENING).await;
    trial.settle().await;
    json_of(trial.pay("again", "p1", LEVEL, on_time).await);
    let rule = |rule: &str| json!({ "product_lifecycle_policies": { "backdating_policy": rule } });
    let (_, posted) = what_if(&trial, json!({ "product_id": "auto-12", "policy": rule("REPLAY") })).await;
    let (_, replayed) = what_if(&trial, json!({ "product_id": "replay-12", "policy": rule("AS_POSTED") })).await;
    let (late, again) = (posted.of("late"), replayed.of("again"));
    assert_eq!((late.before.late_fees, late.after.late_fees), (3, 2), "the first instalment was paid on its due date");
    assert_eq!((&late.before, &late.after), (&again.after, &again.before), "each is the other's what-if");
}

async fn questions_are_checked(home: Home) {
    let trial = portfolio(home).await;
    for (question, field) in [
        (json!({ "product_id": "auto-12" }), "policy"),
        (json!({ "product_id": "auto-12", "policy": { "product_overview": {} } }), "product_overview"),
        (
            json!({ "product_id": "auto-12", "policy": { "product_lifecycle_policies": { "fees": 1 } } }),
            "product_lifecycle_policies.fees",
        ),
        (
            json!({ "product_id": "auto-12", "policy": late_fee(-1) }),
            "product_lifecycle_policies.default_attributes.default_late_fee_cents",
        ),
        (json!({ "product_id": "auto-12", "policy": late_fee(1), "as_of": "tomorrow" }), "as_of"),
        (json!({ "product_id": "auto-12", "policy": late_fee(1), "where": ["late"] }), "where"),
        (json!({ "product_id": "auto-12", "change": { "kind": "gift" } }), "kind"),
        (json!({ "product_id": "auto-12", "change": { "kind": "skip", "count": 99 } }), "count"),
    ] {
        let problem = asked(&trial, question.clone()).await.map(drop).expect_err("it is refused");
        let fields: Vec<&str> = problem.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(fields, [field], "{question}: {problem}");
    }
}

async fn a_skip_moves_the_maturity(home: Home) {
    let trial = portfolio(home).await;
    let change = json!({ "kind": "skip", "count": 2 });
    let (summary, collected) = what_if(&trial, json!({ "product_id": "auto-12", "change": change })).await;
    assert_eq!((summary.accounts, summary.maturity_later), (3, 3));
    let good = collected.of("good");
    assert_eq!(
        (good.before.maturity.to_string(), good.after.maturity.to_string()),
        ("2027-03-15".into(), "2027-05-15".into())
    );
    assert_eq!(trial.read("good").await["account_id"], "good");
    trial.verify().await;
}

async fn a_job_runs_once_and_can_be_cancelled(home: Home) {
    let trial = portfolio(home).await;
    let question: WhatIfQuestion =
        serde_json::from_value(json!({ "product_id": "auto-12", "policy": late_fee(2_500) })).expect("a question");
    assert!(trial.service.last_what_if(&trial.who).expect("it may be read").is_none());
    // All places of the organization to read are taken: on PostgreSQL, the what-if waits for one.
    let held = trial.service.hold_reads(trial.who.org).await.expect("no other call reads");
    let first = trial.service.start_what_if(&trial.who, question.clone()).await.expect("it starts");
    assert!(first.state.is_in_progress());
    if home == Home::Postgres {
        assert_eq!(code_of(trial.service.start_what_if(&trial.who, question.clone()).await), "conflict");
        trial.service.cancel_what_if(&trial.who).expect("it runs");
        drop(held);
        assert!(matches!(ended(&trial).await, JobState::Cancelled));
    } else {
        drop(held);
        ended(&trial).await;
    }
    assert_eq!(code_of(trial.service.cancel_what_if(&trial.who)), "not_found");
    trial.service.start_what_if(&trial.who, question.clone()).await.expect("it starts");
    let JobState::Done(summary) = ended(&trial).await else { panic!("it is done") };
    assert_eq!((summary.accounts, summary.differing), (3, 2));
    let job = trial.service.last_what_if(&trial.who).expect("it may be read").expect("it is kept");
    assert_eq!(*job.question, question);
}

async fn ended(trial: &Trial) -> JobState {
    loop {
        let job = trial.service.last_what_if(&trial.who).expect("it may be read").expect("there is one");
        if !job.state.is_in_progress() {
            return job.state;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

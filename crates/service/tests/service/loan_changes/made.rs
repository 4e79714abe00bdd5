//! Each kind of change: previewed, made, listed, cancelled, held and released, withdrawn.

use super::{LEVEL, changes, is_made_up, loan, make, make_about, named, preview, product, rows};
use crate::support::{Home, Trial, code_of, data, json_of, on_both, view_of};
use daybook_operations::Operation;
use serde_json::{Value, json};

on_both!(
    each_kind_is_previewed_made_and_cancelled,
    each_kind_is_held_released_and_withdrawn,
    a_repeated_change_answers_as_before,
    a_scheduled_change_is_announced_twice_and_withdrawn,
    a_rate_is_replaced_and_listed,
    a_cancel_is_announced,
    a_change_without_an_id_gets_one,
    a_preview_stores_nothing,
    surplus_is_refunded_and_comes_back,
    an_account_begins_with_its_balances,
    another_organization_finds_nothing,
);

/// A kind of change, and the plan after it.
struct Case {
    kind: &'static str,
    operation: Operation,
    /// Whether the first instalment was paid.
    is_paid: bool,
    at: &'static str,
    body: Value,
    rows: &'static [(&'static str, i64, i64)],
}

fn case(
    kind: &'static str,
    operation: Operation,
    is_paid: bool,
    at: &'static str,
    body: Value,
    rows: &'static [(&'static str, i64, i64)],
) -> Case {
    Case { kind, operation, is_paid, at, body, rows }
}

/// The worked numbers of the rules.
fn cases() -> Vec<Case> {
    cases_of_rates().into_iter().chain(cases_of_due_dates()).chain(cases_of_debt()).collect()
}

/// What interest is charged.
fn cases_of_rates() -> Vec<Case> {
    vec![
        case(
            "interest_rate",
            Operation::CreateInterestRate,
            true,
            "2025-03-01T00:00:00-05:00",
            json!({ "interest_rate": "9" }),
            &[("2025-02-15", 1_200, 39_603), ("2025-03-15", 703, 39_999), ("2025-04-15", 303, 40_398)],
        ),
        case(
            "temp_promo",
            Operation::CreateTempPromo,
            true,
            "2025-02-16T00:00:00-05:00",
            json!({
                "temp_promo_inclusive_start": "2025-02-16", "temp_promo_exclusive_end": "2025-03-02",
                "interest_rate_percent": 0
            }),
            &[("2025-02-15", 1_200, 39_603), ("2025-03-15", 402, 40_401), ("2025-04-15", 400, 39_996)],
        ),
        case(
            "interest_pause",
            Operation::CreateInterestPause,
            true,
            "2025-02-16T00:00:00-05:00",
            json!({ "start": "2025-02-16", "end": "2025-03-02" }),
            &[("2025-02-15", 1_200, 39_603), ("2025-03-15", 402, 40_401), ("2025-04-15", 400, 39_996)],
        ),
    ]
}

/// When the instalments are due.
fn cases_of_due_dates() -> Vec<Case> {
    vec![
        case(
            "due_date",
            Operation::ChangeDueDate,
            true,
            "2025-02-20T12:00:00-05:00",
            json!({ "next_due_date": "2025-03-25" }),
            &[("2025-02-15", 1_200, 39_603), ("2025-03-25", 1_072, 39_731), ("2025-04-25", 407, 40_666)],
        ),
        case(
            "skip",
            Operation::SkipInstallments,
            true,
            "2025-02-20T12:00:00-05:00",
            json!({}),
            &[("2025-02-15", 1_200, 39_603), ("2025-04-15", 1_608, 39_195), ("2025-05-15", 412, 41_202)],
        ),
        case(
            "extension",
            Operation::ExtendTerm,
            true,
            "2025-02-20T12:00:00-05:00",
            json!({ "count": 2 }),
            &[
                ("2025-02-15", 1_200, 39_603),
                ("2025-03-15", 804, 19_800),
                ("2025-04-15", 606, 19_998),
                ("2025-05-15", 406, 20_198),
                ("2025-06-15", 204, 20_401),
            ],
        ),
        case(
            "payment_deferral",
            Operation::DeferPayments,
            false,
            "2025-02-10T12:00:00-05:00",
            json!({ "deferrals": [{ "due_date": "2025-02-15" }] }),
            &[("2025-02-15", 0, 0), ("2025-03-15", 1_200, 39_603), ("2025-04-15", 2_004, 80_397)],
        ),
    ]
}

/// What is owed already, planned anew.
fn cases_of_debt() -> Vec<Case> {
    vec![
        case(
            "re_amortization",
            Operation::ReAmortize,
            false,
            "2025-02-25T12:00:00-05:00",
            json!({}),
            &[("2025-02-15", 0, 0), ("2025-03-15", 2_400, 59_111), ("2025-04-15", 609, 60_889)],
        ),
        case(
            "re_age",
            Operation::ReAge,
            false,
            "2025-03-20T12:00:00-04:00",
            json!({ "first_due_date": "2025-04-15", "installments": 3 }),
            &[
                ("2025-02-15", 0, 0),
                ("2025-03-15", 0, 0),
                ("2025-04-15", 3_600, 38_019),
                ("2025-05-15", 820, 40_799),
                ("2025-06-15", 412, 41_182),
            ],
        ),
        case(
            "capitalization",
            Operation::Capitalize,
            false,
            "2025-02-17T12:00:00-05:00",
            json!({ "interest": "POSTED" }),
            &[],
        ),
        case(
            "restructure",
            Operation::Restructure,
            false,
            "2025-03-20T12:00:00-04:00",
            json!({ "am_len": 3, "first_due_date": "2025-04-15" }),
            &[],
        ),
    ]
}

fn with(body: &Value, further: Value) -> Value {
    let mut body = body.clone();
    crate::support::merge(&mut body, &further);
    body
}

/// The plan by due date, as a preview shows it: for each due date in its rows, what is due after it.
fn planned_after(before: &[(String, i64, i64)], shown: &Value) -> Vec<(String, i64, i64)> {
    let mut plan: std::collections::BTreeMap<String, (i64, i64)> =
        before.iter().map(|(due, interest, principal)| (due.clone(), (*interest, *principal))).collect();
    for row in shown["effects"]["rows"].as_array().expect("rows") {
        let due = row["due_date"].as_str().expect("a date").to_owned();
        match &row["after"] {
            Value::Null => drop(plan.remove(&due)),
            after => {
                let cents = |field: &str| after[field].as_i64().expect("cents");
                plan.insert(due, (cents("am_interest_cents"), cents("am_principal_cents")));
            }
        }
    }
    plan.into_iter().map(|(due, (interest, principal))| (due, interest, principal)).collect()
}

async fn each_kind_is_previewed_made_and_cancelled(home: Home) {
    for case in cases() {
        let trial = loan(home, case.at, case.is_paid, json!({ "backdating_policy": "REPLAY" })).await;
        let before = rows(&trial).await;
        let body = with(&case.body, json!({ "change_id": "c1" }));
        let shown = preview(&trial, case.operation, &body).await.expect("it can be made");
        assert_eq!(shown["preview"], true, "{}", case.kind);
        assert_eq!(shown["answer"]["change_id"], "c1", "{}", case.kind);
        assert_eq!(changes(&trial).await, Vec::<Value>::new(), "{}: nothing is stored", case.kind);
        let made = make(&trial, case.operation, &body).await.expect("it is made");
        assert_eq!((made["kind"].as_str(), made["processing_state"].as_str()), (Some(case.kind), Some("PROCESSED")));
        assert_eq!(view_of(trial.service.get_change(&trial.who, "a1", "c1").await), made, "{}", case.kind);
        let after = rows(&trial).await;
        if !case.rows.is_empty() {
            assert_eq!(after, named(case.rows), "{}", case.kind);
        }
        assert_eq!(planned_after(&before, &shown), after, "{}: as previewed", case.kind);
        let figures = |account: &Value| account["summary"]["total_payoff_cents"].clone();
        let account = trial.read("a1").await;
        assert_eq!(shown["effects"]["after"]["total_payoff_cents"], figures(&account), "{}", case.kind);
        trial.verify().await;

        let cancelled = make_about(&trial, Operation::CancelChange, "c1", &json!({})).await.expect("it is cancelled");
        assert!(cancelled["cancelled_at"].is_string(), "{}: {cancelled}", case.kind);
        assert_eq!(rows(&trial).await, before, "{}: as if it had never been made", case.kind);
        let again = make_about(&trial, Operation::CancelChange, "c1", &json!({})).await.expect("once more is the same");
        assert_eq!(again, cancelled, "{}", case.kind);
        trial.verify().await;
    }
}

async fn each_kind_is_held_released_and_withdrawn(home: Home) {
    for case in cases() {
        let trial = Trial::at(home, case.at).await;
        product(&trial, json!({})).await;
        trial.migration_mode("flex-3", true).await;
        trial.account("flex-3", "a1", super::OPENING).await;
        let body = with(&case.body, json!({ "change_id": "c1", "effective_at": case.at }));
        let shown = preview(&trial, case.operation, &body).await;
        // A payment that the change relies on may still be missing.
        assert!(shown.is_ok() || case.is_paid, "{}: {shown:?}", case.kind);
        let held = make(&trial, case.operation, &body).await.expect("it is held");
        assert_eq!((held["processing_state"].as_str(), &held["applies_at"]), (Some("HELD"), &Value::Null));
        let withdrawn = make_about(&trial, Operation::WithdrawChange, "c1", &json!({})).await;
        let _ = withdrawn;
        json_of(
            trial
                .service
                .change_account(
                    &trial.who,
                    None,
                    "a1",
                    daybook_service::changes::ChangeRequest::WithdrawChange("c1".to_owned()),
                )
                .await,
        );
        assert_eq!(changes(&trial).await, Vec::<Value>::new(), "{}", case.kind);
        make(&trial, case.operation, &body).await.expect("its id is free again");
        if case.is_paid {
            json_of(trial.pay("a1", "p1", LEVEL, super::PAID_AT).await);
        }
        let shown = preview(&trial, Operation::ChargeManualFee, &json!({ "original_amount_cents": 100 })).await;
        let shown = shown.expect("the release is shown");
        assert_eq!(
            shown["effects"]["before"]["fees_balance_cents"].as_i64().map(|fees| fees + 100),
            shown["effects"]["after"]["fees_balance_cents"].as_i64(),
            "{}",
            case.kind
        );
        trial.release("flex-3").await;
        assert_eq!(trial.progress("flex-3").await["failed_accounts"], json!([]), "{}", case.kind);
        assert_eq!(changes(&trial).await[0]["processing_state"], "PROCESSED", "{}", case.kind);
        if !case.rows.is_empty() {
            assert_eq!(rows(&trial).await, named(case.rows), "{}", case.kind);
        }
        let refused = trial
            .service
            .change_account(
                &trial.who,
                None,
                "a1",
                daybook_service::changes::ChangeRequest::WithdrawChange("c1".to_owned()),
            )
            .await;
        assert_eq!(code_of(refused), "not_held", "{}", case.kind);
        trial.verify().await;
    }
}

async fn a_repeated_change_answers_as_before(home: Home) {
    let trial = loan(home, "2025-02-20T12:00:00-05:00", true, json!({})).await;
    let body = json!({ "change_id": "c1", "count": 2 });
    let made = make(&trial, Operation::ExtendTerm, &body).await.expect("it is made");
    assert_eq!(make(&trial, Operation::ExtendTerm, &body).await, Ok(made));
    assert_eq!(changes(&trial).await.len(), 1);
    let other = json!({ "change_id": "c1", "count": 3 });
    assert_eq!(code_of(make(&trial, Operation::ExtendTerm, &other).await), "id_taken");
    assert_eq!(code_of(make(&trial, Operation::SkipInstallments, &json!({ "change_id": "p1" })).await), "id_taken");
}

async fn a_scheduled_change_is_announced_twice_and_withdrawn(home: Home) {
    let trial = loan(home, "2025-02-20T12:00:00-05:00", true, json!({})).await;
    let announced = trial.announced("a1").await.len();
    let body = json!({ "change_id": "c1", "interest_rate": 9, "effective_at_inclusive_start": "2025-03-01" });
    let made = make(&trial, Operation::CreateInterestRate, &body).await.expect("it is scheduled");
    assert_eq!(made["processing_state"], "SCHEDULED");
    assert_eq!(made["effective_at_inclusive_start"], "2025-03-01T00:00:00-05:00");
    assert_eq!(trial.announced_after("a1", announced).await, ["account_update"]);
    trial.go_to("2025-03-02T12:00:00-05:00").await;
    assert_eq!(trial.announced_after("a1", announced + 1).await, ["account_update", "schedule_change"]);
    let message = data(trial.messages("a1").await.last().expect("a message"));
    assert_eq!(message["change"]["kind"], "interest_rate");
    assert_eq!(message["change"]["before"]["interest_rate_percent"], 12);
    assert_eq!(message["change"]["after"]["interest_rate_percent"], 9);
    assert_eq!(message["rows"][0]["due_date"], "2025-03-15");
    assert_eq!(message["rows"][0]["after"]["am_min_pay_cents"], 40_702);
    let later = json!({ "change_id": "c2", "interest_rate": 8, "effective_at_inclusive_start": "2025-03-10" });
    make(&trial, Operation::CreateInterestRate, &later).await.expect("it is scheduled");
    let withdraw = daybook_service::changes::ChangeRequest::WithdrawChange("c2".to_owned());
    json_of(trial.service.change_account(&trial.who, None, "a1", withdraw).await);
    assert_eq!(code_of(trial.service.get_change(&trial.who, "a1", "c2").await), "not_found");
    trial.go_to("2025-03-11T12:00:00-04:00").await;
    assert_eq!(trial.read("a1").await["summary"]["interest_rate_percent"], 9);
    trial.verify().await;
}

async fn a_rate_is_replaced_and_listed(home: Home) {
    let trial = loan(home, "2025-03-01T12:00:00-05:00", true, json!({ "backdating_policy": "REPLAY" })).await;
    make(&trial, Operation::CreateInterestRate, &json!({ "change_id": "c1", "interest_rate": 9 })).await.expect("made");
    let body = json!({ "interest_rate_id": "c1", "change_id": "c2", "interest_rate": "8.5" });
    let made = make(&trial, Operation::ReplaceInterestRate, &body).await.expect("it is replaced");
    assert_eq!((&made["interest_rate_id"], &made["interest_rate"]), (&json!("c2"), &json!(8.5)));
    let all = view_of(trial.service.list_interest_rates(&trial.who, "a1").await);
    let all = all.as_array().expect("a bare array");
    assert_eq!(all.len(), 2);
    assert!(all[0]["cancelled_at"].is_string() && all[1]["cancelled_at"].is_null(), "{all:?}");
    assert_eq!(trial.read("a1").await["summary"]["interest_rate_percent"], 8.5);
    assert_eq!(view_of(trial.service.list_temp_promos(&trial.who, "a1").await), json!([]));
    let relief = json!({ "tags": { "scra": true } });
    make(&trial, Operation::CreateInterestRate, &relief).await.expect("it is made");
    let account = trial.read("a1").await;
    assert_eq!(
        (&account["account_overview"]["is_active_scra"], &account["summary"]["interest_rate_percent"]),
        (&json!(true), &json!(6))
    );
    trial.verify().await;
}

async fn a_cancel_is_announced(home: Home) {
    let trial = loan(home, "2025-02-20T12:00:00-05:00", true, json!({})).await;
    make(&trial, Operation::SkipInstallments, &json!({ "change_id": "c1" })).await.expect("it is made");
    let announced = trial.announced("a1").await.len();
    make_about(&trial, Operation::CancelChange, "c1", &json!({})).await.expect("it is cancelled");
    let new = trial.messages("a1").await.split_off(announced);
    let update = new.iter().find(|message| message.event == "account_update").expect("it is announced");
    assert_eq!(data(update)["change"]["cancelled"], true);
    trial.verify().await;
}

async fn a_change_without_an_id_gets_one(home: Home) {
    let trial = loan(home, "2025-02-20T12:00:00-05:00", true, json!({})).await;
    let made = make(&trial, Operation::SkipInstallments, &json!({})).await.expect("it is made");
    assert!(is_made_up(made["change_id"].as_str().expect("an id")), "{made}");
}

async fn a_preview_stores_nothing(home: Home) {
    let trial = loan(home, "2025-02-20T12:00:00-05:00", false, json!({})).await;
    let before = (trial.read("a1").await, trial.messages("a1").await.len(), trial.all_items("a1", None).await);
    let payment = json!({ "line_item_id": "p1", "original_amount_cents": LEVEL });
    let shown = preview(&trial, Operation::RecordPayment, &payment).await.expect("it can be recorded");
    assert_eq!(shown["answer"]["line_item_id"], "p1");
    assert_eq!(shown["effects"]["before"]["past_due_cents"], 40_803);
    assert_eq!(shown["effects"]["after"]["past_due_cents"], 0);
    let events: Vec<&Value> =
        shown["effects"]["messages"].as_array().expect("messages").iter().map(|message| &message["event"]).collect();
    assert!(events.contains(&&json!("line_item_create")), "{events:?}");
    for (operation, body) in [
        (Operation::SetAccountStatus, json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD" })),
        (Operation::ChargeManualFee, json!({ "original_amount_cents": 500 })),
        (Operation::CreditOffset, json!({ "original_amount_cents": 500 })),
        (Operation::DebitOffset, json!({ "original_amount_cents": 500 })),
        (
            Operation::SetNotificationConfig,
            json!({ "notification_type": "payment_due_date", "time_offset": "-1 days" }),
        ),
    ] {
        let shown = preview(&trial, operation, &body).await.expect("it can be requested");
        assert_eq!(shown["preview"], true, "{operation}");
    }
    let account = json!({
        "product_id": "flex-3", "account_id": "a2", "effective_at": super::OPENING,
        "summary": { "initial_principal_cents": 120_000 }
    });
    let shown = trial.service.preview_opening(&trial.who, crate::support::form_of(&account)).await;
    let shown = view_of(shown);
    assert_eq!((&shown["answer"]["account_id"], &shown["effects"]["before"]), (&json!("a2"), &Value::Null));
    assert_eq!(shown["effects"]["rows"].as_array().map(Vec::len), Some(3));
    assert_eq!(code_of(trial.service.get_account(&trial.who, "a2", None).await), "not_found");
    let after = (trial.read("a1").await, trial.messages("a1").await.len(), trial.all_items("a1", None).await);
    assert_eq!(after, before);
}

async fn surplus_is_refunded_and_comes_back(home: Home) {
    let trial = loan(home, "2025-02-20T12:00:00-05:00", false, json!({})).await;
    json_of(trial.pay("a1", "p1", 130_000, "2025-02-20T12:00:00-05:00").await);
    let surplus = trial.read("a1").await["summary"]["surplus_cents"].as_i64().expect("surplus");
    let refund = json!({ "line_item_id": "r1", "original_amount_cents": surplus });
    let refunded = make(&trial, Operation::RefundSurplus, &refund).await.expect("it is refunded");
    assert_eq!(refunded["line_item_overview"]["line_item_type"], "REFUND");
    assert_eq!(trial.standing("a1").await, "CLOSED/PAID_OFF");
    let more = json!({ "line_item_id": "r2", "original_amount_cents": 1 });
    assert_eq!(code_of(make(&trial, Operation::RefundSurplus, &more).await), "exceeds_surplus");
    let back = make_about(&trial, Operation::ReverseRefund, "r1", &json!({})).await.expect("it came back");
    assert_eq!(back["line_item_overview"]["line_item_type"], "REFUND_REVERSAL");
    assert_eq!(trial.read("a1").await["summary"]["surplus_cents"], surplus);
    let other = json!({ "line_item_id": "rr2" });
    assert_eq!(code_of(make_about(&trial, Operation::ReverseRefund, "r1", &other).await), "already_reversed");
    assert_eq!(code_of(make_about(&trial, Operation::ReverseRefund, "p1", &json!({})).await), "not_reversible");
    trial.verify().await;
}

async fn an_account_begins_with_its_balances(home: Home) {
    let trial = Trial::at(home, "2025-03-01T12:00:00-05:00").await;
    product(&trial, json!({})).await;
    let body = json!({
        "product_id": "flex-3", "account_id": "a1", "effective_at": super::OPENING,
        "opening": {
            "as_of": "2025-03-01T12:00:00-05:00", "principal_cents": 120_000, "next_due_date": "2025-03-15",
            "remaining_installments": 2, "payment_amount_cents": LEVEL,
            "past_due": [{ "due_date": "2025-02-15", "principal_cents": 39_603, "interest_cents": 1_200 }],
            "accrued_interest_cents": 600,
            "fees": [{ "line_item_id": "late-1", "amount_cents": 1_500 }],
        },
    });
    let opened = json_of(trial.service.create_account(&trial.who, None, crate::support::form_of(&body)).await);
    assert_eq!(opened["summary"]["total_payoff_cents"], 123_300);
    assert_eq!(opened["delinquency"]["days_past_due"], 14);
    let early = trial.pay("a1", "p0", LEVEL, "2025-02-20T12:00:00-05:00").await.expect_err("nothing before it");
    assert_eq!(early.details[0].field, "effective_at");
    trial.verify().await;
}

async fn another_organization_finds_nothing(home: Home) {
    let trial = loan(home, "2025-02-20T12:00:00-05:00", true, json!({})).await;
    make(&trial, Operation::SkipInstallments, &json!({ "change_id": "c1" })).await.expect("it is made");
    trial.service.create_organization("other", "TEST").await.expect("it is made");
    let other = Trial { who: trial.service.operator(Some("other")).await.expect("it is there"), ..trial.clone() };
    assert_eq!(code_of(other.service.get_change(&other.who, "a1", "c1").await), "not_found");
    assert_eq!(code_of(make(&other, Operation::SkipInstallments, &json!({})).await), "not_found");
    assert_eq!(code_of(preview(&other, Operation::SkipInstallments, &json!({})).await), "not_found");
}

//! Every refusal of a change: the field that it names, or its code.

use super::{loan, make, make_about, preview, product};
use crate::support::{Home, Trial, code_of, form_of, json_of, on_both};
use daybook_operations::Operation;
use serde_json::{Value, json};

on_both!(
    each_wrong_field_is_named,
    each_conflict_has_its_code,
    what_a_later_change_needs_stays,
    each_wrong_field_of_a_contract_is_named,
    each_wrong_field_of_a_product_is_named,
);

const NOW: &str = "2025-02-20T12:00:00-05:00";

/// Operation, body, and the field that is wrong.
type Wrong = (Operation, Value, &'static str);

fn wrong_fields() -> Vec<Wrong> {
    wrong_fields_of_rates().into_iter().chain(wrong_fields_of_due_dates()).chain(wrong_fields_of_debt()).collect()
}

/// What interest is charged.
fn wrong_fields_of_rates() -> Vec<Wrong> {
    use Operation::*;
    vec![
        (CreateInterestRate, json!({}), "interest_rate"),
        (CreateInterestRate, json!({ "interest_rate": "1000.1" }), "interest_rate"),
        (CreateInterestRate, json!({ "interest_rate": "1e1" }), "interest_rate"),
        (
            CreateInterestRate,
            json!({ "interest_rate": 9, "effective_at_inclusive_start": "2025-03-01",
                "effective_at_exclusive_end": "2025-03-01" }),
            "effective_at_exclusive_end",
        ),
        (CreateInterestRate, json!({ "interest_rate": 9, "level_payment": "REDUCE" }), "level_payment"),
        (CreateInterestRate, json!({ "tags": { "scra": true, "mla": true } }), "tags"),
        (
            CreateInterestRate,
            json!({ "interest_rate": 9, "effective_at_inclusive_start": "2025-03-01",
                "effective_at": "2025-03-02T00:00:00-05:00" }),
            "effective_at",
        ),
        (
            CreateInterestRate,
            json!({ "interest_rate": 9, "effective_at_inclusive_start": "2025-01-14" }),
            "effective_at",
        ),
        (
            CreateTempPromo,
            json!({ "temp_promo_inclusive_start": "2025-03-01", "temp_promo_exclusive_end": "2025-03-01",
                "late_fee_cents": 0 }),
            "temp_promo_exclusive_end",
        ),
        (
            CreateTempPromo,
            json!({ "temp_promo_inclusive_start": "2025-03-01", "temp_promo_exclusive_end": "2025-03-02" }),
            "interest_rate_percent",
        ),
        (CreateTempPromo, json!({}), "temp_promo_inclusive_start"),
        (CreateInterestPause, json!({ "start": "2025-03-02", "end": "2025-03-01" }), "end"),
        (CreateInterestPause, json!({ "start": "2025-03-02" }), "end"),
        (CreateInterestPause, json!({ "start": "2025-02-30", "end": "2025-03-01" }), "start"),
    ]
}

/// When the instalments are due.
fn wrong_fields_of_due_dates() -> Vec<Wrong> {
    use Operation::*;
    let deferral = |row: Value| json!({ "deferrals": [row] });
    vec![
        (ChangeDueDate, json!({ "next_due_date": "2025-02-15" }), "next_due_date"),
        (ChangeDueDate, json!({ "next_due_date": "2026-03-17" }), "next_due_date"),
        (ChangeDueDate, json!({ "next_due_date": "2025-03-20", "from_due_date": "2025-03-16" }), "from_due_date"),
        (ChangeDueDate, json!({ "next_due_date": "2025-03-20", "from_due_date": "2025-02-15" }), "from_due_date"),
        (ChangeDueDate, json!({ "next_due_date": "2025-03-20", "semi_monthly_days": [1, 15] }), "semi_monthly_days"),
        (ChangeDueDate, json!({ "next_due_date": "2025-03-20", "level_payment": "REDUCE" }), "level_payment"),
        (SkipInstallments, json!({ "count": 61 }), "count"),
        (SkipInstallments, json!({ "count": 0 }), "count"),
        (SkipInstallments, json!({ "count": 2, "extend_term": false }), "count"),
        (SkipInstallments, json!({ "from_due_date": "2025-03-14" }), "from_due_date"),
        (SkipInstallments, json!({ "cuont": 1 }), "cuont"),
        (ExtendTerm, json!({}), "count"),
        (ExtendTerm, json!({ "count": 601 }), "count"),
        (DeferPayments, json!({ "deferrals": [] }), "deferrals"),
        (DeferPayments, deferral(json!({ "due_date": "2025-03-14" })), "deferrals[0].due_date"),
        (DeferPayments, deferral(json!({ "due_date": "2025-04-15" })), "deferrals[0].due_date"),
        (
            DeferInstallments,
            deferral(json!({ "due_date": "2025-03-15", "deferred_to": "2025-04-16" })),
            "deferrals[0].deferred_to",
        ),
        (
            DeferPayments,
            deferral(json!({ "due_date": "2025-03-15", "deferred_to": "2025-03-15" })),
            "deferrals[0].deferred_to",
        ),
    ]
}

/// What is owed already, planned anew, or paid too much.
fn wrong_fields_of_debt() -> Vec<Wrong> {
    use Operation::*;
    vec![
        (ReAge, json!({ "first_due_date": "2025-04-15", "installments": 1_201 }), "installments"),
        (ReAge, json!({ "installments": 3 }), "first_due_date"),
        (ReAge, json!({ "first_due_date": "2025-02-19", "installments": 3 }), "first_due_date"),
        (ReAge, json!({ "first_due_date": "2025-04-15", "installments": 3, "frequency": "0 days" }), "frequency"),
        (ReAge, json!({ "first_due_date": "2025-04-15", "installments": 3, "interest": "ALL" }), "interest"),
        (Restructure, json!({ "am_len": 3, "interest_only_cycles": 3 }), "interest_only_cycles"),
        (Restructure, json!({}), "am_len"),
        (Capitalize, json!({ "interest": "FIRST" }), "interest"),
        (Capitalize, json!({ "level_payment": "REDUCE" }), "level_payment"),
        (ReAmortize, json!({ "interest": "WAIVE" }), "interest"),
        (RefundSurplus, json!({ "line_item_id": "r1", "original_amount_cents": 0 }), "original_amount_cents"),
    ]
}

async fn each_wrong_field_is_named(home: Home) {
    let trial = loan(home, NOW, true, json!({})).await;
    for (operation, body, field) in wrong_fields() {
        let refused = make(&trial, operation, &body).await.expect_err("it is wrong");
        assert_eq!(refused.code, "invalid_request", "{operation} {body}: {refused}");
        assert_eq!(refused.details[0].field, field, "{operation} {body}: {refused}");
        let shown = preview(&trial, operation, &body).await.expect_err("a preview refuses it too");
        assert_eq!(shown.details[0].field, field, "{operation} {body}: {shown}");
    }
    let several = json!({ "temp_promo_inclusive_start": "2025-03-02", "temp_promo_exclusive_end": "2025-03-01",
        "level_payment": "REDUCE" });
    let refused = make(&trial, Operation::CreateTempPromo, &several).await.expect_err("it is wrong");
    let fields: Vec<&str> = refused.details.iter().map(|detail| detail.field.as_str()).collect();
    assert_eq!(fields, ["temp_promo_exclusive_end", "interest_rate_percent", "level_payment"], "all at once");
    assert_eq!(super::changes(&trial).await, Vec::<Value>::new());
}

async fn each_conflict_has_its_code(home: Home) {
    let limits = json!({ "payment_due_policies": { "re_age_limits": { "per_12_months": 1 } } });
    let trial = loan(home, NOW, true, limits).await;
    use Operation::*;
    let re_age = json!({ "first_due_date": "2025-04-15", "installments": 3 });
    for (operation, body, code) in [
        (ReAmortize, json!({}), "nothing_to_change"),
        (Capitalize, json!({ "interest": "POSTED" }), "nothing_to_change"),
        (DeferPayments, json!({ "deferrals": [{ "due_date": "2025-02-15" }] }), "nothing_to_change"),
        (RefundSurplus, json!({ "line_item_id": "r1", "original_amount_cents": 1 }), "exceeds_surplus"),
    ] {
        let refused = make(&trial, operation, &body).await.expect_err("it cannot be made");
        assert_eq!(refused.code, code, "{operation} {body}: {refused}");
        assert_eq!(code_of(preview(&trial, operation, &body).await), code, "{operation}: a preview refuses it too");
    }
    assert_eq!(code_of(make_about(&trial, CancelChange, "c1", &json!({})).await), "not_found");
    make(&trial, ReAge, &re_age).await.expect("the first one is allowed");
    assert_eq!(code_of(make(&trial, ReAge, &re_age).await), "limit_reached");
    let restructure = json!({ "am_len": 3, "first_due_date": "2025-04-15" });
    assert_eq!(code_of(make(&trial, Restructure, &restructure).await), "limit_reached");
    make(&trial, SkipInstallments, &json!({ "change_id": "c1" })).await.expect("it is made");
    json_of(trial.pay("a1", "p2", 1_000, NOW).await);
    assert_eq!(code_of(make_about(&trial, CancelChange, "c1", &json!({})).await), "cannot_cancel");
    trial.go_to("2025-12-01T12:00:00-05:00").await;
    for (operation, body) in [
        (ChangeDueDate, json!({ "next_due_date": "2025-12-15" })),
        (SkipInstallments, json!({})),
        (ExtendTerm, json!({ "count": 1 })),
        (ReAmortize, json!({})),
    ] {
        assert_eq!(code_of(make(&trial, operation, &body).await), "no_rows_ahead", "{operation}");
    }
    json_of(trial.status("a1", &json!({ "account_status": "CLOSED", "account_substatus": "CUSTOMER_REQUEST" })).await);
    assert_eq!(code_of(make(&trial, SkipInstallments, &json!({})).await), "account_closed");
    make(&trial, CreateInterestRate, &json!({ "tags": { "scra": true } })).await.expect("the law still counts");
    trial.verify().await;
}

async fn what_a_later_change_needs_stays(home: Home) {
    let trial = loan(home, NOW, true, json!({ "backdating_policy": "REPLAY" })).await;
    use Operation::*;
    make(&trial, ExtendTerm, &json!({ "change_id": "more", "count": 2 })).await.expect("it is made");
    trial.go_to("2025-02-25T12:00:00-05:00").await;
    let skip = json!({ "change_id": "skip", "from_due_date": "2025-05-15" });
    make(&trial, SkipInstallments, &skip).await.expect("the row is there");
    let refused = make_about(&trial, CancelChange, "more", &json!({})).await.expect_err("the skip needs it");
    assert_eq!(refused.code, "conflict", "{refused}");
    assert!(refused.message.contains("\"skip\""), "{refused}");
    let earlier = json!({ "next_due_date": "2025-03-20", "effective_at": "2025-02-21T12:00:00-05:00" });
    assert_eq!(code_of(make(&trial, ChangeDueDate, &earlier).await), "conflict");
    trial.verify().await;
}

async fn opening_refused(trial: &Trial, body: Value) -> Vec<String> {
    let mut whole = json!({ "product_id": "flex-3", "effective_at": super::OPENING });
    crate::support::merge(&mut whole, &body);
    let form: daybook_service::form::NewAccount = form_of(&whole);
    let refused = trial.service.create_account(&trial.who, None, form).await.expect_err("it is wrong");
    assert_eq!(refused.code, "invalid_request", "{body}: {refused}");
    refused.details.into_iter().map(|detail| detail.field).collect()
}

/// A contract that lends something, with more in it.
fn with(body: Value) -> Value {
    let mut whole = json!({ "summary": { "initial_principal_cents": 120_000 } });
    crate::support::merge(&mut whole, &body);
    whole
}

/// Wrong plans of a contract, and the fields that are wrong.
fn wrong_plans() -> Vec<(Value, Vec<&'static str>)> {
    let rows = |rows: Value| with(json!({ "schedule": rows }));
    vec![
        (json!({}), vec!["summary.initial_principal_cents"]),
        (with(json!({ "payment_amount_cents": 1, "balloon_cents": 1 })), vec!["balloon_cents"]),
        (
            with(
                json!({ "payment_amount_cents": 1, "amortization_cycles": 4, "schedule": [{ "due_date": "2025-02-15" }] }),
            ),
            vec!["amortization_cycles", "schedule"],
        ),
        (with(json!({ "balloon_cents": 120_001 })), vec!["balloon_cents"]),
        (with(json!({ "amortization_cycles": 3 })), vec!["amortization_cycles"]),
        (rows(json!([])), vec!["schedule"]),
        (rows(json!([{ "due_date": "2025-01-14" }])), vec!["schedule[0].due_date"]),
        (
            rows(json!([{ "due_date": "2025-02-15" }, { "due_date": "2025-02-15" }])),
            vec!["schedule[0].amount_cents", "schedule[1].due_date"],
        ),
        (
            rows(
                json!([{ "due_date": "2025-02-15", "amount_cents": 1, "principal_cents": 1 }, { "due_date": "2025-03-15" }]),
            ),
            vec!["schedule[0].principal_cents"],
        ),
        (with(json!({ "first_due_date": "2025-01-14" })), vec!["first_due_date"]),
        (
            with(json!({ "first_due_date": "2025-02-01", "cycle_type": { "first_cycle_interval": "10 days" } })),
            vec!["cycle_type.first_cycle_interval"],
        ),
        (with(json!({ "first_due_date": "2025-02-15", "schedule": [{ "due_date": "2025-02-15" }] })), vec!["schedule"]),
    ]
}

/// Wrong balances to begin with, and the first field that is wrong.
fn wrong_balances() -> Vec<(Value, &'static str)> {
    let opening = |further: Value| {
        let mut opening = json!({
            "as_of": "2025-03-01T12:00:00-05:00", "principal_cents": 120_000, "next_due_date": "2025-03-15",
            "remaining_installments": 2
        });
        crate::support::merge(&mut opening, &further);
        json!({ "opening": opening })
    };
    let past_due = |rows: Value| opening(json!({ "past_due": rows }));
    vec![
        (with(opening(json!({}))), "summary.initial_principal_cents"),
        (opening(json!({ "as_of": "2025-01-01T00:00:00Z" })), "opening.as_of"),
        (opening(json!({ "next_due_date": "2025-02-28" })), "opening.next_due_date"),
        (past_due(json!([{ "due_date": "2025-03-02" }])), "opening.past_due[0].due_date"),
        (past_due(json!([{ "due_date": "2025-02-02" }, { "due_date": "2025-02-01" }])), "opening.past_due[1].due_date"),
        (past_due(json!([{ "due_date": "2025-02-02", "principal_cents": 120_001 }])), "opening.past_due"),
        (
            past_due(json!([{ "due_date": "2025-02-02", "principal_cents": 2, "total_cents": 1 }])),
            "opening.past_due[0].total_cents",
        ),
        (opening(json!({ "accrued_from": "2025-03-02" })), "opening.accrued_from"),
        (
            opening(json!({ "fees": [{ "line_item_id": "f", "amount_cents": 1, "due_date": "2025-03-14" }] })),
            "opening.fees[0].due_date",
        ),
        (opening(json!({ "account_status": "SUSPENDED" })), "opening.account_substatus"),
    ]
}

async fn each_wrong_field_of_a_contract_is_named(home: Home) {
    let trial = Trial::at(home, "2025-03-01T12:00:00-05:00").await;
    product(&trial, json!({})).await;
    for (body, fields) in wrong_plans() {
        assert_eq!(opening_refused(&trial, body.clone()).await, fields, "{body}");
    }
    for (body, field) in wrong_balances() {
        assert_eq!(opening_refused(&trial, body.clone()).await[0], field, "{body}");
    }
}

async fn each_wrong_field_of_a_product_is_named(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let tiers = |tiers: Value| json!({ "fee_policies": { "late_fee_tiers": tiers } });
    for (policies, field) in [
        (
            json!({ "billing_cycle_policies": { "semi_monthly_days": [1, 15] } }),
            "billing_cycle_policies.semi_monthly_days",
        ),
        (
            json!({ "billing_cycle_policies": { "cycle_interval": "semi-month", "semi_monthly_days": [15, 15] } }),
            "billing_cycle_policies.semi_monthly_days",
        ),
        (
            json!({ "fee_policies": { "late_fee_grace": "5 days", "late_fee_tiers": [{ "after": 5, "type": "FLAT" }] } }),
            "fee_policies.late_fee_grace",
        ),
        (
            json!({ "fee_policies": { "late_fee_type": "FLAT", "late_fee_tiers": [{ "after": 5, "type": "FLAT" }] } }),
            "fee_policies.late_fee_type",
        ),
        (tiers(json!([])), "fee_policies.late_fee_tiers"),
        (tiers(json!([{ "after": 5, "type": "FLAT" }, { "after": 5, "type": "FLAT" }])), "fee_policies.late_fee_tiers"),
        (json!({ "interest_policies": { "interest_rounding_at": "CARRY" } }), "interest_policies.interest_rounding_at"),
    ] {
        let product = crate::support::product("p", &policies);
        let refused = trial.service.create_product(&trial.who, None, form_of(&product)).await;
        let refused = refused.expect_err("it is wrong");
        assert_eq!(refused.details[0].field, format!("product_lifecycle_policies.{field}"), "{policies}: {refused}");
    }
}

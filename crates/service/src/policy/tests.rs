//! Overrides, and defaults as the interface documents them.

use super::*;
use crate::form::parse;
use serde_json::{Value, json};

const AT: &str = "2025-01-15T12:00:00-05:00";

fn product(body: Value) -> NewProduct {
    parse(body.to_string().as_bytes()).unwrap()
}

fn small() -> Value {
    json!({
        "product_overview": {"product_name": "Auto 36", "product_type": "INSTALLMENT"},
        "post_promotional_policies": {"post_promo_len": 36, "post_promo_default_interest_rate_percent": 12.0},
    })
}

fn with(mut body: Value, path: &str, value: Value) -> Value {
    let mut place = &mut body;
    for name in path.split('.') {
        place = &mut place[name];
    }
    *place = value;
    body
}

fn problems(result: Result<Terms, Vec<FieldProblem>>) -> Vec<String> {
    result.unwrap_err().into_iter().map(|problem| problem.field).collect()
}

fn agree(product: &NewProduct, account: Value) -> Result<Terms, Vec<FieldProblem>> {
    let account: NewAccount = parse(account.to_string().as_bytes()).unwrap();
    terms(product, &account, Time::parse(AT).unwrap())
}

/// Late fees, interest, delinquency, notices: `x` means stopped.
fn effects(stops: &str) -> Value {
    let word = |at: usize, goes_on: &'static str| if stops.as_bytes()[at] == b'x' { "STOP" } else { goes_on };
    json!({
        "late_fees": word(0, "CHARGE"), "interest": word(1, "ACCRUE"), "delinquency": word(2, "COUNT"),
        "notices": word(3, "SEND"),
    })
}

#[test]
fn the_defaults_are_those_of_the_interface() {
    let policy = product_policy(&product(small()), None).unwrap();
    let (life, post) = describe(&policy, None);
    let expected = json!({
        "billing_cycle_policies": {
            "cycle_interval": "1 month", "cycle_due_interval": "0 days", "first_cycle_interval": "1 month",
            "close_of_business_time": "23:59:59", "product_time_zone": "America/New_York",
            "business_days": {"adjust": "NONE", "weekend": ["SATURDAY", "SUNDAY"], "holidays": []},
        },
        "payment_due_policies": {
            "delinquent_on_n_consecutive_late_fees": 1, "charge_off_on_n_consecutive_late_fees": 99999,
            "shortfall_tolerance_rule": "HIGHER", "shortfall_goes_to": "NEXT_INSTALLMENT", "write_off_balance_cents": 0,
            "re_age_limits": {},
        },
        "fee_policies": {
            "late_fee_grace": "0 days", "late_fee_grace_counts_due_date": false, "late_fee_type": "FLAT",
            "late_fee_pyramiding": "RECEIPTS",
        },
        "amortization_policies": {
            "method": "LEVEL", "interest_only_cycles": 0, "month_end": "CLAMP",
            "installment_rounding_cents": 1, "smooth_last_installment": false,
        },
        "interest_policies": {
            "interest_calc_method": "PERIODIC", "day_count": "THIRTY_360", "rounding": "HALF_EVEN",
            "interest_after_maturity": "ACCRUE", "interest_rounding": "HALF_EVEN",
            "interest_rounding_at": "PERIOD_END",
        },
        "payment_pouring_policies": {
            "order": [
                "PAST_DUE_INTEREST", "PAST_DUE_PRINCIPAL", "DUE_INTEREST", "DUE_PRINCIPAL", "PAST_DUE_FEE",
                "PAST_DUE_PENALTY", "DUE_FEE", "DUE_PENALTY",
            ],
            "span": "INSTALLMENTS_FIRST", "surplus": "LAST_INSTALLMENT",
        },
        "backdating_policy": "AS_POSTED",
        "default_attributes": {"default_late_fee_cents": 0, "default_payment_reversal_fee_cents": 0},
        "status_effects": {
            "ACTIVE": effects("----"),
            "ACTIVE/HARDSHIP": effects("x-x-"),
            "ACTIVE/EXEMPTIONS": effects("----"),
            "ACTIVE/HARDSHIP/EXEMPTIONS": effects("----"),
            "ACTIVE/SCRA": effects("x---"),
            "SUSPENDED/DELINQUENT": effects("----"),
            "SUSPENDED/BANKRUPTCY": effects("x-xx"),
            "SUSPENDED/FRAUD": effects("xxxx"),
            "SUSPENDED/INACTIVITY": effects("----"),
            "SUSPENDED/RISK_REVIEW": effects("----"),
            "SUSPENDED/DECEASED": effects("x-xx"),
            "SUSPENDED/HARDSHIP": effects("x-x-"),
        },
    });
    assert_eq!(serde_json::to_value(&life).unwrap(), expected);
    let expected = json!({"post_promo_len": 36, "post_promo_default_interest_rate_percent": 12});
    assert_eq!(serde_json::to_value(&post).unwrap(), expected);
}

#[test]
fn everything_that_is_said_is_kept() {
    let life = json!({
        "billing_cycle_policies": {
            "cycle_interval": "2 months", "cycle_due_interval": "-5 days", "first_cycle_interval": "1 month + 3 days",
            "close_of_business_time": "17:00:00", "product_time_zone": "Europe/London",
            "business_days": {"adjust": "FOLLOWING", "weekend": ["SUNDAY"], "holidays": ["2025-12-25"]},
        },
        "payment_due_policies": {
            "delinquent_on_n_consecutive_late_fees": 2, "charge_off_on_n_consecutive_late_fees": 4,
            "shortfall_tolerance_cents": 10, "shortfall_tolerance_percent": 2, "shortfall_tolerance_rule": "LOWER",
            "shortfall_goes_to": "LAST_INSTALLMENT", "write_off_balance_cents": 99,
            "re_age_limits": {"per_12_months": 1, "per_60_months": 2, "min_age_months": 9},
        },
        "fee_policies": {
            "late_fee_grace": "5 days", "late_fee_grace_counts_due_date": true, "late_fee_type": "PERCENT_OF_PAYMENT",
            "late_fee_percent": 5, "late_fee_min_cents": 100, "late_fee_max_cents": 900, "late_fee_cap_percent": 50,
            "late_fee_pyramiding": "FEES_ONLY",
        },
        "amortization_policies": {
            "method": "EQUAL_PRINCIPAL", "interest_only_cycles": 2, "month_end": "ROLL",
            "installment_rounding_cents": 100, "smooth_last_installment": true,
        },
        "interest_policies": {
            "interest_calc_method": "DAILY", "day_count": "ACTUAL_ACTUAL", "rounding": "HALF_UP",
            "interest_after_maturity": "NONE", "interest_rounding": "DOWN", "interest_rounding_at": "CARRY",
        },
        "payment_pouring_policies": {
            "order": ["DUE_INTEREST", "IN_ADVANCE_PRINCIPAL"],
            "span": "OLDEST_INSTALLMENT_FIRST", "surplus": "REDUCE_PRINCIPAL",
        },
        "backdating_policy": "REPLAY",
        "default_attributes": {
            "default_credit_limit_cents": 5, "default_late_fee_cents": 1500, "default_payment_reversal_fee_cents": 2500,
        },
    });
    let policy = product_policy(&product(with(small(), "product_lifecycle_policies", life.clone())), None).unwrap();
    let mut described = serde_json::to_value(describe(&policy, Some(Cents(5))).0).unwrap();
    described.as_object_mut().unwrap().remove("status_effects");
    assert_eq!(described, life);
}

/// A product states differences only; an absent combination or value has its default.
#[test]
fn a_product_says_what_its_statuses_stop() {
    let said = json!({"status_effects": {
        "SUSPENDED/BANKRUPTCY": {"late_fees": "CHARGE", "interest": "STOP"},
        "ACTIVE": {"notices": "STOP"},
    }});
    let policy = product_policy(&product(with(small(), "product_lifecycle_policies", said)), None).unwrap();
    let described = serde_json::to_value(describe(&policy, None).0).unwrap();
    assert_eq!(described["status_effects"]["SUSPENDED/BANKRUPTCY"], effects("-xxx"));
    assert_eq!(described["status_effects"]["ACTIVE"], effects("---x"));
    assert_eq!(described["status_effects"]["SUSPENDED/FRAUD"], effects("xxxx"));
    let refused = |effects: Value| {
        let body = with(small(), "product_lifecycle_policies", json!({ "status_effects": effects }));
        crate::form::parse::<NewProduct>(body.to_string().as_bytes()).unwrap_err().to_string()
    };
    let path = "product_lifecycle_policies.status_effects";
    assert!(refused(json!({"CLOSED/FRAUD": {}})).starts_with(&format!("{path} must name only these pairs: ACTIVE, ")));
    assert!(refused(json!({"ACTIVE/FRAUD": {}})).ends_with("; ACTIVE/FRAUD is not one of them"));
    let word = refused(json!({"SUSPENDED/FRAUD": {"interest": "CHARGE"}}));
    assert_eq!(word, format!("{path}.SUSPENDED/FRAUD.interest must be one of ACCRUE, STOP"));
    let unknown = refused(json!({"SUSPENDED/FRAUD": {"fees": "STOP"}}));
    assert!(unknown.starts_with(&format!("{path}.SUSPENDED/FRAUD")), "{unknown}");
}

#[test]
fn an_account_overrides_its_product() {
    let product = product(small());
    let terms = agree(
        &product,
        json!({
            "product_id": "auto-36",
            "summary": {
                "initial_principal_cents": 120000, "origination_fee_cents": 700, "late_fee_cents": 1500,
                "late_fee_cap_percent": 5, "payment_reversal_fee_cents": 2500,
            },
            "cycle_type": {"first_cycle_interval": "45 days", "late_fee_grace": "10 days"},
            "post_promo_overview": {"post_promo_len": 3, "post_promo_impl_interest_rate_percent": 6.2},
        }),
    )
    .unwrap();
    let policy = &terms.installment().policy;
    assert_eq!((terms.opening.principal, terms.opening.origination_fee), (Cents(120_000), Cents(700)));
    assert_eq!((terms.reversal_fee, policy.late_fee.flat), (Cents(2_500), Cents(1_500)));
    assert_eq!(policy.late_fee.cap, Percent::parse("5"));
    assert_eq!(policy.first_cycle, Some(Interval::days(45)));
    assert_eq!(policy.late_fee.grace, Interval::days(10));
    assert_eq!((policy.instalments, Some(policy.rate)), (3, Percent::parse("6.2")));
}

#[test]
fn what_is_wrong_is_named_by_the_field_its_caller_can_change() {
    let plain = product(small());
    let lent = json!({"initial_principal_cents": 120000});
    assert_eq!(problems(agree(&plain, json!({"product_id": "p"}))), ["summary.initial_principal_cents"]);
    let long = json!({"product_id": "p", "summary": lent, "post_promo_overview": {"post_promo_len": 1201}});
    assert_eq!(problems(agree(&plain, long)), ["post_promo_overview.post_promo_len"]);
    let grace = json!({"product_id": "p", "summary": lent, "cycle_type": {"late_fee_grace": "-1 days"}});
    assert_eq!(problems(agree(&plain, grace)), ["cycle_type.late_fee_grace"]);
    let first = json!({"product_id": "p", "summary": lent, "cycle_type": {"first_cycle_interval": "-3 days"}});
    assert_eq!(problems(agree(&plain, first)), ["cycle_type.first_cycle_interval"]);
    let amortization = json!({"amortization_policies": {"interest_only_cycles": 6}});
    let slow = product(with(small(), "product_lifecycle_policies", amortization));
    let short = json!({"product_id": "p", "summary": lent, "post_promo_overview": {"post_promo_len": 6}});
    assert_eq!(problems(agree(&slow, short)), ["post_promo_overview.post_promo_len"]);
}

#[test]
fn a_product_is_tried_when_it_is_created() {
    let settle = |body: Value| settle_product(product(body), Time::parse(AT).unwrap());
    assert!(settle(small()).is_ok());
    let problem = |body: Value| settle(body).unwrap_err().remove(0);
    let revolving = problem(with(small(), "product_overview.product_type", json!("REVOLVING")));
    assert_eq!(revolving.field, "product_overview.product_type");
    assert_eq!(revolving.message, "REVOLVING products are not supported yet");
    assert_eq!(problem(with(small(), "post_promotional_policies", json!({}))).field, LEN);
    assert_eq!(problem(with(small(), "post_promotional_policies.post_promo_len", json!(1201))).field, LEN);
    let cycle = json!({"billing_cycle_policies": {"cycle_interval": "0 days"}});
    assert_eq!(problem(with(small(), "product_lifecycle_policies", cycle)).field, CYCLE);
}

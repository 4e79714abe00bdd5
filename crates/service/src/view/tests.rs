//! Views of a small loan whose numbers are computed by hand in the documentation (late, schedule).

use super::time::Local;
use super::*;
use crate::form::{NewAccount, NewCustomer, NewProduct, parse};
use crate::policy;
use daybook_engine::calendar::Day;
use daybook_engine::change::InputClass;
use daybook_engine::installment::reading::read;
use daybook_engine::installment::schedule::schedule;
use daybook_engine::item::ItemStatus;
use daybook_engine::money::Cents;
use daybook_engine::outcome::{Balances, Cause, FoldOutcome, GraceResult};
use daybook_engine::replay::{Ledger, explain, replay};
use daybook_engine::state::State;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time as Moment;
use daybook_engine::timeline::{Entry, FeeClass, Input, Rank, TimelinePosition};
use serde_json::{Value, json};

const OPENED: &str = "2025-01-15T12:00:00-05:00";

fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

struct Case {
    product: NewProduct,
    facts: ProductFacts,
    terms: Terms,
    entries: Vec<Entry>,
}

/// 1,200.00 at 12 % for three months; 300.00 is paid in February and 408.03 in March.
fn case() -> Case {
    let product: NewProduct = parse(
        br##"{"product_overview": {"product_name": "Three", "product_type": "INSTALLMENT", "product_color": "#fff"},
            "post_promotional_policies": {"post_promo_len": 3, "post_promo_default_interest_rate_percent": 12.0},
            "product_lifecycle_policies": {
                "fee_policies": {"late_fee_grace": "5 days"},
                "default_attributes": {"default_late_fee_cents": 1500}},
            "plaid_config": {}}"##,
    )
    .unwrap();
    let account: NewAccount =
        parse(br#"{"product_id": "three", "summary": {"initial_principal_cents": 120000}}"#).unwrap();
    let terms = policy::terms(&product, &account, at(OPENED)).unwrap();
    let pay = |body: &str| parse::<crate::form::PaymentRecord>(body.as_bytes()).unwrap().input();
    let inputs = [
        (OPENED, "open", Input::Open),
        ("2025-02-10T12:00:00-05:00", "p1", pay(r#"{"line_item_id": "p1", "original_amount_cents": 30000}"#)),
        ("2025-03-10T12:00:00-04:00", "p2", pay(r#"{"line_item_id": "p2", "original_amount_cents": 40803}"#)),
    ];
    let entry = |(seq, (when, name, input)): (usize, (&str, &str, Input))| Entry {
        place: TimelinePosition { at: at(when), rank: Rank::Input, class: InputClass::Other, seq: seq as u64 + 1 },
        effective_at: at(when),
        scheduled: false,
        name: name.into(),
        input,
    };
    let entries = inputs.into_iter().enumerate().map(entry).collect();
    Case { facts: ProductFacts::new("three", &product).unwrap(), product, terms, entries }
}

impl Case {
    fn account_json(&self, state: &State, processed_through: Option<Moment>, now: &str) -> Value {
        let reading = read(&self.terms, state, at(now)).unwrap();
        let customers = [AccountCustomer {
            customer_id: "c1".into(),
            customer_account_role: crate::form::fields::CustomerRole::Primary,
        }];
        let view = Account::new(&AccountFacts {
            account_id: "a1",
            created_at: at("2025-01-15T17:00:00.250Z"),
            updated_at: at("2025-02-21T04:59:59Z"),
            effective_at: at(OPENED),
            processed_through,
            held_events: 0,
            product: &self.facts,
            terms: &self.terms,
            state,
            reading: &reading,
            customers: &customers,
            external_fields: &[],
            credit_limit_cents: None,
            metro2_config: None,
        });
        serde_json::from_slice(&render(&view)).unwrap()
    }

    fn account_at(&self, now: &str) -> Value {
        let (state, _) = replay(&self.terms, &self.entries, at(now)).unwrap();
        self.account_json(&state, Some(at(now)), now)
    }
}

#[test]
fn an_account_shows_what_the_documentation_works_out() {
    let shown = case().account_at("2025-02-20T23:59:59-05:00");
    let expected = json!({
        "account_id": "a1",
        "created_at": "2025-01-15T12:00:00.25-05:00",
        "updated_at": "2025-02-20T23:59:59-05:00",
        "effective_at": "2025-01-15T12:00:00-05:00",
        "processed_through": "2025-02-20T23:59:59-05:00",
        "held_events": 0,
        "account_overview": {
            "account_status": "SUSPENDED", "account_status_subtype": "DELINQUENT", "is_active_scra": false,
        },
        "account_product": {
            "product_id": "three",
            "product_overview": {
                "product_name": "Three", "product_type": "INSTALLMENT", "product_short_description": null,
                "product_long_description": null, "product_color": "#fff",
            },
            "product_lifecycle": {
                "late_fee_impl_cents": 1500, "late_fee_cap_percent": null, "late_fee_grace": "5 days",
                "payment_reversal_fee_impl_cents": 0, "loan_end_date": "2025-04-15T23:59:59-04:00",
                "product_time_zone": "America/New_York",
            },
            "post_promo_overview": {"post_promo_len": 3, "post_promo_impl_interest_rate_percent": 12},
        },
        "cycle_type": {
            "cycle_interval": "1 month", "cycle_due_interval": "0 days", "first_cycle_interval": "1 month",
            "late_fee_grace": "5 days", "close_of_business_time": "23:59:59",
        },
        // The second instalment is 408.03; 108.03 of the first is unpaid, and so is the fee of 15.00.
        "min_pay_due_cents": {
            "statement_min_pay_cents": 40803, "min_pay_cents": 53106, "min_pay_due_at": "2025-03-15T23:59:59-04:00",
        },
        "additional_min_pay_details": {
            "min_pay_fees_cents": 1500, "current_min_pay_cents": 40803, "unpaid_min_pay_cents": 10803,
        },
        "delinquency": {"days_past_due": 5, "past_due_cents": 10803, "past_due_fees_cents": 0, "consecutive_late_fees": 1},
        // The payoff includes the open period's interest: 1 % of 912.00.
        "summary": {
            "total_balance_cents": 92700, "principal_cents": 91200, "interest_balance_cents": 0,
            "fees_balance_cents": 1500, "surplus_cents": 0, "total_paid_to_date_cents": 30000,
            "total_interest_paid_to_date_cents": 1200, "interest_rate_percent": 12, "total_payoff_cents": 93612,
            "per_diem_interest_cents": 0, "credit_limit_cents": null, "available_credit_cents": null,
        },
        "customers": [{"customer_id": "c1", "customer_account_role": "PRIMARY"}],
        "external_fields": [],
    });
    assert_eq!(shown, expected);
}

#[test]
fn an_account_that_is_held_shows_nothing_yet() {
    let shown = case().account_json(&State::new(), None, OPENED);
    assert_eq!(shown["processed_through"], Value::Null);
    let overview = json!({"account_status": "ACTIVE", "account_status_subtype": null, "is_active_scra": false});
    assert_eq!(shown["account_overview"], overview);
    assert_eq!(shown["summary"]["total_balance_cents"], 0);
    assert_eq!(shown["summary"]["total_payoff_cents"], 0);
    let asked = json!({"statement_min_pay_cents": 0, "min_pay_cents": 0, "min_pay_due_at": null});
    assert_eq!(shown["min_pay_due_cents"], asked);
}

/// The amount due for the open row is what the schedule shows for it, whatever was paid before.
#[test]
fn what_is_asked_is_what_the_schedule_asks() {
    let case = case();
    for (now, row) in [
        ("2025-01-20T12:00:00-05:00", 0),
        ("2025-02-10T12:00:00-05:00", 0),
        ("2025-02-16T12:00:00-05:00", 1),
        ("2025-03-10T12:00:00-04:00", 1),
        ("2025-03-16T12:00:00-04:00", 2),
    ] {
        let (state, _) = replay(&case.terms, &case.entries, at(now)).unwrap();
        // The schedule assumes that past-due amounts are paid today; `PERIODIC` interest is already fixed.
        let rows = schedule(&case.terms, &state, at(now)).unwrap();
        let asked = &case.account_at(now)["additional_min_pay_details"];
        let past: i64 = rows[..row].iter().map(|row| row.outstanding.0).sum();
        assert_eq!(asked["current_min_pay_cents"], rows[row].outstanding.0, "{now}");
        assert_eq!(asked["unpaid_min_pay_cents"], past, "{now}");
    }
}

/// The same for every amortization and interest method, with payments on time and larger than due.
#[test]
fn what_is_asked_is_what_the_schedule_asks_whatever_the_product() {
    let variants = [
        json!({"amortization_policies": {"method": "EQUAL_PRINCIPAL"}}),
        json!({"amortization_policies": {"method": "FLAT"}}),
        json!({"amortization_policies": {"interest_only_cycles": 1}}),
        json!({"interest_policies": {"interest_calc_method": "DAILY", "day_count": "ACTUAL_365"}}),
        json!({"payment_pouring_policies": {"surplus": "NEXT_INSTALLMENT"}}),
        json!({"payment_pouring_policies": {"surplus": "REDUCE_PRINCIPAL"}}),
        json!({"interest_policies": {"interest_calc_method": "DAILY"},
            "amortization_policies": {"method": "EQUAL_PRINCIPAL"}}),
    ];
    for policies in variants {
        let body = json!({
            "product_overview": {"product_name": "Four", "product_type": "INSTALLMENT"},
            "post_promotional_policies": {"post_promo_len": 4, "post_promo_default_interest_rate_percent": 12},
            "product_lifecycle_policies": policies,
        });
        let product: NewProduct = parse(body.to_string().as_bytes()).unwrap();
        let account: NewAccount =
            parse(br#"{"product_id": "four", "summary": {"initial_principal_cents": 120000}}"#).unwrap();
        let terms = policy::terms(&product, &account, at(OPENED)).unwrap();
        let mut case = case();
        let amounts = [("2025-02-15T12:00:00-05:00", 45_000), ("2025-03-15T12:00:00-04:00", 42_000)];
        case.entries.truncate(1);
        for (seq, (when, cents)) in amounts.into_iter().enumerate() {
            let body = format!(r#"{{"line_item_id": "p{seq}", "original_amount_cents": {cents}}}"#);
            let input = parse::<crate::form::PaymentRecord>(body.as_bytes()).unwrap().input();
            let place =
                TimelinePosition { at: at(when), rank: Rank::Input, class: InputClass::Other, seq: seq as u64 + 2 };
            let name = format!("p{seq}").into();
            case.entries.push(Entry { place, effective_at: place.at, scheduled: false, name, input });
        }
        for (now, row) in [
            ("2025-01-15T12:00:00-05:00", 0),
            ("2025-02-15T13:00:00-05:00", 0),
            ("2025-02-20T12:00:00-05:00", 1),
            ("2025-03-15T13:00:00-04:00", 1),
            ("2025-03-20T12:00:00-04:00", 2),
        ] {
            let (state, _) = replay(&terms, &case.entries, at(now)).unwrap();
            let reading = read(&terms, &state, at(now)).unwrap();
            let asked = MinPay::of(&state, &reading);
            let rows = schedule(&terms, &state, at(now)).unwrap();
            assert_eq!(asked.unpaid.0, 0, "{policies} {now}");
            assert_eq!(asked.current, rows[row].outstanding, "{policies} {now}");
            assert_eq!(asked.due_at, Some(rows[row].due_at), "{policies} {now}");
        }
    }
}

#[test]
fn a_line_item_shows_its_splits() {
    let case = case();
    let (_, outcome) = replay(&case.terms, &case.entries, at("2025-03-21T12:00:00-04:00")).unwrap();
    let ledger = Ledger::of(&outcome);
    let facts = ItemFacts {
        account_id: "a1",
        product: &case.facts,
        created_at: at("2025-03-10T16:00:01Z"),
        updated_at: at("2025-03-10T16:00:01Z"),
        processing_state: ProcessingState::Processed,
        external_fields: &[],
    };
    let show = |id: &str| -> Value {
        let item = ledger.items().find(|item| item.id.to_string() == id).unwrap();
        serde_json::from_slice(&render(&LineItem::new(item, &facts))).unwrap()
    };
    let part = |id: &str, kind: &str, cents: i64| {
        json!({
            "type": "PAYMENT_SPLIT", "paid_down_line_item_id": id,
            "paid_down_line_item_type": kind, "split_amount_cents": cents,
        })
    };
    let expected = json!({
        "account_id": "a1",
        "line_item_id": "p2",
        "product_id": "three",
        "effective_at": "2025-03-10T12:00:00-04:00",
        "applied_at": "2025-03-10T12:00:00-04:00",
        "created_at": "2025-03-10T12:00:01-04:00",
        "updated_at": "2025-03-10T12:00:01-04:00",
        "processing_state": "PROCESSED",
        "line_item_overview": {"line_item_status": "VALID", "line_item_type": "PAYMENT", "description": "Payment"},
        "line_item_summary": {
            "original_amount_cents": -40803, "balance_cents": 0, "principal_cents": -39891,
            "interest_cents": -912, "fees_cents": 0,
        },
        "line_item_relationships": [
            part("dbk_loan", "LOAN", 10803),
            part("dbk_interest_2.1", "INTEREST", 912),
            part("dbk_loan", "LOAN", 29088),
        ],
        "reversed_by_line_item_id": null,
        "external_fields": [],
    });
    assert_eq!(show("p2"), expected);
    assert_eq!(show("dbk_late_fee_1")["line_item_overview"]["description"], "Late fee for instalment 1");
    assert_eq!(show("dbk_interest_2.1")["line_item_overview"]["description"], "Interest for period 2, part 1");
}

#[test]
fn a_payment_that_waits_has_an_amount_and_no_splits() {
    let case = case();
    let item = waiting_item(&case.entries[2]).unwrap();
    let facts = ItemFacts {
        account_id: "a1",
        product: &case.facts,
        created_at: at(OPENED),
        updated_at: at(OPENED),
        processing_state: ProcessingState::Held,
        external_fields: &[],
    };
    let shown = serde_json::to_value(LineItem::new(&item, &facts)).unwrap();
    assert_eq!((&shown["processing_state"], &shown["applied_at"]), (&json!("HELD"), &Value::Null));
    assert_eq!(shown["line_item_summary"]["original_amount_cents"], -40803);
    assert_eq!(shown["line_item_relationships"], json!([]));
    assert!(waiting_item(&case.entries[0]).is_none());
}

#[test]
fn a_schedule_shows_passed_rows_as_they_were() {
    let case = case();
    let now = at("2025-03-21T12:00:00-04:00");
    let (state, _) = replay(&case.terms, &case.entries, now).unwrap();
    let rows = schedule(&case.terms, &state, now).unwrap();
    let shown = serde_json::to_value(Schedule::new(&case.terms, &rows)).unwrap();
    let second = json!({
        "cycle_exclusive_end": "2025-03-15T23:59:59-04:00", "min_pay_due_at": "2025-03-15T23:59:59-04:00",
        "am_min_pay_cents": 40803, "am_interest_cents": 912, "am_principal_cents": 39891,
        "am_start_principal_balance_cents": 80397, "am_end_principal_balance_cents": 40506, "am_fees_cents": 1500,
        "paid_cents": 30000, "outstanding_cents": 10803, "paid_on_time": false,
        "retired": false, "deferred_cents": 0, "shortfall_cents": 0,
    });
    assert_eq!(shown["results"][1], second);
    assert_eq!(shown["results"][2].get("paid_on_time"), None);
}

#[test]
fn a_product_shows_its_defaults_and_what_has_no_effect() {
    let case = case();
    let view = Product::new(&case.facts, &case.product, at(OPENED), MigrationState::Releasing);
    let shown = serde_json::to_value(&view).unwrap();
    assert_eq!(shown["created_at"], OPENED);
    assert_eq!((&shown["migration_mode"], &shown["migration_state"]), (&json!(false), &json!("RELEASING")));
    let fees = &shown["product_lifecycle_policies"]["fee_policies"];
    assert_eq!((&fees["late_fee_grace"], &fees["late_fee_type"]), (&json!("5 days"), &json!("FLAT")));
    assert_eq!(shown["warnings"], json!(["plaid_config is accepted, but not supported: it has no effect"]));
}

#[test]
fn a_customer_never_shows_the_number() {
    let form: NewCustomer = parse(br#"{"name_last": "L", "ssn": "123-45-6789"}"#).unwrap();
    let facts = CustomerFacts {
        customer_id: "c1".to_owned(),
        created_at: at(OPENED),
        updated_at: at(OPENED),
        ssn_last_four: form.ssn.as_ref().map(|ssn| ssn.last_four().to_owned()),
        accounts: Vec::new(),
    };
    let customer = Customer::new(form, facts);
    let shown = String::from_utf8(render(&customer).to_vec()).unwrap();
    assert_eq!(rendered_bytes(&customer), shown.len());
    assert!(shown.contains(r#""ssn_last_four":"6789""#) && shown.contains(r#""email":null"#), "{shown}");
    assert!(shown.contains(r#""created_at":"2025-01-15T17:00:00Z""#), "{shown}");
    assert!(!shown.contains("45-6789") && !shown.contains("warnings"), "{shown}");
}

/// The changes in the timeline add up to the balances.
#[test]
fn a_timeline_tells_why_the_balance_is_this() {
    let case = case();
    let until = at("2025-02-21T12:00:00-05:00");
    let (state, FoldOutcome { steps, .. }) = explain(&case.terms, &case.entries, until).unwrap();
    let mut before = daybook_engine::outcome::Balances::default();
    let mut told = Vec::new();
    for step in &steps {
        let change = Amounts::change(&before, &step.after);
        let words = match step.cause {
            Cause::Input(seq) => EventText::input(&case.entries[seq as usize - 1].input),
            cause => EventText::moment(&cause, 3, &moment_amounts(&change)).unwrap(),
        };
        told.push((words.event, change.total_cents));
        before = step.after;
    }
    assert_eq!(before, state.balances());
    // 12.00 of the payment is interest, for which the payment made a line item.
    assert_eq!(told, [("account_created", 120_000), ("payment", -28_800), ("period_end", 0), ("late_fee", 1_500)]);
}

fn moment_amounts(change: &Amounts) -> MomentAmounts {
    let (interest, late_fee) = (Cents(change.interest_cents), Cents(change.fees_cents));
    MomentAmounts { interest, late_fee, ..MomentAmounts::default() }
}

/// When the instalment falls due, the description names interest that was paid before its period ended.
#[test]
fn the_end_of_a_period_says_what_interest_it_earned() {
    let paid_on = Day::from_ymd(2025, 2, 10);
    let sentence = |period, interest, early_interest| {
        let amounts = MomentAmounts { interest: Cents(interest), early_interest, ..MomentAmounts::default() };
        EventText::moment(&Cause::PeriodEnd { period }, 12, &amounts).unwrap().description
    };
    assert_eq!(
        sentence(1, 1_200, (Cents::ZERO, None)),
        "Instalment 1 fell due. Interest of 12.00 was charged for the period."
    );
    assert_eq!(
        sentence(1, 0, (Cents(1_200), Some(paid_on))),
        "Instalment 1 fell due. Interest of 12.00 for the period was charged already on 2025-02-10."
    );
    assert_eq!(
        sentence(2, 300, (Cents(900), None)),
        "Instalment 2 fell due. Interest for the period is 12.00: 9.00 was charged before, 3.00 now."
    );
    assert_eq!(
        sentence(14, 0, (Cents::ZERO, None)),
        "The second period after the last due date ended. No interest was due for the period."
    );
    assert!(sentence(33, 0, (Cents::ZERO, None)).starts_with("The 21st period after"));
    assert!(sentence(24, 0, (Cents::ZERO, None)).starts_with("The 12th period after"));
}

/// What is held or scheduled has not happened.
#[test]
fn a_planned_input_is_told_in_the_future() {
    let fee = Input::Fee { amount: Cents(2_000), class: FeeClass::Fee };
    assert_eq!(EventText::input(&fee).description, "A fee of 20.00 was charged.");
    assert_eq!(EventText::planned(&fee), "A fee of 20.00 will be charged.");
    let payment = |status| Input::Payment { amount: Cents(500), status, allocation: None };
    assert_eq!(
        EventText::planned(&payment(ItemStatus::Pending)),
        "A payment of 5.00, recorded as PENDING, will count."
    );
    let authorized = "A payment of 5.00 is AUTHORIZED. It will not count until it becomes valid.";
    assert_eq!(EventText::planned(&payment(ItemStatus::Authorized)), authorized);
}

#[test]
fn the_end_of_a_grace_is_told_by_how_it_found_the_instalment() {
    let told = |found, fees_cents| {
        let change = Amounts::from(Balances { fees: Cents(fees_cents), ..Balances::default() });
        let cause = Cause::GraceEnd { instalment: 2, grace_result: found };
        let told = EventText::moment(&cause, 12, &moment_amounts(&change)).unwrap();
        (told.event, told.description)
    };
    let (event, words) = told(GraceResult::Late, 1_500);
    let expected = "Instalment 2 was not paid in full by the end of its grace period: a late fee of 15.00 was charged.";
    assert_eq!((event, &*words), ("late_fee", expected));
    let (event, words) = told(GraceResult::Paid, 0);
    assert_eq!(
        (event, &*words),
        ("grace_end", "The grace period of instalment 2 ended. The instalment had been paid.")
    );
    let spared = "Instalment 2 was not paid in full by the end of its grace period. No late fee was charged, because \
                  the borrower paid enough money for it in time, but part of that money went to older debts.";
    assert_eq!(told(GraceResult::Spared, 0).1, spared);
    assert!(told(GraceResult::Late, 0).1.contains("The instalment is late"));
    assert!(told(GraceResult::Uncounted, 0).1.contains("status stops the count of late instalments"));
    assert!(told(GraceResult::Excused, 0).1.contains("it fell due while the account was closed"));
    assert!(told(GraceResult::Stopped, 0).1.contains("the account's status stops late fees"));
}

#[test]
fn a_notice_shows_when_it_fires_next() {
    let mut case = case();
    let config: crate::form::NotificationConfig =
        parse(br#"{"notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00"}"#).unwrap();
    let place =
        TimelinePosition { at: at("2025-01-20T12:00:00-05:00"), rank: Rank::Input, class: InputClass::Other, seq: 9 };
    let input = Input::Notify(config.setting().unwrap());
    case.entries.insert(1, Entry { place, effective_at: place.at, scheduled: false, name: "n".into(), input });
    let (state, _) = replay(&case.terms, &case.entries, at("2025-02-21T12:00:00-05:00")).unwrap();
    let shown = serde_json::to_value(NotificationSetting::new(&state.notices[0], &case.facts.zone)).unwrap();
    let expected = json!({
        "notification_type": "payment_due_date", "time_offset": "-1 days", "interval": null, "time": "09:00:00",
        "enabled": true, "next_at": "2025-03-14T09:00:00-04:00",
    });
    assert_eq!(shown, expected);
}

#[test]
fn every_view_has_a_page_in_the_reference() {
    let schema = serde_json::to_value(<Account<'_> as utoipa::PartialSchema>::schema()).unwrap();
    let shown = case().account_at("2025-02-20T23:59:59-05:00");
    for name in shown.as_object().unwrap().keys() {
        assert!(schema["properties"][name].is_object(), "{name}");
        // A nullable field has its description one level down.
        assert!(schema["properties"][name].to_string().contains("description"), "{name}");
    }
    let zone = &case().facts.zone;
    assert_eq!(<Local as utoipa::ToSchema>::name(), "Time");
    assert_eq!(serde_json::to_value(Local::new(at(OPENED), zone)).unwrap(), OPENED);
}

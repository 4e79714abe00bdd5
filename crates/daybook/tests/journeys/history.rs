//! History with more than payments: reversals, waivers, an earlier status; corrected late fees.

use crate::common::dates::{ZONE, at, days_after, months_after, opened_months_ago};
use crate::common::installation::Installation;
use crate::common::loans::{
    LATE_FEE, balances, items, level, loan, make_product, paid_on_time, pay, release, set_migration_mode, standing,
};
use serde_json::{Value, json};

on_both!(
    a_bounced_payment_of_last_year_is_loaded,
    a_waiver_of_last_year_is_loaded,
    a_status_of_last_year_is_loaded,
    three_late_fees_are_put_right,
);

const REVERSAL_FEE: i64 = 2_500;

fn a_bounced_payment_of_last_year_is_loaded(installation: &Installation) {
    let (server, client) = installation.open();
    let fee = json!({
        "default_attributes":
            { "default_late_fee_cents": LATE_FEE, "default_payment_reversal_fee_cents": REVERSAL_FEE },
    });
    make_product(&client, "auto", json!({}), fee);
    set_migration_mode(&client, "auto", true);
    let opened = opened_months_ago(2);
    let due = |month: i64| months_after(opened, month);
    client.post("/accounts", &loan("auto", "loan", &at(opened, 9, ZONE))).good();
    // Reversed before its due date, and paid again in time with the reversal fee.
    let bounced = json!({ "line_item_id": "bounce", "effective_at": at(days_after(due(1), -3), 9, ZONE) });
    pay(&client, "loan", "p2", level(), &at(due(2), 9, ZONE)).good();
    pay(&client, "loan", "p1-again", level() + REVERSAL_FEE, &at(due(1), 9, ZONE)).good();
    pay(&client, "loan", "p1", level(), &at(days_after(due(1), -5), 9, ZONE)).good();
    client.post("/accounts/loan/line_items/payment_reversals/p1", &bounced).good();
    release(&client, "auto");

    assert_eq!(items(&client, "loan", "LATE_FEE"), Vec::<Value>::new());
    let fees = items(&client, "loan", "RETURN_CHECK_FEE");
    assert_eq!(fees.len(), 1);
    assert_eq!(fees[0]["line_item_summary"]["original_amount_cents"], REVERSAL_FEE);
    assert_eq!(items(&client, "loan", "PAYMENT_REVERSAL").len(), 1);
    let account = client.get("/accounts/loan").good();
    assert_eq!(balances(&account), [paid_on_time(2).0, 0, 0, 0]);
    assert_eq!(account["summary"]["total_paid_to_date_cents"], 2 * level() + REVERSAL_FEE);
    assert_eq!(standing(&account), ("ACTIVE", None));
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn a_waiver_of_last_year_is_loaded(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    set_migration_mode(&client, "auto", true);
    let opened = opened_months_ago(3);
    let due = |month: i64| months_after(opened, month);
    client.post("/accounts", &loan("auto", "loan", &at(opened, 9, ZONE))).good();
    let fee = json!({
        "line_item_id": "letter", "original_amount_cents": 700, "effective_at": at(days_after(due(1), 3), 9, ZONE),
    });
    let waiver = json!({ "line_item_id": "forgiven", "effective_at": at(days_after(due(1), 5), 9, ZONE) });
    for month in 1..=3 {
        pay(&client, "loan", &format!("p{month}"), level(), &at(due(month), 9, ZONE)).good();
    }
    client.post("/accounts/loan/line_items/manual_fees", &fee).good();
    client.post("/accounts/loan/line_items/fee_waiver/letter", &waiver).good();
    release(&client, "auto");

    let account = client.get("/accounts/loan").good();
    assert_eq!(balances(&account), [paid_on_time(3).0, 0, 0, 0], "the payments after it went to the loan");
    assert_eq!(items(&client, "loan", "FEE_WAIVER").len(), 1);
    assert_eq!(items(&client, "loan", "LATE_FEE"), Vec::<Value>::new());
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn a_status_of_last_year_is_loaded(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    set_migration_mode(&client, "auto", true);
    let opened = opened_months_ago(3);
    let due = |month: i64| months_after(opened, month);
    client.post("/accounts", &loan("auto", "loan", &at(opened, 9, ZONE))).good();
    for month in 1..=3 {
        pay(&client, "loan", &format!("p{month}"), level(), &at(due(month), 9, ZONE)).good();
    }
    let moves = [("SUSPENDED", Some("RISK_REVIEW"), 2), ("ACTIVE", None, 9)];
    for (status, why, days) in moves {
        let since = at(days_after(due(1), days), 9, ZONE);
        let form = json!({ "account_status": status, "account_substatus": why, "effective_at": since });
        client.put("/accounts/loan/status", &form).good();
    }
    release(&client, "auto");

    let as_of = |days: i64| {
        let then = at(days_after(due(1), days), 12, ZONE).replace('+', "%2B");
        client.get(&format!("/accounts/loan?effective_as_of={then}")).good()
    };
    assert_eq!(standing(&as_of(1)), ("ACTIVE", None));
    assert_eq!(standing(&as_of(5)), ("SUSPENDED", Some("RISK_REVIEW")));
    assert_eq!(standing(&as_of(9)), ("ACTIVE", None));
    let trail = client.all("/accounts/loan/audit_trails/account_status_changes");
    let trail: Vec<&Value> = trail.iter().map(|change| &change["account_overview"]["account_status"]).collect();
    assert_eq!(trail.iter().filter(|status| **status == "SUSPENDED").count(), 1, "{trail:?}");
    assert_eq!(balances(&client.get("/accounts/loan").good()), [paid_on_time(3).0, 0, 0, 0]);
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn three_late_fees_are_put_right(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    let opened = opened_months_ago(3);
    client.post("/accounts", &loan("auto", "loan", &at(opened, 9, ZONE))).good();
    assert_eq!(items(&client, "loan", "LATE_FEE").len(), 3);
    assert_eq!(standing(&client.get("/accounts/loan").good()), ("SUSPENDED", Some("DELINQUENT")));

    set_migration_mode(&client, "auto", true);
    for month in [2, 3, 1] {
        pay(&client, "loan", &format!("p{month}"), level(), &at(months_after(opened, month), 9, ZONE)).good();
    }
    assert_eq!(items(&client, "loan", "LATE_FEE").len(), 3, "held: nothing is put right yet");
    release(&client, "auto");

    assert_eq!(items(&client, "loan", "LATE_FEE"), Vec::<Value>::new());
    let gone = client.all("/accounts/loan/line_items?line_item_type=LATE_FEE&line_item_status=INVALID");
    assert_eq!(gone.len(), 3, "history is not deleted");
    let account = client.get("/accounts/loan").good();
    assert_eq!((balances(&account), standing(&account)), ([paid_on_time(3).0, 0, 0, 0], ("ACTIVE", None)));
    assert_eq!(account["delinquency"]["days_past_due"], 0);
    assert_eq!(installation.verify(), 1);
    server.stop();
}

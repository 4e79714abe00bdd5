//! A migration: load eight months of history, release it, and check the result.

use crate::common::api_client::ApiClient;
use crate::common::chance::{Chance, seed};
use crate::common::dates::{ZONE, at, months_after, opened_months_ago};
use crate::common::installation::Installation;
use crate::common::loans::{
    LATE_FEE, balances, items, level, loan, make_product, paid_on_time, pay, release, set_migration_mode, standing,
};
use jiff::civil::Date;
use serde_json::{Value, json};

on_both!(
    a_history_paid_on_time_has_no_late_fee,
    the_same_calls_without_migration_mode_give_a_late_fee_for_every_elapsed_payment,
    an_account_opened_today_is_not_late,
);

const MONTHS: u32 = 8;

fn customer_and_account(client: &ApiClient, opened: Date) {
    client.post("/customers", &json!({ "customer_id": "ana", "name_first": "Ana", "name_last": "Torres" })).good();
    let mut account = loan("auto", "loan", &at(opened, 9, ZONE));
    account["assign_customers"] = json!([{ "customer_id": "ana" }]);
    client.post("/accounts", &account).good();
}

/// Eight payments, each on the morning of its due date, sent in another order.
fn eight_payments(client: &ApiClient, opened: Date) {
    let mut months: Vec<i64> = (1..=i64::from(MONTHS)).collect();
    Chance::of_seed(seed()).shuffle(&mut months);
    for month in months {
        let morning = at(months_after(opened, month), 9, ZONE);
        let paid = pay(client, "loan", &format!("payment-{month}"), level(), &morning).good();
        assert_eq!(paid["line_item_summary"]["original_amount_cents"], -level());
    }
}

fn paid_on_time_by_row(client: &ApiClient) -> Vec<Value> {
    let schedule = client.get("/accounts/loan/amortization_schedule").good();
    let rows = schedule["results"].as_array().expect("a schedule has rows");
    rows.iter().map(|row| row["paid_on_time"].clone()).collect()
}

fn a_history_paid_on_time_has_no_late_fee(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    let opened = opened_months_ago(MONTHS.into());

    let on = set_migration_mode(&client, "auto", true);
    assert_eq!((&on["migration_mode"], &on["held_events"]), (&json!(true), &json!(0)));
    customer_and_account(&client, opened);
    eight_payments(&client, opened);
    let done = release(&client, "auto");
    assert_eq!((&done["migration_mode"], &done["held_events"]), (&json!(false), &json!(0)));
    assert_eq!((&done["accounts_total"], &done["accounts_done"]), (&json!(1), &json!(1)));

    assert_eq!(items(&client, "loan", "LATE_FEE"), Vec::<Value>::new());
    assert_eq!(items(&client, "loan", "PAYMENT").len(), MONTHS as usize);
    let account = client.get("/accounts/loan").good();
    let (principal, interest) = paid_on_time(MONTHS);
    assert_eq!(balances(&account), [principal, 0, 0, 0]);
    assert_eq!(account["summary"]["total_balance_cents"], principal);
    assert_eq!(account["summary"]["total_paid_to_date_cents"], i64::from(MONTHS) * level());
    assert_eq!(account["summary"]["total_interest_paid_to_date_cents"], interest);
    assert_eq!(standing(&account), ("ACTIVE", None));
    assert_eq!(account["delinquency"]["days_past_due"], 0);
    assert_eq!(account["customers"][0]["customer_id"], "ana");
    let rows = paid_on_time_by_row(&client);
    assert_eq!((rows.len(), &rows[..8]), (12, [true; 8].map(Value::from).as_slice()));
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn the_same_calls_without_migration_mode_give_a_late_fee_for_every_elapsed_payment(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    let opened = opened_months_ago(MONTHS.into());
    customer_and_account(&client, opened);
    assert_eq!(items(&client, "loan", "LATE_FEE").len(), MONTHS as usize, "before a payment could be sent");
    eight_payments(&client, opened);

    let fees = items(&client, "loan", "LATE_FEE");
    assert_eq!(fees.len(), MONTHS as usize);
    assert!(fees.iter().all(|fee| fee["line_item_summary"]["original_amount_cents"] == LATE_FEE), "{fees:?}");
    let account = client.get("/accounts/loan").good();
    // Eight instalments and eight fees were owed, and eight instalments were paid: payments cover instalments before
    // fees.
    assert_eq!(account["delinquency"]["past_due_cents"], i64::from(MONTHS) * LATE_FEE);
    assert_eq!(standing(&account), ("ACTIVE", None));
    assert_eq!(paid_on_time_by_row(&client)[..8], [false; 8].map(Value::from));
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn an_account_opened_today_is_not_late(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    let mut account = loan("auto", "loan", "");
    account.as_object_mut().expect("an object").remove("effective_at");
    let made = client.post("/accounts", &account).good();
    assert_eq!(balances(&made), [120_000, 0, 0, 0]);
    assert_eq!((standing(&made), &made["held_events"]), (("ACTIVE", None), &json!(0)));
    assert_eq!(items(&client, "loan", "LATE_FEE"), Vec::<Value>::new());
    server.stop();
}

//! Many accounts and their payments are loaded in one call, released and checked.

use crate::common::chance::{Chance, seed};
use crate::common::dates::{ZONE, at, months_after, opened_months_ago};
use crate::common::installation::Installation;
use crate::common::loans::{
    balances, items, level, line, loan, make_product, paid_on_time, payment, payments_of, release, set_migration_mode,
    standing,
};
use serde_json::{Value, json};

on_both!(fifty_accounts_with_eight_payments_each_are_loaded_in_one_call);

const ACCOUNTS: u64 = 50;
const MONTHS: u32 = 8;

fn fifty_accounts_with_eight_payments_each_are_loaded_in_one_call(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    set_migration_mode(&client, "auto", true);
    let opened = opened_months_ago(MONTHS.into());
    let name = |number: u64| format!("loan-{number}");
    let mut accounts: Vec<Value> =
        (0..ACCOUNTS).map(|number| line("/accounts", &loan("auto", &name(number), &at(opened, 9, ZONE)))).collect();
    let mut payments = Vec::new();
    for number in 0..ACCOUNTS {
        for month in 1..=i64::from(MONTHS) {
            let body = payment(&format!("p{month}"), level(), &at(months_after(opened, month), 9, ZONE));
            payments.push(line(&payments_of(&name(number)), &body));
        }
    }
    Chance::of_seed(seed()).shuffle(&mut payments);
    accounts.extend(payments);
    client.bulk(&accounts);

    let done = release(&client, "auto");
    let events = ACCOUNTS * (1 + u64::from(MONTHS));
    assert_eq!((&done["accounts_done"], &done["events_done"]), (&json!(ACCOUNTS), &json!(events)));
    for number in 0..ACCOUNTS {
        let account = client.get(&format!("/accounts/{}", name(number))).good();
        assert_eq!(balances(&account), [paid_on_time(MONTHS).0, 0, 0, 0], "{}", name(number));
        assert_eq!(standing(&account), ("ACTIVE", None));
        assert_eq!(items(&client, &name(number), "LATE_FEE"), Vec::<Value>::new());
    }
    assert_eq!(installation.verify(), ACCOUNTS);
    server.stop();
}

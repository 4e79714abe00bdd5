//! While a product holds its events: what is visible, what is refused, and that turning migration mode on and off is
//! harmless.

use crate::common::api_client::{ApiClient, until};
use crate::common::dates::{ZONE, at, days_after, moment, months_after, now_in, opened_months_ago};
use crate::common::installation::Installation;
use crate::common::loans::{
    LATE_FEE, balances, items, level, loan, make_product, paid_on_time, pay, payment, payments_of, progress, release,
    set_migration_mode, standing,
};
use serde_json::{Value, json};

on_both!(
    what_is_held_is_seen_as_held_and_a_preview_shows_the_release,
    bad_events_are_refused_on_arrival,
    a_held_payment_may_be_withdrawn,
    on_and_off_with_nothing_held_is_harmless,
    turning_it_on_does_not_stop_another_product,
    the_log_counts_accounts_whose_release_failed,
);

fn states(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["state"].as_str().expect("a state")).collect()
}

/// A time inside a query string.
fn in_query(moment: &str) -> String {
    moment.replace('+', "%2B")
}

fn what_is_held_is_seen_as_held_and_a_preview_shows_the_release(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    set_migration_mode(&client, "auto", true);
    let opened = opened_months_ago(2);
    let made = client.post("/accounts", &loan("auto", "loan", &at(opened, 9, ZONE))).good();
    assert_eq!(made["processed_through"], Value::Null);
    let paid = pay(&client, "loan", "p1", level(), &at(months_after(opened, 1), 9, ZONE)).good();
    assert_eq!((&paid["processing_state"], &paid["line_item_relationships"]), (&json!("HELD"), &json!([])));

    let held = client.get("/accounts/loan").good();
    assert_eq!((balances(&held), &held["held_events"]), ([0; 4], &json!(2)));
    assert_eq!((standing(&held), &held["processed_through"]), (("ACTIVE", None), &Value::Null));
    let listed = client.all("/accounts/loan/line_items");
    assert_eq!((listed.len(), &listed[0]["processing_state"]), (1, &json!("HELD")));
    let events = client.all("/accounts/loan/events");
    assert_eq!(states(&events), ["HELD", "HELD"]);
    assert!(events.iter().all(|event| event["effect"].is_null() && event["webhooks"] == json!([])), "{events:?}");
    let now = progress(&client, "auto");
    assert_eq!((&now["state"], &now["held_events"]), (&json!("HOLDING"), &json!(2)));
    assert_eq!((&now["accounts_total"], &now["finished_at"]), (&json!(1), &Value::Null));

    // The first instalment is paid on time and the second is missed: its interest and a late fee are owed.
    let then = in_query(&moment(&now_in(ZONE)));
    let preview = client.get(&format!("/accounts/loan?effective_as_of={then}")).good();
    let (principal, _) = paid_on_time(1);
    let interest = paid_on_time(2).1 - paid_on_time(1).1;
    assert_eq!(balances(&preview), [principal, interest, LATE_FEE, 0]);
    assert_eq!(client.get("/accounts/loan").good()["held_events"], 2, "looking releases nothing");

    release(&client, "auto");
    let released = client.get("/accounts/loan").good();
    assert_eq!((balances(&released), standing(&released)), (balances(&preview), standing(&preview)));
    assert_eq!(released["held_events"], 0);
    assert!(states(&client.all("/accounts/loan/events")).iter().all(|state| *state == "PROCESSED"));
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn bad_events_are_refused_on_arrival(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    set_migration_mode(&client, "auto", true);
    let opened = opened_months_ago(2);
    let morning = at(months_after(opened, 1), 9, ZONE);
    client.post("/accounts", &loan("auto", "loan", &at(opened, 9, ZONE))).good();
    pay(&client, "loan", "p1", level(), &morning).good();

    assert_eq!(pay(&client, "loan", "p1", level() + 1, &morning).refused(409), "id_taken");
    pay(&client, "loan", "p2", 0, &morning).refused(422);
    pay(&client, "loan", "p2", -5, &morning).refused(422);
    pay(&client, "loan", "p2", level(), &at(days_after(opened, -1), 9, ZONE)).refused(422);
    pay(&client, "loan", "p2", level(), "2026-01-01T09:00:00").refused(422);
    pay(&client, "unknown", "p2", level(), &morning).refused(404);
    let mut typo = payment("p2", level(), &morning);
    typo["efective_at"] = typo["effective_at"].take();
    client.post(&payments_of("loan"), &typo).refused(422);
    client.post("/accounts", &loan("no-such-product", "loan-2", &morning)).refused(422);
    client.post("/accounts/loan/line_items/payment_reversals/p9", &json!({})).refused(404);
    client
        .put("/accounts/loan/status", &json!({ "account_status": "ACTIVE", "account_substatus": "FRAUD" }))
        .refused(422);
    let roll = json!({ "account_id": "loan", "effective_at": morning });
    client.post("/admin/roll/account", &roll).refused(409);
    assert_eq!(progress(&client, "auto")["held_events"], 2, "none of them is held");
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn a_held_payment_may_be_withdrawn(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    set_migration_mode(&client, "auto", true);
    let opened = opened_months_ago(1);
    let morning = at(months_after(opened, 1), 9, ZONE);
    client.post("/accounts", &loan("auto", "loan", &at(opened, 9, ZONE))).good();
    pay(&client, "loan", "mistaken", 99, &morning).good();
    pay(&client, "loan", "right", level(), &morning).good();
    let withdraw = |client: &ApiClient, id: &str| {
        let path = format!("/accounts/loan/line_items/{id}");
        client.try_call("DELETE", &path, "application/json", String::new()).expect("an answer")
    };
    withdraw(&client, "mistaken").good();
    release(&client, "auto");
    assert_eq!(balances(&client.get("/accounts/loan").good()), [paid_on_time(1).0, 0, 0, 0]);
    withdraw(&client, "right").refused(409);
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn on_and_off_with_nothing_held_is_harmless(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    client.post("/accounts", &loan("auto", "loan", &at(opened_months_ago(2), 9, ZONE))).good();
    let before = client.get("/accounts/loan").good();
    let items_before = client.all("/accounts/loan/line_items");
    for _ in 0..3 {
        set_migration_mode(&client, "auto", true);
        set_migration_mode(&client, "auto", true);
        release(&client, "auto");
        set_migration_mode(&client, "auto", false);
    }
    let after = client.get("/accounts/loan").good();
    for part in ["summary", "delinquency", "account_overview", "held_events", "updated_at"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    assert_eq!(client.all("/accounts/loan/line_items"), items_before);
    pay(&client, "loan", "p1", 100, &moment(&now_in(ZONE))).good();
    assert_eq!(client.get("/accounts/loan").good()["summary"]["total_paid_to_date_cents"], 100);
    assert_eq!(installation.verify(), 1);
    server.stop();
}

fn turning_it_on_does_not_stop_another_product(installation: &Installation) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    make_product(&client, "home", json!({}), json!({}));
    set_migration_mode(&client, "auto", true);
    let opened = at(opened_months_ago(2), 9, ZONE);
    client.post("/accounts", &loan("auto", "held", &opened)).good();
    client.post("/accounts", &loan("home", "live", &opened)).good();
    assert_eq!(items(&client, "live", "LATE_FEE").len(), 2);
    assert_eq!(items(&client, "held", "LATE_FEE").len(), 0);
    release(&client, "auto");
    assert_eq!(items(&client, "held", "LATE_FEE").len(), 2);
    assert_eq!(installation.verify(), 2);
    server.stop();
}

fn the_log_counts_accounts_whose_release_failed(installation: &Installation) {
    let (server, client) = installation.open();
    let opened = at(opened_months_ago(2), 9, ZONE);
    for product in ["fine", "half"] {
        make_product(&client, product, json!({}), json!({}));
        set_migration_mode(&client, product, true);
        for number in 1..=2 {
            client.post("/accounts", &loan(product, &format!("{product}-{number}"), &opened)).good();
        }
    }
    // A fee that does not exist is waived, which is found when the events are processed.
    let waiver = json!({ "line_item_id": "w", "effective_at": opened });
    client.post("/accounts/half-1/line_items/fee_waiver/dbk_late_fee_1", &waiver).good();
    for product in ["fine", "half"] {
        set_migration_mode(&client, product, false);
        until("the end of the release", || match progress(&client, product) {
            done if done["finished_at"].is_string() => Ok(()),
            other => Err(other.to_string()),
        });
    }
    // These servers log only warnings.
    let log = server.stop();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("a release is complete")).collect();
    let [line] = lines.as_slice() else { panic!("{log}") };
    assert!(line.contains("WARN") && line.contains("product=half failed=1"), "{line}");
}

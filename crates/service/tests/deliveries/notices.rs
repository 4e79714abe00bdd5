//! Configurable webhooks, from the configuration to the receiver.

use crate::setup::{DeliverySetup, body, events};
use crate::support::{Home, LEVEL, Trial, json_of, list, on_both, view_of, whole};
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use serde_json::json;

on_both!(
    none_without_a_configuration,
    nine_in_the_morning_across_both_clock_changes_and_none_after_closing,
    an_interval_comes_round,
    what_a_stopped_server_missed_is_sent_late_and_once,
    rolling_fires_them,
    a_closed_account_cancels_the_notices_that_wait,
    a_roll_that_closes_cancels_its_own_notices,
    a_roll_with_webhooks_that_closes_sends_them,
    a_reopened_account_keeps_them_cancelled,
    a_notice_whose_moment_came_before_the_closing_is_sent,
);

const NOTICES: [&str; 4] = ["payment_due_date", "late_fee_date", "loan_end_date", "account_summary"];

async fn open(home: Home, now: &str, opening: &str) -> (DeliverySetup, Receiver) {
    let trial = Trial::at(home, now).await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", opening).await;
    let setup = DeliverySetup::over(trial, DispatcherSettings::default());
    let receiver = Receiver::start(Behaviour::status(200));
    setup.subscribe_to(&receiver, &json!({ "filter_events": NOTICES })).await;
    (setup, receiver)
}

fn moments(receiver: &Receiver) -> Vec<String> {
    let at = |request| body(request)["data"]["effective_at"].as_str().expect("a time").to_owned();
    receiver.requests().iter().map(at).collect()
}

async fn none_without_a_configuration(home: Home) {
    let (setup, receiver) = open(home, "2026-04-01T12:00:00-04:00", "2026-03-15T00:00:00-04:00").await;
    setup.go_to("2027-06-01T00:00:00-04:00").await;
    assert_eq!(events(&receiver), Vec::<String>::new());
}

/// Due dates are the 15th of each month; the clocks of New York change on 1 November 2026 and on 14 March 2027.
async fn nine_in_the_morning_across_both_clock_changes_and_none_after_closing(home: Home) {
    let (setup, receiver) = open(home, "2026-09-20T12:00:00-04:00", "2026-09-15T00:00:00-04:00").await;
    let config = json!({ "notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00" });
    json_of(setup.trial.notify("a1", &config).await);
    for now in [
        "2026-10-14T08:59:59-04:00",
        "2026-10-14T09:01:00-04:00",
        "2026-11-14T09:01:00-05:00",
        "2026-12-31T00:00:00-05:00",
        "2027-03-14T08:59:59-04:00",
        "2027-03-14T09:01:00-04:00",
        "2027-04-20T00:00:00-04:00",
    ] {
        setup.go_to(now).await;
        setup.go_to(now).await;
    }
    let expected = [
        "2026-10-14T09:00:00-04:00",
        "2026-11-14T09:00:00-05:00",
        "2026-12-14T09:00:00-05:00",
        "2027-01-14T09:00:00-05:00",
        "2027-02-14T09:00:00-05:00",
        "2027-03-14T09:00:00-04:00",
        "2027-04-14T09:00:00-04:00",
    ];
    assert_eq!(moments(&receiver), expected);
    json_of(setup.trial.pay("a1", "all", 200_000, "2027-04-20T00:00:00-04:00").await);
    let closed = json!({ "account_status": "CLOSED", "account_substatus": "SETTLEMENT" });
    if setup.trial.standing("a1").await.starts_with("ACTIVE") {
        json_of(setup.trial.status("a1", &closed).await);
    }
    setup.go_to("2027-12-31T00:00:00-05:00").await;
    assert_eq!(moments(&receiver).len(), 7, "none after the account is closed");
}

async fn an_interval_comes_round(home: Home) {
    let (setup, receiver) = open(home, "2026-04-01T12:00:00-04:00", "2026-03-15T00:00:00-04:00").await;
    let config = json!({ "notification_type": "account_summary", "interval": "7 days", "time": "06:30:00" });
    json_of(setup.trial.notify("a1", &config).await);
    setup.go_to("2026-04-23T00:00:00-04:00").await;
    let expected = ["2026-04-08T06:30:00-04:00", "2026-04-15T06:30:00-04:00", "2026-04-22T06:30:00-04:00"];
    assert_eq!(moments(&receiver), expected);
    assert_eq!(events(&receiver), ["account_summary"; 3]);
}

async fn what_a_stopped_server_missed_is_sent_late_and_once(home: Home) {
    let (setup, receiver) = open(home, "2026-04-01T12:00:00-04:00", "2026-03-15T00:00:00-04:00").await;
    let config = json!({ "notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00" });
    json_of(setup.trial.notify("a1", &config).await);
    // The server does not run for two months.
    setup.go_to("2026-06-01T00:00:00-04:00").await;
    assert_eq!(moments(&receiver), ["2026-04-14T09:00:00-04:00", "2026-05-14T09:00:00-04:00"]);
    setup.go_to("2026-06-02T00:00:00-04:00").await;
    assert_eq!(receiver.counts().requests, 2);
}

async fn rolling_fires_them(home: Home) {
    let (setup, receiver) = open(home, "2026-04-01T12:00:00-04:00", "2026-03-15T00:00:00-04:00").await;
    let due = json!({ "notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00" });
    let late = json!({ "notification_type": "late_fee_date", "time_offset": "0 days" });
    json_of(setup.trial.notify("a1", &due).await);
    json_of(setup.trial.notify("a1", &late).await);
    json_of(setup.trial.pay("a1", "p1", LEVEL, "2026-04-01T12:00:00-04:00").await);
    json_of(setup.trial.roll("a1", "2026-05-20T00:00:00-04:00", true).await);
    setup.send().await;
    assert_eq!(events(&receiver), ["payment_due_date", "payment_due_date", "late_fee_date"], "the first was paid");
    json_of(setup.trial.roll("a1", "2026-06-20T00:00:00-04:00", false).await);
    assert_eq!(setup.send().await, 0, "each waits for its own moment");
    setup.go_to("2026-06-14T09:00:00-04:00").await;
    assert_eq!(events(&receiver).len(), 4);
    assert_eq!(moments(&receiver)[3], "2026-06-14T09:00:00-04:00");
}

const REMINDER: &str = r#"{ "notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00" }"#;

/// An account with a reminder on the 14th of each month, rolled past those of April, May and June, which are scheduled.
async fn rolled(home: Home) -> (DeliverySetup, Receiver, Receiver) {
    let (setup, receiver) = open(home, "2026-04-01T12:00:00-04:00", "2026-03-15T00:00:00-04:00").await;
    let others = Receiver::start(Behaviour::status(200));
    setup.subscribe_to(&others, &json!({ "filter_events": ["due_date_passed"] })).await;
    json_of(setup.trial.notify("a1", &serde_json::from_str(REMINDER).expect("JSON")).await);
    json_of(setup.trial.roll("a1", "2026-06-20T00:00:00-04:00", false).await);
    (setup, receiver, others)
}

/// The states of an account's reminders, as its timeline shows them.
async fn states(setup: &DeliverySetup) -> Vec<String> {
    let timeline = view_of(setup.trial.service.list_account_events(&setup.trial.who, "a1", whole()).await);
    let mut seen = std::collections::BTreeSet::new();
    list(timeline)
        .iter()
        .flat_map(|event| event["webhooks"].as_array().expect("a list").clone())
        .filter(|webhook| webhook["event"] == "payment_due_date" && seen.insert(webhook["event_id"].to_string()))
        .map(|webhook| webhook["state"].as_str().expect("a state").to_owned())
        .collect()
}

async fn close(setup: &DeliverySetup, way: &str) {
    let trial = &setup.trial;
    let status = |reason: &str| json!({ "account_status": "CLOSED", "account_substatus": reason });
    match way {
        "paid off" => drop(json_of(trial.pay("a1", "all", 200_000, "2026-06-20T00:00:00-04:00").await)),
        "settled" => drop(json_of(trial.status("a1", &status("SETTLEMENT")).await)),
        "charged off" => drop(json_of(trial.status("a1", &status("CHARGE_OFF")).await)),
        "paid off by a later roll" => {
            json_of(trial.pay("a1", "all", 200_000, "2026-06-25T00:00:00-04:00").await);
            json_of(trial.roll("a1", "2026-06-30T00:00:00-04:00", false).await);
        }
        _ => {
            trial.migration_mode("auto-12", true).await;
            json_of(trial.status("a1", &status("SETTLEMENT")).await);
            trial.release("auto-12").await;
        }
    }
}

async fn a_closed_account_cancels_the_notices_that_wait(home: Home) {
    for way in ["paid off", "settled", "charged off", "paid off by a later roll", "released"] {
        let (setup, receiver, others) = rolled(home).await;
        setup.go_to("2026-04-14T09:00:00-04:00").await;
        assert_eq!(states(&setup).await, ["PUBLISHED", "SCHEDULED", "SCHEDULED"], "{way}");
        close(&setup, way).await;
        assert!(setup.trial.standing("a1").await.starts_with("CLOSED"), "{way}");
        assert_eq!(states(&setup).await, ["PUBLISHED", "CANCELLED", "CANCELLED"], "{way}");
        setup.go_to("2026-08-01T00:00:00-04:00").await;
        assert_eq!(moments(&receiver), ["2026-04-14T09:00:00-04:00"], "{way}");
        assert_eq!(moments(&others).len(), 3, "{way}: other events that wait are sent");
        setup.trial.verify().await;
    }
}

async fn a_roll_that_closes_cancels_its_own_notices(home: Home) {
    let (setup, receiver) = open(home, "2026-04-01T12:00:00-04:00", "2026-03-15T00:00:00-04:00").await;
    json_of(setup.trial.notify("a1", &serde_json::from_str(REMINDER).expect("JSON")).await);
    json_of(setup.trial.pay("a1", "all", 200_000, "2026-05-20T00:00:00-04:00").await);
    json_of(setup.trial.roll("a1", "2026-06-20T00:00:00-04:00", false).await);
    assert_eq!(states(&setup).await, ["CANCELLED", "CANCELLED"]);
    setup.go_to("2026-08-01T00:00:00-04:00").await;
    assert_eq!(moments(&receiver), Vec::<String>::new());
    setup.trial.verify().await;
}

async fn a_roll_with_webhooks_that_closes_sends_them(home: Home) {
    let (setup, receiver, _others) = rolled(home).await;
    json_of(setup.trial.pay("a1", "all", 200_000, "2026-06-25T00:00:00-04:00").await);
    let rolled = json_of(setup.trial.roll("a1", "2026-06-30T00:00:00-04:00", true).await);
    assert!(setup.trial.standing("a1").await.starts_with("CLOSED"));
    setup.send().await;
    assert_eq!(moments(&receiver).len(), 3, "the roll sends every webhook up to its moment: {rolled}");
    setup.trial.verify().await;
}

async fn a_reopened_account_keeps_them_cancelled(home: Home) {
    let (setup, receiver, _others) = rolled(home).await;
    close(&setup, "settled").await;
    json_of(setup.trial.status("a1", &json!({ "account_status": "ACTIVE" })).await);
    assert_eq!(states(&setup).await, ["CANCELLED"; 3]);
    let rolled = json_of(setup.trial.roll("a1", "2026-06-21T00:00:00-04:00", true).await);
    setup.go_to("2026-07-14T09:00:00-04:00").await;
    assert_eq!(moments(&receiver), ["2026-07-14T09:00:00-04:00"], "the next one comes: {rolled}");
    setup.trial.verify().await;
}

/// It does not matter whether it is already in the log: its moment came while the account was open.
async fn a_notice_whose_moment_came_before_the_closing_is_sent(home: Home) {
    let (setup, receiver, _others) = rolled(home).await;
    setup.trial.clock.set(crate::support::time("2026-04-14T09:00:00-04:00"));
    close(&setup, "settled").await;
    setup.go_to("2026-08-01T00:00:00-04:00").await;
    assert_eq!(moments(&receiver), ["2026-04-14T09:00:00-04:00"]);
    setup.trial.verify().await;
}

//! A URL that is held because it answered 429: it shows the hold, and a person lifts it.

use crate::setup::{DeliverySetup, days, minutes, names};
use crate::support::{Home, form_of, json_of, on_both, time, view_of};
use daybook_service::paging::Paging;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use serde_json::{Value, json};
use std::time::Duration;

on_both!(
    a_held_url_says_until_when_and_why,
    resubscribing_lifts_the_hold,
    resending_a_message_that_waits_lifts_the_hold,
    a_replay_lifts_the_hold,
    another_filter_does_not_lift_the_hold,
    a_restart_does_not_lift_the_hold,
    a_hold_is_a_day_at_most,
);

const DAY_LATER: &str = "2026-04-02T12:00:30Z";

/// Answers 429 to the first message with this `Retry-After`, and accepts all others.
fn refusing_once(seconds: &'static str) -> Receiver {
    Receiver::start(Behaviour::answers(move |number, _| match number {
        0 => PreparedResponse::status(429).with("retry-after", seconds),
        _ => PreparedResponse::status(200),
    }))
}

/// A URL that refused A for a day, with B and C waiting.
async fn held(home: Home) -> (DeliverySetup, Receiver, String) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = refusing_once("86400");
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
    }
    assert_eq!(setup.send().await, 1);
    assert_eq!(hold(&setup, &uuid).await, (json!(DAY_LATER), json!("TOO_MANY_REQUESTS")));
    assert_eq!(setup.pass(minutes(10)).await, 0, "it is left alone");
    (setup, receiver, uuid)
}

/// `held_until` and `held_reason`.
async fn hold(setup: &DeliverySetup, uuid: &str) -> (Value, Value) {
    let one = setup.subscription(uuid).await;
    assert_eq!(one["status"], "ACTIVE");
    (one["held_until"].clone(), one["held_reason"].clone())
}

fn sorted(receiver: &Receiver) -> Vec<String> {
    let mut names = names(receiver);
    names.sort();
    names
}

/// The id of the message about a customer.
async fn event_id(setup: &DeliverySetup, position: usize) -> String {
    let page = setup.trial.service.list_messages(&setup.trial.who, Paging::default(), Default::default()).await;
    let mut all = crate::support::list(view_of(page));
    all.reverse();
    all[position]["event_id"].as_str().expect("an id").to_owned()
}

async fn a_held_url_says_until_when_and_why(home: Home) {
    let (setup, receiver, uuid) = held(home).await;
    setup.trial.clock.set(time("2026-04-02T12:00:29Z"));
    assert_eq!(setup.send().await, 0);
    setup.trial.clock.set(time(DAY_LATER));
    assert_eq!(hold(&setup, &uuid).await, (Value::Null, Value::Null), "its time is over");
    assert_eq!(setup.send().await, 3);
    assert_eq!(sorted(&receiver), ["A", "A", "B", "C"]);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

async fn resubscribing_lifts_the_hold(home: Home) {
    let (setup, receiver, uuid) = held(home).await;
    let resumed = setup.resume(&uuid).await;
    assert_eq!((&resumed["held_until"], &resumed["held_reason"]), (&Value::Null, &Value::Null));
    assert_eq!(setup.send().await, 3, "what was refused is sent too");
    assert_eq!(sorted(&receiver), ["A", "A", "B", "C"]);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
    assert_eq!(setup.pass(days(2)).await, 0);
}

async fn resending_a_message_that_waits_lifts_the_hold(home: Home) {
    let (setup, receiver, uuid) = held(home).await;
    let id = event_id(&setup, 2).await;
    let done = setup.trial.service.resend_message(&setup.trial.who, None, &id, form_of(&json!({}))).await;
    assert_eq!(json_of(done)["resent"], json!([uuid]));
    assert_eq!(hold(&setup, &uuid).await, (Value::Null, Value::Null));
    assert_eq!(setup.send().await, 3);
    assert_eq!(sorted(&receiver), ["A", "A", "B", "C"], "each is sent once more at most");
}

async fn a_replay_lifts_the_hold(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::answers(|number, _| match number {
        0 => PreparedResponse::status(400),
        1 => PreparedResponse::status(429).with("retry-after", "3600"),
        _ => PreparedResponse::status(200),
    }));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
    }
    assert_eq!(setup.send().await, 2);
    assert_eq!(hold(&setup, &uuid).await.0, "2026-04-01T13:00:30Z");
    assert_eq!(setup.replay(&json!({ "dry_run": true })).await, (1, 0));
    assert_eq!((hold(&setup, &uuid).await.0, setup.send().await), (json!("2026-04-01T13:00:30Z"), 0));
    assert_eq!(setup.replay(&json!({})).await, (1, 0));
    assert_eq!(hold(&setup, &uuid).await.0, Value::Null);
    assert_eq!(setup.send().await, 3);
    assert_eq!(sorted(&receiver), ["A", "A", "B", "B", "C"]);
}

async fn another_filter_does_not_lift_the_hold(home: Home) {
    let (setup, receiver, uuid) = held(home).await;
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["customer_create"] })).await;
    assert_eq!(setup.send().await, 0);
    assert_eq!(hold(&setup, &uuid).await.0, DAY_LATER);
}

async fn a_restart_does_not_lift_the_hold(home: Home) {
    let (setup, receiver, uuid) = held(home).await;
    setup.dispatcher.stop().await;
    let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    let again = DeliverySetup {
        dispatcher: setup.trial.service.dispatcher(settings).expect("it has a sender"),
        trial: setup.trial,
    };
    assert_eq!(again.send().await, 0);
    assert_eq!(hold(&again, &uuid).await.0, DAY_LATER);
    again.resume(&uuid).await;
    assert_eq!(again.send().await, 3);
    assert_eq!(sorted(&receiver), ["A", "A", "B", "C"]);
}

async fn a_hold_is_a_day_at_most(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = refusing_once("999999999");
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    assert_eq!(hold(&setup, &uuid).await.0, DAY_LATER);
}

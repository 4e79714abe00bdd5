//! A filter that is narrowed while messages are sent: excluded messages are not sent again, wherever they are at that
//! moment.

use crate::setup::{DeliverySetup, days};
use crate::support::{Home, form_of, json_of, list, on_both, view_of};
use daybook_service::form::fields::SearchState;
use daybook_service::paging::Paging;
use daybook_service::webhooks::searching::MessageQuery;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

on_both!(
    retries_behind_one_that_is_under_way_are_dropped_with_it,
    one_that_fails_before_its_sender_hears_of_the_filter_is_dropped,
    one_that_fails_long_after_the_filter_was_narrowed_is_dropped,
    retries_that_are_just_being_read_are_dropped,
    what_a_filter_dropped_is_not_wanted_and_found,
    dead_letters_that_a_filter_leaves_out_are_dropped_all_alike,
    a_paused_url_is_tried_with_what_it_still_wants,
    one_that_is_refused_or_tried_after_the_filter_was_narrowed_is_dropped,
);

/// How many URLs are narrowed at the same time, and how often.
const URLS: usize = 20;
const ROUNDS: usize = 5;

fn nothing_waits() -> (String, Value, u64, u64) {
    ("ACTIVE".to_owned(), Value::Null, 0, 0)
}

/// Answers 500 once it is opened.
fn failing_when(open: &Arc<AtomicBool>) -> Behaviour {
    let open = open.clone();
    Behaviour::slowly(move |_, _| {
        while !open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        PreparedResponse::status(500)
    })
}

/// Sends messages in the background.
fn settle(setup: &DeliverySetup) -> tokio::task::JoinHandle<usize> {
    let dispatcher = setup.dispatcher.clone();
    tokio::spawn(async move { dispatcher.settle().await.expect("it is sent") })
}

async fn narrow(setup: &DeliverySetup, receiver: &Receiver) {
    setup.subscribe_to(receiver, &json!({ "filter_events": ["account_closed"] })).await;
}

fn next_minute(setup: &DeliverySetup) {
    setup.trial.clock.set(setup.trial.clock_now().plus_micros(60_000_000));
}

/// Five messages are to be retried: one is with the receiver, the others wait for its answer.
async fn retries_behind_one_that_is_under_way_are_dropped_with_it(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..5 {
        setup.announce(&format!("N{number}")).await;
    }
    assert_eq!(setup.send().await, 5);
    let open = Arc::new(AtomicBool::new(false));
    receiver.behave(failing_when(&open));
    next_minute(&setup);
    let sending = settle(&setup);
    receiver.until(|counts| counts.requests == 6).await;
    narrow(&setup, &receiver).await;
    let hearing = settle(&setup);
    // The sender learns of the new filter before the answer arrives.
    tokio::time::sleep(Duration::from_millis(200)).await;
    open.store(true, Ordering::SeqCst);
    sending.await.expect("it ends");
    hearing.await.expect("it ends");
    assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (6, nothing_waits()));
    assert_eq!(setup.pass(days(2)).await, 0);
    // Messages that the filter includes still arrive.
    receiver.behave(Behaviour::status(200));
    setup.subscribe(&receiver).await;
    setup.announce("Later").await;
    assert_eq!((setup.send().await, setup.state(&uuid).await), (1, nothing_waits()));
}

async fn one_that_fails_before_its_sender_hears_of_the_filter_is_dropped(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let open = Arc::new(AtomicBool::new(false));
    let receiver = Receiver::start(failing_when(&open));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    let sending = settle(&setup);
    receiver.until(|counts| counts.requests == 1).await;
    narrow(&setup, &receiver).await;
    open.store(true, Ordering::SeqCst);
    sending.await.expect("it ends");
    assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (1, nothing_waits()));
    assert_eq!(setup.pass(days(2)).await, 0);
}

/// Other messages were sent and recorded under the new filter before it fails.
async fn one_that_fails_long_after_the_filter_was_narrowed_is_dropped(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("Before").await;
    setup.send().await;
    let open = Arc::new(AtomicBool::new(false));
    let opened = open.clone();
    receiver.behave(Behaviour::slowly(move |_, body| {
        let is_slow = String::from_utf8_lossy(body).contains("customer_create");
        while is_slow && !opened.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        PreparedResponse::status(if is_slow { 500 } else { 200 })
    }));
    setup.announce("Slow").await;
    let sending = settle(&setup);
    receiver.until(|counts| counts.requests == 2).await;
    narrow(&setup, &receiver).await;
    // A test event goes to all URLs.
    for second in ["2026-04-01T12:00:31Z", "2026-04-01T12:00:32Z"] {
        setup.trial.clock.set(crate::support::time(second));
        view_of(setup.trial.service.send_test_event(&setup.trial.who).await);
        let hearing = settle(&setup);
        while setup.subscription(&uuid).await["last_success_at"] != second {
            tokio::task::yield_now().await;
        }
        hearing.abort();
    }
    open.store(true, Ordering::SeqCst);
    sending.await.expect("it ends");
    assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (4, nothing_waits()));
    assert_eq!(setup.pass(days(2)).await, 0);
}

/// The filters of many URLs are narrowed just when their retries are due.
async fn retries_that_are_just_being_read_are_dropped(home: Home) {
    for _ in 0..ROUNDS {
        let setup = DeliverySetup::at_once(home).await;
        let receivers: Vec<Receiver> = (0..URLS).map(|_| Receiver::start(Behaviour::status(500))).collect();
        let mut uuids = Vec::new();
        for receiver in &receivers {
            uuids.push(setup.subscribe(receiver).await);
        }
        for number in 0..3 {
            setup.announce(&format!("N{number}")).await;
        }
        setup.send().await;
        next_minute(&setup);
        let mut sending = vec![settle(&setup)];
        for receiver in &receivers {
            narrow(&setup, receiver).await;
            sending.push(settle(&setup));
        }
        for sent in sending {
            sent.await.expect("it ends");
        }
        for uuid in &uuids {
            assert_eq!(setup.state(uuid).await, nothing_waits());
        }
        assert_eq!(setup.pass(days(2)).await, 0);
    }
}

/// Messages in a state, by the customer's name, with their state at the only URL.
async fn found(setup: &DeliverySetup, state: Option<SearchState>) -> Vec<(String, Value)> {
    let query = MessageQuery { state, ..MessageQuery::default() };
    let all = list(view_of(setup.trial.service.list_messages(&setup.trial.who, Paging::default(), query).await));
    let mut found = Vec::new();
    for one in all.iter().filter(|one| one["event"] == "customer_create") {
        let id = one["event_id"].as_str().expect("an id");
        let whole = view_of(setup.trial.service.get_message(&setup.trial.who, id).await);
        assert_eq!(whole["urls"][0]["state"], one["urls"][0]["state"], "{whole}");
        found.push((id.to_owned(), whole["urls"][0].clone()));
    }
    found
}

/// The filter is narrowed and widened again at once: messages it dropped in between are still found, with a known
/// state.
async fn what_a_filter_dropped_is_not_wanted_and_found(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    // One is to be retried, one is with the receiver, and one waits.
    setup.announce("Retried").await;
    assert_eq!(setup.send().await, 1);
    let open = Arc::new(AtomicBool::new(false));
    receiver.behave(failing_when(&open));
    setup.announce("Under way").await;
    setup.announce("Waiting").await;
    let sending = settle(&setup);
    receiver.until(|counts| counts.requests == 2).await;
    narrow(&setup, &receiver).await;
    let hearing = settle(&setup);
    // The sender learns of the new filter before the answer arrives.
    tokio::time::sleep(Duration::from_millis(200)).await;
    open.store(true, Ordering::SeqCst);
    sending.await.expect("it ends");
    hearing.await.expect("it ends");
    for filter in [json!(["account_closed"]), Value::Null] {
        setup.subscribe_to(&receiver, &json!({ "filter_events": filter })).await;
        setup.send().await;
        assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (2, nothing_waits()), "{filter}");
        let dropped = found(&setup, Some(SearchState::NotWanted)).await;
        assert_eq!((dropped.len(), found(&setup, None).await.len()), (3, 3), "{filter}");
        for (_, at_url) in &dropped {
            assert_eq!(at_url["state"], "NOT_WANTED", "{filter}: {at_url}");
            assert_eq!(at_url["next_retry_at"], Value::Null);
            for attempt in at_url["attempts"].as_array().expect("a list") {
                assert_eq!(attempt["next_retry_at"], Value::Null, "{filter}: {at_url}");
            }
        }
    }
    // They are wanted again, and can be resent one by one.
    receiver.behave(Behaviour::status(200));
    let (service, who) = (&setup.trial.service, &setup.trial.who);
    for (id, _) in found(&setup, Some(SearchState::NotWanted)).await {
        json_of(service.resend_message(who, None, &id, form_of(&json!({ "webhook_uuid": uuid }))).await);
    }
    assert_eq!(setup.send().await, 3);
    assert_eq!(found(&setup, Some(SearchState::Delivered)).await.len(), 3);
    assert_eq!(found(&setup, Some(SearchState::NotWanted)).await.len(), 0);
}

/// Twelve messages that failed or were announced during the pause: none is a dead letter any more, sent automatically,
/// or sent by a replay.
async fn dead_letters_that_a_filter_leaves_out_are_dropped_all_alike(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..10 {
        setup.announce(&format!("N{number}")).await;
    }
    setup.send().await;
    setup.announce("During1").await;
    // A pause and the messages it missed, as a range.
    setup.resume(&uuid).await;
    setup.pause(&uuid).await;
    setup.resume(&uuid).await;
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    setup.send().await;
    receiver.behave(Behaviour::status(401));
    setup.announce("During2").await;
    setup.send().await;
    setup.trial.account("auto-12", "a2", "2026-04-01T12:00:00Z").await;
    setup.announce("During3").await;
    let (status, _, _, before) = setup.state(&uuid).await;
    assert_eq!(status, "PAUSED");
    assert!(before > 12, "{before}");
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["account_create"] })).await;
    assert_eq!(setup.state(&uuid).await.3, 2, "of the two accounts");
    receiver.behave(Behaviour::status(200));
    setup.resume(&uuid).await;
    let sent = receiver.counts().requests;
    assert_eq!(setup.replay(&json!({ "event": "customer_create" })).await, (0, 0));
    assert_eq!(setup.replay(&json!({})).await, (2, 0));
    setup.send().await;
    assert_eq!(crate::setup::events(&receiver).split_off(sent), ["account_create", "account_create"]);
    assert_eq!(setup.state(&uuid).await, nothing_waits());
}

/// A URL that was paused by errors is probed with a message that its filter still includes.
async fn a_paused_url_is_tried_with_what_it_still_wants(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..12 {
        setup.announce(&format!("N{number}")).await;
    }
    setup.send().await;
    assert_eq!(setup.state(&uuid).await.3, 12);
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["account_create"] })).await;
    assert_eq!(setup.state(&uuid).await, ("PAUSED".to_owned(), json!("CONSECUTIVE_ERRORS"), 0, 0));
    receiver.behave(Behaviour::status(200));
    assert_eq!(setup.pass(days(1)).await, 0, "there is nothing to try it with");
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    assert_eq!(setup.pass(Duration::from_secs(3)).await, 1);
    assert_eq!(crate::setup::events(&receiver).split_off(10), ["account_create"]);
    assert_eq!(setup.state(&uuid).await, nothing_waits());
}

/// A message that is with the receiver when the filter excludes it, and is not accepted, is not a dead letter.
async fn one_that_is_refused_or_tried_after_the_filter_was_narrowed_is_dropped(home: Home) {
    for (is_paused, status) in [(false, 400), (false, 401), (true, 500), (true, 401)] {
        let setup = DeliverySetup::at_once(home).await;
        let open = Arc::new(AtomicBool::new(true));
        let receiver = Receiver::start(failing_when(&open));
        let uuid = setup.subscribe(&receiver).await;
        let messages = if is_paused { 10 } else { 1 };
        if is_paused {
            for number in 0..messages {
                setup.announce(&format!("N{number}")).await;
            }
            setup.send().await;
            setup.trial.clock.set(setup.trial.clock_now().plus_micros(300_000_000));
        } else {
            setup.announce("A").await;
        }
        let open = Arc::new(AtomicBool::new(false));
        let opened = open.clone();
        receiver.behave(Behaviour::slowly(move |_, _| {
            while !opened.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            PreparedResponse::status(status)
        }));
        let sent = receiver.counts().requests;
        let sending = settle(&setup);
        receiver.until(|counts| counts.requests == sent + 1).await;
        narrow(&setup, &receiver).await;
        open.store(true, Ordering::SeqCst);
        sending.await.expect("it ends");
        assert_eq!(setup.state(&uuid).await.3, 0, "paused: {is_paused}, {status}");
    }
}

//! A person pauses a URL: the pause holds, whatever its receiver answered before, answers at that moment, or would
//! answer.

use crate::setup::{DeliverySetup, days, minutes, names, seconds};
use crate::support::{Home, on_both};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

on_both!(
    a_pause_by_a_person_takes_the_place_of_one_by_errors,
    a_pause_by_a_person_takes_the_place_of_one_by_401,
    a_pause_by_a_person_stays_as_it_is,
    a_url_that_is_just_being_tried_stays_paused,
    a_message_that_came_during_the_pause_and_was_taken_is_no_dead_letter,
    a_message_that_was_tried_during_a_pause_is_replayed_once,
    a_success_under_way_does_not_take_it_back,
);

fn unsubscribed(dead: u64) -> (String, Value, u64, u64) {
    ("PAUSED".to_owned(), json!("UNSUBSCRIBED"), 0, dead)
}

/// `paused_at` and `next_probe_at`.
async fn moments(setup: &DeliverySetup, uuid: &str) -> (Value, Value) {
    let shown = setup.subscription(uuid).await;
    (shown["paused_at"].clone(), shown["next_probe_at"].clone())
}

async fn announce(setup: &DeliverySetup, messages: usize) {
    for number in 0..messages {
        setup.announce(&format!("N{number}")).await;
    }
}

/// A URL that was paused by ten failures.
async fn paused_by_errors(setup: &DeliverySetup, receiver: &Receiver) -> String {
    let uuid = setup.subscribe(receiver).await;
    announce(setup, 10).await;
    setup.send().await;
    assert_eq!(setup.subscription(&uuid).await["paused_reason"], "CONSECUTIVE_ERRORS");
    uuid
}

/// Answers with a status once it is opened.
fn when(open: &Arc<AtomicBool>, status: u16) -> Behaviour {
    let open = open.clone();
    Behaviour::slowly(move |_, _| {
        while !open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        PreparedResponse::status(status)
    })
}

/// Sends messages in the background.
fn settle(setup: &DeliverySetup) -> tokio::task::JoinHandle<usize> {
    let dispatcher = setup.dispatcher.clone();
    tokio::spawn(async move { dispatcher.settle().await.expect("it is sent") })
}

async fn a_pause_by_a_person_takes_the_place_of_one_by_errors(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = paused_by_errors(&setup, &receiver).await;
    setup.pass(minutes(1)).await;
    let answer = setup.pause(&uuid).await;
    assert_eq!((&answer["paused_reason"], &answer["next_probe_at"]), (&json!("UNSUBSCRIBED"), &Value::Null));
    assert_eq!(moments(&setup, &uuid).await, (json!("2026-04-01T12:01:30Z"), Value::Null));
    receiver.behave(Behaviour::status(200));
    setup.announce("During").await;
    for _ in 0..6 {
        assert_eq!(setup.pass(days(1) / 2).await, 0, "it is not tried");
    }
    assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (10, unsubscribed(11)));
    setup.resume(&uuid).await;
    assert_eq!(setup.replay(&json!({})).await, (11, 0));
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

async fn a_pause_by_a_person_takes_the_place_of_one_by_401(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(401));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    assert_eq!(setup.subscription(&uuid).await["paused_reason"], "UNAUTHORIZED");
    setup.pass(minutes(1)).await;
    setup.pause(&uuid).await;
    assert_eq!(setup.state(&uuid).await, unsubscribed(1));
    assert_eq!(moments(&setup, &uuid).await, (json!("2026-04-01T12:01:30Z"), Value::Null));
}

/// Neither a second request nor a later answer of the receiver changes it.
async fn a_pause_by_a_person_stays_as_it_is(home: Home) {
    for status in [401, 500] {
        let settings = daybook_webhooks::dispatcher::DispatcherSettings {
            batch_interval: Duration::ZERO,
            pause_after: 1,
            ..daybook_webhooks::dispatcher::DispatcherSettings::default()
        };
        let setup = DeliverySetup::with(home, settings).await;
        let open = Arc::new(AtomicBool::new(false));
        let receiver = Receiver::start(when(&open, status));
        let uuid = setup.subscribe(&receiver).await;
        setup.announce("A").await;
        let sending = settle(&setup);
        receiver.until(|counts| counts.requests == 1).await;
        setup.pause(&uuid).await;
        setup.trial.clock.set(setup.trial.clock_now().plus_micros(1_000_000));
        setup.pause(&uuid).await;
        open.store(true, Ordering::SeqCst);
        sending.await.expect("it ends");
        setup.send().await;
        assert_eq!(setup.state(&uuid).await, unsubscribed(1), "{status}");
        assert_eq!(moments(&setup, &uuid).await, (json!("2026-04-01T12:00:30Z"), Value::Null), "{status}");
        assert_eq!(setup.pass(days(1)).await, 0);
    }
}

async fn a_url_that_is_just_being_tried_stays_paused(home: Home) {
    for (status, dead) in [(200, 9), (500, 10), (401, 10)] {
        let setup = DeliverySetup::at_once(home).await;
        let receiver = Receiver::start(Behaviour::status(500));
        let uuid = paused_by_errors(&setup, &receiver).await;
        let open = Arc::new(AtomicBool::new(false));
        receiver.behave(when(&open, status));
        setup.trial.clock.set(setup.trial.clock_now().plus_micros(300_000_000));
        let sending = settle(&setup);
        receiver.until(|counts| counts.requests == 11).await;
        setup.pause(&uuid).await;
        open.store(true, Ordering::SeqCst);
        sending.await.expect("it ends");
        assert_eq!(setup.state(&uuid).await, unsubscribed(dead), "{status}");
        assert_eq!(moments(&setup, &uuid).await, (json!("2026-04-01T12:05:30Z"), Value::Null), "{status}");
        receiver.behave(Behaviour::status(200));
        assert_eq!(setup.pass(days(1)).await, 0, "{status}");
        setup.resume(&uuid).await;
        assert_eq!(setup.replay(&json!({})).await, (dead, 0), "{status}");
    }
}

async fn a_message_that_came_during_the_pause_and_was_taken_is_no_dead_letter(home: Home) {
    for filter in [json!({}), json!({ "filter_events": ["customer_create"] })] {
        let setup = DeliverySetup::at_once(home).await;
        let receiver = Receiver::start(Behaviour::status(500));
        let uuid = paused_by_errors(&setup, &receiver).await;
        setup.subscribe_to(&receiver, &filter).await;
        for name in ["During1", "During2", "During3"] {
            setup.announce(name).await;
        }
        // The first of them was tried once; the second is next.
        assert_eq!(setup.pass(minutes(5)).await, 1);
        let open = Arc::new(AtomicBool::new(false));
        receiver.behave(when(&open, 200));
        setup.trial.clock.set(setup.trial.clock_now().plus_micros(600_000_000));
        let sending = settle(&setup);
        receiver.until(|counts| counts.requests == 12).await;
        setup.pause(&uuid).await;
        open.store(true, Ordering::SeqCst);
        sending.await.expect("it ends");
        assert_eq!(names(&receiver)[10..], ["During1", "During2"]);
        assert_eq!(setup.state(&uuid).await, unsubscribed(12));
        setup.announce("During4").await;
        assert_eq!(setup.state(&uuid).await, unsubscribed(13));
        setup.resume(&uuid).await;
        assert_eq!(setup.replay(&json!({})).await, (13, 0));
        setup.send().await;
        let mut got = names(&receiver).split_off(11);
        got.sort_unstable();
        let mut expected: Vec<String> = (0..10).map(|number| format!("N{number}")).collect();
        expected.splice(0..0, [1, 2, 3, 4].map(|number| format!("During{number}")));
        assert_eq!(got, expected, "each once more, or once");
    }
}

/// It was announced during the pause, tried, and failed: it is a failure of its own, and not part of the range that the
/// pause missed.
async fn a_message_that_was_tried_during_a_pause_is_replayed_once(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = paused_by_errors(&setup, &receiver).await;
    for name in ["During1", "During2", "During3"] {
        setup.announce(name).await;
    }
    assert_eq!(setup.pass(minutes(5)).await, 1);
    assert_eq!(names(&receiver)[10..], ["During1"]);
    receiver.behave(Behaviour::status(200));
    setup.resume(&uuid).await;
    assert_eq!(setup.replay(&json!({})).await, (13, 0));
    setup.send().await;
    let got = names(&receiver).split_off(11);
    assert_eq!((got.len(), setup.state(&uuid).await.3), (13, 0), "{got:?}");
}

/// Ten failures lead to a pause, two messages are still with the receiver, and a person pauses the URL. One of the two
/// fails, and pending messages are not sent when the other one is accepted.
async fn a_success_under_way_does_not_take_it_back(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    announce(&setup, 30).await;
    setup.send().await;
    // How many of the two slow ones may answer.
    let (open, failed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (opened, counted) = (open.clone(), failed.clone());
    receiver.behave(Behaviour::slowly(move |_, body| {
        let text = String::from_utf8_lossy(body);
        if text.contains("Bad") {
            counted.fetch_add(1, Ordering::SeqCst);
            return PreparedResponse::status(500);
        }
        let (needs, status) = if text.contains("Late") { (1, 500) } else { (2, 200) };
        while opened.load(Ordering::SeqCst) < needs {
            std::thread::sleep(Duration::from_millis(1));
        }
        PreparedResponse::status(status)
    }));
    setup.announce("Slow").await;
    setup.announce("Late").await;
    for number in 0..10 {
        setup.announce(&format!("Bad{number}")).await;
    }
    let sending = settle(&setup);
    while failed.load(Ordering::SeqCst) < 10 {
        tokio::task::yield_now().await;
    }
    // The ten answers are on their way to the sender, or have arrived.
    tokio::time::sleep(Duration::from_millis(100)).await;
    announce(&setup, 20).await;
    let hearing = settle(&setup);
    tokio::time::sleep(Duration::from_millis(100)).await;
    setup.pause(&uuid).await;
    let stopping = settle(&setup);
    for may_answer in [1, 2] {
        tokio::time::sleep(Duration::from_millis(100)).await;
        open.store(may_answer, Ordering::SeqCst);
    }
    for sent in [sending, hearing, stopping] {
        sent.await.expect("it ends");
    }
    assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (42, unsubscribed(31)));
    assert_eq!(setup.pass(seconds(3_600)).await, 0);
}

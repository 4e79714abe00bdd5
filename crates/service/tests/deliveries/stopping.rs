//! The state after a stop: everything that was answered is recorded, and is not sent again.

use crate::setup::{DeliverySetup, names, seconds};
use crate::support::{Home, on_both};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

on_both!(
    what_was_answered_out_of_order_is_not_sent_again,
    what_is_answered_while_it_stops_is_not_sent_again,
    a_replay_that_was_stopped_goes_on_where_it_was,
    a_node_that_stopped_takes_and_sends_nothing_more,
    what_was_delivered_out_of_order_is_no_dead_letter_of_a_paused_url,
);

/// Accepts everything at once except messages about `Slow`, which it answers when it is opened.
fn gated(open: &Arc<AtomicBool>) -> Behaviour {
    let open = open.clone();
    Behaviour::slowly(move |_, body| {
        let is_slow = String::from_utf8_lossy(body).contains("\"name_last\":\"Slow");
        while is_slow && !open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        PreparedResponse::status(200)
    })
}

fn once_each(receiver: &Receiver) -> Vec<String> {
    let mut got = names(receiver);
    got.sort_unstable();
    got.dedup();
    got
}

/// Sends messages of which the first is not answered before the stop, and starts again. Returns the setup after it.
async fn stop_amid(setup: DeliverySetup, receiver: &Receiver, answered: usize) -> DeliverySetup {
    let dispatcher = setup.dispatcher.clone();
    let sending = tokio::spawn(async move { dispatcher.settle().await });
    receiver.until(|counts| counts.requests > answered).await;
    // The answers are on their way to the sender.
    tokio::time::sleep(Duration::from_millis(200)).await;
    setup.dispatcher.stop().await;
    sending.abort();
    let DeliverySetup { trial, .. } = setup;
    DeliverySetup::over(trial, DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() })
}

async fn what_was_answered_out_of_order_is_not_sent_again(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..20 {
        setup.announce(&format!("Before{number}")).await;
    }
    setup.send().await;
    let open = Arc::new(AtomicBool::new(false));
    receiver.behave(gated(&open));
    setup.announce("Slow").await;
    for number in 0..50 {
        setup.announce(&format!("N{number}")).await;
    }
    let setup = stop_amid(setup, &receiver, 70).await;
    assert_eq!(receiver.counts().requests, 71);
    open.store(true, Ordering::SeqCst);
    setup.send().await;
    assert_eq!(once_each(&receiver).len(), 71);
    assert_eq!(receiver.counts().requests, 72, "only the one that was not answered is sent again");
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
    assert_eq!(setup.pass(seconds(100)).await, 0);
}

async fn a_replay_that_was_stopped_goes_on_where_it_was(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..20 {
        setup.announce(&format!("Before{number}")).await;
    }
    setup.send().await;
    setup.pause(&uuid).await;
    for number in 0..50 {
        setup.announce(&if number == 20 { "Slow".to_owned() } else { format!("N{number}") }).await;
    }
    setup.resume(&uuid).await;
    let open = Arc::new(AtomicBool::new(false));
    receiver.behave(gated(&open));
    assert_eq!(setup.replay(&json!({})).await, (50, 0));
    let setup = stop_amid(setup, &receiver, 69).await;
    assert_eq!(receiver.counts().requests, 70);
    open.store(true, Ordering::SeqCst);
    setup.send().await;
    assert_eq!(once_each(&receiver).len(), 70);
    assert_eq!(receiver.counts().requests, 71, "only the one that was not answered is sent again");
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

/// A pause while no node runs that knows what it sent: first in the middle of the log, then in the middle of a replay.
async fn what_was_delivered_out_of_order_is_no_dead_letter_of_a_paused_url(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    let [fast, mixed] = [[].as_slice(), &[3, 4, 8]];
    announce_some(&setup, 20, fast).await;
    setup.send().await;
    let open = Arc::new(AtomicBool::new(false));
    receiver.behave(gated(&open));
    announce_some(&setup, 12, mixed).await;
    let setup = stop_amid(setup, &receiver, 31).await;
    setup.pause(&uuid).await;
    announce_some(&setup, 1, fast).await;
    let state = setup.state(&uuid).await;
    // A receiver that is not opened would not end if the test fails.
    open.store(true, Ordering::SeqCst);
    assert_eq!(state, ("PAUSED".to_owned(), json!("UNSUBSCRIBED"), 0, 4), "three that are slow, and one it missed");
    setup.resume(&uuid).await;
    assert_eq!(setup.replay(&json!({})).await, (4, 0));
    assert_eq!(setup.send().await, 4);

    setup.pause(&uuid).await;
    announce_some(&setup, 20, fast).await;
    announce_some(&setup, 12, mixed).await;
    setup.resume(&uuid).await;
    open.store(false, Ordering::SeqCst);
    assert_eq!(setup.replay(&json!({})).await, (32, 0));
    let setup = stop_amid(setup, &receiver, 67).await;
    setup.pause(&uuid).await;
    let dead = setup.state(&uuid).await.3;
    open.store(true, Ordering::SeqCst);
    assert_eq!(dead, 3, "all but the slow ones were delivered");
    setup.resume(&uuid).await;
    assert_eq!(setup.replay(&json!({})).await, (3, 0));
    assert_eq!(setup.send().await, 3);
    assert_eq!(receiver.counts().requests, 71, "only the slow ones were sent again");
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

/// Announces this many messages; those with the given numbers are about `Slow`.
async fn announce_some(setup: &DeliverySetup, count: usize, slow: &[usize]) {
    for number in 0..count {
        setup.announce(if slow.contains(&number) { "Slow" } else { "Fast" }).await;
    }
}

/// A read of the log that waited for the stop would lease the URLs again, and no other node could lease them for a
/// while.
async fn a_node_that_stopped_takes_and_sends_nothing_more(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.dispatcher.stop().await;
    assert_eq!(setup.send().await, 0);
    assert_eq!(receiver.counts().requests, 0);
    let DeliverySetup { trial, .. } = setup;
    let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    let setup = DeliverySetup::over(trial, settings);
    assert_eq!(setup.send().await, 1);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

/// The answer arrives after the stop was requested, and in time.
async fn what_is_answered_while_it_stops_is_not_sent_again(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    let open = Arc::new(AtomicBool::new(false));
    receiver.behave(gated(&open));
    setup.announce("Slow").await;
    setup.announce("Next").await;
    let dispatcher = setup.dispatcher.clone();
    let sending = tokio::spawn(async move { dispatcher.settle().await });
    receiver.until(|counts| counts.requests == 1).await;
    let dispatcher = setup.dispatcher.clone();
    let stopping = tokio::spawn(async move { dispatcher.stop().await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!stopping.is_finished(), "it waits for the answer");
    open.store(true, Ordering::SeqCst);
    stopping.await.expect("it stops");
    sending.abort();
    assert_eq!(names(&receiver), ["Slow"], "nothing more is sent");
    let DeliverySetup { trial, .. } = setup;
    let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    let setup = DeliverySetup::over(trial, settings);
    assert_eq!(setup.send().await, 1);
    assert_eq!(names(&receiver), ["Slow", "Next"]);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

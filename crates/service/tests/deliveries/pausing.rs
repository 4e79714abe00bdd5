//! When a URL is paused, and the effects of a pause.

use crate::setup::{DeliverySetup, events, minutes, names, seconds};
use crate::support::{Home, on_both};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use serde_json::{Value, json};

on_both!(
    one_401_pauses_at_once,
    ten_different_messages_that_fail_pause,
    one_bad_message_among_good_ones_does_not_pause,
    a_success_in_between_starts_the_count_again,
    the_same_message_replayed_is_not_a_different_one,
    a_changed_filter_does_not_start_the_count_again,
    the_other_urls_hear_of_a_pause,
    a_url_that_fails_is_sent_one_message_at_a_time,
    unsubscribing_stops_and_resubscribing_resumes,
    what_is_under_way_at_a_pause_is_no_dead_letter,
    too_many_requests_pause_nothing_and_hold_the_url,
    a_success_under_way_takes_a_pause_back,
    a_burst_of_refused_connections_is_one_failure,
    the_number_is_a_setting,
    nothing_is_sent_after_a_pause_by_a_dispatcher_that_runs,
);

fn paused(reason: &str, dead: u64) -> (String, Value, u64, u64) {
    ("PAUSED".to_owned(), json!(reason), 0, dead)
}

fn active(pending: u64, dead: u64) -> (String, Value, u64, u64) {
    ("ACTIVE".to_owned(), Value::Null, pending, dead)
}

/// Answers 500 to messages about a name with this prefix, and 200 to all others.
fn fails_for(name: &'static str) -> Behaviour {
    Behaviour::answers(move |_, body| {
        let is_bad = String::from_utf8_lossy(body).contains(&format!("\"name_last\":\"{name}"));
        PreparedResponse::status(if is_bad { 500 } else { 200 })
    })
}

async fn one_401_pauses_at_once(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(401));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C", "D"] {
        setup.announce(name).await;
    }
    setup.send().await;
    assert_eq!(receiver.counts().requests, 1, "nothing is sent after the 401");
    assert_eq!(setup.state(&uuid).await, paused("UNAUTHORIZED", 4));
    setup.announce("E").await;
    setup.pass(minutes(2_000)).await;
    assert_eq!(receiver.counts().requests, 1);
    assert_eq!(setup.state(&uuid).await, paused("UNAUTHORIZED", 5), "its own pause is not among its dead letters");
    assert_eq!(setup.subscription(&uuid).await["paused_at"], "2026-04-01T12:00:30Z");
}

async fn ten_different_messages_that_fail_pause(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C", "D", "E", "F", "G", "H", "I"] {
        setup.announce(name).await;
    }
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, active(9, 0));
    assert_eq!(setup.pass(minutes(1)).await, 9, "retries of the same nine do not count again");
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 9);
    for name in ["J", "K", "L"] {
        setup.announce(name).await;
    }
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, paused("CONSECUTIVE_ERRORS", 12), "retries that waited are dead letters now");
    assert_eq!(receiver.counts().requests, 19);
    assert_eq!(setup.pass(minutes(4)).await, 0);
}

async fn one_bad_message_among_good_ones_does_not_pause(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(fails_for("Bad"));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("Bad").await;
    for number in 0..30 {
        setup.announce(&format!("Good{number}")).await;
    }
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, active(1, 0));
    for _ in 0..12 {
        setup.announce("Better").await;
        setup.pass(minutes(130)).await;
    }
    assert_eq!(setup.state(&uuid).await, active(0, 1), "it runs its day and dies alone");
    let bad = names(&receiver).iter().filter(|name| *name == "Bad").count();
    assert!(bad > 5, "it was tried {bad} times");
}

async fn a_success_in_between_starts_the_count_again(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(fails_for("Bad"));
    let uuid = setup.subscribe(&receiver).await;
    for round in 0..4 {
        for number in 0..9 {
            setup.announce(&format!("Bad{round}{number}")).await;
        }
        setup.announce("Good").await;
    }
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, active(36, 0));
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 0);
}

async fn the_same_message_replayed_is_not_a_different_one(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(400));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    for _ in 0..12 {
        assert_eq!(setup.replay(&json!({})).await, (1, 0));
        setup.send().await;
    }
    assert_eq!((setup.state(&uuid).await, receiver.counts().requests), (active(0, 1), 13));
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 1);
}

async fn a_changed_filter_does_not_start_the_count_again(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..12 {
        setup.announce(&format!("N{number}")).await;
        setup.send().await;
        setup.subscribe_to(&receiver, &json!({ "filter_events": ["customer_create"] })).await;
    }
    assert_eq!((setup.state(&uuid).await, receiver.counts().requests), (paused("CONSECUTIVE_ERRORS", 12), 10));
}

async fn the_other_urls_hear_of_a_pause(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let bad = Receiver::start(Behaviour::status(401));
    let good = Receiver::start(Behaviour::status(200));
    let paused_uuid = setup.subscribe(&bad).await;
    let uuid = setup.subscribe(&good).await;
    setup.announce("A").await;
    setup.send().await;
    assert_eq!(events(&good), ["customer_create", "subscription_paused"]);
    let told = crate::setup::body(&good.requests()[1]);
    assert_eq!(told["data"]["object"]["webhook_uuid"], paused_uuid);
    assert_eq!(told["data"]["object"]["paused_reason"], "UNAUTHORIZED");
    // The paused URL does not get it, not even by a replay.
    bad.behave(Behaviour::status(200));
    setup.resume(&paused_uuid).await;
    assert_eq!(setup.state(&paused_uuid).await, active(0, 1));
    assert_eq!(setup.replay(&json!({})).await, (1, 0));
    setup.send().await;
    assert_eq!(events(&bad), ["customer_create", "customer_create"]);
    assert_eq!((setup.state(&paused_uuid).await, setup.state(&uuid).await), (active(0, 0), active(0, 0)));
}

async fn a_url_that_fails_is_sent_one_message_at_a_time(home: Home) {
    let setup = DeliverySetup::impatient(home).await;
    let receiver = Receiver::start(Behaviour::Silent);
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..4 {
        setup.announce(&format!("N{number}")).await;
    }
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, active(4, 0));
    // An answer that never arrives costs the connection: one for each message, and never two at the same time.
    assert_eq!((receiver.counts().requests, receiver.counts().accepted), (4, 4));
    receiver.until(|counts| counts.open == 0).await;
}

async fn unsubscribing_stops_and_resubscribing_resumes(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    assert_eq!(setup.pause(&uuid).await["paused_reason"], "UNSUBSCRIBED");
    assert_eq!(setup.pause(&uuid).await["status"], "PAUSED", "repeating it is no error");
    setup.announce("B").await;
    setup.announce("C").await;
    setup.pass(minutes(5)).await;
    assert_eq!(names(&receiver), ["A"]);
    assert_eq!(setup.state(&uuid).await, paused("UNSUBSCRIBED", 2));
    assert_eq!(setup.replay(&json!({})).await, (0, 2), "those of a paused URL stay");
    assert_eq!(setup.resume(&uuid).await["status"], "ACTIVE");
    assert_eq!(setup.resume(&uuid).await["status"], "ACTIVE", "repeating it is no error");
    setup.announce("D").await;
    setup.send().await;
    assert_eq!(names(&receiver), ["A", "D"], "new events again; those of the pause are dead letters");
    assert_eq!(setup.state(&uuid).await, active(0, 2));
    assert_eq!(setup.replay(&json!({})).await, (2, 0));
    assert_eq!(setup.state(&uuid).await, active(2, 0));
    setup.send().await;
    assert_eq!(names(&receiver), ["A", "D", "B", "C"]);
    assert_eq!(setup.state(&uuid).await, active(0, 0));
}

/// A dispatcher that runs in the background reads the log more often than subscriptions: it must not continue with its
/// cached state of one that was paused in the meantime.
async fn nothing_is_sent_after_a_pause_by_a_dispatcher_that_runs(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(401));
    let uuid = setup.subscribe(&receiver).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let running = tokio::spawn(setup.dispatcher.clone().run(stopped));
    setup.announce("A").await;
    receiver.until(|counts| counts.requests > 0).await;
    while setup.state(&uuid).await.0 == "ACTIVE" {
        tokio::task::yield_now().await;
    }
    for number in 0..8 {
        setup.announce(&format!("N{number}")).await;
        tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    }
    stop.send_replace(true);
    running.await.expect("it stops");
    assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (1, paused("UNAUTHORIZED", 9)));
}

/// Unsubscribed and resubscribed while a message is with the receiver: the message is delivered, and no receiver gets
/// it twice.
async fn what_is_under_way_at_a_pause_is_no_dead_letter(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    // The first answer waits until it is released.
    let receiver = Receiver::start(Behaviour::answers(move |number, _| {
        if number == 0 {
            held.lock().expect("nobody panics").recv().expect("it is let go");
        }
        PreparedResponse::status(200)
    }));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
    }
    let dispatcher = setup.dispatcher.clone();
    let sending = tokio::spawn(async move { dispatcher.settle().await });
    receiver.until(|counts| counts.requests == 1).await;
    setup.pause(&uuid).await;
    setup.resume(&uuid).await;
    setup.announce("D").await;
    let_go.send(()).expect("the receiver waits");
    sending.await.expect("it ends").expect("it is sent");
    setup.send().await;
    // How many were sent before the sender learned of the pause depends on timing; none of them is a dead letter.
    let sent = receiver.counts().requests as u64;
    assert_eq!(setup.state(&uuid).await, active(0, 4 - sent));
    assert_eq!(setup.replay(&json!({})).await, (4 - sent, 0));
    setup.send().await;
    let mut got = names(&receiver);
    got.sort_unstable();
    assert_eq!((got, setup.state(&uuid).await), (["A", "B", "C", "D"].map(String::from).into(), active(0, 0)));
}

/// The URL is not sent to until `Retry-After`, whatever waits, and no number of 429 pauses it.
async fn too_many_requests_pause_nothing_and_hold_the_url(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::answers(|number, _| match number {
        0..=39 => PreparedResponse::status(429).with("retry-after", "20"),
        _ => PreparedResponse::status(200),
    }));
    let uuid = setup.subscribe(&receiver).await;
    for number in 0..20 {
        setup.announce(&format!("N{number}")).await;
    }
    assert_eq!(setup.send().await, 1, "all others wait");
    assert_eq!(setup.pass(seconds(19)).await, 0);
    assert_eq!(setup.pass(seconds(1)).await, 1);
    for _ in 0..60 {
        setup.pass(minutes(1)).await;
    }
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 0);
    for _ in 0..600 {
        setup.pass(minutes(1)).await;
    }
    assert_eq!(setup.state(&uuid).await, active(0, 0), "each was taken in the end");
    assert_eq!(receiver.counts().requests, 60);
}

async fn a_success_under_way_takes_a_pause_back(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let slow = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&slow).await;
    for number in 0..30 {
        setup.announce(&format!("Good{number}")).await;
    }
    setup.send().await;
    // Each answer has its own runtime: the slow one must not delay the others.
    let failed = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = failed.clone();
    slow.behave(Behaviour::slowly(move |_, body| {
        if String::from_utf8_lossy(body).contains("Bad") {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            return PreparedResponse::status(500);
        }
        held.lock().expect("no test panicked here").recv().expect("it is answered");
        PreparedResponse::status(200)
    }));
    setup.announce("Slow").await;
    for number in 0..10 {
        setup.announce(&format!("Bad{number}")).await;
    }
    let dispatcher = setup.dispatcher.clone();
    let sending = tokio::spawn(async move { dispatcher.settle().await });
    while failed.load(std::sync::atomic::Ordering::SeqCst) < 10 {
        tokio::task::yield_now().await;
    }
    // The ten answers are on their way to the sender, or have arrived.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let_go.send(()).expect("the receiver waits");
    sending.await.expect("it ends").expect("it is sent");
    assert_eq!(setup.state(&uuid).await, active(10, 0));
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 0);
}

async fn a_burst_of_refused_connections_is_one_failure(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let (uuid, address) = (setup.subscribe(&receiver).await, receiver.address());
    for number in 0..30 {
        setup.announce(&format!("Good{number}")).await;
    }
    setup.send().await;
    drop(receiver);
    for number in 0..30 {
        setup.announce(&format!("N{number}")).await;
    }
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, active(30, 0));
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 1);
    for number in 0..10 {
        setup.announce(&format!("Later{number}")).await;
    }
    assert_eq!(setup.send().await, 0, "the second is not over");
    for counted in 2..=9 {
        assert_eq!(setup.pass(seconds(1)).await, 1, "one a second, not more");
        assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], counted);
    }
    let receiver = Receiver::start_at(address, Behaviour::status(200));
    setup.pass(seconds(1)).await;
    setup.pass(minutes(1)).await;
    assert_eq!(setup.state(&uuid).await, active(0, 0));
    assert_eq!(receiver.counts().requests, 40);
}

async fn the_number_is_a_setting(home: Home) {
    use daybook_webhooks::dispatcher::DispatcherSettings;
    let settings = DispatcherSettings {
        batch_interval: std::time::Duration::ZERO,
        pause_after: 2,
        ..DispatcherSettings::default()
    };
    let setup = DeliverySetup::with(home, settings).await;
    let receiver = Receiver::start(Behaviour::status(404));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
    }
    setup.send().await;
    assert_eq!((setup.state(&uuid).await, receiver.counts().requests), (paused("CONSECUTIVE_ERRORS", 3), 2));
}

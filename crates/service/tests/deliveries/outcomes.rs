//! The tables of delivery and of errors, row by row, against real receivers.

use crate::setup::{DeliverySetup, body, days, minutes, names, seconds};
use crate::support::{Home, list, on_both, view_of};
use daybook_service::{DeliveryQuery, paging::Paging};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use serde_json::{Value, json};
use std::time::Duration;

on_both!(
    two_hundred_and_two_hundred_two_are_delivered,
    other_answers_are_dead_at_once,
    an_answer_of_only_1xx_is_dead,
    a_1xx_before_the_connection_closes_is_dead,
    a_redirect_is_not_followed,
    server_errors_are_tried_for_a_day,
    too_many_requests_are_tried_for_a_day,
    silence_is_tried_for_a_day,
    a_closed_port_is_tried_for_a_day,
    a_message_that_is_taken_at_last_is_delivered,
    each_message_is_tried_again_at_its_own_moments,
    retry_after_lengthens_a_step,
    a_429_says_when_the_message_is_really_tried_again,
    equal_bytes_go_out_every_time,
);

/// The minutes after the first failure at which a message is retried.
const RETRIES: [u64; 11] = [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1440];

fn active(pending: u64, dead: u64) -> (String, Value, u64, u64) {
    ("ACTIVE".to_owned(), Value::Null, pending, dead)
}

async fn deliveries(setup: &DeliverySetup) -> Vec<Value> {
    let all = setup.trial.service.list_deliveries(&setup.trial.who, Paging::default(), DeliveryQuery::default());
    list(view_of(all.await))
}

async fn dead_letters(setup: &DeliverySetup) -> Vec<Value> {
    let all = setup.trial.service.list_dead_letters(&setup.trial.who, Paging::default(), DeliveryQuery::default());
    list(view_of(all.await))
}

async fn two_hundred_and_two_hundred_two_are_delivered(home: Home) {
    for status in [200, 202] {
        let setup = DeliverySetup::at_once(home).await;
        let receiver = Receiver::start(Behaviour::status(status));
        let uuid = setup.subscribe(&receiver).await;
        setup.announce("Ada").await;
        assert_eq!(setup.send().await, 1);
        assert_eq!(receiver.counts().requests, 1);
        assert_eq!(setup.state(&uuid).await, active(0, 0));
        assert_eq!(setup.pass(days(1)).await, 0, "{status} is tried once");
        let tried = deliveries(&setup).await;
        assert_eq!((tried.len(), &tried[0]["response_status"]), (1, &json!(status)));
        assert_eq!((&tried[0]["error"], &tried[0]["next_retry_at"]), (&Value::Null, &Value::Null));
        assert!(!setup.subscription(&uuid).await["last_success_at"].is_null());
    }
}

async fn other_answers_are_dead_at_once(home: Home) {
    for status in [101, 201, 204, 300, 304, 307, 400, 402, 403, 404, 409, 410, 422] {
        let setup = DeliverySetup::at_once(home).await;
        let receiver = Receiver::start(Behaviour::status(status));
        let uuid = setup.subscribe(&receiver).await;
        setup.announce("Ada").await;
        setup.send().await;
        assert_eq!(setup.state(&uuid).await, active(0, 1), "{status}");
        setup.pass(days(1)).await;
        assert_eq!(receiver.counts().requests, 1, "{status} is tried once");
        let dead = dead_letters(&setup).await;
        assert_eq!((&dead[0]["event"], &dead[0]["response_status"]), (&json!("customer_create"), &json!(status)));
        let reason = dead[0]["reason"].as_str().expect("a reason");
        assert!(reason.contains(&status.to_string()), "{reason}");
    }
}

async fn an_answer_of_only_1xx_is_dead(home: Home) {
    let setup = DeliverySetup::impatient(home).await;
    let receiver = Receiver::start(Behaviour::OnlyInformational(103));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("Ada").await;
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, active(0, 1));
    setup.pass(days(1)).await;
    assert_eq!(receiver.counts().requests, 1);
}

async fn a_1xx_before_the_connection_closes_is_dead(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::Raw(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("Ada").await;
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, active(0, 1));
    setup.pass(days(1)).await;
    assert_eq!(receiver.counts().requests, 1);
    let dead = dead_letters(&setup).await;
    assert_eq!(dead[0]["reason"], "there were only informational responses (1XX)");
}

async fn a_redirect_is_not_followed(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let elsewhere = Receiver::start(Behaviour::status(200));
    for status in [301, 302, 303, 308] {
        let receiver = Receiver::start(Behaviour::redirect(status, &elsewhere.url()));
        let uuid = setup.subscribe(&receiver).await;
        setup.announce(&format!("Ada{status}")).await;
        setup.send().await;
        assert_eq!((receiver.counts().requests, setup.state(&uuid).await), (1, active(0, 1)), "{status}");
        setup.pause(&uuid).await;
    }
    assert_eq!(elsewhere.counts().accepted, 0);
}

/// Makes a message fail again and again, and checks when it was tried.
async fn tried_for_a_day(setup: DeliverySetup, receiver: &Receiver, counted: bool, errors: u64) {
    let uuid = setup.subscribe(receiver).await;
    setup.announce("Ada").await;
    assert_eq!(setup.send().await, 1);
    assert_eq!(setup.state(&uuid).await, active(1, 0));
    let mut passed = 0;
    for (index, at) in RETRIES.into_iter().enumerate() {
        assert_eq!(setup.pass(minutes(at - passed) - seconds(1)).await, 0, "nothing before minute {at}");
        assert_eq!(setup.pass(seconds(1)).await, 1, "one more at minute {at}");
        passed = at;
        if counted {
            assert_eq!(receiver.counts().requests, index + 2);
        }
    }
    assert_eq!(setup.state(&uuid).await, active(0, 1), "after the last retry it is dead");
    assert_eq!(setup.pass(days(2)).await, 0);
    let dead = dead_letters(&setup).await;
    assert_eq!((dead.len(), &dead[0]["attempts"]), (1, &json!(12)));
    assert_eq!(deliveries(&setup).await.len(), 12);
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], errors, "a message counts once at most");
}

async fn server_errors_are_tried_for_a_day(home: Home) {
    tried_for_a_day(DeliverySetup::at_once(home).await, &Receiver::start(Behaviour::status(503)), true, 1).await;
}

async fn too_many_requests_are_tried_for_a_day(home: Home) {
    tried_for_a_day(DeliverySetup::at_once(home).await, &Receiver::start(Behaviour::status(429)), true, 0).await;
}

async fn silence_is_tried_for_a_day(home: Home) {
    tried_for_a_day(DeliverySetup::impatient(home).await, &Receiver::start(Behaviour::Silent), true, 1).await;
}

async fn a_closed_port_is_tried_for_a_day(home: Home) {
    // Resets every connection: nothing is ever read.
    tried_for_a_day(DeliverySetup::at_once(home).await, &Receiver::start(Behaviour::Reset), false, 1).await;
}

async fn a_message_that_is_taken_at_last_is_delivered(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[500, 502, 200]));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("Ada").await;
    setup.send().await;
    setup.pass(minutes(1)).await;
    assert_eq!(setup.state(&uuid).await, active(1, 0));
    setup.pass(minutes(2)).await;
    assert_eq!(setup.state(&uuid).await, active(0, 0));
    setup.pass(days(2)).await;
    assert_eq!(receiver.counts().requests, 3);
    let tried = deliveries(&setup).await;
    let of = |name: &str| tried.iter().map(|one| one[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("response_status"), [json!(200), json!(502), json!(500)], "the latest first");
    assert_eq!(of("attempt"), [json!(3), json!(2), json!(1)]);
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 0);
}

async fn each_message_is_tried_again_at_its_own_moments(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    setup.subscribe(&receiver).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
        assert_eq!(setup.send().await, 1);
        setup.pass(seconds(10)).await;
    }
    for (wait, name) in [(30, "A"), (10, "B"), (10, "C"), (100, "A"), (10, "B"), (10, "C")] {
        assert_eq!(setup.pass(seconds(wait) - seconds(1)).await, 0, "nothing before {name}");
        assert_eq!(setup.pass(seconds(1)).await, 1, "{name} alone");
        assert_eq!(names(&receiver).last().map(String::as_str), Some(name));
    }
}

async fn retry_after_lengthens_a_step(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::answers(|number, _| match number {
        0 => PreparedResponse::status(429).with("retry-after", "100"),
        1 => PreparedResponse::status(503).with("retry-after", "999999"),
        _ => PreparedResponse::status(200),
    }));
    setup.subscribe(&receiver).await;
    setup.announce("Ada").await;
    setup.send().await;
    assert_eq!(setup.pass(seconds(99)).await, 0);
    assert_eq!(setup.pass(seconds(1)).await, 1, "after 100 seconds, not after 60");
    // The next step is 3 minutes after the first failure, and the one after that 7.
    assert_eq!(setup.pass(minutes(7) - seconds(101)).await, 0);
    assert_eq!(setup.pass(seconds(1)).await, 1);
    assert_eq!(setup.pass(days(1)).await, 0);
}

/// A URL is not sent to for as long as it requests, which may be longer than the message's own wait: that moment is
/// shown, and a restart keeps it.
async fn a_429_says_when_the_message_is_really_tried_again(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::answers(|number, _| match number {
        0 => PreparedResponse::status(429).with("retry-after", "3600"),
        1 => PreparedResponse::status(429).with("retry-after", "5"),
        _ => PreparedResponse::status(200),
    }));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("Ada").await;
    assert_eq!(setup.send().await, 1);
    assert_eq!(deliveries(&setup).await[0]["next_retry_at"], "2026-04-01T13:00:30Z", "not at 12:03:30");
    assert_eq!(setup.pass(minutes(10)).await, 0);
    setup.dispatcher.stop().await;
    let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    let setup = DeliverySetup::over(setup.trial, settings);
    assert_eq!(setup.pass(minutes(50) - seconds(1)).await, 0, "it waits after a restart too");
    assert_eq!(setup.pass(seconds(1)).await, 1);
    // 63 minutes after the first failure: the URL requested less.
    assert_eq!(deliveries(&setup).await[0]["next_retry_at"], "2026-04-01T13:03:30Z");
    assert_eq!(setup.pass(minutes(3)).await, 1);
    assert_eq!(setup.state(&uuid).await, active(0, 0));
}

async fn equal_bytes_go_out_every_time(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[500, 500, 500, 200]));
    setup.subscribe(&receiver).await;
    setup.announce("Žofie \"O'Brien\" 😀").await;
    setup.send().await;
    for wait in [1, 2, 4] {
        setup.pass(minutes(wait)).await;
    }
    let got = receiver.requests();
    assert_eq!(got.len(), 4);
    assert!(got.iter().all(|request| request.body == got[0].body));
    assert!(got.iter().all(|request| request.header("webhook-id") == got[0].header("webhook-id")));
    assert_eq!(body(&got[0])["data"]["object"]["name_last"], "Žofie \"O'Brien\" 😀");
}

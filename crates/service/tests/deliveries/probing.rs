//! A URL that was paused by errors is probed automatically.

use crate::setup::{DeliverySetup, START, days, minutes, names, seconds};
use crate::support::{Home, Trial, form_of, json_of, on_both};
use async_trait::async_trait;
use daybook_service::webhooks::guard::{Guard, Resolve};
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use daybook_webhooks::sender::{Sender, SenderSettings};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

on_both!(
    a_paused_url_is_tried_ever_more_rarely_and_resumes_when_it_takes_a_message,
    a_url_that_was_paused_by_401_or_by_a_person_is_not_tried,
    trying_goes_on_after_a_restart,
    a_message_that_is_bad_itself_does_not_stand_in_the_way,
    a_url_is_tried_for_five_days_and_no_longer,
    names_of_one_organization_do_not_hold_up_what_others_try,
    attempts_at_a_paused_url_are_in_its_metrics,
    the_counter_of_dead_messages_says_that_it_leaves_out_what_a_pause_makes_dead,
    a_message_that_is_tried_for_the_first_time_during_a_pause_is_counted_once,
);

/// Makes ten messages fail, which pauses the URL.
async fn paused(setup: &DeliverySetup, receiver: &Receiver) -> String {
    paused_with(setup, receiver, &json!({})).await
}

/// The same, for a URL that was subscribed with these additional fields.
async fn paused_with(setup: &DeliverySetup, receiver: &Receiver, more: &Value) -> String {
    let uuid = setup.subscribe_to(receiver, more).await;
    for number in 0..10 {
        setup.announce(&format!("N{number}")).await;
    }
    setup.send().await;
    assert_eq!(setup.subscription(&uuid).await["paused_reason"], "CONSECUTIVE_ERRORS");
    uuid
}

async fn a_paused_url_is_tried_ever_more_rarely_and_resumes_when_it_takes_a_message(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = paused(&setup, &receiver).await;
    assert_eq!(setup.subscription(&uuid).await["next_probe_at"], "2026-04-01T12:05:30Z");
    let mut passed = 0;
    for at in [5, 15, 35, 75, 155] {
        assert_eq!(setup.pass(minutes(at - passed) - seconds(1)).await, 0, "nothing before minute {at}");
        assert_eq!(setup.pass(seconds(1)).await, 1, "one message at minute {at}");
        passed = at;
    }
    assert_eq!(setup.state(&uuid).await, ("PAUSED".to_owned(), json!("CONSECUTIVE_ERRORS"), 0, 10));
    setup.announce("During").await;
    receiver.behave(Behaviour::status(200));
    assert_eq!(setup.pass(minutes(160)).await, 1);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 10), "it took one of eleven");
    assert_eq!(setup.subscription(&uuid).await["next_probe_at"], Value::Null);
    setup.announce("After").await;
    assert_eq!(setup.send().await, 1);
    assert_eq!(setup.replay(&json!({})).await, (10, 0));
    setup.send().await;
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
    let mut got: Vec<String> = names(&receiver).split_off(15);
    got.sort_unstable();
    assert_eq!(got.len(), 12, "each once: {got:?}");
    got.dedup();
    assert_eq!(got.len(), 12);
}

async fn a_url_that_was_paused_by_401_or_by_a_person_is_not_tried(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [first, second] = [401, 200].map(|status| Receiver::start(Behaviour::status(status)));
    let (one, other) = (setup.subscribe(&first).await, setup.subscribe(&second).await);
    setup.pause(&other).await;
    setup.announce("A").await;
    setup.send().await;
    assert_eq!(setup.pass(days(6)).await, 0);
    for uuid in [one, other] {
        let shown = setup.subscription(&uuid).await;
        assert_eq!((&shown["status"], &shown["next_probe_at"]), (&json!("PAUSED"), &Value::Null));
    }
    assert_eq!((first.counts().requests, second.counts().requests), (1, 0));
    // A 401 during a probe ends the probing too.
    let third = Receiver::start(Behaviour::status(500));
    let uuid = paused(&setup, &third).await;
    third.behave(Behaviour::status(401));
    assert_eq!(setup.pass(minutes(5)).await, 1);
    let shown = setup.subscription(&uuid).await;
    assert_eq!((&shown["paused_reason"], &shown["next_probe_at"]), (&json!("UNAUTHORIZED"), &Value::Null));
    assert_eq!(setup.pass(days(1)).await, 0);
}

async fn trying_goes_on_after_a_restart(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = paused(&setup, &receiver).await;
    setup.dispatcher.stop().await;
    let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    let DeliverySetup { trial, .. } = setup;
    let setup = DeliverySetup::over(trial, settings);
    receiver.behave(Behaviour::status(200));
    assert_eq!(setup.pass(minutes(4)).await, 0);
    assert_eq!(setup.pass(minutes(1)).await, 1);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 9));
}

async fn a_message_that_is_bad_itself_does_not_stand_in_the_way(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = paused(&setup, &receiver).await;
    receiver.behave(Behaviour::answers(|_, body| {
        let is_bad = String::from_utf8_lossy(body).contains("\"name_last\":\"N0\"");
        daybook_testkit::receiver::PreparedResponse::status(if is_bad { 400 } else { 200 })
    }));
    assert_eq!(setup.pass(minutes(5)).await, 1);
    assert_eq!(setup.subscription(&uuid).await["status"], "PAUSED");
    assert_eq!(setup.pass(minutes(10)).await, 1);
    assert_eq!(setup.subscription(&uuid).await["status"], "ACTIVE");
}

async fn a_url_is_tried_for_five_days_and_no_longer(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = paused(&setup, &receiver).await;
    let mut passed = 0;
    for at in [5, 15, 35, 75, 155, 315, 635, 1_275, 2_555, 5_115] {
        assert_eq!(setup.pass(minutes(at - passed)).await, 1, "one message at minute {at}");
        passed = at;
    }
    assert_eq!(setup.subscription(&uuid).await["next_probe_at"], Value::Null);
    receiver.behave(Behaviour::status(200));
    for _ in 0..10 {
        assert_eq!(setup.pass(days(1)).await, 0);
    }
    assert_eq!(setup.state(&uuid).await, ("PAUSED".to_owned(), json!("CONSECUTIVE_ERRORS"), 0, 10));
    setup.resume(&uuid).await;
    assert_eq!(setup.replay(&json!({})).await, (10, 0), "a person may still resume it");
}

/// Resolves no name that begins with `silent`: at first it reports so, later it does not answer.
#[derive(Debug)]
struct Names {
    address: SocketAddr,
    is_silent: AtomicBool,
    asked: AtomicUsize,
}

#[async_trait]
impl Resolve for Names {
    async fn addresses(&self, host: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        if !host.starts_with("silent") {
            return Ok(vec![self.address]);
        }
        if self.is_silent.load(Ordering::SeqCst) {
            self.asked.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>().await;
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

/// As many names of one organization are being resolved as it may have at the same time, and none is answered: the
/// paused URL of another organization is still probed.
async fn names_of_one_organization_do_not_hold_up_what_others_try(home: Home) {
    const LOOKUPS_AT_ONCE: usize = 32;
    let receiver = Receiver::start(Behaviour::status(500));
    let (is_silent, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let resolver = Arc::new(Names { address: receiver.address(), is_silent, asked });
    let guard = Guard { dev: true, networks: Vec::new() };
    let sending = SenderSettings { guard, timeout: Duration::from_secs(600), ..SenderSettings::default() };
    let mut trial = Trial::at(home, START).await;
    trial.service = trial.service.with_sender(Sender::new(sending, resolver.clone()).expect("a sender"));
    trial.service.create_organization("other", "TEST").await.expect("it is made");
    let other = Trial { who: trial.service.operator(Some("other")).await.expect("it is there"), ..trial.clone() };
    // One failure pauses.
    let settings =
        DispatcherSettings { batch_interval: Duration::ZERO, pause_after: 1, ..DispatcherSettings::default() };
    let dispatcher = trial.service.dispatcher(settings).expect("it has a sender");
    let subscribe = async |trial: &Trial, name: &str| {
        let form = form_of(&json!({ "webhook_url": format!("http://{name}.example/") }));
        json_of(trial.service.subscribe(&trial.who, None, form).await);
    };
    let pass = |seconds: i64| trial.clock.set(trial.clock_now().plus_micros(1_000_000 * seconds));
    let announce = async |trial: &Trial| {
        json_of(trial.service.create_customer(&trial.who, None, form_of(&json!({ "name_last": "A" }))).await);
        dispatcher.settle().await.expect("it is sent");
    };
    for number in 0..LOOKUPS_AT_ONCE {
        subscribe(&trial, &format!("silent{number}")).await;
    }
    subscribe(&other, "hooks").await;
    announce(&trial).await;
    pass(10);
    announce(&other).await;
    assert_eq!(receiver.counts().requests, 1);
    receiver.behave(Behaviour::status(200));
    resolver.is_silent.store(true, Ordering::SeqCst);
    // The other organization's turn comes while all lookups are in progress.
    pass(290);
    let trying = tokio::spawn({
        let dispatcher = dispatcher.clone();
        async move { dispatcher.settle().await }
    });
    while resolver.asked.load(Ordering::SeqCst) < LOOKUPS_AT_ONCE {
        tokio::task::yield_now().await;
    }
    pass(10);
    let others = tokio::spawn({
        let dispatcher = dispatcher.clone();
        async move { dispatcher.settle().await }
    });
    // It does not wait for the other organization's names.
    receiver.until(|counts| counts.requests == 2).await;
    others.abort();
    trying.abort();
}

async fn attempts_at_a_paused_url_are_in_its_metrics(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = paused(&setup, &receiver).await;
    let of_url = || {
        let attempts = setup.dispatcher.metrics().by_url();
        let of_url = attempts.get(&(setup.trial.who.org, uuid.clone())).copied().expect("it was tried");
        (of_url.made, of_url.failed)
    };
    assert_eq!(of_url(), (10, 10));
    setup.pass(minutes(5)).await;
    assert_eq!(of_url(), (11, 11));
    receiver.behave(Behaviour::status(200));
    setup.pass(minutes(10)).await;
    assert_eq!(of_url(), (12, 11));
    assert_eq!(setup.dispatcher.metrics().delivered.get(), 1);
}

async fn the_counter_of_dead_messages_says_that_it_leaves_out_what_a_pause_makes_dead(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(400));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("Final").await;
    assert_eq!(setup.send().await, 1);
    receiver.behave(Behaviour::status(500));
    for number in 0..9 {
        setup.announce(&format!("N{number}")).await;
    }
    setup.send().await;
    setup.announce("During").await;
    assert_eq!(setup.pass(minutes(5)).await, 1, "one is tried during the pause");
    assert_eq!(setup.state(&uuid).await, ("PAUSED".to_owned(), json!("CONSECUTIVE_ERRORS"), 0, 11));
    let text = daybook_metrics::text(&setup.dispatcher.metrics().families());
    assert!(text.contains("\ndaybook_webhooks_dead_total 1\n"), "only the one that was answered 400: {text}");
    let help =
        text.lines().find(|line| line.starts_with("# HELP daybook_webhooks_dead_total ")).expect("it has a help");
    for said in ["an attempt at an active URL", "a pause", "counted only in daybook_webhook_url_dead_letters"] {
        assert!(help.contains(said), "{help}");
    }
}

/// A message announced during the pause lies after the sent ones, and once it was tried it is also a failure of its
/// own.
async fn a_message_that_is_tried_for_the_first_time_during_a_pause_is_counted_once(home: Home) {
    for more in [json!({}), json!({ "filter_events": ["customer_create"] })] {
        let setup = DeliverySetup::at_once(home).await;
        let receiver = Receiver::start(Behaviour::status(500));
        let uuid = paused_with(&setup, &receiver, &more).await;
        for number in 10..13 {
            setup.announce(&format!("N{number}")).await;
        }
        for tried in 0..3 {
            let (_, _, pending, dead) = setup.state(&uuid).await;
            assert_eq!((pending, dead), (0, 13), "{more}, {tried} tried");
            let metrics = setup.trial.store.url_metrics().await.expect("they are read");
            let of_url = metrics.iter().find(|one| one.uuid == uuid).expect("it is there");
            assert_eq!((of_url.pending, of_url.dead), (0, 13), "figures of {more}, {tried} tried");
            for asked in [
                json!({}),
                json!({ "event": "customer_create" }),
                json!({ "since": START }),
                json!({ "event": "customer_create", "since": START }),
            ] {
                let mut body = json!({ "webhook_uuid": uuid });
                crate::support::merge(&mut body, &asked);
                assert_eq!(setup.replay(&body).await, (0, 13), "{asked} of {more}, {tried} tried");
            }
            assert_eq!(setup.pass(minutes([5, 10, 20][tried])).await, 1);
            let latest = names(&receiver).pop().expect("one was tried");
            assert_eq!(latest, format!("N{}", 10 + tried), "one that was never sent");
        }
    }
}

//! A retry that is overdue is shown in a metric and in a log line.

use crate::log_lines;
use crate::setup::{DeliverySetup, minutes, seconds};
use crate::support::{Home, on_both};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use daybook_webhooks::dispatcher::{Dispatcher, DispatcherSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

on_both!(
    a_retry_that_is_overdue_for_more_than_a_minute_is_counted_and_logged,
    what_waits_because_the_url_asked_for_patience_is_not_overdue,
    a_dispatcher_that_runs_looks_for_overdue_retries,
);

/// The log line about a URL with overdue retries.
const SAID: &str = "retries of a webhook URL are overdue";

/// A receiver waits for this gate. It opens at the end of a test, even if the test fails: only then can the receiver
/// end.
#[derive(Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// How often a test checks a condition.
const LOOK: Duration = Duration::from_millis(20);

/// The log lines about overdue retries of a subscription.
fn said_of(uuid: &str) -> Vec<String> {
    log_lines::all().into_iter().filter(|line| line.contains(SAID) && line.contains(uuid)).collect()
}

fn overdue(dispatcher: &Dispatcher) -> String {
    let text = daybook_metrics::text(&dispatcher.metrics().families());
    let line = text.lines().find_map(|line| line.strip_prefix("daybook_webhooks_overdue_retries "));
    line.expect("there is such a figure").to_owned()
}

/// Two messages that failed and are to be retried after a minute, and a dispatcher that does not run yet.
async fn with_two_retries(home: Home, receiver: &Receiver) -> (DeliverySetup, String) {
    log_lines::keep();
    let settings = || DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    let setup = DeliverySetup::with(home, settings()).await;
    let uuid = setup.subscribe(receiver).await;
    setup.announce("A").await;
    setup.announce("B").await;
    assert_eq!(setup.send().await, 2);
    setup.dispatcher.stop().await;
    (DeliverySetup::over(setup.trial, settings()), uuid)
}

async fn a_retry_that_is_overdue_for_more_than_a_minute_is_counted_and_logged(home: Home) {
    let receiver = Receiver::start(Behaviour::status(500));
    let (setup, uuid) = with_two_retries(home, &receiver).await;
    let look = async || setup.dispatcher.look_for_overdue().await.expect("it looks");
    let wait = |length: Duration| {
        let micros = i64::try_from(length.as_micros()).expect("a short time");
        setup.trial.clock.set(setup.trial.clock_now().plus_micros(micros));
    };
    wait(minutes(2));
    look().await;
    assert_eq!((overdue(&setup.dispatcher).as_str(), said_of(&uuid).len()), ("0", 0), "due for a minute");
    wait(seconds(5));
    look().await;
    assert_eq!(overdue(&setup.dispatcher), "2");
    let said = said_of(&uuid);
    assert_eq!(said.len(), 1, "one line for a URL: {said:?}");
    assert!(!said[0].contains(&receiver.url()), "a URL may carry a secret: {said:?}");
    assert!(
        said[0].starts_with("WARN") && said[0].contains("retries=2") && said[0].contains("overdue_s=65"),
        "{said:?}"
    );
    receiver.behave(Behaviour::status(200));
    assert_eq!(setup.send().await, 2);
    look().await;
    assert_eq!((overdue(&setup.dispatcher).as_str(), said_of(&uuid).len()), ("0", 1), "they were made");
}

/// One message is to be retried after a minute, but the URL answers 429 to another with a `Retry-After` of an hour.
async fn what_waits_because_the_url_asked_for_patience_is_not_overdue(home: Home) {
    log_lines::keep();
    let receiver = Receiver::start(Behaviour::answers(|number, _| match number {
        0 => PreparedResponse::status(500),
        1 => PreparedResponse::status(429).with("retry-after", "3600"),
        _ => PreparedResponse::status(200),
    }));
    let setup = DeliverySetup::at_once(home).await;
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B"] {
        setup.announce(name).await;
        assert_eq!(setup.send().await, 1);
    }
    let look_after = async |wait: Duration| {
        let micros = i64::try_from(wait.as_micros()).expect("a short time");
        setup.trial.clock.set(setup.trial.clock_now().plus_micros(micros));
        setup.dispatcher.look_for_overdue().await.expect("it looks");
        (overdue(&setup.dispatcher), said_of(&uuid))
    };
    for wait in [minutes(3), minutes(56), minutes(1) + seconds(30)] {
        assert_eq!(look_after(wait).await, ("0".to_owned(), vec![]), "{wait:?} later");
    }
    // More than a minute after the hour, nothing has been sent yet.
    let (count, said) = look_after(seconds(40)).await;
    assert_eq!((count.as_str(), said.len()), ("2", 1));
    assert!(said[0].contains("retries=2") && said[0].contains("overdue_s=70"), "{said:?}");
    assert_eq!(setup.send().await, 2);
}

/// Retries in progress that are not answered are still overdue.
async fn a_dispatcher_that_runs_looks_for_overdue_retries(home: Home) {
    let receiver = Receiver::start(Behaviour::status(500));
    let (setup, uuid) = with_two_retries(home, &receiver).await;
    let gate = Gate::default();
    let is_open = gate.0.clone();
    receiver.behave(Behaviour::slowly(move |_, _| {
        while !is_open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        PreparedResponse::status(200)
    }));
    setup.trial.clock.set(setup.trial.clock_now().plus_micros(180_000_000));
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(setup.dispatcher.clone().run(stopped));
    until(|| overdue(&setup.dispatcher) == "2" && said_of(&uuid).len() == 1).await;
    gate.open();
    receiver.until(|counts| counts.requests >= 4).await;
    let store = &setup.trial.store;
    let is_recorded =
        async || store.overdue_retries(setup.trial.clock_now(), 1).await.expect("they are read").is_empty();
    while !is_recorded().await {
        tokio::time::sleep(LOOK).await;
    }
    // It checks again after ten seconds.
    setup.trial.clock.set(setup.trial.clock_now().plus_micros(10_000_000));
    until(|| overdue(&setup.dispatcher) == "0").await;
    assert_eq!(said_of(&uuid).len(), 1, "the same URL is not spoken of again at once");
    stop.send_replace(true);
    running.await.expect("it stops");
}

/// Waits until a condition holds.
async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it comes true");
}

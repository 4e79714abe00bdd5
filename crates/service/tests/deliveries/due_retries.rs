//! No retry is forgotten, whatever is recorded at the same moment.
//!
//! A trial is one URL: a message that failed is accepted at its retry, and while that is being recorded another message
//! fails for the first time. The answer to the second message waits a little longer in each trial, so that it arrives
//! at every moment of the recording. `DAYBOOK_RETRY_TRIALS` sets the number of trials for each database (default 40).

use crate::setup::{DeliverySetup, minutes};
use crate::support::{Home, on_both};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use std::time::Duration;

on_both!(a_message_that_fails_while_another_is_recorded_is_tried_again, a_retry_is_counted_whoever_looks_first);

/// How many URLs are tried at the same time.
const AT_ONCE: usize = 20;

/// Answers 500 to the first attempt of each of the two messages, and 200 to all others. The first answer to the second
/// message waits.
fn trial(wait: Duration) -> Receiver {
    Receiver::start(Behaviour::answers(move |number, body| {
        let is_second = String::from_utf8_lossy(body).contains("\"name_last\":\"Second\"");
        if number == 0 {
            return PreparedResponse::status(500);
        }
        if is_second && number <= 2 {
            std::thread::sleep(wait);
            return PreparedResponse::status(500);
        }
        PreparedResponse::status(200)
    }))
}

/// Results are recorded a few milliseconds after the first of them, so the answers are dense there.
fn wait_of(trial: usize) -> Duration {
    const STEPS: usize = 61;
    let step = (trial * 17) % STEPS;
    Duration::from_micros(if trial.is_multiple_of(2) { 10_000 + 700 * step as u64 } else { 95_000 + 500 * step as u64 })
}

async fn a_message_that_fails_while_another_is_recorded_is_tried_again(home: Home) {
    let trials = std::env::var("DAYBOOK_RETRY_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let mut forgotten = 0;
    for first in (0..trials).step_by(AT_ONCE) {
        forgotten += round(home, first..trials.min(first + AT_ONCE)).await;
    }
    println!("{forgotten} of {trials} forgotten");
    assert_eq!(forgotten, 0, "of {trials} trials");
}

/// Tries some URLs at the same time. Returns how many did not get the second message.
async fn round(home: Home, trials: std::ops::Range<usize>) -> usize {
    let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    let setup = DeliverySetup::with(home, settings).await;
    let receivers: Vec<Receiver> = trials.map(|number| trial(wait_of(number))).collect();
    for receiver in &receivers {
        setup.subscribe(receiver).await;
    }
    setup.announce("First").await;
    setup.send().await;
    setup.announce("Second").await;
    setup.pass(minutes(1)).await;
    setup.pass(minutes(1)).await;
    setup.pass(minutes(2)).await;
    receivers.iter().filter(|receiver| receiver.counts().requests < 4).count()
}

/// A due retry is sent without a trigger; the list of deliveries shows it a moment later.
async fn a_retry_is_counted_whoever_looks_first(home: Home) {
    let settings = DispatcherSettings {
        batch_interval: Duration::ZERO,
        retry_first: Duration::from_secs(5),
        ..DispatcherSettings::default()
    };
    let setup = DeliverySetup::with(home, settings).await;
    let receiver = Receiver::start(Behaviour::statuses(&[500, 200]));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    assert_eq!(setup.send().await, 1);
    setup.trial.clock.set(setup.trial.clock_now().plus_micros(5_000_000));
    receiver.until(|counts| counts.requests == 2).await;
    while setup.state(&uuid).await.2 > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(setup.send().await, 1);
    assert_eq!(setup.send().await, 0);
}

//! A service that sends, and receivers to send to.

use crate::support::{Home, Trial, form_of, json_of, list, view_of};
use daybook_service::form;
use daybook_service::webhooks::guard::{Guard, System};
use daybook_testkit::receiver::{Receiver, Request};
use daybook_webhooks::dispatcher::{Dispatcher, DispatcherSettings};
use daybook_webhooks::sender::{Sender, SenderSettings};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The start time.
pub const START: &str = "2026-04-01T12:00:30Z";
/// How long a receiver may take: longer than any does on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How long a receiver that never answers may take.
const IMPATIENT: Duration = Duration::from_millis(250);

/// A service with a product, and the dispatcher of its messages.
pub struct DeliverySetup {
    pub trial: Trial,
    pub dispatcher: Dispatcher,
}

impl DeliverySetup {
    /// Starts at [`START`], with batches of a minute.
    pub async fn new(home: Home) -> DeliverySetup {
        DeliverySetup::with(home, DispatcherSettings::default()).await
    }

    /// Starts at [`START`], sending every message at once.
    pub async fn at_once(home: Home) -> DeliverySetup {
        let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
        DeliverySetup::with(home, settings).await
    }

    pub async fn with(home: Home, settings: DispatcherSettings) -> DeliverySetup {
        let trial = Trial::at(home, START).await;
        trial.product("auto-12", json!({})).await;
        DeliverySetup::over(trial, settings)
    }

    /// The same, with a short timeout, for receivers that do not answer.
    pub async fn impatient(home: Home) -> DeliverySetup {
        let trial = Trial::at(home, START).await;
        trial.product("auto-12", json!({})).await;
        let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
        DeliverySetup::waiting(trial, settings, IMPATIENT)
    }

    /// Sends the messages of a service.
    pub fn over(trial: Trial, settings: DispatcherSettings) -> DeliverySetup {
        DeliverySetup::waiting(trial, settings, TIMEOUT)
    }

    fn waiting(mut trial: Trial, settings: DispatcherSettings, timeout: Duration) -> DeliverySetup {
        let guard = Guard { dev: true, networks: Vec::new() };
        let sending = SenderSettings { guard, timeout, ..SenderSettings::default() };
        trial.service = trial.service.with_sender(Sender::new(sending, Arc::new(System::default())).expect("a sender"));
        let dispatcher = trial.service.dispatcher(settings).expect("it has a sender");
        DeliverySetup { trial, dispatcher }
    }

    /// Subscribes a receiver to all events, and returns the subscription's UUID.
    pub async fn subscribe(&self, receiver: &Receiver) -> String {
        self.subscribe_to(receiver, &json!({})).await
    }

    /// Subscribes a receiver with additional fields, and returns the subscription's UUID.
    pub async fn subscribe_to(&self, receiver: &Receiver, more: &Value) -> String {
        let mut body = json!({ "webhook_url": receiver.url() });
        crate::support::merge(&mut body, more);
        let form: form::Subscribe = form_of(&body);
        let made = json_of(self.trial.service.subscribe(&self.trial.who, None, form).await);
        made["webhook_uuid"].as_str().expect("a name").to_owned()
    }

    /// A subscription as it is listed.
    pub async fn subscription(&self, uuid: &str) -> Value {
        let all = list(view_of(self.trial.service.list_subscriptions(&self.trial.who).await));
        all.into_iter().find(|one| one["webhook_uuid"] == uuid).expect("it is listed")
    }

    /// `status`, `paused_reason`, `pending` and `dead_letters` of a subscription.
    pub async fn state(&self, uuid: &str) -> (String, Value, u64, u64) {
        let one = self.subscription(uuid).await;
        let count = |name: &str| one[name].as_u64().expect("a count");
        let status = one["status"].as_str().expect("a status").to_owned();
        (status, one["paused_reason"].clone(), count("pending"), count("dead_letters"))
    }

    /// Announces an event: a customer with this name.
    pub async fn announce(&self, name: &str) {
        let form = form_of(&json!({ "name_last": name }));
        json_of(self.trial.service.create_customer(&self.trial.who, None, form).await);
    }

    /// Sends everything due now. Returns the number of attempts.
    pub async fn send(&self) -> usize {
        self.dispatcher.settle().await.expect("it is sent")
    }

    /// Sets the clock, processes due accounts, and sends everything due.
    pub async fn go_to(&self, now: &str) -> usize {
        self.trial.go_to(now).await;
        self.send().await
    }

    /// Advances the clock, processes due accounts, and sends everything due.
    pub async fn pass(&self, length: Duration) -> usize {
        let micros = i64::try_from(length.as_micros()).expect("a short time");
        let now = daybook_clock::Clock::now(&*self.trial.clock).plus_micros(micros);
        self.trial.clock.set(now);
        self.trial.settle().await;
        self.send().await
    }

    pub async fn pause(&self, uuid: &str) -> Value {
        json_of(self.trial.service.unsubscribe(&self.trial.who, None, uuid).await)
    }

    pub async fn resume(&self, uuid: &str) -> Value {
        json_of(self.trial.service.resubscribe(&self.trial.who, None, uuid).await)
    }

    /// Replays. Returns how many messages are sent again, and how many stay.
    pub async fn replay(&self, body: &Value) -> (u64, u64) {
        let done = json_of(self.trial.service.replay_failed_events(&self.trial.who, None, form_of(body)).await);
        (done["replayed"].as_u64().expect("a count"), done["left_paused"].as_u64().expect("a count"))
    }
}

pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

pub const fn days(days: u64) -> Duration {
    Duration::from_secs(86_400 * days)
}

/// A message as a receiver reads it.
pub fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("a body is JSON")
}

/// The events a receiver got, in order.
pub fn events(receiver: &Receiver) -> Vec<String> {
    receiver.requests().iter().map(|request| body(request)["event"].as_str().expect("a name").to_owned()).collect()
}

/// The names of the customers that the messages were about, in order.
pub fn names(receiver: &Receiver) -> Vec<String> {
    let name = |request: &Request| body(request)["data"]["object"]["name_last"].as_str().map(str::to_owned);
    receiver.requests().iter().filter_map(name).collect()
}

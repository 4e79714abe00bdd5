//! The webhook messages of a run: subscribes a receiver for the duration of the run, and counts the messages of each
//! case.
//!
//! If the server cannot reach this machine, the messages in the server's own record are counted instead, and the
//! outcome notes that.

use super::find::PlayedCase;
use super::play::{Stop, sentence};
use super::receiver::{MessageReceiver, Received};
use crate::judge::is_event;
use crate::run::text_of;
use crate::scenario::Scenario;
use daybook_client::{Client, Trouble};
use daybook_clock::Stopwatch;
use daybook_engine::time::Time;
use daybook_operations::Operation;
use daybook_service::ids::random_bytes;
use daybook_webhooks::signature::SigningKey;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How long to wait without a new message before giving up: longer than a batch and its first retry.
const PATIENCE: Duration = Duration::from_secs(150);
/// After this long a progress message is shown.
const A_WHILE: Duration = Duration::from_secs(2);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Messages about a customer or a product, which are not in an account's record.
const NOT_OF_ACCOUNTS: [&str; 5] =
    ["customer_create", "customer_update", "migration_released", "subscription_paused", "test_event"];

/// How the messages of a run are counted.
pub enum Mail {
    /// No case expects messages.
    Unwanted,
    /// By a receiver that is subscribed to the events that the cases name.
    Received { receiver: MessageReceiver, subscription: String, events: BTreeSet<String> },
    /// By the server's record, for this reason.
    Recorded { why: String },
}

impl Mail {
    /// Subscribes a receiver, if a case expects messages and the server can reach this machine.
    pub fn open(client: &Client, cases: &[Scenario]) -> Result<Mail, Trouble> {
        if cases.iter().all(|case| case.expect.webhooks.is_empty()) {
            return Ok(Mail::Unwanted);
        }
        if !is_this_machine(client.url()) {
            let why = format!("the server at {} is on another machine and cannot reach this one", client.url());
            return Ok(Mail::Recorded { why });
        }
        let refused = |trouble: Trouble| match trouble {
            Trouble::Refused { .. } => Ok(Mail::Recorded { why: sentence(&trouble) }),
            trouble => Err(trouble),
        };
        let key = match client.call(&Operation::GetHmacKey.request([]), None) {
            Ok(shown) => SigningKey::from_text(text_of(&shown, "hmac_secret_key")),
            Err(trouble) => return refused(trouble),
        };
        let secret = random_bytes::<12>().map(|byte| format!("{byte:02x}")).concat();
        let receiver = match MessageReceiver::start(key, format!("/daybook-test/{secret}")) {
            Ok(receiver) => receiver,
            Err(error) => return Ok(Mail::Recorded { why: format!("the receiver cannot listen on a port: {error}") }),
        };
        let named = cases.iter().flat_map(|case| &case.expect.webhooks).map(|wanted| wanted.event.clone());
        let events: BTreeSet<String> = named.filter(|event| is_event(event)).collect();
        let body = json!({ "webhook_url": receiver.url(), "filter_events": events });
        match client.call(&Operation::Subscribe.request([]), Some(&body)) {
            Ok(made) => Ok(Mail::Received { receiver, subscription: text_of(&made, "webhook_uuid"), events }),
            Err(trouble) => refused(trouble),
        }
    }

    /// How many messages are still missing.
    fn missing(&self, found: &[Result<PlayedCase, Stop>]) -> usize {
        let Mail::Received { receiver, events, .. } = self else { return 0 };
        let received = receiver.received();
        let is_missing = |(id, event): &(&str, &str)| events.contains(*event) && !received.contains_key(*id);
        let missing = |found: &PlayedCase| {
            let came = |event: &str| {
                received.values().any(|message| message.event.as_deref() == Some(event) && is_of(message, found))
            };
            let others = found.awaits.iter().filter(|event| !came(event)).count();
            found.messages().filter(is_missing).count() + others
        };
        found.iter().flatten().filter(|found| found.wants_mail).map(missing).sum()
    }

    /// Waits for the missing messages as long as some arrive; calls `tell` once if it takes a while.
    pub fn wait(&self, found: &[Result<PlayedCase, Stop>], stop: &AtomicBool, tell: impl FnOnce(usize)) {
        let mut watch = Stopwatch::start();
        let mut missing = self.missing(found);
        let mut tell = Some(tell);
        while missing > 0 && watch.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) {
            thread::sleep(BETWEEN_LOOKS);
            if watch.elapsed() > A_WHILE
                && let Some(tell) = tell.take()
            {
                tell(missing);
            }
            let now = self.missing(found);
            if now < missing {
                watch = Stopwatch::start();
            }
            missing = now;
        }
    }

    /// Counts a case's messages into its findings. Returns a note for the outcome, if there is one.
    pub fn count(&self, found: &mut PlayedCase, case: &Scenario) -> Option<String> {
        match self {
            Mail::Unwanted => None,
            Mail::Received { receiver, .. } => {
                let (mut counts, mut unsigned) = (BTreeMap::new(), Vec::new());
                for (id, message) in receiver.received().iter().filter(|(_, message)| is_of(message, found)) {
                    match &message.event {
                        Some(event) => *counts.entry(event.clone()).or_default() += 1,
                        None => unsigned.push(id.clone()),
                    }
                }
                found.findings.received = Some(counts);
                found.findings.unsigned = unsigned;
                None
            }
            Mail::Recorded { why } => {
                let mut counts = BTreeMap::new();
                for (_, event) in found.messages() {
                    *counts.entry(event.to_owned()).or_default() += 1;
                }
                let unknown = |event: &str| NOT_OF_ACCOUNTS.contains(&event);
                let skipped: Vec<&str> =
                    case.expect.webhooks.iter().map(|wanted| wanted.event.as_str()).filter(|e| unknown(e)).collect();
                found.findings.uncounted = skipped.iter().map(|event| (*event).to_owned()).collect();
                found.findings.received = Some(counts);
                let not_compared = match skipped.as_slice() {
                    [] => String::new(),
                    events => format!("; not compared: {}", events.join(", ")),
                };
                Some(format!(
                    "webhook messages were not received here but counted in the server's record: {why}{not_compared}"
                ))
            }
        }
    }

    /// Removes the subscription.
    pub fn close(self, client: &Client) {
        if let Mail::Received { subscription, .. } = self {
            // A failure is ignored: the server pauses a subscription that cannot be delivered.
            let _ = client.call(&Operation::DeleteSubscription.request([&subscription]), None);
        }
    }
}

/// Whether a message belongs to a case: its account's, effective by the end of the case, or its customer's or product's
/// at any time, since those are created by the run.
fn is_of(message: &Received, found: &PlayedCase) -> bool {
    let [product, customer, account] = &found.ids;
    let data = &message.data;
    if let Some(id) = data["account_id"].as_str() {
        let at = data["effective_at"].as_str().and_then(Time::parse);
        return id == account && at.is_none_or(|at| at <= found.until);
    }
    let is = |field: &str, id: &str| !id.is_empty() && data["object"][field] == *id;
    is("customer_id", customer) || is("product_id", product)
}

/// Whether a URL points to this machine.
fn is_this_machine(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = host.split('/').next().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_from_others() {
        for url in ["http://127.0.0.1:80", "http://localhost/x", "http://[::1]:7/", "https://127.1.2.3"] {
            assert!(is_this_machine(url), "{url}");
        }
        for url in ["https://example.com", "http://10.0.0.1:80", "http://localhost.example.com", "http://[fe80::1]"] {
            assert!(!is_this_machine(url), "{url}");
        }
    }
}

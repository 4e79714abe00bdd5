//! Webhooks: subscriptions, deliveries, and replay.
//!
//! | file | contents |
//! |---|---|
//! | `subscriptions` | URLs and their health; pausing, resuming; a test event |
//! | `deliveries` | delivery attempts |
//! | `messages` | message search by id, account, event, state and time |
//! | `message` | one message: its exact bytes, and its state for each URL |
//! | `dead_letters` | undelivered messages, and replaying them |
//! | `catalogue` | every event |
//! | `pretty` | indented JSON |
//! | `filter` | the filter of deliveries and dead letters |

pub mod catalogue;
pub mod dead_letters;
pub mod deliveries;
pub mod filter;
pub mod message;
pub mod messages;
pub mod pretty;
pub mod subscriptions;

use crate::Console;
use crate::display::{Count, Moment};
use crate::guard::Visitor;
use crate::page::{PageError, read};
use serde::Deserialize;

/// The path of this section.
const HERE: &str = "/console/webhooks";
/// Its name, for links back.
const NAME: &str = "Webhooks";

/// A subscription.
#[derive(Clone, Debug, Deserialize)]
pub struct Subscription {
    /// Its id in API calls.
    pub webhook_uuid: String,
    /// The URL that messages are sent to.
    pub webhook_url: String,
    /// The events it receives; `None` for all.
    pub filter_events: Option<Vec<String>>,
    /// `ACTIVE` or `PAUSED`.
    pub status: String,
    /// Why it is paused.
    pub paused_reason: Option<String>,
    /// When it was paused.
    pub paused_at: Option<Moment>,
    /// When the next message is tried as a probe.
    pub next_probe_at: Option<Moment>,
    /// Until when no message is sent, after a response of 429.
    pub held_until: Option<Moment>,
    /// The most messages per second; `None` for no limit.
    pub max_per_second: Option<u64>,
    /// The most messages at the same time; `None` for no limit.
    pub max_in_flight: Option<u64>,
    /// The number of different messages that failed since the last success.
    pub consecutive_errors: u64,
    /// When it was created.
    pub created_at: Moment,
    /// When it last accepted a message.
    pub last_success_at: Option<Moment>,
    /// The number of messages to be sent.
    pub pending: Count,
    /// The number of its dead letters.
    pub dead_letters: Count,
}

#[derive(Debug, Deserialize)]
struct Subscriptions {
    results: Vec<Subscription>,
}

/// All subscriptions, oldest first.
pub async fn all_subscriptions(console: &Console, visitor: &Visitor) -> Result<Vec<Subscription>, PageError> {
    let Subscriptions { results } = read(&console.service.list_subscriptions(visitor.caller()).await?)?;
    Ok(results)
}

impl Subscription {
    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.status == "PAUSED"
    }

    /// Its state as a constant: `ACTIVE`, `PAUSED`, `HELD`, or `FAILING` if it is active and its last messages failed.
    pub fn standing(&self) -> &str {
        if self.held_until.is_some() {
            return "HELD";
        }
        if !self.is_paused() && self.consecutive_errors > 0 { "FAILING" } else { &self.status }
    }

    /// Its state, in a sentence.
    pub fn health(&self) -> String {
        if self.is_paused() {
            return self.why_paused().to_owned();
        }
        if let Some(until) = &self.held_until {
            return format!("It answered 429. Nothing is sent to it until {until}.");
        }
        match (&self.last_success_at, self.consecutive_errors) {
            (None, 0) => "No messages sent yet.".to_owned(),
            (Some(at), 0) => format!("The last message was delivered on {at}."),
            (_, errors) => {
                format!("{} failed since the last success.", Count(errors).of("message", "messages in a row"))
            }
        }
    }

    /// Its rate limits, in a sentence.
    pub fn limits(&self) -> String {
        let at_once =
            self.max_in_flight.map(|most| format!("at most {} at once", Count(most).of("message", "messages")));
        let rate =
            self.max_per_second.map(|most| format!("at most {} a second", Count(most).of("message", "messages")));
        let set: Vec<String> = rate.into_iter().chain(at_once).collect();
        if set.is_empty() { "None".to_owned() } else { set.join(", ") }
    }

    /// Why it is paused, in a sentence.
    pub fn why_paused(&self) -> &'static str {
        match self.paused_reason.as_deref() {
            Some("UNSUBSCRIBED") => "It was paused manually.",
            Some("UNAUTHORIZED") => "The receiver answered 401 Unauthorized: it does not accept our messages.",
            Some("CONSECUTIVE_ERRORS") => "Too many different messages failed in a row.",
            _ => "It is paused.",
        }
    }

    /// What the user can do about the pause.
    pub fn advice(&self) -> &'static str {
        match self.paused_reason.as_deref() {
            Some("UNSUBSCRIBED") => {
                "Nothing is sent to it until you resume it. Its messages become dead letters, which you can replay."
            }
            Some("UNAUTHORIZED") => {
                "A common cause is that the receiver verifies signatures with a different key than the one on the page \
                 Keys. Correct the receiver, resume the URL, then replay its dead letters."
            }
            Some("CONSECUTIVE_ERRORS") => {
                "See its last deliveries for the responses, and fix the receiver. For 5 days Daybook tests the URL \
                 with single messages and resumes it automatically when one is accepted; you can also resume it here. \
                 Then replay its dead letters."
            }
            _ => "Resume it when the receiver is ready.",
        }
    }
}

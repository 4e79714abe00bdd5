//! Webhooks: who is told, what became of it, and sending again.
//!
//! | file | what is there |
//! |---|---|
//! | `subscriptions` | URLs and their health; pausing, resuming; a test event |
//! | `deliveries` | what was tried |
//! | `messages` | finding messages by id, account, event, state and time |
//! | `message` | one message: its exact bytes, and where it stands with each URL |
//! | `dead_letters` | what nobody took, and sending it again |
//! | `catalogue` | every event there is |
//! | `pretty` | JSON for people |
//! | `filter` | which deliveries or dead letters are shown |

pub mod catalogue;
pub mod dead_letters;
pub mod deliveries;
pub mod filter;
pub mod message;
pub mod messages;
pub mod pretty;
pub mod subscriptions;

use crate::Console;
use crate::guard::Visitor;
use crate::page::{Trouble, read};
use crate::shape::{Count, Moment};
use serde::Deserialize;

/// The address of this room.
const HERE: &str = "/console/webhooks";
/// Its name, for the way back.
const NAME: &str = "Webhooks";

/// What is shown of a subscription.
#[derive(Clone, Debug, Deserialize)]
pub struct Subscription {
    /// Its name in other calls.
    pub webhook_uuid: String,
    /// Where messages go.
    pub webhook_url: String,
    /// The events it gets; nothing for all.
    pub filter_events: Option<Vec<String>>,
    /// `ACTIVE` or `PAUSED`.
    pub status: String,
    /// Why it is paused.
    pub paused_reason: Option<String>,
    /// Since when.
    pub paused_at: Option<Moment>,
    /// When one of its messages is tried.
    pub next_probe_at: Option<Moment>,
    /// Until when it gets nothing, as it answered 429.
    pub held_until: Option<Moment>,
    /// The most messages in a second; `None` for no limit.
    pub max_per_second: Option<u64>,
    /// The most messages at once; `None` for no limit.
    pub max_in_flight: Option<u64>,
    /// Different messages that failed since the last success.
    pub consecutive_errors: u64,
    /// When it was made.
    pub created_at: Moment,
    /// When it last took a message.
    pub last_success_at: Option<Moment>,
    /// Messages to be sent.
    pub pending: Count,
    /// Messages that it did not get.
    pub dead_letters: Count,
}

#[derive(Debug, Deserialize)]
struct Subscriptions {
    results: Vec<Subscription>,
}

/// All subscriptions, by time.
pub async fn all_subscriptions(console: &Console, visitor: &Visitor) -> Result<Vec<Subscription>, Trouble> {
    let Subscriptions { results } = read(&console.service.list_subscriptions(visitor.caller()).await?)?;
    Ok(results)
}

impl Subscription {
    /// Whether nothing is sent to it.
    pub fn is_paused(&self) -> bool {
        self.status == "PAUSED"
    }

    /// How it stands, in a word: `ACTIVE`, `PAUSED`, held, or failing although it is tried.
    pub fn standing(&self) -> &str {
        if self.held_until.is_some() {
            return "HELD";
        }
        if !self.is_paused() && self.consecutive_errors > 0 { "FAILING" } else { &self.status }
    }

    /// How it stands, in a sentence.
    pub fn health(&self) -> String {
        if self.is_paused() {
            return self.why_paused().to_owned();
        }
        if let Some(until) = &self.held_until {
            return format!("It answered 429 and gets nothing until {until}.");
        }
        match (&self.last_success_at, self.consecutive_errors) {
            (None, 0) => "Nothing was sent to it yet.".to_owned(),
            (Some(at), 0) => format!("It took its last message on {at}."),
            (_, errors) => {
                format!("{} failed since its last success.", Count(errors).of("message", "messages in a row"))
            }
        }
    }

    /// How fast it is sent to, in a sentence.
    pub fn limits(&self) -> String {
        let at_once =
            self.max_in_flight.map(|most| format!("at most {} at once", Count(most).of("message", "messages")));
        let rate =
            self.max_per_second.map(|most| format!("at most {} a second", Count(most).of("message", "messages")));
        let set: Vec<String> = rate.into_iter().chain(at_once).collect();
        if set.is_empty() { "As it takes messages: no limit is set".to_owned() } else { set.join(", ") }
    }

    /// Why it is paused, in a sentence.
    pub fn why_paused(&self) -> &'static str {
        match self.paused_reason.as_deref() {
            Some("UNSUBSCRIBED") => "Somebody paused it.",
            Some("UNAUTHORIZED") => "It answered 401 Unauthorized: it does not accept our messages.",
            Some("CONSECUTIVE_ERRORS") => "Too many different messages failed in a row.",
            _ => "It is paused.",
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self.paused_reason.as_deref() {
            Some("UNSUBSCRIBED") => {
                "Nothing is sent to it until you resume it. What it misses becomes dead letters, which can be replayed."
            }
            Some("UNAUTHORIZED") => {
                "Have the receiver accept our messages: often it checks signatures with another key than the one on the \
                 page Keys. Then resume it, and replay its dead letters."
            }
            Some("CONSECUTIVE_ERRORS") => {
                "Look at its last deliveries for what it answered, and mend the receiver. It is tried now and then for 5 \
                 days with one message, and resumes by itself when it takes one; or resume it here. Then replay its dead \
                 letters."
            }
            _ => "Resume it when the receiver is ready.",
        }
    }
}

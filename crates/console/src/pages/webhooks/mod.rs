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
use crate::display::{AsMoment, Count};
use crate::guard::Visitor;
use crate::page::PageError;
use daybook_service::view::Subscription;

/// The path of this section.
const HERE: &str = "/console/webhooks";
/// Its name, for links back.
const NAME: &str = "Webhooks";

/// All subscriptions, oldest first.
pub async fn all_subscriptions(console: &Console, visitor: &Visitor) -> Result<Vec<Subscription>, PageError> {
    Ok(console.service.list_subscriptions(visitor.caller()).await?.results)
}

/// The health of a subscription, in words.
pub trait Health {
    /// Whether it is paused.
    fn is_paused(&self) -> bool;

    /// Its state as a constant: `ACTIVE`, `PAUSED`, `HELD`, or `FAILING` if it is active and its last messages failed.
    fn standing(&self) -> &'static str;

    /// Its state, in a sentence.
    fn health(&self) -> String;

    /// Its rate limits, in a sentence.
    fn limits(&self) -> String;

    /// Why it is paused, in a sentence.
    fn why_paused(&self) -> &'static str;

    /// What the user can do about the pause.
    fn advice(&self) -> &'static str;
}

impl Health for Subscription {
    fn is_paused(&self) -> bool {
        self.status == "PAUSED"
    }

    fn standing(&self) -> &'static str {
        if self.held_until.is_some() {
            return "HELD";
        }
        if !self.is_paused() && self.consecutive_errors > 0 { "FAILING" } else { self.status }
    }

    fn health(&self) -> String {
        if self.is_paused() {
            return self.why_paused().to_owned();
        }
        if let Some(until) = self.held_until {
            return format!(
                "The receiver answered 429 Too Many Requests. No messages are sent to it until {}.",
                until.moment()
            );
        }
        match (self.last_success_at, self.consecutive_errors) {
            (None, 0) => "No message has been sent yet.".to_owned(),
            (Some(at), 0) => format!("The last message was delivered on {}.", at.moment()),
            (_, errors) => {
                let errors = Count(errors.unsigned_abs());
                format!("{} failed since the last successful delivery.", errors.of("message", "messages in a row"))
            }
        }
    }

    fn limits(&self) -> String {
        let at_once =
            self.max_in_flight.map(|most| format!("at most {} at once", Count(most.into()).of("message", "messages")));
        let rate = self
            .max_per_second
            .map(|most| format!("at most {} a second", Count(most.into()).of("message", "messages")));
        let set: Vec<String> = rate.into_iter().chain(at_once).collect();
        if set.is_empty() { "None".to_owned() } else { set.join(", ") }
    }

    fn why_paused(&self) -> &'static str {
        match self.paused_reason.as_deref() {
            Some("UNSUBSCRIBED") => "It was paused manually.",
            Some("UNAUTHORIZED") => {
                "It was paused because the receiver answered 401 Unauthorized: it does not accept Daybook's messages."
            }
            Some("CONSECUTIVE_ERRORS") => "It was paused because too many messages failed in a row.",
            _ => "It is paused.",
        }
    }

    fn advice(&self) -> &'static str {
        match self.paused_reason.as_deref() {
            Some("UNSUBSCRIBED") => {
                "Until you resume it, its messages become dead letters. After you resume it, you can send them again."
            }
            Some("UNAUTHORIZED") => {
                "A common cause is that the receiver verifies signatures with another key than the one on the Keys \
                 page. Correct the receiver, resume the URL, then send its dead letters again."
            }
            Some("CONSECUTIVE_ERRORS") => {
                "Its deliveries show what the receiver answered. Correct the receiver. For 5 days, Daybook tests the \
                 URL with single messages and resumes it when one is accepted; you can also resume it here. Then send \
                 its dead letters again."
            }
            _ => "Resume it when the receiver is ready.",
        }
    }
}

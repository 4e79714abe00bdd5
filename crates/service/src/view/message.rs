//! Messages, with the state of each at every URL.

use super::MessageState;
use super::time::Utc;
use crate::webhooks::message_details::{MessageAttempt, MessageDetails, UrlStanding};
use daybook_store::outbox::{DeliveryRecords, DeliveryStatus};
use daybook_store::records::MessageRow;
use serde::Serialize;
use utoipa::ToSchema;

/// The state of a message at one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum UrlState {
    /// It waits for its first attempt or a retry.
    Pending,
    /// The URL accepted it.
    Delivered,
    /// It is a dead letter: it is no longer retried automatically, and can be replayed.
    Dead,
    /// The URL does not get it: its filter excludes it or did so before it was sent, or it was subscribed later.
    NotWanted,
    /// It was meant for the URL, and the records of its delivery have expired.
    Unknown,
}

impl UrlState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            UrlState::Pending => "PENDING",
            UrlState::Delivered => "DELIVERED",
            UrlState::Dead => "DEAD",
            UrlState::NotWanted => "NOT_WANTED",
            UrlState::Unknown => "UNKNOWN",
        }
    }
}

/// The state of a message at a URL.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MessageUrl {
    /// The subscription.
    pub webhook_uuid: String,
    /// The URL of the subscription.
    pub webhook_url: String,
    /// The state of the message at the URL.
    pub state: UrlState,
    /// When the URL accepted it.
    pub delivered_at: Option<Utc>,
    /// When the next retry is due.
    pub next_retry_at: Option<Utc>,
    /// When it became a dead letter.
    pub dead_at: Option<Utc>,
}

impl MessageUrl {
    fn new(webhook_uuid: String, webhook_url: String, stand: DeliveryStatus) -> MessageUrl {
        let none = (None, None, None);
        let (state, (delivered_at, next_retry_at, dead_at)) = match stand {
            DeliveryStatus::Delivered(at) => (UrlState::Delivered, (Some(Utc(at)), None, None)),
            DeliveryStatus::Waiting => (UrlState::Pending, none),
            DeliveryStatus::Retry(at) => (UrlState::Pending, (None, Some(Utc(at)), None)),
            DeliveryStatus::Dead(at) => (UrlState::Dead, (None, None, Some(Utc(at)))),
            DeliveryStatus::NotForIt | DeliveryStatus::Dropped => (UrlState::NotWanted, none),
            DeliveryStatus::Forgotten => (UrlState::Unknown, none),
        };
        MessageUrl { webhook_uuid, webhook_url, state, delivered_at, next_retry_at, dead_at }
    }

    /// The view of a message's state at a URL.
    pub fn of(standing: &DeliveryRecords, stand: DeliveryStatus) -> MessageUrl {
        MessageUrl::new(standing.subscription.uuid.clone(), standing.subscription.url.clone(), stand)
    }
}

/// A message.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Message {
    /// The event's name.
    pub event: String,
    /// The event's id.
    pub event_id: String,
    /// The account it is about; null if it is not about an account.
    pub account_id: Option<String>,
    /// Whether it is sent.
    pub state: MessageState,
    /// When it happened.
    pub effective_at: Utc,
    /// When it was recorded.
    pub recorded_at: Utc,
    /// The moment it is scheduled for; null once it is published.
    pub due_at: Option<Utc>,
    /// When it was cancelled.
    pub cancelled_at: Option<Utc>,
    /// Its state at each URL; empty unless its own state is `PUBLISHED`.
    pub urls: Vec<MessageUrl>,
}

impl Message {
    /// The view of a message.
    pub fn new(row: MessageRow, urls: Vec<MessageUrl>) -> Message {
        Message {
            state: MessageState::from(&row),
            event: row.event,
            event_id: row.event_id,
            account_id: row.account.as_deref().map(str::to_owned),
            effective_at: Utc(row.effective_at),
            recorded_at: Utc(row.recorded_at),
            due_at: row.due_at.map(Utc),
            cancelled_at: row.cancelled_at.map(Utc),
            urls,
        }
    }
}

/// A message with all its details.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WholeMessage {
    /// The event's name.
    pub event: String,
    /// The event's id; the header `webhook-id` of each attempt.
    pub event_id: String,
    /// The account it is about; null if it is not about an account.
    pub account_id: Option<String>,
    /// Whether it is sent.
    pub state: MessageState,
    /// When it happened.
    pub effective_at: Utc,
    /// When it was recorded.
    pub recorded_at: Utc,
    /// The moment it is scheduled for; null once it is published.
    pub due_at: Option<Utc>,
    /// When it was cancelled.
    pub cancelled_at: Option<Utc>,
    /// The exact body that every attempt sends.
    pub body: String,
    /// The signature of `data` in the body.
    pub hmac_signature: String,
    /// Its state at each URL; empty unless its own state is `PUBLISHED`.
    pub urls: Vec<WholeMessageUrl>,
}

/// The state of a message at a URL, with the attempts.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WholeMessageUrl {
    /// The state of the message at the URL.
    #[serde(flatten)]
    pub url: MessageUrl,
    /// Whether the URL is paused.
    pub paused: bool,
    /// Why it is a dead letter or is retried, as a sentence.
    pub reason: Option<String>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

/// An attempt to deliver a message to a URL.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Attempt {
    /// The number of the attempt, from 1. A replay starts again at 1.
    pub attempt: i64,
    /// When it began.
    pub attempted_at: Utc,
    /// How long it took, in milliseconds.
    pub latency_ms: i64,
    /// `DELIVERED` or `FAILED`.
    pub outcome: &'static str,
    /// The HTTP status of the response; null if there was none.
    pub response_status: Option<u16>,
    /// Why it failed, as a sentence.
    pub error: Option<String>,
    /// The beginning of the response body, if the receiver did not accept the message.
    pub response: Option<String>,
    /// When the next retry is due; null if there is none.
    pub next_retry_at: Option<Utc>,
}

impl WholeMessage {
    /// The view of a message with all its details. `body` is the text of its body.
    pub fn new(found: MessageDetails, body: String) -> WholeMessage {
        let state = match (found.cancelled_at, found.position) {
            (Some(_), _) => MessageState::Cancelled,
            (None, Some(_)) => MessageState::Published,
            (None, None) => MessageState::Scheduled,
        };
        WholeMessage {
            event: found.event,
            event_id: found.event_id,
            account_id: found.account_id,
            state,
            effective_at: Utc(found.effective_at),
            recorded_at: Utc(found.recorded_at),
            due_at: found.due_at.map(Utc),
            cancelled_at: found.cancelled_at.map(Utc),
            body,
            hmac_signature: found.signature,
            urls: found.urls.into_iter().map(url).collect(),
        }
    }
}

fn url(one: UrlStanding) -> WholeMessageUrl {
    WholeMessageUrl {
        url: MessageUrl::new(one.webhook_uuid, one.webhook_url, one.stand),
        paused: one.is_paused,
        reason: one.reason,
        attempts: one.attempts.into_iter().map(attempt).collect(),
    }
}

fn attempt(MessageAttempt { attempt, .. }: MessageAttempt) -> Attempt {
    Attempt {
        attempt: attempt.number,
        attempted_at: Utc(attempt.at),
        latency_ms: attempt.latency_us / 1_000,
        outcome: if attempt.error.is_none() { "DELIVERED" } else { "FAILED" },
        response_status: attempt.status,
        error: attempt.error,
        response: attempt.response,
        next_retry_at: attempt.next_at.map(Utc),
    }
}

/// A message that is sent again.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Resent {
    /// The event's id.
    pub event_id: String,
    /// The subscriptions it is sent to again.
    pub resent: Vec<String>,
    /// Paused subscriptions that would get it. It is not sent to them.
    pub left_paused: Vec<String>,
}

//! Messages, with the state of each at every URL.

use super::MessageState;
use super::time::Utc;
use crate::webhooks::message_details::{Message as Found, MessageAttempt, UrlStanding};
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

/// The state of a message at a URL.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageUrl<'a> {
    /// The subscription.
    pub webhook_uuid: &'a str,
    /// The URL of the subscription.
    pub webhook_url: &'a str,
    /// The state of the message at the URL.
    pub state: UrlState,
    /// When the URL accepted it.
    pub delivered_at: Option<Utc>,
    /// When the next retry is due.
    pub next_retry_at: Option<Utc>,
    /// When it became a dead letter.
    pub dead_at: Option<Utc>,
}

impl<'a> MessageUrl<'a> {
    fn new(webhook_uuid: &'a str, webhook_url: &'a str, stand: DeliveryStatus) -> MessageUrl<'a> {
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
    pub fn of(standing: &'a DeliveryRecords, stand: DeliveryStatus) -> MessageUrl<'a> {
        MessageUrl::new(&standing.subscription.uuid, &standing.subscription.url, stand)
    }
}

/// A message.
#[derive(Debug, Serialize, ToSchema)]
pub struct Message<'a> {
    /// The event's name.
    pub event: &'a str,
    /// The event's id.
    pub event_id: &'a str,
    /// The account it is about; null if it is not about an account.
    pub account_id: Option<&'a str>,
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
    pub urls: Vec<MessageUrl<'a>>,
}

impl<'a> Message<'a> {
    /// The view of a message.
    pub fn new(row: &'a MessageRow, urls: Vec<MessageUrl<'a>>) -> Message<'a> {
        Message {
            event: &row.event,
            event_id: &row.event_id,
            account_id: row.account.as_deref(),
            state: MessageState::from(row),
            effective_at: Utc(row.effective_at),
            recorded_at: Utc(row.recorded_at),
            due_at: row.due_at.map(Utc),
            cancelled_at: row.cancelled_at.map(Utc),
            urls,
        }
    }
}

/// A message with all its details.
#[derive(Debug, Serialize, ToSchema)]
pub struct WholeMessage<'a> {
    /// The event's name.
    pub event: &'a str,
    /// The event's id; the header `webhook-id` of each attempt.
    pub event_id: &'a str,
    /// The account it is about; null if it is not about an account.
    pub account_id: Option<&'a str>,
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
    pub body: &'a str,
    /// The signature of `data` in the body.
    pub hmac_signature: &'a str,
    /// Its state at each URL; empty unless its own state is `PUBLISHED`.
    pub urls: Vec<WholeMessageUrl<'a>>,
}

/// The state of a message at a URL, with the attempts.
#[derive(Debug, Serialize, ToSchema)]
pub struct WholeMessageUrl<'a> {
    /// The state of the message at the URL.
    #[serde(flatten)]
    pub url: MessageUrl<'a>,
    /// Whether the URL is paused.
    pub paused: bool,
    /// Why it is a dead letter or is retried, as a sentence.
    pub reason: Option<&'a str>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt<'a>>,
}

/// An attempt to deliver a message to a URL.
#[derive(Debug, Serialize, ToSchema)]
pub struct Attempt<'a> {
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
    pub error: Option<&'a str>,
    /// The beginning of the response body, if the receiver did not accept the message.
    pub response: Option<&'a str>,
    /// When the next retry is due; null if there is none.
    pub next_retry_at: Option<Utc>,
}

impl<'a> WholeMessage<'a> {
    /// The view of a message with all its details.
    pub fn new(found: &'a Found, body: &'a str) -> WholeMessage<'a> {
        let state = match (found.cancelled_at, found.position) {
            (Some(_), _) => MessageState::Cancelled,
            (None, Some(_)) => MessageState::Published,
            (None, None) => MessageState::Scheduled,
        };
        WholeMessage {
            event: &found.event,
            event_id: &found.event_id,
            account_id: found.account_id.as_deref(),
            state,
            effective_at: Utc(found.effective_at),
            recorded_at: Utc(found.recorded_at),
            due_at: found.due_at.map(Utc),
            cancelled_at: found.cancelled_at.map(Utc),
            body,
            hmac_signature: &found.signature,
            urls: found.urls.iter().map(url).collect(),
        }
    }
}

fn url(one: &UrlStanding) -> WholeMessageUrl<'_> {
    WholeMessageUrl {
        url: MessageUrl::new(&one.webhook_uuid, &one.webhook_url, one.stand),
        paused: one.is_paused,
        reason: one.reason.as_deref(),
        attempts: one.attempts.iter().map(attempt).collect(),
    }
}

fn attempt(MessageAttempt { attempt, .. }: &MessageAttempt) -> Attempt<'_> {
    Attempt {
        attempt: attempt.number,
        attempted_at: Utc(attempt.at),
        latency_ms: attempt.latency_us / 1_000,
        outcome: if attempt.error.is_none() { "DELIVERED" } else { "FAILED" },
        response_status: attempt.status,
        error: attempt.error.as_deref(),
        response: attempt.response.as_deref(),
        next_retry_at: attempt.next_at.map(Utc),
    }
}

/// A message that is sent again.
#[derive(Debug, Serialize, ToSchema)]
pub struct Resent<'a> {
    /// The event's id.
    pub event_id: &'a str,
    /// The subscriptions it is sent to again.
    pub resent: Vec<String>,
    /// Paused subscriptions that would get it. It is not sent to them.
    pub left_paused: Vec<String>,
}

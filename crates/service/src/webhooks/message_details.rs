//! One message with all its details, as data.

use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::outbox::{DeliveryAttempt, DeliveryStatus};

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageDetails {
    /// The event's name.
    pub event: String,
    /// The event's id; the `webhook-id` header of each delivery.
    pub event_id: String,
    /// The account it is about.
    pub account_id: Option<String>,
    /// Its position in the organization's log; `None` while it is scheduled or if it was cancelled.
    pub position: Option<i64>,
    /// When it will be published, while it is scheduled; when it would have been, if it was cancelled.
    pub due_at: Option<Time>,
    /// When it was cancelled.
    pub cancelled_at: Option<Time>,
    /// When it happened.
    pub effective_at: Time,
    /// When it was recorded.
    pub recorded_at: Time,
    /// The exact body of each delivery.
    pub body: Bytes,
    /// The signature of `data` in it.
    pub signature: String,
    /// Its state at every URL, in order of subscription.
    pub urls: Vec<UrlStanding>,
}

/// The state of a message at one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlStanding {
    /// The subscription.
    pub webhook_uuid: String,
    /// The URL.
    pub webhook_url: String,
    /// Whether the URL is paused.
    pub is_paused: bool,
    /// The state of the message.
    pub stand: DeliveryStatus,
    /// Why it is dead, retried or not sent, as a sentence.
    pub reason: Option<String>,
    /// The attempts, first one first.
    pub attempts: Vec<MessageAttempt>,
}

/// An attempt to deliver a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageAttempt {
    /// The attempt and its response.
    pub attempt: DeliveryAttempt,
    /// The headers by name, except those of the connection. Signatures are computed with the current keys.
    pub headers: Vec<(&'static str, String)>,
}

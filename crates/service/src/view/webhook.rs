//! Webhooks: subscriptions, delivery attempts, dead letters, keys, and the catalogue of events.

use super::time::Utc;
use daybook_engine::time::Time;
use daybook_store::outbox::{AttemptLine, Backlog, DeadLetter as DeadRow, MessageSummary, Subscription as Row};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A URL that gets messages.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Subscription {
    /// Its id.
    pub webhook_uuid: String,
    /// The URL that messages are sent to.
    pub webhook_url: String,
    /// The events it gets; null for all.
    pub filter_events: Option<Vec<String>>,
    /// `ACTIVE` or `PAUSED`.
    pub status: &'static str,
    /// Why it is paused: `UNSUBSCRIBED`, `UNAUTHORIZED` or `CONSECUTIVE_ERRORS`; null while it is active.
    pub paused_reason: Option<String>,
    /// When it was paused.
    pub paused_at: Option<Utc>,
    /// When one message is sent to find out whether the URL accepts messages again; null unless errors paused it.
    pub next_probe_at: Option<Utc>,
    /// Until when no messages are sent to it, because it responded with 429 and `Retry-After`; null while it is not
    /// held. Resubscribing it, a replay to it, or resending a message to it ends the hold.
    pub held_until: Option<Utc>,
    /// Why it is held: `TOO_MANY_REQUESTS`; null while it is not.
    pub held_reason: Option<&'static str>,
    /// The maximum number of messages per second; null for no limit.
    pub max_per_second: Option<u32>,
    /// The maximum number of messages in flight; null for no limit.
    pub max_in_flight: Option<u32>,
    /// The number of different messages that failed since the last success.
    pub consecutive_errors: i64,
    /// When it was created.
    pub created_at: Utc,
    /// When it last accepted a message.
    pub last_success_at: Option<Utc>,
    /// The number of messages to send or retry; 0 while it is paused.
    pub pending: u64,
    /// The number of its dead letters, which can be replayed.
    pub dead_letters: u64,
}

impl Subscription {
    /// The view of a subscription as of a moment.
    pub fn new(row: Row, backlog: Backlog, now: Time) -> Subscription {
        let held_until = row.held_until.filter(|until| row.paused.is_none() && *until > now);
        Subscription {
            webhook_uuid: row.uuid,
            webhook_url: row.url,
            filter_events: row.filter,
            status: if row.paused.is_some() { "PAUSED" } else { "ACTIVE" },
            paused_at: row.paused.as_ref().map(|pause| Utc(pause.at)),
            next_probe_at: row.paused.as_ref().and_then(|pause| pause.probe_at).map(Utc),
            paused_reason: row.paused.map(|pause| pause.reason),
            held_until: held_until.map(Utc),
            held_reason: held_until.map(|_| "TOO_MANY_REQUESTS"),
            max_per_second: row.max_per_second,
            max_in_flight: row.max_in_flight,
            consecutive_errors: row.consecutive_errors,
            created_at: Utc(row.created_at),
            last_success_at: row.last_success_at.map(Utc),
            pending: backlog.pending,
            dead_letters: backlog.dead,
        }
    }
}

/// A subscription that was removed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RemovedSubscription {
    /// Its id.
    pub webhook_uuid: String,
    /// Always true.
    pub deleted: bool,
}

/// The result of a replay.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Replayed {
    /// The number of messages that are sent again; with `dry_run`, the number that would be.
    pub replayed: u64,
    /// The number of messages that match but are not sent, because their URL is paused.
    pub left_paused: u64,
}

/// A test event that is sent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TestSent {
    /// `test_event`.
    pub event: &'static str,
    /// The event's id, as receivers get it.
    pub event_id: String,
    /// The number of active URLs that it is sent to.
    pub active_urls: u64,
}

/// The object of a test event.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TestMessage {
    /// The text of the test message.
    pub message: &'static str,
}

/// The key that signs messages.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct HmacKey {
    /// The Base64 text of 32 random bytes. The key of `hmac_signature` is this text itself, not decoded.
    pub hmac_secret_key: String,
}

/// A new key that signs messages.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RotatedKey {
    /// The Base64 text of 32 random bytes: the key of messages recorded from now on.
    pub hmac_secret_key: String,
    /// Until then, the header `webhook-signature` also carries a signature made with the previous key.
    pub previous_key_until: Utc,
}

/// An attempt to deliver a message.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// The subscription.
    pub webhook_uuid: String,
    /// The URL that it was sent to.
    pub webhook_url: String,
    /// The event's name.
    pub event: String,
    /// The event's id.
    pub event_id: String,
    /// The account it is about; null if it is not about an account.
    pub account_id: Option<String>,
    /// The number of the attempt for this message, from 1.
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

impl Delivery {
    /// The view of an attempt.
    pub fn new(AttemptLine { about, attempt, .. }: AttemptLine) -> Delivery {
        let MessageSummary { uuid, url, event, event_id, account, .. } = about;
        Delivery {
            webhook_uuid: uuid,
            webhook_url: url,
            event,
            event_id,
            account_id: account.as_deref().map(str::to_owned),
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
}

/// A message that was not delivered to a URL and is no longer retried.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DeadLetter {
    /// The subscription.
    pub webhook_uuid: String,
    /// The URL of the subscription.
    pub webhook_url: String,
    /// The event's name.
    pub event: String,
    /// The event's id.
    pub event_id: String,
    /// The account it is about; null if it is not about an account.
    pub account_id: Option<String>,
    /// When it became a dead letter.
    pub dead_at: Utc,
    /// The number of attempts.
    pub attempts: i64,
    /// Why it was not delivered, as a sentence.
    pub reason: String,
    /// The HTTP status of the last response.
    pub response_status: Option<u16>,
}

impl DeadLetter {
    /// The view of a dead letter.
    pub fn new(row: DeadRow) -> DeadLetter {
        let MessageSummary { uuid, url, event, event_id, account, .. } = row.about;
        DeadLetter {
            webhook_uuid: uuid,
            webhook_url: url,
            event,
            event_id,
            account_id: account.as_deref().map(str::to_owned),
            dead_at: Utc(row.dead_at),
            attempts: row.attempts,
            reason: row.reason.unwrap_or_else(|| "it was not sent: the URL was paused".to_owned()),
            response_status: row.status,
        }
    }
}

/// An event that can be subscribed to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EventType {
    /// Its name.
    pub name: &'static str,
    /// When it is sent, as a sentence.
    pub sent_when: &'static str,
    /// `DEFAULT`: it is always sent. `CONFIGURABLE`: it is sent for accounts that configured it.
    pub kind: &'static str,
    /// The JSON Schema (draft 2020-12) of `data`.
    #[schema(value_type = Object)]
    pub schema: serde_json::Value,
    /// A sample of `data`.
    #[schema(value_type = Object)]
    pub sample: Box<RawValue>,
}

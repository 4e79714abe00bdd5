//! Outgoing messages: subscriptions, what each is still to be sent, failures and attempts.
//!
//! ```text
//!                       cursor                 head
//! log      ──────────────▼──────────────────────▼
//!          finished      │ to be sent (or, while the subscription is paused, its dead letters)
//!
//! failures   single positions before the cursor: to be retried, or dead
//! ranges     ranges of positions before the cursor that were not tried, as during a pause; dead, or being replayed
//! attempts   delivery attempts, for display
//! ```
//!
//! Each subscription reads the log at its own cursor, so a success writes no row. A message that fails becomes a row of
//! `failures`, and the cursor moves on. While a subscription is paused, everything after its cursor counts as dead
//! letters, without a row for each. When it is resumed, those positions become a range, and the cursor moves to the
//! head. Some messages after the cursor may be finished before earlier ones ([`OutOfOrder`]). When a subscription is
//! paused, the cursor moves to the last of these, and the unsent messages before it become ranges of dead letters.
//!
//! One node at a time sends for a subscription: it holds a lease, and every record it writes carries the lease's token.
//! The store has no rules about retries or pauses; its callers decide.

mod calls;
mod delivery_records;
mod out_of_order;
mod pieces;
mod probing;
pub(crate) mod rows;
mod search;

pub use calls::Outbox;
pub use delivery_records::{DeliveryRecords, DeliveryStatus, RangeStatus};
pub use out_of_order::OutOfOrder;
pub(crate) use pieces::{pieces, runs, without_gaps};
pub use probing::Probed;
pub(crate) use search::{CLOCK_SLACK_US, MOST_LOOKED_AT, SEARCHED};
pub use search::{MOST_COUNTED, MessageFilter, MessageSearchResult, UrlMetrics};

use crate::records::{MessageRow, OrgId};
use bytes::Bytes;
use daybook_engine::time::Time;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// How many of the latest attempts are searched for messages that were delivered out of order: more than a sender has
/// in flight.
pub(crate) const LATEST_ATTEMPTS: i64 = 10_000;

/// The number of a subscription: unique in the database, never reused.
pub type SubscriptionId = i64;

/// A URL that messages are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The organization.
    pub org: OrgId,
    /// Its number.
    pub id: SubscriptionId,
    /// Its public id.
    pub uuid: String,
    /// Where messages go. Unique within the organization.
    pub url: String,
    /// Which events it gets; `None` for all.
    pub filter: Option<Vec<String>>,
    /// Why and since when it is paused; `None` while it is active.
    pub paused: Option<Pause>,
    /// The number of different messages that failed since the last success.
    pub consecutive_errors: i64,
    /// The number of the current series of failures: goes up when a success ends one.
    pub streak: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it last accepted a message.
    pub last_success_at: Option<Time>,
    /// Every position up to this one is finished: sent, in `failures`, or in a range.
    pub cursor: i64,
    /// Goes up with every change that a caller makes.
    pub version: i64,
    /// Whether it is the URL saved in the console. An organization has at most one.
    pub from_console: bool,
    /// The maximum number of messages per second; `None` for no limit.
    pub max_per_second: Option<u32>,
    /// The maximum number of messages in flight; `None` for no limit.
    pub max_in_flight: Option<u32>,
    /// Sending is on hold until this moment because the URL answered 429; `None` while it is paused. May be in the
    /// past.
    pub held_until: Option<Time>,
    /// Positions after the cursor that are finished.
    pub ahead: OutOfOrder,
}

/// Which settings of a subscription the caller supplies; the others keep their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuppliedSettings {
    /// `max_per_second`.
    pub max_per_second: bool,
    /// `max_in_flight`.
    pub max_in_flight: bool,
}

/// The subscriptions that a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// All of them, by number.
    pub held: Vec<Subscription>,
    /// How many the node should hold at most, so that every node gets its share.
    pub share: usize,
}

/// A subscription with overdue retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// The organization.
    pub org: OrgId,
    /// The subscription.
    pub id: SubscriptionId,
    /// Its public id.
    pub uuid: String,
    /// How many retries are overdue.
    pub retries: u64,
    /// Since when the first of them is due.
    pub since: Time,
}

impl Subscription {
    /// What it reads of the log.
    pub fn subscription_filter(&self) -> SubscriptionFilter<'_> {
        SubscriptionFilter { org: self.org, filter: self.filter.as_deref(), uuid: &self.uuid, missed: false }
    }
}

/// Why and since when a subscription is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The reason, by its name in the API.
    pub reason: String,
    /// Since when.
    pub at: Time,
    /// When one of its messages is tried anyway, to check whether the URL accepts messages again.
    pub probe_at: Option<Time>,
}

/// The reason for a pause by a person, by its name in the API.
pub const BY_A_PERSON: &str = "UNSUBSCRIBED";

impl Pause {
    /// Whether it replaces another pause: a pause by a person does, unless the other one is by a person too.
    pub fn replaces(&self, other: &Pause) -> bool {
        self.reason == BY_A_PERSON && other.reason != BY_A_PERSON
    }
}

/// How many messages a subscription has not received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Messages to be sent or retried. 0 while it is paused.
    pub pending: u64,
    /// Dead letters.
    pub dead: u64,
}

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its position in the organization's log.
    pub position: i64,
    /// The account it is about.
    pub account: Option<Arc<str>>,
    /// The event's name.
    pub event: String,
    /// The event's id.
    pub event_id: String,
    /// The exact bytes of `data`; empty if the stored message is damaged.
    pub data: Bytes,
    /// The signature over them.
    pub signature: String,
}

/// Which messages of a log a subscription gets.
///
/// Two events are special: [`TO_EVERYBODY`] goes to every subscription regardless of its filter, and [`TO_THE_OTHERS`]
/// does not go to the subscription that it is about (its `subject` is the subscription's `uuid`).
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionFilter<'a> {
    /// The organization of the log.
    pub org: OrgId,
    /// Events that it gets; `None` for all.
    pub filter: Option<&'a [String]>,
    /// The subscription's `uuid`.
    pub uuid: &'a str,
    /// Whether it reads what the subscription missed while it was paused. [`TO_EVERYBODY`] goes only to subscriptions
    /// that are active when it is published, so it is never among the missed messages.
    pub missed: bool,
}

impl SubscriptionFilter<'_> {
    /// Whether it gets a message of this event about this subject.
    pub fn gets(&self, event: &str, subject: &str) -> bool {
        match event {
            TO_EVERYBODY => !self.missed,
            TO_THE_OTHERS if subject == self.uuid => false,
            event => self.filter.is_none_or(|filter| filter.iter().any(|one| one == event)),
        }
    }
}

/// The event that goes to every subscription regardless of its filter.
pub const TO_EVERYBODY: &str = "test_event";
/// The event that does not go to the subscription that it is about.
pub const TO_THE_OTHERS: &str = "subscription_paused";

/// A message that a subscription did not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The message's position in the organization's log.
    pub position: i64,
    /// How often it was tried since it was first sent, or last replayed.
    pub attempts: i64,
    /// When it first failed since it was first sent, or last replayed.
    pub first_failed_at: Option<Time>,
    /// What happens to it next.
    pub fate: Fate,
    /// The last error, as a sentence.
    pub reason: String,
    /// The last HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The series of failures in which it was last counted.
    pub streak: i64,
}

/// Failures with their messages, as far as these exist.
pub(crate) fn with_messages(failures: Vec<Failure>, messages: Vec<MessageRow>) -> Vec<(Failure, Outgoing)> {
    let mut by_position: HashMap<Option<i64>, MessageRow> =
        messages.into_iter().map(|message| (message.position, message)).collect();
    let pair = |failure: Failure| {
        let message = by_position.remove(&Some(failure.position))?;
        Some((failure, Outgoing::from(message)))
    };
    failures.into_iter().filter_map(pair).collect()
}

/// What happens next to a message that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is retried at this moment.
    Retry(Time),
    /// It is dead since this moment.
    Dead(Time),
}

/// A range of the log that a subscription did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its number.
    pub id: i64,
    /// The position before its first.
    pub after: i64,
    /// Its last position.
    pub last: i64,
    /// Which events of it; `None` for all. This is the filter for a [`SubscriptionFilter`] of the range.
    pub filter: Option<Vec<String>>,
    /// Positions after `after` that are finished.
    pub ahead: OutOfOrder,
}

/// How far a range was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeProgress {
    /// The range.
    pub range: i64,
    /// Every position up to this one is finished.
    pub through: i64,
    /// Positions after it that are finished.
    pub ahead: OutOfOrder,
}

/// One delivery attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The message's position in the organization's log.
    pub position: i64,
    /// The number of this attempt at the message, from 1.
    pub number: i64,
    /// When it began.
    pub at: Time,
    /// How long it took, in microseconds.
    pub latency_us: i64,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// Why it failed, as a sentence; `None` if the message was delivered.
    pub error: Option<String>,
    /// The beginning of the response body, if the receiver did not accept the message.
    pub response: Option<String>,
    /// When the message is retried, if it is.
    pub next_at: Option<Time>,
}

/// The results that a node records for a subscription it sends for.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// The organization.
    pub org: OrgId,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The token of the lease.
    pub token: String,
    /// The version of the subscription that was read.
    pub version: i64,
    /// Every position up to this one is finished. The cursor never moves back: a value lower than the stored one is
    /// ignored.
    pub cursor: i64,
    /// Positions after the cursor that are finished.
    pub ahead: OutOfOrder,
    /// The subscription's filter when it was read. If it has changed since, messages that the new filter excludes are
    /// not retried.
    pub filter: Option<Vec<String>>,
    /// Ranges that are being replayed. A range that reaches its end is removed.
    pub ranges: Vec<RangeProgress>,
    /// Attempts, in order.
    pub attempts: Vec<DeliveryAttempt>,
    /// Failures: inserted, or overwritten.
    pub failed: Vec<Failure>,
    /// Positions with a failure that were delivered after all: their failures are removed.
    pub recovered: Vec<i64>,
    /// The last success, if there was one.
    pub last_success_at: Option<Time>,
    /// The number of failed messages now. Ignored, like `streak`, if the version is no longer the one that was read.
    pub consecutive_errors: i64,
    /// The number of the current series of failures.
    pub streak: i64,
    /// Sending is on hold until this moment because the URL answered 429. Ignored if the version is no longer the one
    /// that was read: a caller may have lifted the hold.
    pub held_until: Option<Time>,
    /// Pauses the subscription and publishes this message. Ignored if it is paused already.
    pub pause: Option<(Pause, Box<MessageRow>)>,
}

impl Deliveries {
    /// The positions of all messages in it.
    pub(crate) fn positions(&self) -> BTreeSet<i64> {
        let tried = self.attempts.iter().map(|attempt| attempt.position);
        tried.chain(self.failed.iter().map(|failure| failure.position)).collect()
    }
}

/// The result of recording deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// They are recorded; this is the subscription now.
    Kept(Box<Subscription>),
    /// The lease was lost, or the subscription was removed. Nothing is recorded.
    Lost,
}

/// Which attempts, or dead letters, to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Of this subscription.
    pub subscription: Option<SubscriptionId>,
    /// Of this event.
    pub event: Option<String>,
    /// About this account.
    pub account: Option<Arc<str>>,
    /// For attempts: only delivered ones, or only failed ones.
    pub delivered: Option<bool>,
    /// Tried, or dead, at this moment or later.
    pub since: Option<Time>,
    /// Tried, or dead, before this moment.
    pub until: Option<Time>,
}

/// The message that a list entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSummary {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The subscription's public id.
    pub uuid: String,
    /// The subscription's URL.
    pub url: String,
    /// The message's position in the log.
    pub position: i64,
    /// The event's name.
    pub event: String,
    /// The event's id.
    pub event_id: String,
    /// The account it is about.
    pub account: Option<Arc<str>>,
}

/// An attempt in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptLine {
    /// Its number; a later attempt has a higher one.
    pub id: i64,
    /// The message.
    pub about: MessageSummary,
    /// The attempt.
    pub attempt: DeliveryAttempt,
}

/// A dead letter in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Which message.
    pub about: MessageSummary,
    /// Since when it is dead. For a message published during a pause: since it was published, or since the pause began,
    /// whichever is later.
    pub dead_at: Time,
    /// How often it was tried.
    pub attempts: i64,
    /// The last error, as a sentence; `None` if it was never tried.
    pub reason: Option<String>,
    /// The last HTTP status, if there was a response.
    pub status: Option<u16>,
}

/// The result of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Dead letters that will be sent again.
    pub replayed: u64,
    /// Dead letters that match but stay, because their subscription is paused.
    pub left_paused: u64,
}

/// The result of a request to send a message again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResendResult {
    /// The message will be sent again.
    Sent,
    /// There is no such subscription.
    NoSubscription,
    /// The subscription is paused.
    Paused,
    /// The message is already waiting to be sent to the subscription.
    Waiting,
    /// The message was never meant for the subscription.
    NotForIt,
}

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The organization.
    pub org: OrgId,
    /// The last position.
    pub head: i64,
    /// The last position that is sent without waiting for a batch.
    pub hurried: i64,
}

//! The outgoing side: who gets messages, what each is still to get, what failed and what was tried.
//!
//! ```text
//!                       cursor                 head
//! log      ──────────────▼──────────────────────▼
//!          finished      │ to be sent (or, while the subscription is paused, its dead letters)
//!
//! failures   single positions before the cursor: to be tried again, or dead
//! ranges     stretches before the cursor that nobody tried: the log during a pause; dead, or being replayed
//! attempts   what was tried, for people
//! ```
//!
//! A subscription reads the log at its own cursor, so that a success costs no row. What did not succeed becomes a row of
//! `failures`, and the cursor moves on. While a subscription is paused, everything after its cursor counts as dead
//! letters, without a row for each; when it is resumed, that stretch becomes a range, and the cursor goes to the head.
//! Some messages after the cursor may be finished with before earlier ones ([`Ahead`]). When a subscription is paused, the
//! cursor goes to the last of these, and what was not sent before it becomes ranges of dead letters.
//!
//! One node at a time sends for a subscription: it holds a lease, and everything it records says by which token. The
//! store does not know what a retry or a pause is good for; it keeps what it is told.

mod ahead;
mod calls;
mod pieces;
mod probing;
mod search;
mod standing;

pub use ahead::Ahead;
pub use calls::Outbox;
pub(crate) use pieces::{pieces, runs, without_gaps};
pub use probing::Probed;
pub(crate) use search::{CLOCK_SLACK_US, MOST_LOOKED_AT, SEARCHED};
pub use search::{Found, MOST_COUNTED, MessageFilter, UrlFigures};
pub use standing::{Kept, Stand, Standing};

use crate::records::{MessageRow, OrgId};
use bytes::Bytes;
use daybook_engine::time::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many of the latest attempts are looked through for messages that were delivered out of order: more than a sender has
/// under way.
pub(crate) const LATEST_ATTEMPTS: i64 = 10_000;

/// The number of a subscription: unique in the database, never used again.
pub type SubscriptionId = i64;

/// A URL that gets messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Whose.
    pub org: OrgId,
    /// Its number.
    pub id: SubscriptionId,
    /// Its name for callers.
    pub uuid: String,
    /// Where messages go. Unique within the organization.
    pub url: String,
    /// Which events it gets; nothing for all.
    pub filter: Option<Vec<String>>,
    /// Why and since when it gets nothing; nothing while it is active.
    pub paused: Option<Pause>,
    /// Different messages that failed since the last success.
    pub consecutive_errors: i64,
    /// Which row of failures this is: goes up with a success that ends one.
    pub streak: i64,
    /// When it was made.
    pub created_at: Time,
    /// When it last took a message.
    pub last_success_at: Option<Time>,
    /// Everything up to this position is finished with: sent, in `failures`, or in a range.
    pub cursor: i64,
    /// Goes up with every change that a caller makes.
    pub version: i64,
    /// Whether it is the console's own record. An organization has one such subscription at most.
    pub from_console: bool,
    /// The most messages a second; `None` for no limit.
    pub max_per_second: Option<u32>,
    /// The most messages at once; `None` for no limit.
    pub max_in_flight: Option<u32>,
    /// Until when it gets nothing, as it answered 429; nothing while it is paused. May be in the past.
    pub held_until: Option<Time>,
    /// What is finished with beyond the cursor.
    pub ahead: Ahead,
}

/// Which settings of a subscription a caller gives: others stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// `max_per_second`.
    pub max_per_second: bool,
    /// `max_in_flight`.
    pub max_in_flight: bool,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// All subscriptions that it holds, by number.
    pub held: Vec<Subscription>,
    /// How many it should hold at most, so that every node has its share.
    pub share: usize,
}

/// A subscription with retries that should have been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// Whose.
    pub org: OrgId,
    /// The subscription.
    pub id: SubscriptionId,
    /// Its id for people.
    pub uuid: String,
    /// How many retries are overdue.
    pub retries: u64,
    /// Since when the first of them is due.
    pub since: Time,
}

impl Subscription {
    /// What it gets.
    pub fn reader(&self) -> Reader<'_> {
        Reader { org: self.org, filter: self.filter.as_deref(), uuid: &self.uuid, missed: false }
    }
}

/// Why and since when a subscription gets nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Why, by its name in the interface.
    pub reason: String,
    /// Since when.
    pub at: Time,
    /// When one of its messages is tried all the same, to see whether the URL takes messages again.
    pub probe_at: Option<Time>,
}

/// The reason of a pause by a person, by its name in the interface.
pub const BY_A_PERSON: &str = "UNSUBSCRIBED";

impl Pause {
    /// Whether it takes the place of another pause: a person's does, unless that one is a person's too.
    pub fn replaces(&self, other: &Pause) -> bool {
        self.reason == BY_A_PERSON && other.reason != BY_A_PERSON
    }
}

/// How much waits for a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Messages to be sent, or sent again. Nothing while it is paused.
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
    /// The exact bytes of `data`.
    pub data: Bytes,
    /// The signature over them.
    pub signature: String,
}

/// Which messages of a log a subscription gets.
///
/// Two events are special, and the store is told their names: one that goes to every subscription whatever its filter,
/// and one that does not go to the subscription that it is about (its `subject` is the subscription's `uuid`).
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// Whose log.
    pub org: OrgId,
    /// Events that it gets; nothing for all.
    pub filter: Option<&'a [String]>,
    /// The subscription's `uuid`.
    pub uuid: &'a str,
    /// Whether it reads what the subscription missed while it was paused. The event that goes to everybody goes to those
    /// who are active when it is announced: nobody misses it.
    pub missed: bool,
}

impl Reader<'_> {
    /// Whether it gets a message of this event about this subject.
    pub fn gets(&self, event: &str, subject: &str) -> bool {
        match event {
            TO_EVERYBODY => !self.missed,
            TO_THE_OTHERS if subject == self.uuid => false,
            event => self.filter.is_none_or(|filter| filter.iter().any(|one| one == event)),
        }
    }
}

/// The event that goes to every subscription whatever its filter.
pub const TO_EVERYBODY: &str = "test_event";
/// The event that does not go to the subscription that it is about.
pub const TO_THE_OTHERS: &str = "subscription_paused";

/// A message that a subscription did not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The message's position in the organization's log.
    pub position: i64,
    /// How often it was tried since it was first sent, or replayed.
    pub attempts: i64,
    /// When it first failed since it was first sent, or replayed.
    pub first_failed_at: Option<Time>,
    /// What becomes of it.
    pub fate: Fate,
    /// What happened last, as a sentence.
    pub reason: String,
    /// What was answered last, if anything.
    pub status: Option<u16>,
    /// In which row of failures it was last counted.
    pub streak: i64,
}

/// What becomes of a message that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is sent again at this moment.
    Retry(Time),
    /// It is dead since this moment.
    Dead(Time),
}

/// A stretch of the log that a subscription did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its number.
    pub id: i64,
    /// Begins after this position.
    pub after: i64,
    /// Ends with this position.
    pub last: i64,
    /// Which events of it; nothing for all. Read like a subscription's: it is what a [`Reader`] of the range has.
    pub filter: Option<Vec<String>>,
    /// What is finished with beyond `after`.
    pub ahead: Ahead,
}

/// How far a range was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The range.
    pub range: i64,
    /// Everything up to here is finished with.
    pub through: i64,
    /// What is finished with beyond that.
    pub ahead: Ahead,
}

/// What was tried once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The message's position in the organization's log.
    pub position: i64,
    /// Which attempt at this message it was, from 1.
    pub number: i64,
    /// When it began.
    pub at: Time,
    /// How long it took, in microseconds.
    pub latency_us: i64,
    /// What was answered, if anything.
    pub status: Option<u16>,
    /// Why it failed, as a sentence; nothing if the message was delivered.
    pub error: Option<String>,
    /// The beginning of what a receiver said that did not take it.
    pub response: Option<String>,
    /// When it is sent again, if it is.
    pub next_at: Option<Time>,
}

/// What a node has to record about a subscription it sends for.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// Whose.
    pub org: OrgId,
    /// For which subscription.
    pub subscription: SubscriptionId,
    /// By which lease.
    pub token: String,
    /// The version of the subscription that was read.
    pub version: i64,
    /// Everything up to here is finished with. The cursor never goes back: a lower one than is kept is ignored.
    pub cursor: i64,
    /// What is finished with beyond the cursor.
    pub ahead: Ahead,
    /// The filter of the subscription that was read: what it was changed to since then is not sent again.
    pub filter: Option<Vec<String>>,
    /// Ranges that are being replayed. One that reaches its end is removed.
    pub ranges: Vec<Progress>,
    /// What was tried, in order.
    pub attempts: Vec<Attempt>,
    /// What failed: inserted, or written over.
    pub failed: Vec<Failure>,
    /// Positions with a failure that were delivered after all: their rows are removed.
    pub recovered: Vec<i64>,
    /// The last success, if there was one.
    pub last_success_at: Option<Time>,
    /// The count of failed messages now. Ignored, as is `streak`, if the version is no longer the one that was read.
    pub consecutive_errors: i64,
    /// The number of the row of failures now.
    pub streak: i64,
    /// Until when the subscription gets nothing, as it answered 429. Ignored if the version is no longer the one that was
    /// read: a caller may have lifted the hold.
    pub held_until: Option<Time>,
    /// Whether the subscription is paused, and what is announced then. Ignored if it is paused already.
    pub pause: Option<(Pause, Box<MessageRow>)>,
}

impl Deliveries {
    /// The messages it is about.
    pub(crate) fn positions(&self) -> BTreeSet<i64> {
        let tried = self.attempts.iter().map(|attempt| attempt.position);
        tried.chain(self.failed.iter().map(|failure| failure.position)).collect()
    }
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is kept; the subscription is this now.
    Kept(Box<Subscription>),
    /// The lease was lost, or the subscription is gone. Nothing is kept.
    Lost,
}

/// Which attempts, or dead letters, are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Of this subscription.
    pub subscription: Option<SubscriptionId>,
    /// Of this event.
    pub event: Option<String>,
    /// About this account.
    pub account: Option<Arc<str>>,
    /// Only delivered ones, or only others. For attempts.
    pub delivered: Option<bool>,
    /// Tried, or dead, at this moment or later.
    pub since: Option<Time>,
    /// Tried, or dead, before this moment.
    pub until: Option<Time>,
}

/// Which message a line of a list is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// Its name for callers.
    pub uuid: String,
    /// Where it went.
    pub url: String,
    /// Its position in the log.
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
    /// At which message.
    pub about: About,
    /// What was tried.
    pub attempt: Attempt,
}

/// A dead letter in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Which message.
    pub about: About,
    /// Since when it is dead. For what was announced during a pause: since it was announced, or since the pause.
    pub dead_at: Time,
    /// How often it was tried.
    pub attempts: i64,
    /// What happened last, as a sentence; nothing if it was never tried.
    pub reason: Option<String>,
    /// What was answered last, if anything.
    pub status: Option<u16>,
}

/// What a replay did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Dead letters that are sent again.
    pub replayed: u64,
    /// Dead letters that match and stay, as their subscription is paused.
    pub left_paused: u64,
}

/// What became of asking that a message is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It is.
    Sent,
    /// There is no such subscription.
    NoSubscription,
    /// The subscription is paused, and gets nothing.
    Paused,
    /// The subscription is still to get it, without being asked.
    Waiting,
    /// It never was for the subscription.
    NotForIt,
}

/// How far a log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose.
    pub org: OrgId,
    /// The last position.
    pub head: i64,
    /// The last position that is sent without waiting for a batch.
    pub hurried: i64,
}

//! What is read from the tables, row by row.

use bytes::Bytes;
use daybook_engine::time::Time;
use std::sync::Arc;

/// The number of an organization. Numbers are never shown outside.
pub type OrgId = i64;

/// Which account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKey {
    /// Whose.
    pub org: OrgId,
    /// Its id.
    pub account: Arc<str>,
}

/// Which product.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProductKey {
    /// Whose.
    pub org: OrgId,
    /// Its id.
    pub product: Arc<str>,
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organization {
    /// Its number.
    pub org: OrgId,
    /// Its name, unique.
    pub name: String,
    /// `TEST` or `LIVE`.
    pub environment: String,
    /// When it was made.
    pub created_at: Time,
    /// The key that signs its webhooks, sealed.
    pub signing_key: Vec<u8>,
    /// The key before it, sealed, and until when receivers may still know only that one.
    pub previous_signing_key: Option<(Vec<u8>, Time)>,
    /// What the ids of its events begin with; no other organization has it.
    pub event_mark: String,
}

/// Who may call, for which organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// Whose.
    pub org: OrgId,
    /// The public half, unique among all organizations.
    pub client_id: String,
    /// The hash of the secret half, unique among all organizations.
    pub secret_hash: Vec<u8>,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub role: String,
    /// When it was made.
    pub created_at: Time,
    /// When it was last used, about.
    pub last_used_at: Option<Time>,
    /// When it was revoked.
    pub revoked_at: Option<Time>,
}

/// A product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductRow {
    /// Which.
    pub key: ProductKey,
    /// What it says, as JSON.
    pub body: String,
    /// A hash of what was asked for, to tell a repeat from a conflict.
    pub content_hash: Vec<u8>,
    /// When it was made.
    pub created_at: Time,
    /// Its mode.
    pub mode: Mode,
}

/// Whether a product processes its accounts' events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Counts every change of the mode.
    pub version: i64,
    /// Events are held: nothing of the product is due.
    pub holding: bool,
    /// A release is under way.
    pub releasing: bool,
    /// Messages about events effective before this are not announced by the release.
    pub suppress_before: Option<Time>,
    /// When the last release began.
    pub started_at: Option<Time>,
    /// When the last release ended.
    pub finished_at: Option<Time>,
    /// Accounts that held events when it began.
    pub accounts_total: i64,
    /// Events that were held when it began.
    pub events_total: i64,
}

/// How much a product's accounts hold back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldCounts {
    /// Accounts with held events that did not fail.
    pub accounts: i64,
    /// The held events of those.
    pub events: i64,
    /// Accounts that failed.
    pub failed_accounts: i64,
    /// The held events of those.
    pub failed_events: i64,
}

/// A customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomerRow {
    /// Whose.
    pub org: OrgId,
    /// Its id.
    pub customer_id: Arc<str>,
    /// Counts every change.
    pub version: i64,
    /// What is known, as JSON, without the secret part.
    pub body: String,
    /// The secret part, sealed.
    pub sealed: Option<Vec<u8>>,
    /// A hash of what was asked for when it was made.
    pub content_hash: Vec<u8>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    /// Which.
    pub key: AccountKey,
    /// Its product's id.
    pub product: Arc<str>,
    /// Counts every change; 1 when it was made.
    pub version: i64,
    /// Its terms, as bytes.
    pub terms: Vec<u8>,
    /// A hash of what was asked for when it was made.
    pub content_hash: Vec<u8>,
    /// From when it counts.
    pub effective_at: Time,
    /// When it was made.
    pub created_at: Time,
    /// What changes.
    pub now: AccountNow,
}

/// What changes about an account. All of it is written each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountNow {
    /// When it last changed.
    pub updated_at: Time,
    /// The state, as bytes; empty before the first fold.
    pub state: Vec<u8>,
    /// Customers, external fields and the like, as JSON.
    pub profile: Arc<str>,
    /// Up to and including which moment it is folded.
    pub processed_through: Option<Time>,
    /// What it was rolled to.
    pub rolled_to: Option<Time>,
    /// When something is to be done with it. Nothing when nothing is, or when it failed.
    pub next_moment: Option<Time>,
    /// The due moment of its oldest unpaid instalment, for lists. Of an account that has ended, the moment may lie ahead.
    pub oldest_unpaid_due: Option<Time>,
    /// Its status, for lists.
    pub status: String,
    /// Why, for lists.
    pub substatus: Option<String>,
    /// The `seq` the next input gets.
    pub next_seq: i64,
    /// Inputs beyond this are held.
    pub settled_seq: i64,
    /// Inputs that are held.
    pub held_events: i64,
    /// Inputs that are placed ahead of `processed_through`.
    pub scheduled_events: i64,
    /// The sequence of the last message about it.
    pub message_seq: i64,
    /// Why it could not be processed; it waits to be tried again.
    pub failure: Option<String>,
    /// What it owes as of `processed_through`, in cents, for sums.
    pub balance: i64,
}

/// Something asked of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRow {
    /// The order of arrival within the account.
    pub seq: i64,
    /// Its name, unique within the account.
    pub name: Arc<str>,
    /// When the caller says it happened.
    pub effective_at: Time,
    /// Its place in the timeline: when.
    pub applies_at: Time,
    /// Its place in the timeline: which goes first.
    pub rank: i16,
    /// Whether it waited as scheduled.
    pub scheduled: bool,
    /// When it was accepted.
    pub recorded_at: Time,
    /// The account's clock when it was accepted.
    pub clock: Time,
    /// What was asked for, as bytes.
    pub payload: Vec<u8>,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// A hash of what was asked for, to tell a repeat from a conflict.
    pub content_hash: Vec<u8>,
}

/// A line item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// Its id.
    pub item_id: Arc<str>,
    /// Its kind, by its name in the interface.
    pub kind: String,
    /// Its status, by its name in the interface.
    pub status: String,
    /// When the caller says it happened.
    pub effective_at: Time,
    /// From when it counts.
    pub applied_at: Time,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// The whole amount, in cents.
    pub amount: i64,
    /// What is unpaid of it, in cents.
    pub balance: i64,
    /// The principal in it, in cents.
    pub principal: i64,
    /// The interest in it, in cents.
    pub interest: i64,
    /// The fees in it, in cents.
    pub fees: i64,
    /// What it paid down, as bytes; empty for nothing.
    pub splits: Vec<u8>,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// Of a payment that bounced: the id of its reversal.
    pub reversed_by: Option<Arc<str>>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Its position in the organization's log; nothing while it waits.
    pub position: Option<i64>,
    /// When it is due, while it waits; when it would have been due, if it was cancelled.
    pub due_at: Option<Time>,
    /// When it was cancelled. A cancelled message keeps its number among the account's messages and is never sent.
    pub cancelled_at: Option<Time>,
    /// The account it is about.
    pub account: Option<Arc<str>>,
    /// Its number among the account's messages; 0 without an account.
    pub sequence: i64,
    /// The event's name.
    pub event: String,
    /// The event's id, unique.
    pub event_id: String,
    /// What made it happen: `input:12`, `period:3`; empty for nothing in particular.
    pub cause: String,
    /// Which thing it is about: a line item, an instalment, a customer.
    pub subject: String,
    /// When it happened.
    pub effective_at: Time,
    /// When it was recorded.
    pub recorded_at: Time,
    /// The exact bytes of `data`.
    pub data: Bytes,
    /// The signature over them.
    pub signature: String,
}

/// An answer kept for a caller who repeats a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// A hash of the call.
    pub content_hash: Vec<u8>,
    /// What was answered, as JSON.
    pub body: Bytes,
}

/// A part of a list that is sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Begin after this id.
    pub after: Option<Arc<str>>,
    /// End before this id; the last `limit` before it are given, still in ascending order.
    pub before: Option<Arc<str>>,
    /// At most so many.
    pub limit: usize,
}

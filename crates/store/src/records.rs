//! The rows of the tables.

use bytes::Bytes;
use daybook_engine::time::Time;
use std::sync::Arc;

/// The number of an organization. It is never shown to callers.
pub type OrgId = i64;

/// Identifies an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKey {
    /// The organization.
    pub org: OrgId,
    /// Its id.
    pub account: Arc<str>,
}

/// Identifies a product.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProductKey {
    /// The organization.
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
    /// When it was created.
    pub created_at: Time,
    /// The key that signs its webhooks, encrypted.
    pub signing_key: Vec<u8>,
    /// The previous key, encrypted, and until when receivers may still know only that one.
    pub previous_signing_key: Option<(Vec<u8>, Time)>,
    /// The prefix of its event ids, unique to this organization.
    pub event_mark: String,
}

/// An API key of an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// The organization.
    pub org: OrgId,
    /// The public half, unique among all organizations.
    pub client_id: String,
    /// The hash of the secret half, unique among all organizations.
    pub secret_hash: Vec<u8>,
    /// Its display name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// When it was created.
    pub created_at: Time,
    /// When it was last used, approximately.
    pub last_used_at: Option<Time>,
    /// When it was revoked.
    pub revoked_at: Option<Time>,
}

/// A product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductRow {
    /// The product's key.
    pub key: ProductKey,
    /// Its definition, as JSON.
    pub body: String,
    /// A hash of the request that created it, to distinguish a repeat from a conflict.
    pub content_hash: Vec<u8>,
    /// When it was created.
    pub created_at: Time,
    /// Its mode.
    pub mode: Mode,
}

/// Whether a product processes its accounts' events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Goes up with every change of the mode.
    pub version: i64,
    /// Events are held: no account of the product is due.
    pub holding: bool,
    /// A release is in progress.
    pub releasing: bool,
    /// The release publishes no messages about events effective before this.
    pub suppress_before: Option<Time>,
    /// When the last release began.
    pub started_at: Option<Time>,
    /// When the last release ended.
    pub finished_at: Option<Time>,
    /// Accounts that held events when the release began.
    pub accounts_total: i64,
    /// Events that were held when the release began.
    pub events_total: i64,
}

/// How many accounts and events of a product are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldCounts {
    /// Accounts with held events, excluding failed ones.
    pub accounts: i64,
    /// Their held events.
    pub events: i64,
    /// Accounts that failed.
    pub failed_accounts: i64,
    /// Their held events.
    pub failed_events: i64,
}

/// A customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomerRow {
    /// The organization.
    pub org: OrgId,
    /// Its id.
    pub customer_id: Arc<str>,
    /// Goes up with every change.
    pub version: i64,
    /// The customer's data, as JSON, without the secret part.
    pub body: String,
    /// The secret part, encrypted.
    pub sealed: Option<Vec<u8>>,
    /// A hash of the request that created it.
    pub content_hash: Vec<u8>,
    /// When it was created.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    /// The account's key.
    pub key: AccountKey,
    /// Its product's id.
    pub product: Arc<str>,
    /// Goes up with every change; 1 for a new account.
    pub version: i64,
    /// Its terms, as bytes.
    pub terms: Vec<u8>,
    /// A hash of the request that created it.
    pub content_hash: Vec<u8>,
    /// When it takes effect.
    pub effective_at: Time,
    /// When it was created.
    pub created_at: Time,
    /// The values that change.
    pub now: AccountNow,
}

/// The values of an account that change. Every update writes all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountNow {
    /// When it last changed.
    pub updated_at: Time,
    /// The state, as bytes; empty before the first fold.
    pub state: Vec<u8>,
    /// Customers, external fields and the like, as JSON.
    pub profile: Arc<str>,
    /// The moment through which it is folded, inclusive.
    pub processed_through: Option<Time>,
    /// The moment to which it was rolled.
    pub rolled_to: Option<Time>,
    /// The next moment at which it must be processed. `None` if there is none, or if it failed.
    pub next_moment: Option<Time>,
    /// The due moment of its oldest unpaid instalment, for lists. For a closed account, it may be in the future.
    pub oldest_unpaid_due: Option<Time>,
    /// Its status, for lists.
    pub status: String,
    /// The reason for the status, for lists.
    pub substatus: Option<String>,
    /// The `seq` the next input gets.
    pub next_seq: i64,
    /// Inputs with a higher `seq` are held.
    pub settled_seq: i64,
    /// The number of held inputs.
    pub held_events: i64,
    /// The number of inputs that apply after `processed_through`.
    pub scheduled_events: i64,
    /// The sequence of the last message about it.
    pub message_seq: i64,
    /// Why it could not be processed; it waits for a retry.
    pub failure: Option<String>,
    /// Its balance as of `processed_through`, in cents, for sums.
    pub balance: i64,
}

/// A request to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRow {
    /// The order of arrival within the account.
    pub seq: i64,
    /// Its name, unique within the account.
    pub name: Arc<str>,
    /// When it happened, according to the caller.
    pub effective_at: Time,
    /// Its place in the timeline: the moment.
    pub applies_at: Time,
    /// Its place in the timeline: the order within the moment.
    pub rank: i16,
    /// Whether it was scheduled for a future moment.
    pub scheduled: bool,
    /// When it was accepted.
    pub recorded_at: Time,
    /// The account's clock when it was accepted.
    pub clock: Time,
    /// The request, as bytes.
    pub payload: Vec<u8>,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// A hash of the request, to distinguish a repeat from a conflict.
    pub content_hash: Vec<u8>,
}

/// A line item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// Its id.
    pub item_id: Arc<str>,
    /// Its kind, by its name in the API.
    pub kind: String,
    /// Its status, by its name in the API.
    pub status: String,
    /// When it happened, according to the caller.
    pub effective_at: Time,
    /// When it takes effect.
    pub applied_at: Time,
    /// When it was created.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// The whole amount, in cents.
    pub amount: i64,
    /// The unpaid part, in cents.
    pub balance: i64,
    /// The principal part, in cents.
    pub principal: i64,
    /// The interest part, in cents.
    pub interest: i64,
    /// The fees part, in cents.
    pub fees: i64,
    /// The amounts that it paid down, as bytes; empty if none.
    pub splits: Vec<u8>,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// The id of the reversal, if this is a payment that bounced.
    pub reversed_by: Option<Arc<str>>,
    /// Why the service itself made it, if it is such an offset.
    pub reason: Option<Arc<str>>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Its position in the organization's log; `None` while it waits.
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
    /// What caused it: `input:12`, `period:3`; empty if nothing in particular.
    pub cause: String,
    /// The object it is about: a line item, an instalment, a customer.
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

/// A response kept for a repeated request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptResponse {
    /// A hash of the request.
    pub content_hash: Vec<u8>,
    /// The response body, as JSON.
    pub body: Bytes,
}

/// A part of a list that is sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Start after this id.
    pub after: Option<Arc<str>>,
    /// End before this id: returns the last `limit` entries before it, still in ascending order.
    pub before: Option<Arc<str>>,
    /// At most this many.
    pub limit: usize,
}

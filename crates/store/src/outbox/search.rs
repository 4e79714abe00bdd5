//! Search for messages, and the state of each URL.

use super::OrgId;
use crate::records::MessageRow;
use daybook_engine::time::Time;
use std::sync::Arc;

/// How many positions of a log one search reads.
pub(crate) const SEARCHED: i64 = 10_000;

/// The most by which clocks of nodes, and durations of transactions, may differ.
pub(crate) const CLOCK_SLACK_US: i64 = 600_000_000;

/// The most messages that are counted for a figure if each message must be counted individually.
pub const MOST_COUNTED: i64 = 10_000;

/// The most attempts that one replay of delivered messages reads for each subscription.
pub(crate) const MOST_LOOKED_AT: usize = 1_000_000;

/// Which messages are searched for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// About this account.
    pub account: Option<Arc<str>>,
    /// Of this event.
    pub event: Option<String>,
    /// Recorded at this moment or later.
    pub since: Option<Time>,
    /// Recorded before this moment.
    pub until: Option<Time>,
}

/// The result of a search, latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageSearchResult {
    /// The messages without their data and signature, each with its place in the order.
    pub messages: Vec<(i64, MessageRow)>,
    /// The search continues before this place; `None` at the end.
    pub next: Option<i64>,
}

/// The state of a URL, for metrics. Cheap to query: if messages must be counted one by one, the count stops at
/// [`MOST_COUNTED`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlMetrics {
    /// The organization.
    pub org: OrgId,
    /// The subscription's public id.
    pub uuid: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// The reason, if it is paused.
    pub pause_reason: Option<String>,
    /// Messages to be sent or retried.
    pub pending: u64,
    /// When the oldest of them happened or was recorded, whichever is later.
    pub oldest_pending: Option<Time>,
    /// Dead letters.
    pub dead: u64,
}

//! Finding messages, and how each URL stands.

use super::OrgId;
use crate::records::MessageRow;
use daybook_engine::time::Time;
use std::sync::Arc;

/// How many positions of a log one search looks at.
pub(crate) const SEARCHED: i64 = 10_000;

/// How much the clocks of nodes, and the times that transactions take, may differ.
pub(crate) const CLOCK_SLACK_US: i64 = 600_000_000;

/// The most that is counted for a figure where counting costs time for each message.
pub const MOST_COUNTED: i64 = 10_000;

/// The most attempts that one replay of delivered messages looks at, for each subscription.
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

/// What a search found, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The messages without their data and signature, each with its place in the order.
    pub messages: Vec<(i64, MessageRow)>,
    /// Before which place the search goes on; absent when it has come to the end.
    pub next: Option<i64>,
}

/// How a URL stands, for figures. Cheap to find out: where messages have to be counted one by one, the count ends at
/// [`MOST_COUNTED`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlFigures {
    /// Whose.
    pub org: OrgId,
    /// The subscription's name for callers.
    pub uuid: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Why, if it is.
    pub pause_reason: Option<String>,
    /// Messages to be sent, or sent again.
    pub pending: u64,
    /// When the oldest of them happened or was recorded, whichever is later.
    pub oldest_pending: Option<Time>,
    /// Dead letters.
    pub dead: u64,
}

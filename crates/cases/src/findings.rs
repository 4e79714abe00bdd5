//! The results of a case, as the API shows them, fetched from a service in memory or from a server.

use crate::scenario::Scenario;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The results of a case. Results that were not requested may be missing.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The account at the end.
    pub account: Value,
    /// The account as of each time that the case names, in its order, or why it cannot be shown.
    pub account_at: Vec<Result<Value, String>>,
    /// Its line items at the end.
    pub line_items: Vec<Value>,
    /// The rows of its schedule at the end.
    pub schedule: Vec<Value>,
    /// How many messages of each event were received; `None` if unknown.
    pub received: Option<BTreeMap<String, u64>>,
    /// Events whose messages cannot be counted where the case ran; expectations about them are not compared.
    pub uncounted: BTreeSet<String>,
    /// Messages that were not signed by the organization's key.
    pub unsigned: Vec<String>,
}

/// The results to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultsToFetch {
    /// The account at the end.
    pub account: bool,
    /// Its line items.
    pub line_items: bool,
    /// Its schedule.
    pub schedule: bool,
    /// Messages.
    pub webhooks: bool,
}

impl ResultsToFetch {
    /// Everything.
    pub const ALL: ResultsToFetch = ResultsToFetch { account: true, line_items: true, schedule: true, webhooks: true };

    /// The results that a case has expectations about.
    pub fn by(case: &Scenario) -> ResultsToFetch {
        let expect = &case.expect;
        ResultsToFetch {
            account: !expect.account.is_empty(),
            line_items: !expect.line_items.is_empty() || !expect.line_item_counts.is_empty(),
            schedule: !expect.schedule.is_empty(),
            webhooks: !expect.webhooks.is_empty(),
        }
    }
}

//! Figures about deliveries.

use crate::policy::Verdict;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Figures {
    /// Messages that arrived.
    pub delivered: AtomicU64,
    /// Attempts that failed and are tried again.
    pub retried: AtomicU64,
    /// Messages that died.
    pub dead: AtomicU64,
    /// Messages on their way.
    pub in_flight: AtomicU64,
}

impl Figures {
    /// An attempt ended.
    pub(super) fn note(&self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Delivered => &self.delivered,
            Verdict::Retry(_) => &self.retried,
            Verdict::Dead { .. } => &self.dead,
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

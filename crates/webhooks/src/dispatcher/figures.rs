//! Figures about deliveries.

use crate::policy::Verdict;
use daybook_store::records::OrgId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Attempts at one URL since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// All.
    pub made: u64,
    /// Those that failed.
    pub failed: u64,
}

/// What the counter of dead messages counts, and what it does not.
const DEAD_HELP: &str = "Attempts of active URLs after which the message is a dead letter: the answer was final, or it was \
    the last retry. Messages that a pause makes dead letters are not counted here but in daybook_webhook_url_dead_letters";

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Figures {
    /// Messages that arrived.
    pub delivered: AtomicU64,
    /// Attempts that failed and are tried again.
    pub retried: AtomicU64,
    /// Messages that died by what was answered to an attempt, not by a pause.
    pub dead: AtomicU64,
    /// Messages on their way.
    pub in_flight: AtomicU64,
    /// Retries, of all nodes, that should have been made more than a minute ago.
    pub overdue: AtomicU64,
    by_url: Mutex<BTreeMap<(OrgId, String), Attempts>>,
}

impl Figures {
    /// All figures, in the text format that Prometheus reads.
    pub fn text(&self) -> String {
        let figures = [
            ("daybook_webhooks_delivered_total", "counter", "Webhook messages that arrived", &self.delivered),
            ("daybook_webhooks_retried_total", "counter", "Attempts that failed and are made again", &self.retried),
            ("daybook_webhooks_dead_total", "counter", DEAD_HELP, &self.dead),
            ("daybook_webhooks_in_flight", "gauge", "Webhook messages on their way", &self.in_flight),
            ("daybook_webhooks_overdue_retries", "gauge", "Retries due for more than a minute", &self.overdue),
        ];
        let line = |(name, kind, help, count): (&str, &str, &str, &AtomicU64)| {
            let count = count.load(Ordering::Relaxed);
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {count}\n")
        };
        figures.into_iter().map(line).collect()
    }

    /// Attempts by organization and subscription.
    pub fn by_url(&self) -> BTreeMap<(OrgId, String), Attempts> {
        self.by_url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An attempt at a URL ended.
    pub(super) fn note_url(&self, org: OrgId, webhook_uuid: &str, verdict: Verdict) {
        let mut by_url = self.by_url.lock().unwrap_or_else(PoisonError::into_inner);
        let attempts = by_url.entry((org, webhook_uuid.to_owned())).or_default();
        attempts.made += 1;
        attempts.failed += u64::from(verdict != Verdict::Delivered);
    }

    /// An attempt at a paused URL ended.
    pub(super) fn note_probe(&self, org: OrgId, webhook_uuid: &str, verdict: Verdict) {
        self.note_url(org, webhook_uuid, verdict);
        self.delivered.fetch_add(u64::from(verdict == Verdict::Delivered), Ordering::Relaxed);
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_ended_is_counted_by_its_verdict() {
        let figures = Figures::default();
        figures.in_flight.fetch_add(3, Ordering::Relaxed);
        figures.note(Verdict::Delivered);
        figures.note(Verdict::Dead { pauses: false });
        let text = figures.text();
        for line in ["delivered_total 1", "retried_total 0", "dead_total 1", "in_flight 1"] {
            assert!(text.contains(&format!("\ndaybook_webhooks_{line}\n")), "{text}");
        }
    }
}

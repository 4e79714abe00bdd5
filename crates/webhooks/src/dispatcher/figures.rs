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
    /// All figures, in the text format that Prometheus reads.
    pub fn text(&self) -> String {
        let figures = [
            ("daybook_webhooks_delivered_total", "counter", "Webhook messages that arrived", &self.delivered),
            ("daybook_webhooks_retried_total", "counter", "Attempts that failed and are made again", &self.retried),
            ("daybook_webhooks_dead_total", "counter", "Webhook messages that became dead letters", &self.dead),
            ("daybook_webhooks_in_flight", "gauge", "Webhook messages on their way", &self.in_flight),
        ];
        let line = |(name, kind, help, count): (&str, &str, &str, &AtomicU64)| {
            let count = count.load(Ordering::Relaxed);
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {count}\n")
        };
        figures.into_iter().map(line).collect()
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

//! Metrics about deliveries.

use crate::policy::Verdict;
use daybook_metrics::{Counter, Families, Gauge, Registry};
use daybook_store::records::OrgId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Attempts at one URL since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// All attempts.
    pub made: u64,
    /// Failed attempts.
    pub failed: u64,
}

/// Help text of the counter of dead messages: what it counts, and what it does not.
const DEAD_HELP: &str = "Messages that became dead letters because of the response to an attempt at an active \
    URL. Messages that became dead letters because of a pause are counted only in daybook_webhook_url_dead_letters";

/// Labels of the metrics of each URL. URLs may contain secrets and are not shown.
pub const URL_LABELS: [&str; 2] = ["organization", "webhook_uuid"];

/// Counts since the start.
#[derive(Debug)]
pub struct DeliveryMetrics {
    registry: Registry,
    /// Delivered messages.
    pub delivered: Counter,
    /// Attempts that failed and are retried.
    pub retried: Counter,
    /// Messages that became dead due to the response to an attempt, not due to a pause.
    pub dead: Counter,
    /// Messages in flight.
    pub in_flight: Gauge,
    /// Retries, of all nodes, that are overdue by more than a minute.
    pub overdue: Gauge,
    by_url: Mutex<BTreeMap<(OrgId, String), Attempts>>,
}

impl Default for DeliveryMetrics {
    fn default() -> DeliveryMetrics {
        let registry = Registry::default();
        DeliveryMetrics {
            delivered: registry.counter("daybook_webhooks_delivered_total", "Webhook messages delivered"),
            retried: registry.counter("daybook_webhooks_retried_total", "Failed attempts that are retried"),
            dead: registry.counter("daybook_webhooks_dead_total", DEAD_HELP),
            in_flight: registry.gauge("daybook_webhooks_in_flight", "Webhook messages in flight"),
            overdue: registry.gauge("daybook_webhooks_overdue_retries", "Retries overdue by more than a minute"),
            by_url: Mutex::default(),
            registry,
        }
    }
}

impl DeliveryMetrics {
    /// All metrics.
    pub fn families(&self) -> Families {
        let urls = Registry::default();
        let attempts = self.by_url();
        let of = |wanted: fn(&Attempts) -> u64| {
            let one = move |((org, uuid), one): (&(OrgId, String), &Attempts)| {
                (vec![org.to_string(), uuid.clone()], wanted(one) as f64)
            };
            attempts.iter().map(one).collect::<Vec<_>>()
        };
        let help = "Attempts to deliver to the URL, by this node since its start";
        urls.totals("daybook_webhook_url_attempts_total", help, &URL_LABELS, of(|one| one.made));
        let help = "Failed attempts to deliver to the URL, by this node since its start";
        urls.totals("daybook_webhook_url_failed_attempts_total", help, &URL_LABELS, of(|one| one.failed));
        let mut families = self.registry.families();
        families.extend(urls.families());
        families
    }

    /// Attempts by organization and subscription.
    pub fn by_url(&self) -> BTreeMap<(OrgId, String), Attempts> {
        self.by_url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the end of an attempt at a URL.
    pub(super) fn note_url(&self, org: OrgId, webhook_uuid: &str, verdict: Verdict) {
        let mut by_url = self.by_url.lock().unwrap_or_else(PoisonError::into_inner);
        let attempts = by_url.entry((org, webhook_uuid.to_owned())).or_default();
        attempts.made += 1;
        attempts.failed += u64::from(verdict != Verdict::Delivered);
    }

    /// Records the end of an attempt at a paused URL.
    pub(super) fn note_probe(&self, org: OrgId, webhook_uuid: &str, verdict: Verdict) {
        self.note_url(org, webhook_uuid, verdict);
        self.delivered.add(u64::from(verdict == Verdict::Delivered));
    }

    /// Records the end of an attempt.
    pub(super) fn note(&self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Delivered => &self.delivered,
            Verdict::Retry(_) => &self.retried,
            Verdict::Dead { .. } => &self.dead,
        };
        count.add(1);
        self.in_flight.sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_ended_is_counted_by_its_verdict() {
        let metrics = DeliveryMetrics::default();
        metrics.in_flight.add(3);
        metrics.note(Verdict::Delivered);
        metrics.note(Verdict::Dead { pauses: false });
        metrics.note_url(7, "u", Verdict::Delivered);
        metrics.note_url(7, "u", Verdict::Dead { pauses: false });
        let text = daybook_metrics::text(&metrics.families());
        for line in ["delivered_total 1", "retried_total 0", "dead_total 1", "in_flight 1"] {
            assert!(text.contains(&format!("\ndaybook_webhooks_{line}\n")), "{text}");
        }
        for (name, value) in [("attempts_total", 2), ("failed_attempts_total", 1)] {
            let line = format!("\ndaybook_webhook_url_{name}{{organization=\"7\",webhook_uuid=\"u\"}} {value}\n");
            assert!(text.contains(&line), "{text}");
        }
    }
}

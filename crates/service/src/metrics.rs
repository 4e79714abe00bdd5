//! Metrics of the processing, for operators.

use daybook_metrics::{Counter, Durations, Families, Gauge, Registry};
use daybook_store::batch::Batch;
use std::time::Duration;

/// Histogram bounds of batch durations, in seconds. A batch of a release may take long.
const BATCH_BOUNDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Metrics of the processing.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Requests that wait for a lane or are in progress.
    pub queued: Gauge,
    /// How long batches took.
    pub batches: Durations,
    /// Jobs in these batches.
    pub jobs: Counter,
    /// Slices of accounts with too much work for one transaction.
    pub slices: Counter,
    /// Accounts that became due.
    pub due: Counter,
    /// Accounts written.
    pub accounts: Counter,
    /// Inputs written.
    pub inputs: Counter,
    /// Line items written.
    pub items: Counter,
    /// Messages written.
    pub messages: Counter,
    /// Accounts verified in the background.
    pub verified: Counter,
    /// Completed rounds of background verification.
    pub verify_rounds: Counter,
    /// Differences found in the last round.
    pub differences: Gauge,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let registry = Registry::default();
        let counter = |name, help| registry.counter(name, help);
        Metrics {
            queued: registry.gauge("daybook_queue_jobs", "Requests that are queued or in progress"),
            batches: registry.durations("daybook_batch_seconds", "Duration of batches of jobs", &BATCH_BOUNDS),
            jobs: counter("daybook_jobs_total", "Jobs completed in batches"),
            slices: counter(
                "daybook_slices_total",
                "Slices written of accounts with too much work for one transaction",
            ),
            due: counter(
                "daybook_due_accounts_total",
                "Accounts that became due, by their next moment or by a release",
            ),
            accounts: counter("daybook_accounts_written_total", "Accounts calculated and written"),
            inputs: counter("daybook_inputs_written_total", "Inputs accepted"),
            items: counter("daybook_line_items_written_total", "Line items created or rewritten"),
            messages: counter("daybook_messages_written_total", "Webhook messages recorded"),
            verified: counter("daybook_verified_accounts_total", "Accounts verified in the background"),
            verify_rounds: counter("daybook_verify_rounds_total", "Completed rounds of background verification"),
            differences: registry
                .gauge("daybook_verify_differences", "Differences found in the last round of background verification"),
            registry,
        }
    }
}

impl Metrics {
    /// Counts a finished batch.
    pub fn batch(&self, jobs: usize, took: Duration) {
        self.batches.note(took);
        self.jobs.add(jobs as u64);
    }

    /// Counts a batch that is about to be written.
    pub fn written(&self, batch: &Batch) {
        for unit in &batch.units {
            self.messages.add(unit.message_count());
            for account in &unit.accounts {
                self.accounts.add(1);
                self.inputs.add(account.inputs.len() as u64);
                self.items.add(account.items.len() as u64);
            }
        }
    }

    /// All metrics.
    pub fn families(&self) -> Families {
        self.registry.families()
    }
}

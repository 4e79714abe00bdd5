//! Figures about the work, for people who run the server.

use daybook_store::Store;
use daybook_store::batch::Batch;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A number that goes up (or, for a gauge, down).
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// Takes away.
    pub fn sub(&self, less: u64) {
        self.0.fetch_sub(less, Relaxed);
    }

    /// Becomes this.
    pub fn set(&self, number: u64) {
        self.0.store(number, Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Figures about the work.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Calls that wait for a lane or are being worked on.
    pub queued: Count,
    /// Batches done.
    pub batches: Count,
    /// Jobs in them.
    pub jobs: Count,
    /// Microseconds they took.
    pub batch_micros: Count,
    /// Parts of accounts that had too much to do for one transaction.
    pub slices: Count,
    /// Accounts that became due.
    pub due: Count,
    /// Accounts written.
    pub accounts: Count,
    /// Inputs written.
    pub inputs: Count,
    /// Line items written.
    pub items: Count,
    /// Messages written.
    pub messages: Count,
    /// Accounts verified in the background.
    pub verified: Count,
    /// Rounds of that.
    pub verify_rounds: Count,
    /// What differed in the last round.
    pub differences: Count,
}

impl Metrics {
    /// A batch is done.
    pub fn batch(&self, jobs: usize, took: Duration) {
        self.batches.add(1);
        self.jobs.add(jobs as u64);
        self.batch_micros.add(took.as_micros() as u64);
    }

    /// A batch is about to be written.
    pub fn written(&self, batch: &Batch) {
        for unit in &batch.units {
            self.messages.add(unit.messages.len() as u64);
            for account in &unit.accounts {
                self.accounts.add(1);
                self.inputs.add(account.inputs.len() as u64);
                self.items.add(account.items.len() as u64);
            }
        }
    }

    /// All figures, in the text format that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let figures: [(&str, &str, &str, f64); 13] = [
            ("daybook_queue_jobs", "gauge", "Calls that wait for a lane or are being worked on", whole(&self.queued)),
            ("daybook_batches_total", "counter", "Batches done", whole(&self.batches)),
            ("daybook_jobs_total", "counter", "Jobs done in batches", whole(&self.jobs)),
            ("daybook_batch_seconds_total", "counter", "Time that batches took", whole(&self.batch_micros) / 1e6),
            (
                "daybook_slices_total",
                "counter",
                "Parts written of accounts with too much to do for one transaction",
                whole(&self.slices),
            ),
            (
                "daybook_due_accounts_total",
                "counter",
                "Accounts that were due for a moment or a release",
                whole(&self.due),
            ),
            ("daybook_accounts_written_total", "counter", "Accounts folded and written", whole(&self.accounts)),
            ("daybook_inputs_written_total", "counter", "Inputs accepted", whole(&self.inputs)),
            ("daybook_line_items_written_total", "counter", "Line items made or made anew", whole(&self.items)),
            ("daybook_messages_written_total", "counter", "Webhook messages recorded", whole(&self.messages)),
            (
                "daybook_verified_accounts_total",
                "counter",
                "Accounts verified in the background",
                whole(&self.verified),
            ),
            (
                "daybook_verify_rounds_total",
                "counter",
                "Times that every account was verified",
                whole(&self.verify_rounds),
            ),
            (
                "daybook_verify_differences",
                "gauge",
                "What was not as its journal gives in the last round of verifying",
                whole(&self.differences),
            ),
        ];
        for (name, kind, help, value) in figures {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
        text
    }
}

/// Figures about the database's write-ahead log, where there is one that is this program's to look after.
pub(crate) fn log_text(store: &dyn Store) -> String {
    let mut text = String::new();
    let Some(log) = store.log_size() else { return text };
    let figures = [
        ("daybook_sqlite_log_pages", "gauge", "Pages in the write-ahead log when it was last copied", log.pages as f64),
        (
            "daybook_sqlite_log_held_back_total",
            "counter",
            "How often a long read kept the write-ahead log from beginning anew",
            log.held_back as f64,
        ),
    ];
    for (name, kind, help, value) in figures {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
    text
}

fn whole(count: &Count) -> f64 {
    count.get() as f64
}

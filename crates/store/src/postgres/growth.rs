//! Keeps the planner informed of how large the tables have grown.
//!
//! A statement is planned once for a connection. While a table is empty all its indexes look equally good, and a plan
//! made then may read all accounts of an organization to find one. The server's autovacuum would notice, but it runs
//! only once a minute. So a node that writes into young tables runs ANALYZE as they grow; each time, all connections
//! plan anew.

use super::server::PostgresServer;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tables that grow with the accounts.
const ANALYZE: &str = "ANALYZE (SKIP_LOCKED)
    accounts, account_customers, customers, inputs, line_items, message_groups, message_events, waiting_messages, words,
    audit";

/// Accounts and inputs written before the first ANALYZE, and the factor from one to the next.
const FIRST: u64 = 64;
const TIMES: u64 = 4;
/// From here on the server's own schedule is frequent enough.
const LAST: u64 = FIRST * TIMES.pow(6);

/// How much this node has written since it started.
#[derive(Debug, Default)]
pub(super) struct Growth {
    written: AtomicU64,
}

impl Growth {
    /// Counts accounts and inputs that were written; runs ANALYZE at intervals, in the background.
    pub fn wrote(&self, server: &PostgresServer, accounts_and_inputs: u64) {
        if self.passes_a_mark(accounts_and_inputs) {
            let server = server.clone();
            tokio::spawn(async move {
                if let Err(error) = server.execute(ANALYZE, &[]).await {
                    tracing::debug!(%error, "ANALYZE failed; the planner may use outdated table sizes");
                }
            });
        }
    }

    fn passes_a_mark(&self, more: u64) -> bool {
        let before = self.written.fetch_add(more, Ordering::Relaxed);
        let marks = std::iter::successors(Some(FIRST), |mark| Some(mark * TIMES)).take_while(|mark| *mark <= LAST);
        marks.into_iter().any(|mark| before < mark && mark <= before + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_told_at_each_mark_once() {
        let growth = Growth::default();
        let told: Vec<u64> = (1..=20_000).filter(|_| growth.passes_a_mark(1)).collect();
        assert_eq!(told, [64, 256, 1_024, 4_096, 16_384]);
    }

    #[test]
    fn a_batch_that_passes_several_marks_tells_once_and_an_old_database_is_left_alone() {
        let growth = Growth::default();
        assert!(!growth.passes_a_mark(63));
        assert!(growth.passes_a_mark(500_000));
        assert!(!growth.passes_a_mark(500_000));
    }
}

//! Group commit: combines concurrent small writes into one transaction.
//!
//! A customer is one row and one message, and a transaction costs more than both. While one transaction is written,
//! further writes wait for the next one. So a single caller never waits for others, and a thousand callers share a few
//! transactions:
//!
//! ```text
//! units ─► waiting ─► one task, while units wait ─► one batch ─► each caller gets the result of its unit
//! ```
//!
//! Each unit is claimed separately, as in every batch: a stale unit does not affect the others.

use crate::lock::lock;
use crate::problem::Problem;
use daybook_store::Store;
use daybook_store::batch::{Batch, Claimed, Unit};
use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::oneshot;

/// The maximum number of units in one transaction.
const MOST_UNITS: usize = 500;

/// A unit that waits, and the channel for its result.
type WaitingUnit = (Unit, oneshot::Sender<Result<Claimed, Problem>>);

/// Writes that wait for a transaction.
#[derive(Debug, Default)]
pub(crate) struct GroupCommit {
    state: Mutex<CommitQueue>,
}

#[derive(Debug, Default)]
struct CommitQueue {
    waiting: Vec<WaitingUnit>,
    /// Whether a task is writing.
    is_writing: bool,
}

impl GroupCommit {
    /// Writes a unit, together with any others that wait.
    pub(crate) async fn commit(self: &Arc<Self>, store: &Arc<dyn Store>, unit: Unit) -> Result<Claimed, Problem> {
        let (tell, told) = oneshot::channel();
        let is_first = {
            let mut state = lock(&self.state);
            state.waiting.push((unit, tell));
            !std::mem::replace(&mut state.is_writing, true)
        };
        if is_first {
            // A separate task, so that a caller that disconnects does not cancel the writes of others.
            tokio::spawn(self.clone().write(store.clone()));
        }
        told.await.unwrap_or_else(|_| Err(Problem::unavailable("the server is stopping: try again")))
    }

    async fn write(self: Arc<Self>, store: Arc<dyn Store>) {
        let _turn = Turn(&self);
        while let Some(taken) = self.take() {
            let (units, callers): (Vec<Unit>, Vec<_>) = taken.into_iter().unzip();
            for (caller, outcome) in callers.into_iter().zip(commit(&*store, units).await) {
                // The receiver is gone if the caller no longer waits.
                let _ = caller.send(outcome);
            }
        }
    }

    /// The next units to write, in order of arrival; `None` ends the task.
    fn take(&self) -> Option<Vec<WaitingUnit>> {
        let mut state = lock(&self.state);
        if state.waiting.is_empty() {
            state.is_writing = false;
            return None;
        }
        let count = state.waiting.len().min(MOST_UNITS);
        Some(state.waiting.drain(..count).collect())
    }
}

/// If the writing task panics, the next caller starts a new one instead of waiting for a task that is gone.
struct Turn<'a>(&'a GroupCommit);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.state).is_writing = false;
        }
    }
}

/// The result for each unit. A store error concerns the database, not one unit, so all units get it.
async fn commit(store: &dyn Store, units: Vec<Unit>) -> Vec<Result<Claimed, Problem>> {
    let count = units.len();
    match store.commit(Batch { units }).await {
        Ok(claimed) => claimed.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(Problem::from(error)); count],
    }
}

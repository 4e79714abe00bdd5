//! Small writes that come many at once, gathered into one transaction.
//!
//! A customer is one row and one message, and a transaction costs more than both. While one transaction is written,
//! whatever else comes in waits for the next one, so a caller alone waits for nobody, and a thousand callers share a few
//! transactions:
//!
//! ```text
//! units ─► waiting ─► one task, while something waits ─► one batch ─► each caller gets what became of its unit
//! ```
//!
//! Each unit is claimed for itself, as in every batch: one that is stale does not touch the others.

use crate::lock::lock;
use crate::problem::Problem;
use daybook_store::Store;
use daybook_store::batch::{Batch, Claimed, Unit};
use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::oneshot;

/// The most units of one transaction.
const MOST_UNITS: usize = 500;

/// A unit that waits, and who waits for it.
type Waiting = (Unit, oneshot::Sender<Result<Claimed, Problem>>);

/// Writes that wait for their transaction.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Whether a task writes.
    is_writing: bool,
}

impl Gathering {
    /// Writes a unit, with others if there are any.
    pub(crate) async fn commit(self: &Arc<Self>, store: &Arc<dyn Store>, unit: Unit) -> Result<Claimed, Problem> {
        let (tell, told) = oneshot::channel();
        let is_first = {
            let mut state = lock(&self.state);
            state.waiting.push((unit, tell));
            !std::mem::replace(&mut state.is_writing, true)
        };
        if is_first {
            // A task of its own: a caller who goes away does not take the others' writes along.
            tokio::spawn(self.clone().write(store.clone()));
        }
        told.await.unwrap_or_else(|_| Err(Problem::unavailable("the server is stopping: try again")))
    }

    async fn write(self: Arc<Self>, store: Arc<dyn Store>) {
        let _turn = Turn(&self);
        while let Some(taken) = self.take() {
            let (units, callers): (Vec<Unit>, Vec<_>) = taken.into_iter().unzip();
            for (caller, outcome) in callers.into_iter().zip(commit(&*store, units).await) {
                // Somebody who does not wait any more need not be told.
                let _ = caller.send(outcome);
            }
        }
    }

    /// The next units to write, in the order they came; with nothing left the task is over.
    fn take(&self) -> Option<Vec<Waiting>> {
        let mut state = lock(&self.state);
        if state.waiting.is_empty() {
            state.is_writing = false;
            return None;
        }
        let count = state.waiting.len().min(MOST_UNITS);
        Some(state.waiting.drain(..count).collect())
    }
}

/// Should writing panic, whoever comes next begins again: nobody waits for a task that is gone.
struct Turn<'a>(&'a Gathering);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.state).is_writing = false;
        }
    }
}

/// What became of each unit. An error of the store is about the database and not about a unit, so it is everybody's.
async fn commit(store: &dyn Store, units: Vec<Unit>) -> Vec<Result<Claimed, Problem>> {
    let count = units.len();
    match store.commit(Batch { units }).await {
        Ok(claimed) => claimed.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(Problem::from(error)); count],
    }
}

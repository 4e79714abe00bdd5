//! Attempts: a request that fails leaves the book as it was.
//!
//! An attempt collects its rows apart from those of earlier requests, and keeps the state that it replaces. If it
//! succeeds, its rows are added to the others; if it fails, they are dropped and the kept state returns. So a request
//! that succeeds copies nothing but the account's columns.

use super::book::{Book, Halt};
use super::writes::Writes;
use daybook_engine::state::State;
use daybook_engine::time::Time;
use daybook_store::records::AccountNow;
use std::mem::{replace, take};

/// What an attempt replaced.
#[derive(Clone, Debug)]
pub(super) struct Replaced {
    /// The state; `None` if the attempt has not folded anything.
    state: Option<State>,
    /// The moment through which the state was processed.
    through: Option<Time>,
    /// The account's columns, without the bytes of its state.
    now: AccountNow,
    /// The number of records in the journal: requests only append to it.
    records: usize,
    /// The rows of earlier requests.
    writes: Writes,
}

impl Book {
    /// Runs a request. If it fails, the book is as it was before. Attempts are not nested. A book that is worked through
    /// is discarded after a failure, so nothing is kept for it.
    pub(super) fn attempt<T>(&mut self, request: impl FnOnce(&mut Book) -> Result<T, Halt>) -> Result<T, Halt> {
        debug_assert!(self.replaced.is_none(), "attempts are not nested");
        if self.is_worked_through() {
            return request(self);
        }
        // The bytes of the state change only when the account is written.
        let bytes = take(&mut self.now.state);
        self.replaced = Some(Box::new(Replaced {
            state: None,
            through: self.state.processed_through,
            now: self.now.clone(),
            records: self.journal.len(),
            writes: take(&mut self.writes),
        }));
        let result = request(self);
        if let Some(replaced) = self.replaced.take() {
            match &result {
                Ok(_) => {
                    let later = replace(&mut self.writes, replaced.writes);
                    self.writes.append(later);
                }
                Err(_) => self.go_back(*replaced),
            }
        }
        self.now.state = bytes;
        result
    }

    /// Restores what an attempt replaced. Line items are computed again when they are needed.
    fn go_back(&mut self, replaced: Replaced) {
        let Replaced { state, through, now, records, writes } = replaced;
        (self.now, self.writes) = (now, writes);
        self.state = state.unwrap_or_else(|| take(&mut self.state));
        self.state.processed_through = through;
        self.journal.truncate(records);
        self.ledger = None;
    }

    /// Replaces the state; an attempt keeps the first one.
    pub(super) fn replace_state(&mut self, state: State) {
        let before = replace(&mut self.state, state);
        if let Some(replaced) = &mut self.replaced {
            replaced.state.get_or_insert(before);
        }
    }
}

#[cfg(test)]
mod tests;

//! Judging a change of the loan when it arrives at an account in normal service.
//!
//! A change that is folded later, at a release or in a replay, is not judged: the account may have changed by then, and
//! its fold has a rule for each such case. Two questions are asked of a live arrival: can it be made at its place, and
//! does it take away what a later change needs?

use super::book::{Book, Halt, stopped};
use super::journal::Record;
use super::refusals::refused;
use crate::problem::Problem;
use daybook_engine::arrival;
use daybook_engine::fold::fold;
use daybook_engine::installment::changes::judge;
use daybook_engine::outcome::Refusal;
use daybook_engine::replay::replay;
use daybook_engine::state::State;
use daybook_engine::timeline::{Entry, Input};

impl Book {
    /// Refuses an input that cannot be applied at its place.
    pub(super) fn judge(&self, entry: &Entry) -> Result<(), Halt> {
        let refuse = |refusal| Halt::from(refused(&Record::Input(entry.input.clone()), &entry.name, refusal));
        if let Some(refusal) = arrival::refusal(&self.state, &entry.input) {
            return Err(refuse(refusal));
        }
        if !matches!(entry.input, Input::Change(_) | Input::CancelChange { .. }) {
            return Ok(());
        }
        if !self.complete {
            return Err(Halt::NeedsAll);
        }
        let is_scheduled = Some(entry.place.at) > self.now.processed_through;
        let judged = judge(&self.terms, &self.state_at(entry)?, entry);
        match judged {
            Ok(()) => Ok(()),
            // A scheduled change may name what another scheduled change will have made by then.
            Err(refusal) if is_scheduled => {
                judge(&self.terms, &self.state_ahead(entry)?, entry).map_err(|_| refuse(refusal))
            }
            Err(refusal) => Err(refuse(refusal)),
        }
    }

    /// The account as it is at an entry's place; as it is now, if that is in the future.
    fn state_at(&self, entry: &Entry) -> Result<State, Halt> {
        let through = self.now.processed_through.unwrap_or(entry.place.at);
        let at = through.min(entry.place.at);
        let mut before = self.settled_entries(at);
        before.retain(|earlier| earlier.place < entry.place);
        replay(&self.terms, &before, at).map(|(state, _)| state).map_err(stopped)
    }

    /// The account as it will be at an entry's place if nothing else happens.
    fn state_ahead(&self, entry: &Entry) -> Result<State, Halt> {
        let ahead: Vec<Entry> = self.ahead().into_iter().filter(|earlier| earlier.place < entry.place).collect();
        fold(&self.terms, self.state.clone(), &ahead, entry.place.at).map(|(state, _)| state).map_err(stopped)
    }

    /// The scheduled changes that could not be made if nothing else happens, and why not.
    pub(super) fn failing_ahead(&self) -> Vec<(u64, Refusal)> {
        if self.now.scheduled_events == 0 {
            return Vec::new();
        }
        let ahead = self.ahead();
        let is_change = |entry: &&Entry| matches!(entry.input, Input::Change(_));
        let last = ahead.iter().filter(is_change).map(|entry| entry.place.at).max();
        let Some(last) = last else { return Vec::new() };
        // A fold that needs the past is about a payment; it makes no instalment.
        fold(&self.terms, self.state.clone(), &ahead, last).map(|(_, out)| out.refused).unwrap_or_default()
    }

    /// Refuses an input that takes away what a scheduled change needs. `before` are those that failed without it.
    pub(super) fn check_scheduled_changes(&self, before: &[(u64, Refusal)], own: u64) -> Result<(), Halt> {
        let is_new = |(seq, _): &&(u64, Refusal)| *seq != own && before.iter().all(|(failed, _)| failed != seq);
        let failing = self.failing_ahead();
        match failing.iter().find(is_new) {
            Some((seq, refusal)) => Err(self.conflict(*seq, *refusal).into()),
            None => Ok(()),
        }
    }

    /// The error for an input that takes away what a later change needs.
    pub(super) fn conflict(&self, seq: u64, refusal: Refusal) -> Problem {
        let later = self.journal.iter().find(|record| record.place.seq == seq);
        let later = later.map_or(String::new(), |record| format!(" \"{}\"", record.row.name));
        let message = format!("the later change{later} could then not be made: {}", refusal.rule());
        Problem::new("conflict", message)
    }
}

//! The account as of any moment: as it stood then, or as it will stand if nothing else happens.
//!
//! A preview folds the current journal up to that moment and stores nothing. Held inputs count, so while a product
//! holds its events a preview shows the result of their release.

use super::book::{Book, Halt};
use super::journal::{JournalEntry, Record, entries};
use crate::problem::Problem;
use daybook_engine::change::Change;
use daybook_engine::fold::FoldError;
use daybook_engine::installment::reading::{Reading, read};
use daybook_engine::installment::schedule::{ScheduleRow, schedule};
use daybook_engine::item::Name;
use daybook_engine::outcome::Refusal;
use daybook_engine::replay::{Ledger, replay};
use daybook_engine::state::State;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, Entry, Input};

/// How far ahead of the account clock a preview or a roll may go: 60 years of 365.25 days.
pub const FURTHEST_AHEAD_MICROS: i64 = 60 * 31_557_600 * 1_000_000;

/// An account as of a moment.
#[derive(Clone, Debug)]
pub struct AsOf {
    /// The moment.
    pub at: Time,
    /// The state then.
    pub state: State,
    /// Its line items then.
    pub ledger: Ledger,
    /// Inputs that could not be applied.
    pub refused: Vec<(u64, Refusal)>,
}

/// Removes changes that a later cancellation undid as if they had never been made: the account is read by today's
/// timeline. A rate that was cancelled as posted only ended, and counts until then.
fn remove_changes_undone_after(entries: &mut Vec<Entry>, at: Time, backdating: Backdating) {
    let undone: Vec<(Name, bool)> = entries
        .iter()
        .filter(|entry| entry.place.at > at)
        .filter_map(|entry| match &entry.input {
            Input::CancelChange { change, never_made } => Some((change.clone(), *never_made)),
            _ => None,
        })
        .collect();
    entries.retain(|entry| {
        let Input::Change(change) = &entry.input else { return true };
        let is_whole =
            |never_made: bool| never_made || backdating == Backdating::Replay || !matches!(**change, Change::Rate(_));
        !undone.iter().any(|(name, never_made)| *name == entry.name && is_whole(*never_made))
    });
}

impl Book {
    /// The account as of a moment. Needs the whole journal.
    pub fn as_of(&self, at: Time, now: Time) -> Result<AsOf, Halt> {
        if !self.complete {
            return Err(Halt::NeedsAll);
        }
        self.check_horizon("effective_as_of", at, now)?;
        if at < self.terms.begins_at() {
            return Err(Problem::invalid(
                "effective_as_of",
                "must not be before the account begins (its effective_at)",
            )
            .into());
        }
        let mut entries = entries(&self.journal);
        remove_changes_undone_after(&mut entries, at, self.terms.backdating);
        let (state, out) = replay(&self.terms, &entries, at).map_err(stopped)?;
        let is_held = |seq: u64| seq as i64 > self.now.settled_seq;
        if let Some((seq, refusal)) = out.refused.iter().find(|(seq, _)| is_held(*seq)) {
            let why = self.refused(*seq, *refusal).message;
            let message = format!("cannot be shown, because the held events of the account cannot be released: {why}");
            return Err(Problem::invalid("effective_as_of", message).into());
        }
        Ok(AsOf { at, state, ledger: Ledger::of(&out), refused: out.refused })
    }

    /// Checks that a moment is not too far in the future.
    pub fn check_horizon(&self, field: &str, at: Time, now: Time) -> Result<(), Problem> {
        if at > self.clock(now).plus_micros(FURTHEST_AHEAD_MICROS) {
            return Err(Problem::invalid(field, "must not be more than 60 years ahead of the account's clock"));
        }
        Ok(())
    }

    /// Brings the account to its current state in memory: processed up to its clock, or as stored if it is held or
    /// failed.
    pub fn as_it_stands(&mut self, now: Time) -> Result<(), Halt> {
        if self.stands_as_stored() {
            return Ok(());
        }
        match self.settle(now) {
            // An account that cannot be folded is shown as stored.
            Err(Halt::Problem(_)) | Ok(_) => Ok(()),
            Err(Halt::NeedsAll) => Err(Halt::NeedsAll),
        }
    }

    /// Whether the account is shown as stored, because it is held or failed.
    pub fn stands_as_stored(&self) -> bool {
        self.now.held_events > 0 || self.now.failure.is_some() || self.product.mode.holding
    }

    /// The moment that a plain read shows.
    pub fn reading_at(&self, now: Time) -> Time {
        self.now.processed_through.unwrap_or_else(|| self.clock(now).max(self.terms.begins_at()))
    }

    /// Balances, payoff, days past due.
    pub fn reading(&self, state: &State, at: Time) -> Result<Reading, Problem> {
        read(&self.terms, state, at).map_err(|_| Problem::internal("the account's amounts are too large to calculate"))
    }

    /// The account as of a moment that it is processed through. Needs the whole journal.
    pub fn as_settled(&self, through: Time) -> Result<AsOf, Halt> {
        if !self.complete {
            return Err(Halt::NeedsAll);
        }
        let (state, out) = replay(&self.terms, &self.settled_entries(through), through).map_err(stopped)?;
        Ok(AsOf { at: through, state, ledger: Ledger::of(&out), refused: out.refused })
    }

    /// The schedule of a state that was folded from the beginning.
    pub fn schedule_of(&self, state: &State, at: Time) -> Result<Vec<ScheduleRow>, Halt> {
        schedule(&self.terms, state, at).map_err(stopped)
    }

    /// The schedule as of a moment. Needs the whole journal.
    pub fn schedule(&self, at: Time, now: Time) -> Result<Vec<ScheduleRow>, Halt> {
        let opening = self.terms.begins_at();
        let as_of = self.as_of(at.max(opening), now)?;
        schedule(&self.terms, &as_of.state, as_of.at).map_err(stopped)
    }

    /// The schedule as of the moment the account is processed through, without held inputs. Needs the whole journal.
    pub fn settled_schedule(&self, through: Time) -> Result<Vec<ScheduleRow>, Halt> {
        let (state, _) = replay(&self.terms, &self.settled_entries(through), through).map_err(stopped)?;
        schedule(&self.terms, &state, through).map_err(stopped)
    }

    /// The agreed schedule, before any input is processed.
    pub fn agreed_schedule(&self) -> Result<Vec<ScheduleRow>, Halt> {
        let at = self.terms.begins_at();
        let opening = entries(self.journal.iter().filter(|record| record.record == Record::Input(Input::Open)));
        let (state, _) = replay(&self.terms, &opening, at).map_err(stopped)?;
        schedule(&self.terms, &state, at).map_err(stopped)
    }

    /// Records that are not processed: held, or scheduled for later.
    pub fn waiting(&self) -> impl Iterator<Item = &JournalEntry> {
        let through = self.now.processed_through.unwrap_or(Time::BEGINNING);
        self.journal.iter().filter(move |record| self.is_held(record) || record.place.at > through)
    }
}

fn stopped(stop: FoldError) -> Halt {
    match stop {
        FoldError::Overflow => {
            let message = "the account's amounts would be too large to calculate".to_owned();
            let detail = Problem::invalid("effective_as_of", format!("is a time at which {message}"));
            Problem { message, ..detail }.into()
        }
        FoldError::NeedsPast | FoldError::Revise(_) => {
            Problem::internal("a fold from the beginning requested earlier inputs").into()
        }
    }
}

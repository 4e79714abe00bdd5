//! Cancelling a change.
//!
//! A change that was held or scheduled when it was cancelled, and any change under replay, is folded as if it had never
//! been made. As posted, a rate ends today; another change can be cancelled until a step that can move money is folded
//! after it.

use crate::installment::loan::Past;
use crate::installment::rates::Source;
use crate::item::Name;
use crate::outcome::{EventKind, Refusal};
use crate::step::{FoldError, Revised, Revision, StepContext};
use crate::timeline::Backdating;
use alloc::boxed::Box;
use alloc::vec::Vec;

impl StepContext<'_> {
    /// Whether a change was cancelled before its own time.
    pub(super) fn is_cancelled_early(&self, change: &Name) -> bool {
        self.state.loan().changes.cancelled.contains(change)
    }

    /// Whether no step that can move money was folded after a change.
    fn is_latest(&self, change: &Name) -> bool {
        let last = &self.state.loan().changes.last;
        last.as_ref().is_some_and(|(name, place)| name == change && self.state.last_folded == Some(*place))
    }

    pub(super) fn examine_cancel(&self, change: &Name, never_made: bool) -> Result<(), Refusal> {
        let loan = self.state.loan();
        let is_unknown =
            |past: &Past| past.changes.iter().all(|(name, _)| name != change) && !past.cancelled.contains(change);
        let is_pending = loan.past.as_ref().is_some_and(is_unknown) && !self.is_cancelled_early(change);
        let is_rate = loan.rates.has(&Source::Change(change.clone()), self.today) && !self.is_last_plan_change(change);
        let can_end = never_made || self.terms.backdating == Backdating::Replay || is_rate || is_pending;
        if can_end || self.is_latest(change) { Ok(()) } else { Err(Refusal::CannotCancel) }
    }

    /// A restructure has a rate of its own, and is no rate change.
    fn is_last_plan_change(&self, change: &Name) -> bool {
        self.state.loan().changes.last.as_ref().is_some_and(|(name, _)| name == change)
    }

    /// Cancels a change.
    pub fn cancel_change(&mut self, change: &Name, never_made: bool) -> Result<Result<(), Refusal>, FoldError> {
        let was_cancelled = |past: &Past| past.cancelled.contains(change);
        if self.is_cancelled_early(change) || self.state.loan().past.as_ref().is_some_and(was_cancelled) {
            return Ok(Err(Refusal::CannotCancel));
        }
        let cancelled = |rows| EventKind::ChangeCancelled { change: change.clone(), rows };
        if self.undone(change).is_some() {
            if let Some(past) = &mut self.loan().past {
                past.cancelled.push(change.clone());
            }
            self.announce(cancelled(Vec::new()));
            return Ok(Ok(()));
        }
        let source = Source::Change(change.clone());
        let is_known = self.is_last_plan_change(change) || self.state.loan().rates.has(&source, self.today);
        if !is_known {
            let Some(past) = &self.state.loan().past else { return Err(FoldError::NeedsPast) };
            if past.changes.iter().all(|(name, _)| name != change) {
                self.loan().changes.cancelled.push(change.clone());
                self.announce(cancelled(Vec::new()));
                return Ok(Ok(()));
            }
        }
        if never_made || self.terms.backdating == Backdating::Replay || self.is_latest(change) {
            let revision = Revision { payment: change.clone(), now: Revised::Invalid };
            return Err(FoldError::Revise(Box::new(revision)));
        }
        if let Err(refusal) = self.examine_cancel(change, never_made) {
            return Ok(Err(refusal));
        }
        self.accrue();
        let before = self.planned_rows()?;
        let today = self.today;
        self.loan().end_windows(&source, today);
        self.fix_interest()?;
        let rows = self.changed_rows(before)?;
        self.announce(cancelled(rows));
        Ok(Ok(()))
    }
}

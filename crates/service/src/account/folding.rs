//! Folds one account: forward from its state, or from the beginning if the past is needed or changes.

use super::book::{Book, Halt, Rolled, overflow, stopped};
use super::causes::RELEASE;
use super::journal::{Record, entries, refers_to};
use super::message_writer::{About, MessageWriter, Timing};
use crate::problem::Problem;
use daybook_engine::fold::{FoldError, fold_watched};
use daybook_engine::item::{ItemId, ItemStatus};
use daybook_engine::outcome::{Event, EventKind, FoldOutcome, Refusal};
use daybook_engine::replay::{Difference, Ledger, recalculate, replay};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input};
use std::collections::HashSet;
use std::sync::Arc;

impl Book {
    /// Folds entries onto the state and collects the resulting rows and messages.
    pub(super) fn fold_on(
        &mut self,
        ahead: &[Entry],
        until: Time,
        timing: Timing,
        recount: bool,
    ) -> Result<Rolled, Halt> {
        if !self.complete && ahead.iter().any(|entry| entry.place.at <= until && self.lacks_what_is_named_by(entry)) {
            return Err(Halt::NeedsAll);
        }
        let state = self.state_to_fold();
        let writer = MessageWriter::new(self.about(), timing, self.now.message_seq).from_state(&state);
        let mut writer = writer.within(self.slice, Vec::new());
        let folded = fold_watched(&self.terms, state, ahead, until, &mut writer);
        let (state, out) = match folded {
            Ok(folded) => folded,
            Err(FoldError::NeedsPast) => return self.fold_with_past(ahead, until, timing, recount),
            Err(FoldError::Revise(_)) => {
                self.recall(ahead)?;
                return self.fold_around_revising(ahead, until, timing);
            }
            Err(FoldError::Overflow) => return Err(overflow().into()),
        };
        if writer.missing {
            return self.fold_with_past(ahead, until, timing, recount);
        }
        let was_closed = writer.was_closed;
        let until = state.processed_through.unwrap_or(until);
        let (steps, sequence, messages) = writer.finish();
        let rolled = Rolled {
            steps,
            refused: out.refused.len() as u64,
            messages: messages.iter().filter(|message| message.due_at.is_none()).count() as u64,
        };
        if let Some(ledger) = &mut self.ledger {
            ledger.absorb(&out);
        }
        self.write_outcome(out, until, timing.now);
        if was_closed {
            self.writes.cancel_notices(timing.now);
        }
        self.writes.messages.extend(messages);
        self.now.message_seq = sequence;
        self.replace_state(state);
        self.now.processed_through = self.now.processed_through.max(Some(until));
        if recount {
            self.recount();
        }
        Ok(rolled)
    }

    /// The same fold, on a state that remembers its past and with known line items.
    fn fold_with_past(&mut self, ahead: &[Entry], until: Time, timing: Timing, recount: bool) -> Result<Rolled, Halt> {
        if self.ledger.is_some() {
            return Err(Problem::internal("a fold requested earlier inputs twice").into());
        }
        self.remember(ahead)?;
        self.fold_on(ahead, until, timing, recount)
    }

    /// Computes the state again after a fold that consumed it failed.
    fn recall(&mut self, ahead: &[Entry]) -> Result<(), Halt> {
        if !self.is_worked_through() {
            return Ok(());
        }
        self.ledger = None;
        self.remember(ahead)
    }

    /// Computes the state and the line items from the beginning, so that the state remembers its past. The entries
    /// about to be folded are already in the journal; they are left out.
    pub(super) fn remember(&mut self, ahead: &[Entry]) -> Result<(), Halt> {
        if self.ledger.is_some() {
            return Ok(());
        }
        if !self.complete {
            return Err(Halt::NeedsAll);
        }
        let Some(through) = self.now.processed_through else { return Ok(()) };
        let mut past = self.settled_entries(through);
        let ahead: HashSet<u64> = ahead.iter().map(|entry| entry.place.seq).collect();
        past.retain(|entry| !ahead.contains(&entry.place.seq));
        let (state, out) = replay(&self.terms, &past, through).map_err(stopped)?;
        self.replace_state(state);
        self.ledger = Some(Ledger::of(&out));
        Ok(())
    }

    /// Processed entries up to a moment.
    pub fn settled_entries(&self, through: Time) -> Vec<Entry> {
        entries(self.journal.iter().filter(|record| !self.is_held(record) && record.place.at <= through))
    }

    /// Folds the account again with entries that change its past, up to where it is processed, and continues from
    /// there. The changes are announced as of `at`.
    pub(super) fn recalculate_with(
        &mut self,
        new: &[Entry],
        until: Time,
        at: Time,
        timing: Timing,
    ) -> Result<Rolled, Halt> {
        if !self.complete {
            return Err(Halt::NeedsAll);
        }
        let before = self.settled_entries(until);
        let before: Vec<Entry> =
            before.into_iter().filter(|entry| new.iter().all(|new| new.place != entry.place)).collect();
        let mut after = before.clone();
        after.extend(new.iter().filter(|entry| entry.place.at <= until).cloned());
        after.sort_by_key(|entry| entry.place);
        let mut recalculation = recalculate(&self.terms, &before, &after, until).map_err(stopped)?;
        for item in recalculation.differences.iter_mut().map(|difference| &mut difference.after) {
            if item.status == ItemStatus::Invalid {
                // An item that no longer holds has no amounts, as when a payment becomes invalid.
                item.invalidate();
            }
        }
        if let Some((seq, refusal)) =
            recalculation.outcome.refused.iter().find(|(seq, _)| new.iter().any(|entry| entry.place.seq == *seq))
        {
            return Err(self.refused(*seq, *refusal).into());
        }
        self.check_settled_changes(&before, until, &recalculation.outcome.refused)?;
        let ledger = Ledger::of(&recalculation.outcome);
        let about = About { known: Some(&ledger), ..self.about() };
        let mut writer = MessageWriter::new(about, timing, self.now.message_seq).from_state(&self.state);
        let why = match new {
            [one] if self.now.held_events == 0 => format!("input:{}", one.place.seq),
            _ => RELEASE.to_owned(),
        };
        writer.recalculated(&recalculation, at, &why);
        let (_, sequence, messages) = writer.finish();
        let sent = messages.iter().filter(|message| message.due_at.is_none()).count() as u64;
        for Difference { after: item, .. } in recalculation.differences {
            let extra = self.extra_of(&item.id);
            let recorded_at = self.about().recorded_at(&item.id, timing.now);
            self.writes.put_item(item, extra, recorded_at, timing.now);
        }
        if recalculation.state.status.is_closed() {
            self.writes.cancel_notices(timing.now);
        }
        self.writes.messages.extend(messages);
        self.now.message_seq = sequence;
        self.replace_state(recalculation.state);
        self.ledger = Some(ledger);
        self.now.processed_through = self.now.processed_through.max(Some(until));
        self.recount();
        Ok(Rolled { steps: new.len() as u64, refused: 0, messages: sent })
    }

    /// Refuses a live input that takes away what a later, processed change needs.
    fn check_settled_changes(&self, before: &[Entry], until: Time, refused: &[(u64, Refusal)]) -> Result<(), Halt> {
        let is_change =
            |seq: u64| before.iter().any(|entry| entry.place.seq == seq && matches!(entry.input, Input::Change(_)));
        let Some((seq, refusal)) = refused.iter().find(|(seq, _)| is_change(*seq)) else { return Ok(()) };
        let (_, out) = replay(&self.terms, before, until).map_err(stopped)?;
        let failed_before = out.refused.iter().any(|(failed, _)| failed == seq);
        if failed_before { Ok(()) } else { Err(self.conflict(*seq, *refusal).into()) }
    }

    /// Folds up to an entry that changes how a payment counts from its own effective time (as if it had never been
    /// made, or as valid although it was only authorized), folds the account again with that entry, and continues.
    fn fold_around_revising(&mut self, ahead: &[Entry], until: Time, timing: Timing) -> Result<Rolled, Halt> {
        let Some(at) = ahead.iter().find(|entry| self.revises(entry)).map(|entry| entry.place.at) else {
            return Err(Problem::internal("a fold revises an input that no entry revises").into());
        };
        let mut rolled = Rolled::default();
        // A recalculation is never sliced.
        self.slice = None;
        // Moments of that instant are processed first. Otherwise their results would be on both sides of the
        // comparison, and would not be announced.
        if self.now.processed_through.is_some_and(|through| through < at) {
            let is_first = |entry: &&Entry| entry.place.at <= at && !self.revises(entry);
            let first: Vec<Entry> = ahead.iter().filter(is_first).cloned().collect();
            rolled.add(self.fold_on(&first, at, timing, false)?);
        }
        let is_meant = |entry: &&Entry| entry.place.at == at && self.revises(entry);
        let revising: Vec<Entry> = ahead.iter().filter(is_meant).cloned().collect();
        let until_then = self.now.processed_through.map_or(at, |through| through.max(at));
        rolled.add(self.recalculate_with(&revising, until_then, until_then, timing)?);
        if self.now.processed_through.is_some_and(|through| through < until) {
            let rest: Vec<Entry> = ahead.iter().filter(|entry| entry.place.at > at).cloned().collect();
            rolled.add(self.fold_on(&rest, until, timing, true)?);
        }
        Ok(rolled)
    }

    /// Whether an entry may change how an earlier input counts from its own effective time.
    fn revises(&self, entry: &Entry) -> bool {
        match &entry.input {
            Input::Reversal { .. } | Input::PaymentStatus { valid: false, .. } | Input::CancelChange { .. } => true,
            Input::PaymentStatus { payment, valid: true } => self.named(payment).is_some_and(|record| {
                matches!(record.record, Record::Input(Input::Payment { status: ItemStatus::Authorized, .. }))
            }),
            _ => false,
        }
    }

    /// Whether an entry refers to an input that is not loaded, such as a scheduled decision about an earlier payment.
    /// The kind and the external fields of that payment are only in its record.
    fn lacks_what_is_named_by(&self, entry: &Entry) -> bool {
        refers_to(&entry.input).is_some_and(|name| self.named(name).is_none())
    }

    fn extra_of(&self, id: &ItemId) -> Option<Arc<str>> {
        let ItemId::Input(name) = id else { return None };
        self.named(name).and_then(|record| record.row.extra.clone())
    }

    /// Inputs that are not processed yet, in timeline order.
    pub(super) fn ahead(&self) -> Vec<Entry> {
        let through = self.now.processed_through.unwrap_or(Time::BEGINNING);
        entries(self.journal.iter().filter(|record| !self.is_held(record) && record.place.at > through))
    }

    /// Collects what a fold made and refused. `through` is the moment up to which it went.
    pub(super) fn write_outcome(&mut self, out: FoldOutcome, through: Time, now: Time) {
        self.writes.absorb(out.items, out.changes, now, &self.journal, self.names.as_ref());
        self.note_cancelled(&out.events, through, now);
        self.writes.refused.extend(out.refused);
    }

    /// A payment that is reversed before its effective time is invalid at once; this writes its line item.
    fn note_cancelled(&mut self, events: &[Event], through: Time, now: Time) {
        for event in events {
            let EventKind::ItemUpdated(id @ ItemId::Input(name)) = &event.what else { continue };
            let is_ahead = self.named(name).is_some_and(|record| record.place.at > through);
            if !is_ahead {
                continue;
            }
            let item = self.about().decided_early(id).filter(|item| item.status == ItemStatus::Invalid);
            if let Some(item) = item {
                let extra = self.extra_of(id);
                let recorded_at = self.about().recorded_at(id, now);
                self.writes.put_item(item, extra, recorded_at, now);
            }
        }
    }
}

//! Releases held inputs: the first fold of an account, or its history folded again with more inputs.

use super::book::{Book, Halt, Rolled, stopped};
use super::journal::{JournalEntry, Record, entries};
use super::message_writer::{About, MessageWriter, Timing};
use crate::problem::Problem;
use daybook_engine::fold::FoldError;
use daybook_engine::replay::{Ledger, replay_on};
use daybook_engine::time::Time;
use std::collections::BTreeSet;

impl Book {
    /// Releases all held inputs.
    pub fn release(&mut self, now: Time) -> Result<Rolled, Halt> {
        if !self.complete {
            return Err(Halt::NeedsAll);
        }
        self.attempt(|book| book.try_release(now))
    }

    fn try_release(&mut self, now: Time) -> Result<Rolled, Halt> {
        let clock = self.clock(now);
        // An account created just now has no history to suppress, even if its product is being released.
        let is_new = self.loaded_version.is_none()
            || (self.is_under_way() && self.product.mode.started_at.is_some_and(|started| self.created_at > started));
        let suppress_before = self.product.mode.suppress_before.filter(|_| !is_new);
        let timing = Timing { now, suppress_before, at_once: false };
        let settled_seq = self.now.settled_seq;
        let held: BTreeSet<i64> = self.journal.iter().map(JournalEntry::seq).filter(|seq| *seq > settled_seq).collect();
        let last = held.last().copied().unwrap_or(settled_seq);
        let rolled = match self.now.processed_through {
            Some(through) if !self.is_under_way() => self.release_onto(through, clock, timing, &held, last)?,
            _ => self.first_fold(clock, timing)?,
        };
        if let Some((seq, refusal)) = self.writes.refused.iter().find(|(seq, _)| held.contains(&(*seq as i64))) {
            return Err(self.refused(*seq, *refusal).into());
        }
        if self.is_under_way() && self.now.processed_through < Some(clock) {
            // The slice is full; later ones release the rest.
            return Ok(rolled);
        }
        // What was held and lies ahead is scheduled from now on.
        for record in self.journal.iter_mut().filter(|record| record.seq() > settled_seq) {
            record.scheduled = record.place.at > clock;
        }
        self.now.settled_seq = last;
        self.announce_waiting(&held, clock, timing);
        self.now.held_events = 0;
        self.now.failure = None;
        self.append(Record::Release { suppress_before }, "release", clock, now)?;
        self.now.settled_seq = self.now.next_seq - 1;
        self.recount();
        Ok(rolled)
    }

    /// The first fold of an account: all entries, from the beginning or from where an earlier slice stopped.
    fn first_fold(&mut self, clock: Time, timing: Timing) -> Result<Rolled, Halt> {
        if self.terms.begins_at() > clock {
            // It opens in the future, so there is nothing to process yet.
            self.now.processed_through = Some(clock);
            return Ok(Rolled::default());
        }
        let through = self.now.processed_through;
        let ahead = entries(self.journal.iter().filter(|record| Some(record.place.at) > through));
        // A fold from the beginning makes all line items itself; any other item that an event names was decided before
        // its effective time.
        let nothing = Ledger::default();
        let known = if through.is_none() { Some(&nothing) } else { self.ledger.as_ref() };
        let about = About { known, ..self.about() };
        let writer = MessageWriter::new(about, timing, self.now.message_seq);
        let mut writer = writer.within(self.slice, if self.slice.is_some() { self.unsettled() } else { Vec::new() });
        let folded = replay_on(&self.terms, &self.state, &ahead, clock, &mut writer);
        if (writer.missing || matches!(folded, Err(FoldError::NeedsPast))) && through.is_some() && self.ledger.is_none()
        {
            self.remember(&ahead)?;
            return self.first_fold(clock, timing);
        }
        let (state, out) = folded.map_err(stopped)?;
        if writer.missing {
            return Err(Problem::internal("an event names a line item that does not exist").into());
        }
        let (steps, sequence, messages) = writer.finish();
        let sent = messages.iter().filter(|message| message.due_at.is_none()).count() as u64;
        let done = state.processed_through.unwrap_or(clock);
        if let Some(ledger) = &mut self.ledger {
            ledger.absorb(&out);
        }
        let refused = out.refused.len() as u64;
        self.write_outcome(out, done, timing.now);
        self.writes.messages.extend(messages);
        self.now.message_seq = sequence;
        self.replace_state(state);
        self.now.processed_through = Some(done);
        Ok(Rolled { steps, refused, messages: sent })
    }

    /// Repeats the part of a first fold up to a moment, for an account whose first fold is not finished.
    pub fn fold_first_until(&mut self, until: Time) -> Result<(), Halt> {
        let is_new = self.product.mode.started_at.is_some_and(|started| self.created_at > started);
        let suppress_before = self.product.mode.suppress_before.filter(|_| !is_new);
        self.first_fold(until, Timing { now: until, suppress_before, at_once: false }).map(drop)
    }

    /// Releases held inputs of an account with history: folds it again with the past ones as under replay, then
    /// continues.
    fn release_onto(
        &mut self,
        through: Time,
        clock: Time,
        timing: Timing,
        held: &BTreeSet<i64>,
        last: i64,
    ) -> Result<Rolled, Halt> {
        let is_held = |record: &&JournalEntry| held.contains(&record.seq());
        let past = entries(self.journal.iter().filter(is_held).filter(|record| record.place.at <= through));
        let mut rolled = Rolled::default();
        if !past.is_empty() {
            rolled = self.recalculate_with(&past, through, clock, timing)?;
        }
        self.now.settled_seq = last;
        let ahead = self.ahead();
        rolled.add(self.fold_on(&ahead, clock, timing, false)?);
        Ok(rolled)
    }

    /// Announces held inputs that are now scheduled, and profile changes.
    pub(super) fn announce_waiting(&mut self, held: &BTreeSet<i64>, clock: Time, timing: Timing) {
        let mut writer = MessageWriter::new(self.about(), timing, self.now.message_seq);
        // The journal is in order of sequence numbers, so records before the first held one are skipped.
        let first = held.first().copied().unwrap_or(i64::MAX);
        let from = self.journal.partition_point(|record| record.seq() < first);
        for record in self.journal[from..].iter().filter(|record| held.contains(&record.seq())) {
            let cause = format!("input:{}", record.place.seq);
            match &record.record {
                Record::Profile => writer.account_updated(clock, cause, &self.state),
                _ if record.scheduled => {
                    if let Some(item) = record.waiting_item() {
                        writer.scheduled(&item, clock, cause);
                    } else if let Some(kind) = record.change_kind() {
                        writer.change_scheduled(&record.row.name, kind, clock, cause, &self.state);
                    }
                }
                _ => {}
            }
        }
        let (_, sequence, messages) = writer.finish();
        self.writes.messages.extend(messages);
        self.now.message_seq = sequence;
    }
}

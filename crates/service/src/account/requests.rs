//! Requests to an account: submit an input, withdraw one, change the profile, roll the clock.

use super::book::{Applied, Book, Halt, RequestedInput, Rolled};
use super::journal::{JournalEntry, OPEN, Record, row_at};
use super::message_writer::Timing;
use super::profile::Profile;
use crate::problem::Problem;
use daybook_engine::item::{ItemId, ItemStatus, Name};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input, Placement, Situation, TimelinePosition, place};
use daybook_store::records::InputRow;
use std::collections::BTreeSet;

impl Book {
    /// Places an input in the timeline and folds it, unless it is held or scheduled for later. The account must be
    /// settled.
    pub fn submit(&mut self, asked: &RequestedInput, now: Time) -> Result<Applied, Halt> {
        if let Some(before) = self.named(&asked.name) {
            if before.row.content_hash == asked.content_hash {
                return Ok(Applied::Already);
            }
            return Err(match &asked.input {
                // The caller chose no id, so the name that is taken belongs to the payment's only reversal or the fee's
                // only waiver.
                Input::Reversal { payment } if asked.name.starts_with("dbk_") => {
                    Problem::new("already_reversed", format!("payment \"{payment}\" was already reversed"))
                }
                Input::Waiver { fee } if asked.name.starts_with("dbk_") => {
                    Problem::new("nothing_to_waive", format!("fee \"{fee}\" was already waived"))
                }
                Input::CancelChange { change, .. } => {
                    Problem::new("cannot_cancel", format!("change \"{change}\" was already cancelled"))
                }
                Input::RefundReversal { refund } if asked.name.starts_with("dbk_") => {
                    Problem::new("already_reversed", format!("refund \"{refund}\" was already reversed"))
                }
                _ => Problem::id_taken("line_item_id", "line item", &asked.name),
            }
            .into());
        }
        self.attempt(|book| book.try_submit(asked, now)).map(|()| Applied::Now)
    }

    pub(super) fn try_submit(&mut self, asked: &RequestedInput, now: Time) -> Result<(), Halt> {
        let clock = self.clock(now);
        let held = self.product.mode.holding;
        let effective_at = asked.effective_at.unwrap_or(clock);
        self.check_begun(effective_at)?;
        let input = self.as_it_arrives(&asked.input);
        self.check_reference(&input)?;
        self.check_undecided(&input, held)?;
        let seq = self.now.next_seq as u64;
        let situation =
            Situation { held, clock, last_folded: self.state.last_folded, backdating: self.terms.backdating };
        let placement = place(&situation, effective_at, asked.input.class(), seq);
        if !held {
            let place = placement.place();
            let name = asked.name.clone();
            self.judge(&Entry { place, effective_at, scheduled: false, name, input: input.clone() })?;
        }
        let row = InputRow {
            effective_at,
            scheduled: !held && matches!(placement, Placement::Scheduled(_)),
            extra: asked.extra.clone(),
            content_hash: asked.content_hash.clone(),
            ..row_at(placement.place(), asked.name.clone(), now, clock)
        };
        let entry = self.record(row, Record::Input(input))?;
        if held {
            self.now.held_events += 1;
            let due = effective_at.min(now);
            self.now.next_moment = Some(self.now.next_moment.map_or(due, |next| next.min(due)));
            return Ok(());
        }
        let failing = self.failing_ahead();
        self.now.settled_seq = seq as i64;
        let timing = Timing { now, suppress_before: None, at_once: false };
        let new = entry.into_iter().collect::<Vec<_>>();
        match placement {
            Placement::Scheduled(_) => {
                self.announce_waiting(&BTreeSet::from([seq as i64]), clock, timing);
                self.recount();
            }
            Placement::Next(_) => {
                self.fold_on(&new, clock, timing, false)?;
                let refused = self.writes.refused.iter().find(|(refused, _)| *refused == seq).copied();
                if let Some((_, refusal)) = refused {
                    return Err(self.refused(seq, refusal).into());
                }
            }
            Placement::Replay(_) => {
                self.recalculate_with(&new, clock, clock, timing)?;
            }
        }
        self.check_scheduled_changes(&failing, seq)
    }

    /// The input as the fold reads it. A cancel states whether its change was already processed when the cancel arrived.
    fn as_it_arrives(&self, input: &Input) -> Input {
        let Input::CancelChange { change, .. } = input else { return input.clone() };
        let is_waiting =
            |record: &JournalEntry| self.is_held(record) || Some(record.place.at) > self.now.processed_through;
        Input::CancelChange { change: change.clone(), never_made: self.named(change).is_some_and(is_waiting) }
    }

    /// Checks that a moment is not before the account begins.
    fn check_begun(&self, effective_at: Time) -> Result<(), Problem> {
        let opening = &self.terms.opening;
        let message = match &opening.agreed.boarded {
            Some(boarded) if effective_at < boarded.as_of => "must not be before the account's opening (opening.as_of)",
            _ if effective_at < opening.effective_at => "must not be before the account begins (its effective_at)",
            _ => return Ok(()),
        };
        Err(Problem::invalid("effective_at", message))
    }

    /// Checks that the line item an input refers to exists.
    fn check_reference(&self, input: &Input) -> Result<(), Problem> {
        // The engine may yet create its own fees; a fee that a caller created must already exist.
        if let Input::Waiver { fee: ItemId::Input(name) } = input {
            let named = self.named(name).map(|record| &record.record);
            return match named {
                Some(Record::Input(Input::Fee { .. } | Input::Credit { .. })) => Ok(()),
                Some(_) => Err(Problem::new("nothing_to_waive", format!("line item \"{name}\" is not a fee"))),
                None => Err(Problem::not_found("line item", name)),
            };
        }
        match input {
            Input::CancelChange { change, .. } => {
                return match self.named(change).map(|record| &record.record) {
                    Some(Record::Input(Input::Change(_))) => Ok(()),
                    _ => Err(Problem::not_found("change", change)),
                };
            }
            Input::RefundReversal { refund } => {
                return match self.named(refund).map(|record| &record.record) {
                    Some(Record::Input(Input::Refund { .. })) => Ok(()),
                    Some(_) => Err(Problem::new("not_reversible", format!("line item \"{refund}\" is not a refund"))),
                    None => Err(Problem::not_found("line item", refund)),
                };
            }
            _ => {}
        }
        let (Input::PaymentStatus { payment, .. } | Input::Reversal { payment }) = input else { return Ok(()) };
        match self.named(payment).map(|record| &record.record) {
            Some(Record::Input(Input::Payment { .. })) => Ok(()),
            Some(_) => Err(Problem::new("not_reversible", format!("line item \"{payment}\" is not a payment"))),
            None => Err(Problem::not_found("line item", payment)),
        }
    }

    /// Withdraws an input that is still held.
    pub fn withdraw(&mut self, name: &str, now: Time) -> Result<(), Halt> {
        let Some(index) = self.journal.iter().position(|record| &*record.row.name == name) else {
            return Err(Problem::not_found("line item", name).into());
        };
        let record = &self.journal[index];
        let may = self.product.mode.holding || self.now.failure.is_some();
        if !self.is_held(record) || !may || *record.row.name == *OPEN {
            let message = match &record.record {
                Record::Input(Input::Change(_)) => {
                    format!("change \"{name}\" is processed; only a change that is held or scheduled can be withdrawn")
                }
                _ => format!(
                    "line item \"{name}\" is not held; only line items that are held in migration mode can be withdrawn"
                ),
            };
            return Err(Problem::new("not_held", message).into());
        }
        // Held inputs that refer to the payment or fee are withdrawn with it: they mean nothing without it.
        let goes_along = |record: &&JournalEntry| match &record.record {
            Record::Input(Input::PaymentStatus { payment, .. } | Input::Reversal { payment }) => {
                self.is_held(record) && **payment == *name
            }
            Record::Input(Input::Waiver { fee: ItemId::Input(fee) }) => self.is_held(record) && **fee == *name,
            Record::Input(Input::CancelChange { change, .. }) => self.is_held(record) && **change == *name,
            Record::Input(Input::RefundReversal { refund }) => self.is_held(record) && **refund == *name,
            _ => false,
        };
        let mut taken: Vec<i64> = self.journal.iter().filter(goes_along).map(JournalEntry::seq).collect();
        taken.push(record.seq());
        self.journal.retain(|record| !taken.contains(&record.seq()));
        self.writes.inputs.retain(|seq| !taken.contains(seq));
        self.now.held_events -= taken.len() as i64;
        self.writes.removed_inputs.extend(taken);
        self.now.updated_at = now;
        Ok(())
    }

    /// Changes customers or external fields. The account must be settled.
    pub fn change_profile(&mut self, profile: Profile, now: Time) -> Result<Applied, Halt> {
        if profile == self.profile {
            return Ok(Applied::Already);
        }
        self.writes.customers_changed |= profile.customers != self.profile.customers;
        self.now.profile = profile.write();
        self.profile = profile;
        self.note_profile(now)?;
        Ok(Applied::Now)
    }

    /// Records and announces that the profile changed. The account must be settled.
    pub fn note_profile(&mut self, now: Time) -> Result<(), Halt> {
        let clock = self.clock(now);
        let seq = self.now.next_seq;
        self.append(Record::Profile, "profile", clock, now)?;
        if self.product.mode.holding {
            self.now.held_events += 1;
            self.now.next_moment = Some(self.now.next_moment.map_or(now, |next| next.min(now)));
        } else {
            self.now.settled_seq = seq;
            self.announce_waiting(&BTreeSet::from([seq]), clock, Timing { now, suppress_before: None, at_once: false });
        }
        Ok(())
    }

    /// Moves the account clock ahead and processes everything up to and including that moment. The account must be
    /// settled.
    pub fn roll(&mut self, to: Time, webhooks: bool, now: Time) -> Result<Rolled, Halt> {
        if webhooks {
            self.writes.publish_until = self.writes.publish_until.max(Some(to));
        }
        if to <= self.clock(now) {
            return Ok(Rolled::default());
        }
        self.attempt(|book| book.try_roll(to, webhooks, now))
    }

    fn try_roll(&mut self, to: Time, webhooks: bool, now: Time) -> Result<Rolled, Halt> {
        let rolled = self.advance(to, Timing { now, suppress_before: None, at_once: webhooks })?;
        // If the slice filled up, the clock moves only as far as the account was processed.
        let to = self.now.processed_through.map_or(to, |through| through.min(to));
        self.now.rolled_to = Some(to);
        let seq = self.now.next_seq;
        self.append(Record::Roll { to }, "roll", to, now)?;
        self.now.settled_seq = seq;
        Ok(rolled)
    }

    /// Appends a record that the service itself makes.
    pub(super) fn append(&mut self, record: Record, what: &str, at: Time, now: Time) -> Result<(), Problem> {
        let seq = self.now.next_seq;
        let place = TimelinePosition::late(at, seq as u64);
        self.record(row_at(place, Name::from(format!("dbk_{what}_{seq}")), now, at), record).map(drop)
    }

    /// Adds a new record to the journal. Returns it as the fold sees it.
    fn record(&mut self, row: InputRow, record: Record) -> Result<Option<Entry>, Problem> {
        let held = self.product.mode.holding.then(|| self.now.processed_through.unwrap_or(Time::BEGINNING));
        let record = JournalEntry::new(row, record, held)?;
        self.now.next_seq = record.seq() + 1;
        self.now.updated_at = record.row.recorded_at;
        self.writes.inputs.push(record.seq());
        let entry = record.entry();
        self.push(record);
        Ok(entry)
    }

    /// A payment's status can be decided only once. Without this check, the fold would find a second decision only at
    /// the release, and it could not be withdrawn then because it has no line item.
    fn check_undecided(&self, input: &Input, held: bool) -> Result<(), Problem> {
        let Input::PaymentStatus { payment, .. } = input else { return Ok(()) };
        let decides = |record: &JournalEntry| match &record.record {
            // If events are not held, the fold knows decided statuses; held inputs are not folded yet.
            Record::Input(Input::PaymentStatus { payment: other, .. }) => held && other == payment,
            Record::Input(Input::Payment { status, .. }) => {
                record.row.name == *payment && matches!(status, ItemStatus::Valid | ItemStatus::Invalid)
            }
            _ => false,
        };
        let is_decided = if held { self.journal.iter().any(decides) } else { self.named(payment).is_some_and(decides) };
        if is_decided {
            return Err(Problem::new(
                "status_is_final",
                format!("payment \"{payment}\": the payment's status is final"),
            ));
        }
        Ok(())
    }
}

//! The message writer writes the messages that announce events, with the data as of the moment of each event.
//!
//! It watches a fold. After each step it writes one message for each event of that step: the line item or the account
//! right after the step, rendered to the exact bytes that every receiver will get, and signed. Nothing is sent here.

pub use super::causes::{NOTICE, cancel_notices, cause_text};
use super::event_data::{AccountEventData, ChangeOfLoan, Further, ItemAmounts, ItemDifference, Recalculated};
use super::journal::{JournalEntry, Names, Record, named};
use super::profile::Profile;
use super::slice::{Meter, Slice};
use crate::catalog::ProductInfo;
use crate::form::fields::ExternalField;
use crate::view;
use daybook_engine::fold::{FoldObserver, ObservedStep};
use daybook_engine::installment::reading::{Reading, read};
use daybook_engine::item::{ItemId, ItemStatus, LineItem};
use daybook_engine::outcome::{ChangedRow, EventKind, FoldOutcome};
use daybook_engine::replay::{Ledger, Recalculation};
use daybook_engine::state::State;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::records::MessageRow;
use serde::Serialize;
use std::sync::Arc;

/// The account data that the message writer needs.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// The account.
    pub account_id: &'a str,
    /// When it was created.
    pub created_at: Time,
    /// Its product.
    pub product: &'a ProductInfo,
    /// Its terms.
    pub terms: &'a Terms,
    /// Its customers and external fields.
    pub profile: &'a Profile,
    /// Its line items before the fold, if they are known.
    pub known: Option<&'a Ledger>,
    /// The loaded part of its journal.
    pub journal: &'a [JournalEntry],
    /// The index of record names, if there is one.
    pub names: Option<&'a Names>,
}

/// When messages are sent, and which ones.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The real time.
    pub now: Time,
    /// Events before this time are not announced.
    pub suppress_before: Option<Time>,
    /// Whether messages about future moments are sent at once.
    pub at_once: bool,
}

/// Writes messages.
pub struct MessageWriter<'a> {
    about: About<'a>,
    timing: Timing,
    first_sequence: i64,
    /// The messages, in order.
    pub messages: Vec<MessageRow>,
    /// The number of steps seen.
    pub steps: u64,
    /// Whether the account was closed after any step.
    pub was_closed: bool,
    /// Whether an event was about an unknown line item: the account has to be loaded in full.
    pub missing: bool,
    meter: Option<Meter>,
    /// The account after the last step, if a change of the loan may follow.
    figures: Option<view::AccountFigures>,
    /// The account before the fold, for a fold that starts over.
    first_figures: Option<view::AccountFigures>,
    /// Whether the journal has a change of the loan.
    has_changes: bool,
}

impl<'a> MessageWriter<'a> {
    /// A message writer for one account. `last_sequence` is the sequence number of the account's last message.
    pub fn new(about: About<'a>, timing: Timing, last_sequence: i64) -> MessageWriter<'a> {
        MessageWriter {
            about,
            timing,
            first_sequence: last_sequence,
            messages: Vec::new(),
            steps: 0,
            was_closed: false,
            missing: false,
            meter: None,
            figures: None,
            first_figures: None,
            has_changes: about.journal.iter().any(JournalEntry::is_change),
        }
    }

    /// The same message writer, which stops the fold when a slice is full.
    pub fn within(self, slice: Option<Slice>, unsettled: Vec<(Time, Time)>) -> MessageWriter<'a> {
        MessageWriter { meter: slice.map(|slice| Meter::new(slice, unsettled)), ..self }
    }

    /// The same message writer, for a fold that continues from a state.
    pub fn from_state(mut self, state: &State) -> MessageWriter<'a> {
        if self.has_changes && state.is_open() {
            let at = state.processed_through.unwrap_or(self.about.terms.begins_at());
            self.first_figures = self.figures_of(state, at);
            self.figures.clone_from(&self.first_figures);
        }
        self
    }

    /// The sequence number of the last message written.
    pub fn last_sequence(&self) -> i64 {
        self.first_sequence + self.messages.len() as i64
    }

    /// The number of steps, the sequence number of the last message, and all messages.
    pub fn finish(self) -> (u64, i64, Vec<MessageRow>) {
        (self.steps, self.last_sequence(), self.messages)
    }

    /// Announces everything a replay changed, as of one moment.
    pub fn recalculated(&mut self, recalculation: &Recalculation, at: Time, why: &str) {
        let (state, out) = (&recalculation.state, &recalculation.outcome);
        for event in &recalculation.events {
            let cause = event.input.map_or_else(|| why.to_owned(), |seq| format!("input:{seq}"));
            match &event.what {
                EventKind::ItemCreated(id) | EventKind::ItemUpdated(id) => {
                    let changed = recalculation.differences.iter().find(|difference| difference.after.id == *id);
                    let item = changed.map(|difference| difference.after.clone()).or_else(|| self.find(id, out));
                    if item.as_ref().is_some_and(|item| self.is_suppressed(item.effective_at)) {
                        continue;
                    }
                    self.item(event.what.name(), at, cause, id, item);
                }
                EventKind::Recalculated => {
                    let line_items = recalculation.differences.iter().map(|difference| ItemDifference {
                        line_item_id: difference.after.id.to_string(),
                        line_item_type: difference.after.kind.name(),
                        before: difference.before.as_ref().map(ItemAmounts::of),
                        after: ItemAmounts::of(&difference.after),
                    });
                    let recalculation = Recalculated {
                        before: view::Amounts::from(recalculation.balances.0),
                        after: view::Amounts::from(recalculation.balances.1),
                        line_items: line_items.collect(),
                    };
                    let further = Further { recalculation: Some(recalculation), ..Further::default() };
                    self.account("account_recalculated", at, cause, state, further);
                }
                what => self.event(what, at, cause, state, out),
            }
        }
    }

    /// Announces a change of the account that no fold made.
    pub fn account_updated(&mut self, at: Time, cause: String, state: &State) {
        self.account("account_update", at, cause, state, Further::default());
    }

    /// Announces a scheduled line item.
    pub fn scheduled(&mut self, item: &LineItem, at: Time, cause: String) {
        let about = self.about;
        let extra = about.extra(&item.id);
        let object =
            about.item(item, about.times_of(&item.id, self.timing.now), view::ProcessingState::Scheduled, &extra);
        self.write("line_item_create", at, cause, item.id.to_string(), Further::default(), &object);
    }

    fn event(&mut self, what: &EventKind, at: Time, cause: String, state: &State, out: &FoldOutcome) {
        let name = what.name();
        match what {
            EventKind::ItemCreated(id) | EventKind::ItemUpdated(id) => {
                let item = self.find(id, out);
                self.item(name, at, cause, id, item);
            }
            EventKind::PaymentReversed { payment } => {
                let id = ItemId::Input(payment.clone());
                let item = self.find(&id, out);
                self.item(name, at, cause, &id, item);
            }
            EventKind::DueDatePassed { instalment, paid, shortfall } => {
                let shortfall = shortfall.is_positive().then_some(shortfall.0);
                let further = Further {
                    instalment: Some(*instalment),
                    paid: Some(*paid),
                    shortfall_cents: shortfall,
                    ..Further::default()
                };
                self.account(name, at, cause, state, further);
            }
            EventKind::Changed { change, rows } => self.changed(change, rows, false, at, cause, state),
            EventKind::ChangeCancelled { change, rows } => self.changed(change, rows, true, at, cause, state),
            EventKind::PaymentMissed { instalment } => {
                self.account(name, at, cause, state, Further { instalment: Some(*instalment), ..Further::default() });
            }
            EventKind::StatusChanged { from, .. } => {
                let previous_status = Some(view::AccountOverview::from(*from));
                self.account(name, at, cause, state, Further { previous_status, ..Further::default() });
            }
            EventKind::Notice { instalment, .. } => {
                self.account(name, at, cause, state, Further { instalment: *instalment, ..Further::default() });
            }
            EventKind::AccountCreated | EventKind::AccountUpdated | EventKind::Closed | EventKind::Recalculated => {
                self.account(name, at, cause, state, Further::default());
            }
        }
    }

    /// Announces a change that was processed or cancelled, and the instalments that it altered.
    fn changed(&mut self, name: &str, rows: &[ChangedRow], cancelled: bool, at: Time, cause: String, state: &State) {
        let Some(kind) = self.about.named(name).and_then(JournalEntry::change_kind) else {
            self.missing = true;
            return;
        };
        let change = ChangeOfLoan {
            kind,
            change_id: name.to_owned(),
            processing_state: view::ProcessingState::Processed,
            cancelled,
            before: self.figures.clone(),
            after: self.figures_of(state, at),
        };
        let further = Further { change: Some(change.clone()), ..Further::default() };
        self.account("account_update", at, cause.clone(), state, further);
        if !rows.is_empty() {
            let rows = rows.iter().map(view::RowEffect::from).collect();
            let further = Further { change: Some(change), rows: Some(rows), ..Further::default() };
            self.account("schedule_change", at, cause, state, further);
        }
    }

    /// Announces a change that is scheduled for later.
    pub fn change_scheduled(&mut self, name: &str, kind: &'static str, at: Time, cause: String, state: &State) {
        let change = ChangeOfLoan {
            kind,
            change_id: name.to_owned(),
            processing_state: view::ProcessingState::Scheduled,
            cancelled: false,
            before: None,
            after: None,
        };
        self.account("account_update", at, cause, state, Further { change: Some(change), ..Further::default() });
    }

    fn figures_of(&self, state: &State, at: Time) -> Option<view::AccountFigures> {
        let reading = read(self.about.terms, state, at).ok()?;
        Some(view::AccountFigures::of(&self.about.account(state, &reading, at, self.timing.now)))
    }

    /// A line item in its current state: made by this fold, or known before and possibly changed by it.
    fn find(&self, id: &ItemId, out: &FoldOutcome) -> Option<LineItem> {
        if let Some(item) = out.items.iter().rev().find(|item| item.id == *id) {
            return Some(item.clone());
        }
        let known = self.about.known?;
        let Some(item) = known.get(id) else { return self.about.decided_early(id) };
        let mut item = item.clone();
        for change in out.changes.iter().filter(|change| change.id == *id) {
            item.change(&change.change);
        }
        if item.status == ItemStatus::Invalid {
            item.invalidate();
        }
        Some(item)
    }

    fn item(&mut self, event: &'static str, at: Time, cause: String, id: &ItemId, item: Option<LineItem>) {
        let Some(item) = item else {
            self.missing = true;
            return;
        };
        let about = self.about;
        let extra = about.extra(id);
        let object = about.item(&item, about.times_of(id, self.timing.now), view::ProcessingState::Processed, &extra);
        self.write(event, at, cause, id.to_string(), Further::default(), &object);
    }

    fn account(&mut self, event: &'static str, at: Time, cause: String, state: &State, further: Further<'_>) {
        if self.is_suppressed(at) {
            return;
        }
        let about = self.about;
        let Ok(reading) = read(about.terms, state, at) else {
            // The amounts overflow; the fold itself stops at the next step.
            self.missing = true;
            return;
        };
        let object = about.account(state, &reading, at, self.timing.now);
        let subject = further.instalment.map_or_else(String::new, |instalment| format!("instalment:{instalment}"));
        self.write(event, at, cause, subject, further, &object);
    }

    fn is_suppressed(&self, at: Time) -> bool {
        self.timing.suppress_before.is_some_and(|before| at < before)
    }

    fn write<O: Serialize>(
        &mut self,
        event: &'static str,
        at: Time,
        cause: String,
        subject: String,
        further: Further<'_>,
        object: &O,
    ) {
        if self.is_suppressed(at) {
            return;
        }
        let sequence = self.last_sequence() + 1;
        let event_id = self.about.product.event_ids.of_account(self.about.account_id, sequence);
        let zone = &self.about.terms.zone;
        let data = AccountEventData {
            event_id: &event_id,
            changed_at: view::time::Local::new(self.timing.now, zone),
            effective_at: view::time::Local::new(at, zone),
            account_id: self.about.account_id,
            account_sequence: sequence,
            instalment: further.instalment,
            paid: further.paid,
            previous_status: further.previous_status,
            recalculation: further.recalculation,
            change: further.change,
            rows: further.rows,
            shortfall_cents: further.shortfall_cents,
            object,
        };
        let data = view::render(&data);
        if let Some(meter) = &mut self.meter {
            meter.bytes += data.len();
        }
        let signature = self.about.product.signing.sign(&data);
        let waits = at > self.timing.now && !self.timing.at_once;
        self.messages.push(MessageRow {
            position: None,
            due_at: waits.then_some(at),
            cancelled_at: None,
            account: Some(Arc::from(self.about.account_id)),
            sequence,
            event: event.to_owned(),
            event_id,
            cause,
            subject,
            effective_at: at,
            recorded_at: self.timing.now,
            data,
            signature,
        });
    }
}

impl FoldObserver for MessageWriter<'_> {
    fn step(&mut self, seen: &ObservedStep<'_>) {
        self.steps += 1;
        if let Some(meter) = &mut self.meter {
            meter.at = seen.at;
        }
        for event in &seen.out.events[seen.events_before..] {
            self.event(&event.what, event.at, cause_text(seen.cause), seen.state, seen.out);
        }
        if self.has_changes {
            self.figures = self.figures_of(seen.state, seen.at);
        }
        if seen.state.status.is_closed() {
            self.was_closed = true;
            cancel_notices(&mut self.messages, self.timing.now);
        }
    }

    fn restart(&mut self) {
        self.messages.clear();
        self.steps = 0;
        self.was_closed = false;
        self.figures.clone_from(&self.first_figures);
        if let Some(meter) = &mut self.meter {
            meter.bytes = 0;
        }
    }

    fn is_enough(&self) -> bool {
        self.meter.as_ref().is_some_and(|meter| meter.is_full(self.steps))
    }
}

/// Parses external fields, which the store keeps as JSON.
pub fn external_fields(extra: Option<&str>) -> Vec<ExternalField> {
    extra.and_then(|extra| serde_json::from_str(extra).ok()).unwrap_or_default()
}

impl<'a> About<'a> {
    fn named(&self, name: &str) -> Option<&'a JournalEntry> {
        named(self.names, self.journal, name)
    }

    /// The external fields of an input.
    pub fn extra(&self, id: &ItemId) -> Vec<ExternalField> {
        let ItemId::Input(name) = id else { return Vec::new() };
        external_fields(self.named(name).and_then(|record| record.row.extra.as_deref()))
    }

    /// When an item was created and updated, for an item that changes now.
    fn times_of(&self, id: &ItemId, now: Time) -> (Time, Time) {
        (self.recorded_at(id, now), now)
    }

    /// When an item's input was accepted; `now` for an item that the engine made.
    pub fn recorded_at(&self, id: &ItemId, now: Time) -> Time {
        let ItemId::Input(name) = id else { return now };
        self.named(name).map_or(now, |record| record.row.recorded_at)
    }

    /// A payment whose status was decided before its own effective time.
    pub fn decided_early(&self, id: &ItemId) -> Option<LineItem> {
        let ItemId::Input(name) = id else { return None };
        let mut item = self.named(name)?.waiting_item()?;
        let is_valid = self.journal.iter().rev().find_map(|record| match &record.record {
            Record::Input(Input::Reversal { payment }) if payment == name => Some(false),
            Record::Input(Input::RefundReversal { refund }) if refund == name => Some(false),
            Record::Input(Input::PaymentStatus { payment, valid }) if payment == name => Some(*valid),
            _ => None,
        });
        item.status = if is_valid? { ItemStatus::Valid } else { ItemStatus::Invalid };
        Some(item)
    }

    /// The account as the API shows it.
    pub fn account(&self, state: &State, reading: &Reading, at: Time, updated_at: Time) -> view::Account<'a> {
        view::Account::new(&view::AccountFacts {
            account_id: self.account_id,
            created_at: self.created_at,
            updated_at,
            effective_at: self.terms.opening.effective_at,
            processed_through: Some(at),
            held_events: 0,
            product: &self.product.facts,
            terms: self.terms,
            state,
            reading,
            customers: &self.profile.customers,
            external_fields: &self.profile.external_fields,
            credit_limit_cents: self.profile.credit_limit_cents,
            metro2_config: self.profile.metro2_config.as_ref(),
        })
    }

    /// A line item as the API shows it.
    pub fn item<'b>(
        &self,
        item: &'b LineItem,
        (created_at, updated_at): (Time, Time),
        processing_state: view::ProcessingState,
        external_fields: &'b [ExternalField],
    ) -> view::LineItem<'b>
    where
        'a: 'b,
    {
        view::LineItem::new(
            item,
            &view::ItemFacts {
                account_id: self.account_id,
                product: &self.product.facts,
                created_at,
                updated_at,
                processing_state,
                external_fields,
            },
        )
    }
}

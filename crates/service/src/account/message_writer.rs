//! The message writer writes the messages that announce events, with the data as of the moment of each event.
//!
//! It watches a fold. After each step it writes one message for each event of that step: the line item or the account
//! right after the step, rendered to the exact bytes that every receiver will get, and signed. Nothing is sent here.

pub use super::causes::{NOTICE, cancel_notices, cause_text};
use super::journal::{JournalEntry, Names, Record, named};
use super::profile::Profile;
use super::slice::{Meter, Slice};
use crate::catalog::ProductInfo;
use crate::form::fields::ExternalField;
use crate::view;
use daybook_engine::fold::{FoldObserver, ObservedStep};
use daybook_engine::installment::reading::{Reading, read};
use daybook_engine::item::{ItemId, ItemStatus, LineItem};
use daybook_engine::outcome::{EventKind, FoldOutcome};
use daybook_engine::replay::{Ledger, Recalculation};
use daybook_engine::state::State;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::records::MessageRow;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

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
}

/// `data` of a message about an account or one of its line items.
///
/// A receiver who parses it and writes it again must get the same bytes, or the signature would not be theirs. So
/// everything in it is text, whole numbers, truth values and lists of those, in one order; only percentages have
/// decimal places, in a form that writers agree on ([`PercentText`](crate::form::fields::PercentText)).
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountEventData<'a, O> {
    /// The id of the event: unique, and the same each time the event is sent.
    event_id: &'a str,
    /// When the event was recorded.
    changed_at: view::time::Local,
    /// When the event happened, by the account's clock.
    effective_at: view::time::Local,
    /// The account that the event is about.
    account_id: &'a str,
    /// The number of the message among the messages about the account: 1, 2, 3, …
    #[schema(minimum = 1)]
    account_sequence: i64,
    /// The number of the instalment that the event is about, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    instalment: Option<u32>,
    /// Whether the instalment was paid when it fell due.
    #[serde(skip_serializing_if = "Option::is_none")]
    paid: Option<bool>,
    /// The status before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_status: Option<view::AccountOverview>,
    /// The balances and line items that the recalculation changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    recalculation: Option<Recalculated<'a>>,
    /// The account or the line item right after the event, as `GET` returns it.
    object: O,
}

/// The balances and line items that a recalculation changed.
#[derive(Serialize, ToSchema)]
pub(crate) struct Recalculated<'a> {
    /// The balances before the recalculation.
    before: view::Amounts,
    /// The balances after the recalculation.
    after: view::Amounts,
    /// The line items that changed.
    line_items: Vec<ItemDifference<'a>>,
}

/// A line item before and after.
#[derive(Serialize, ToSchema)]
pub(crate) struct ItemDifference<'a> {
    /// Its id.
    line_item_id: String,
    /// Its type.
    line_item_type: &'a str,
    /// The line item before the recalculation; null if it is new.
    before: Option<ItemAmounts<'a>>,
    /// The line item after the recalculation.
    after: ItemAmounts<'a>,
}

/// The amounts of a line item.
#[derive(Serialize, ToSchema)]
pub(crate) struct ItemAmounts<'a> {
    /// `VALID`, `PENDING`, `AUTHORIZED` or `INVALID`.
    line_item_status: &'a str,
    /// The whole amount.
    original_amount_cents: i64,
    /// For a debt: the unpaid part. For a payment: the part that went to no debt, as a negative amount.
    balance_cents: i64,
    /// The principal in it.
    principal_cents: i64,
    /// The interest in it.
    interest_cents: i64,
    /// The fees in it.
    fees_cents: i64,
}

impl<'a> ItemAmounts<'a> {
    fn of(item: &LineItem) -> ItemAmounts<'a> {
        ItemAmounts {
            line_item_status: item.status.name(),
            original_amount_cents: item.amount.0,
            balance_cents: item.balance.0,
            principal_cents: item.principal.0,
            interest_cents: item.interest.0,
            fees_cents: item.fees.0,
        }
    }
}

/// Additional fields of `data`, by event.
#[derive(Default)]
struct Further<'a> {
    instalment: Option<u32>,
    paid: Option<bool>,
    previous_status: Option<view::AccountOverview>,
    recalculation: Option<Recalculated<'a>>,
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
        }
    }

    /// The same message writer, which stops the fold when a slice is full.
    pub fn within(self, slice: Option<Slice>, unsettled: Vec<(Time, Time)>) -> MessageWriter<'a> {
        MessageWriter { meter: slice.map(|slice| Meter::new(slice, unsettled)), ..self }
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
            EventKind::DueDatePassed { instalment, paid, .. } => {
                let further = Further { instalment: Some(*instalment), paid: Some(*paid), ..Further::default() };
                self.account(name, at, cause, state, further);
            }
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
        if seen.state.status.is_closed() {
            self.was_closed = true;
            cancel_notices(&mut self.messages, self.timing.now);
        }
    }

    fn restart(&mut self) {
        self.messages.clear();
        self.steps = 0;
        self.was_closed = false;
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

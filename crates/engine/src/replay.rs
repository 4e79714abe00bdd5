//! Folding from the beginning, and comparing the result with an earlier one.
//!
//! Folding the same timeline again produces the same account. If an entry was inserted into its past, or a payment is
//! undone as if it had never been made, the account changes; [`recalculate`] reports the change to each line item.

use crate::fold::{FoldError, FoldObserver, fold_as};
use crate::item::{ItemId, ItemStatus, LineItem};
use crate::outcome::{Balances, Event, EventKind, FoldOutcome};
use crate::state::State;
use crate::status::Status;
use crate::step::FoldOptions;
use crate::terms::Terms;
use crate::time::Time;
use crate::timeline::Entry;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Folds a whole timeline, up to and including `until`.
pub fn replay(terms: &Terms, entries: &[Entry], until: Time) -> Result<(State, FoldOutcome), FoldError> {
    replay_as(terms, &State::new(), entries, until, false, None)
}

/// [`replay`], with an observer that sees each step.
pub fn replay_watched(
    terms: &Terms,
    entries: &[Entry],
    until: Time,
    watch: &mut dyn FoldObserver,
) -> Result<(State, FoldOutcome), FoldError> {
    replay_as(terms, &State::new(), entries, until, false, Some(watch))
}

/// [`replay_watched`], continuing where an earlier part of the same replay stopped. No entry may change how a payment
/// before that point counts.
pub fn replay_on(
    terms: &Terms,
    state: &State,
    entries: &[Entry],
    until: Time,
    watch: &mut dyn FoldObserver,
) -> Result<(State, FoldOutcome), FoldError> {
    replay_as(terms, state, entries, until, false, Some(watch))
}

/// [`replay`], recording every step and the balances after it. It explains the balance.
pub fn explain(terms: &Terms, entries: &[Entry], until: Time) -> Result<(State, FoldOutcome), FoldError> {
    replay_as(terms, &State::new(), entries, until, true, None)
}

fn replay_as(
    terms: &Terms,
    state: &State,
    entries: &[Entry],
    until: Time,
    explained: bool,
    mut watch: Option<&mut dyn FoldObserver>,
) -> Result<(State, FoldOutcome), FoldError> {
    let mut revised = Vec::new();
    loop {
        let how = FoldOptions { revised: &revised, explained, observed: false };
        match fold_as(terms, state.clone(), entries, until, how, watch.as_deref_mut().map(|watch| watch as _)) {
            Err(FoldError::Revise(revision)) => {
                revised.push(*revision);
                if let Some(watch) = &mut watch {
                    watch.restart();
                }
            }
            result => return result,
        }
    }
}

/// The line items of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    items: BTreeMap<ItemId, LineItem>,
}

impl Ledger {
    /// The ledger of a whole timeline's outcome.
    pub fn of(outcome: &FoldOutcome) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.absorb(outcome);
        ledger
    }

    /// Adds the items and changes of a fold.
    pub fn absorb(&mut self, outcome: &FoldOutcome) {
        for item in &outcome.items {
            self.items.insert(item.id.clone(), item.clone());
        }
        for change in &outcome.changes {
            if let Some(item) = self.items.get_mut(&change.id) {
                item.change(&change.change);
            }
        }
    }

    /// Every item, by id.
    pub fn items(&self) -> impl Iterator<Item = &LineItem> {
        self.items.values()
    }

    /// Every item that counts or may count.
    pub fn valid(&self) -> impl Iterator<Item = &LineItem> {
        self.items().filter(|item| item.status != ItemStatus::Invalid)
    }

    /// One item.
    pub fn get(&self, id: &ItemId) -> Option<&LineItem> {
        self.items.get(id)
    }
}

/// The change to a line item when the account was folded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The item before; `None` if it is new.
    pub before: Option<LineItem>,
    /// The item after. An item that no longer exists is kept as invalid.
    pub after: LineItem,
}

impl Difference {
    /// Whether to announce the difference: more changed than the balance and `reversed_by`. Balance changes are never
    /// announced, and a reversal has its own event.
    fn is_announced(&self) -> bool {
        let Some(before) = &self.before else { return true };
        let (balance, reversed_by) = (self.after.balance, self.after.reversed_by.clone());
        LineItem { balance, reversed_by, ..before.clone() } != self.after
    }
}

/// An account that was folded again, and the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalculation {
    /// The new state.
    pub state: State,
    /// The outcome of the whole new timeline.
    pub outcome: FoldOutcome,
    /// Every line item that changed.
    pub differences: Vec<Difference>,
    /// Balances before and after.
    pub balances: (Balances, Balances),
    /// Status before and after.
    pub status: (Status, Status),
    /// The events to announce, all at the account clock.
    pub events: Vec<Event>,
}

/// Folds a changed timeline up to the account clock and compares the result with the old timeline's.
pub fn recalculate(terms: &Terms, before: &[Entry], after: &[Entry], clock: Time) -> Result<Recalculation, FoldError> {
    let (old_state, old_outcome) = replay(terms, before, clock)?;
    let (state, outcome) = replay(terms, after, clock)?;
    let differences = differences(&Ledger::of(&old_outcome), &Ledger::of(&outcome));
    let balances = (old_state.balances(), state.balances());
    let status = (old_state.status, state.status);
    let is_new = |seq: u64| before.iter().all(|entry| entry.place.seq != seq);
    let mut events: Vec<Event> = Vec::new();
    let mut announce = |input, what| events.push(Event { at: clock, input, what });
    for difference in differences.iter().filter(|difference| difference.is_announced()) {
        let id = difference.after.id.clone();
        let created = difference.before.is_none();
        announce(None, if created { EventKind::ItemCreated(id) } else { EventKind::ItemUpdated(id) });
    }
    for event in outcome.events.iter().filter(|event| event.input.is_some_and(is_new)) {
        if matches!(
            event.what,
            EventKind::PaymentReversed { .. }
                | EventKind::AccountUpdated
                | EventKind::Changed { .. }
                | EventKind::ChangeCancelled { .. }
        ) {
            announce(event.input, event.what.clone());
        }
    }
    if status.0 != status.1 {
        announce(None, EventKind::StatusChanged { from: status.0, to: status.1 });
        if status.1.is_closed() && !status.0.is_closed() {
            announce(None, EventKind::Closed);
        }
    }
    announce(None, EventKind::Recalculated);
    Ok(Recalculation { state, outcome, differences, balances, status, events })
}

fn differences(before: &Ledger, after: &Ledger) -> Vec<Difference> {
    let gone = before.items().filter(|item| after.get(&item.id).is_none() && item.status != ItemStatus::Invalid);
    let gone = gone.map(|item| {
        let after = LineItem { status: ItemStatus::Invalid, ..item.clone() };
        Difference { before: Some(item.clone()), after }
    });
    let here = after.items().filter_map(|item| {
        let before = before.get(&item.id);
        (before != Some(item)).then(|| Difference { before: before.cloned(), after: item.clone() })
    });
    gone.chain(here).collect()
}

//! A step of the fold: what it changes, the means to change it, and why it can stop the fold.
//!
//! [`StepContext`] holds the account and the outcome while a step is taken. It knows how to add and change line items
//! and how to announce events; what a step means is the matter of the fold and of the product.

use crate::calendar::Day;
use crate::installment::Installment;
use crate::installment::loan::{Allocation, Loan};
use crate::item::{ItemChange, ItemChangeKind, ItemId, ItemStatus, LineItem, Name};
use crate::money::{Cents, Overflow};
use crate::outcome::{Event, EventKind, FoldOutcome};
use crate::state::State;
use crate::terms::Terms;
use crate::timeline::TimelinePosition;
use alloc::boxed::Box;

/// Why a fold could not continue. The state that was passed in is lost; the fold has no side effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoldError {
    /// An amount exceeded the largest that the engine can count.
    Overflow,
    /// An entry undoes a payment from before the snapshot: fold from the beginning, see [`crate::replay`].
    NeedsPast,
    /// A later entry changes how a payment counts: fold from the beginning with this revision, see [`crate::replay`].
    Revise(Box<Revision>),
}

/// A payment that is folded differently from its own entry, because a later entry changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub(crate) payment: Name,
    pub(crate) now: Revised,
}

/// How a payment is folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Revised {
    /// As if it had never been made, though its item stays. Holds where its money went before.
    Reversed(Allocation),
    /// As if it had never been made.
    Invalid,
    /// The payment is authorized and becomes valid later, so it counts from its own time.
    Valid,
}

impl Revision {
    /// Which payment.
    pub fn payment(&self) -> &Name {
        &self.payment
    }

    /// Whether the payment is folded as if it had never been made.
    pub fn is_undone(&self) -> bool {
        self.now != Revised::Valid
    }
}

impl From<Overflow> for FoldError {
    fn from(Overflow: Overflow) -> FoldError {
        FoldError::Overflow
    }
}

/// How to fold.
#[derive(Clone, Copy, Default)]
pub(crate) struct FoldOptions<'a> {
    /// Payments that are folded differently from their own entries.
    pub revised: &'a [Revision],
    /// Whether to record each step, with the balances after it.
    pub explained: bool,
    /// Whether the fold has an observer, who learns which rows a change altered.
    pub observed: bool,
}

/// One step in progress. [`crate::fold`] begins it; [`crate::installment`] implements what it does to an instalment
/// loan.
pub(crate) struct StepContext<'a> {
    pub terms: &'a Terms,
    pub plan: &'a Installment,
    pub state: &'a mut State,
    pub out: &'a mut FoldOutcome,
    /// The step's place in the timeline.
    pub place: TimelinePosition,
    /// Its local date.
    pub today: Day,
    /// The input being applied; `None` for a moment.
    pub input: Option<u64>,
    /// Whether the input was scheduled before: its item is already known.
    pub scheduled: bool,
    /// How to fold.
    pub how: FoldOptions<'a>,
}

impl<'a> StepContext<'a> {
    /// A step at a place in the timeline.
    pub fn new(
        terms: &'a Terms,
        state: &'a mut State,
        out: &'a mut FoldOutcome,
        place: TimelinePosition,
        how: FoldOptions<'a>,
    ) -> StepContext<'a> {
        let today = terms.zone.day_at(place.at);
        StepContext { terms, plan: terms.installment(), state, out, place, today, input: None, scheduled: false, how }
    }

    /// A step that writes to a scratch outcome, for projections.
    pub fn scratch(
        terms: &'a Terms,
        state: &'a mut State,
        out: &'a mut FoldOutcome,
        place: TimelinePosition,
    ) -> StepContext<'a> {
        StepContext::new(terms, state, out, place, FoldOptions::default())
    }

    pub fn loan(&mut self) -> &mut Loan {
        self.state.loan_mut()
    }

    /// The number of the last row of the plan in force.
    pub fn last_row(&self) -> u32 {
        self.state.loan().plan.count()
    }

    pub fn announce(&mut self, what: EventKind) {
        self.announce_at(self.out.events.len(), what);
    }

    /// Inserts an event at an index, before later ones. The item of a scheduled input is already known, so its creation
    /// is announced as an update.
    pub fn announce_at(&mut self, index: usize, what: EventKind) {
        let what = match what {
            EventKind::ItemCreated(id @ ItemId::Input(_)) if self.scheduled => EventKind::ItemUpdated(id),
            what => what,
        };
        self.out.events.insert(index, Event { at: self.place.at, input: self.input, what });
    }

    /// Adds an amount to the account's turnover. Fails if the turnover would exceed [`Cents::LIMIT`].
    pub fn admit(&mut self, amount: Cents) -> Result<(), FoldError> {
        let turnover = self.state.turnover.0.checked_add(amount.0.abs()).ok_or(FoldError::Overflow)?;
        if turnover > Cents::LIMIT.0 {
            return Err(FoldError::Overflow);
        }
        self.state.turnover = Cents(turnover);
        Ok(())
    }

    /// Adds a line item to the outcome and returns its index.
    pub fn add_item(&mut self, item: LineItem) -> u32 {
        self.out.items.push(item);
        self.out.items.len() as u32 - 1
    }

    pub fn set_balance(&mut self, slot: Option<u32>, id: &ItemId, balance: Cents) {
        match slot {
            Some(slot) => self.out.items[slot as usize].balance = balance,
            None => self.out.changes.push(ItemChange { id: id.clone(), change: ItemChangeKind::Balance(balance) }),
        }
    }

    pub fn set_item_status(&mut self, slot: Option<u32>, id: &ItemId, status: ItemStatus) {
        match slot {
            Some(slot) if status == ItemStatus::Invalid => self.out.items[slot as usize].invalidate(),
            Some(slot) => self.out.items[slot as usize].status = status,
            None => self.out.changes.push(ItemChange { id: id.clone(), change: ItemChangeKind::Status(status) }),
        }
    }

    pub fn set_reversed_by(&mut self, slot: Option<u32>, id: &ItemId, reversal: &Name) {
        match slot {
            Some(slot) => self.out.items[slot as usize].reversed_by = Some(reversal.clone()),
            None => {
                let change = ItemChangeKind::ReversedBy(reversal.clone());
                self.out.changes.push(ItemChange { id: id.clone(), change });
            }
        }
    }

    /// Whether a payment is folded as if it had never been made, and why.
    pub fn undone(&self, payment: &Name) -> Option<&'a Revised> {
        self.revisions_of(payment).find(|now| **now != Revised::Valid)
    }

    /// Whether an authorized payment becomes valid later, and counts from its own time.
    pub fn will_be_valid(&self, payment: &Name) -> bool {
        self.revisions_of(payment).any(|now| *now == Revised::Valid)
    }

    fn revisions_of<'b>(&self, payment: &'b Name) -> impl Iterator<Item = &'a Revised> + use<'a, 'b> {
        self.how.revised.iter().filter(move |revision| revision.payment == *payment).map(|revision| &revision.now)
    }
}

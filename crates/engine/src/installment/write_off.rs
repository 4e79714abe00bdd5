//! Small balances: a payoff within the product's limit is written off after a payment, and when the last instalment
//! falls due. The account then owes nothing and closes.

use super::loan::Allocation;
use super::payments::allocated_item;
use crate::item::{Component, ItemId, ItemKind, ItemReason, LineItem};
use crate::money::Cents;
use crate::outcome::EventKind;
use crate::step::{FoldError, StepContext};
use alloc::vec::Vec;

/// The write-offs of a loan, kept to undo them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteOffs {
    done: Vec<WriteOff>,
}

/// A balance that was written off.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WriteOff {
    /// The number of the fold's step, that of the payment before it.
    step: u64,
    amount: Cents,
    allocated: Allocation,
}

impl StepContext<'_> {
    /// Writes the payoff off if it is within the product's limit.
    pub fn write_off_small_balance(&mut self) -> Result<(), FoldError> {
        let most = self.plan.policy.write_off;
        // An account whose status a person set does not close, so nothing is written off.
        if most.is_zero() || !self.state.status.moves_by_itself() {
            return Ok(());
        }
        self.accrue();
        let amount = self.payoff()?;
        if !amount.is_positive() || amount > most {
            return Ok(());
        }
        self.admit(amount)?;
        let events = self.out.events.len();
        let allocated = self.allocate(amount, None)?;
        assert!(allocated.surplus().is_zero(), "no more is written off than is owed");
        let id = self.next_write_off();
        let mut item = allocated_item(id.clone(), ItemKind::DebitOffset, self.place.at, amount, &allocated);
        item.reason = Some(ItemReason::WriteOff);
        self.add_item(item);
        self.announce_at(events, EventKind::ItemCreated(id));
        let step = self.state.steps;
        match &mut self.loan().past {
            Some(past) => past.write_offs.done.push(WriteOff { step, amount, allocated }),
            None => self.keep_room(allocated),
        }
        Ok(())
    }

    /// Before a payment is undone, undoes the write-off that followed it, by exact negatives. Needs the past.
    pub fn undo_write_off(&mut self, step: u64) -> Result<(), FoldError> {
        let Some(past) = &mut self.loan().past else { return Err(FoldError::NeedsPast) };
        let Some(index) = past.write_offs.done.iter().position(|done| done.step == step) else { return Ok(()) };
        let WriteOff { amount, allocated, .. } = past.write_offs.done.remove(index);
        // Undoing takes the interest off the sum that payments paid, which a write-off does not add to.
        self.state.interest_paid_total += allocated.component(Component::Interest);
        self.undo_allocation(&allocated)?;
        let id = self.next_write_off();
        let mut item = LineItem::new(id.clone(), ItemKind::DebitOffset, self.place.at, amount);
        item.reason = Some(ItemReason::WriteOff);
        for component in [Component::Principal, Component::Interest, Component::Fee] {
            *item.component_mut(component) = allocated.component(component);
        }
        self.add_item(item);
        self.announce(EventKind::ItemCreated(id));
        Ok(())
    }

    fn next_write_off(&mut self) -> ItemId {
        self.state.write_offs += 1;
        ItemId::WriteOff { number: self.state.write_offs }
    }
}

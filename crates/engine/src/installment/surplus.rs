//! Money left over when no debt remained to pay. It is kept for the borrower and used as soon as something is owed
//! again: allocated like a payment, as a line item of its own.

use super::payments::allocated_item;
use crate::item::{Component, ItemId, ItemKind, LineItem};
use crate::money::Cents;
use crate::outcome::EventKind;
use crate::step::{FoldError, StepContext};

impl StepContext<'_> {
    /// Uses surplus if a step has left more owed than before.
    pub fn use_surplus_if_more_is_owed(&mut self, owed_before: Cents) -> Result<(), FoldError> {
        let is_usable = self.state.surplus.is_positive() && !self.state.surplus_waits;
        let more = is_usable && self.state.balances().owed() > owed_before;
        if more { self.use_surplus() } else { Ok(()) }
    }

    /// Allocates surplus to the debts.
    pub fn use_surplus(&mut self) -> Result<(), FoldError> {
        self.accrue();
        let owed = self.state.balances().owed() + self.unrecognised()?;
        let amount = owed.min(self.state.surplus);
        if amount.is_zero() {
            return Ok(());
        }
        let events = self.out.events.len();
        self.state.surplus -= amount;
        let allocated = self.allocate(amount, None)?;
        assert!(allocated.surplus().is_zero(), "no more surplus is used than is owed");
        self.state.surplus_uses += 1;
        self.state.interest_paid_total += allocated.component(Component::Interest);
        let number = self.state.surplus_uses;
        let id = ItemId::Surplus { number };
        let item = allocated_item(id.clone(), ItemKind::SurplusApplied, self.place.at, amount, &allocated);
        self.add_item(item);
        self.announce_at(events, EventKind::ItemCreated(id));
        let pyramiding = self.plan.policy.late_fee.pyramiding;
        let loan = self.loan();
        let fed_by = loan.take_surplus(amount);
        loan.note_use(&fed_by, &allocated.shares, pyramiding);
        match &mut loan.past {
            Some(past) => past.surplus.remember(amount, allocated, fed_by),
            None => self.keep_room(allocated),
        }
        Ok(())
    }

    /// Before a payment is undone, undoes the uses of its surplus, newest first. Each undo is an exact negative with
    /// its own line item. Needs the past.
    pub fn undo_uses_of_surplus(&mut self, step: u64) -> Result<(), FoldError> {
        while let Some(used) = self.loan().past.as_mut().and_then(|past| past.surplus.undo_newest_fed_by(step)) {
            self.undo_allocation(&used.allocated)?;
            let loan = self.loan();
            loan.note_use_undone(&used.fed_by, &used.allocated.shares);
            used.fed_by.iter().for_each(|(step, cents)| loan.keep_surplus(*step, *cents));
            self.state.surplus += used.amount;
            self.state.surplus_uses += 1;
            let id = ItemId::Surplus { number: self.state.surplus_uses };
            let mut item = LineItem::new(id.clone(), ItemKind::SurplusApplied, self.place.at, used.amount);
            for component in [Component::Principal, Component::Interest, Component::Fee] {
                *item.component_mut(component) = used.allocated.component(component);
            }
            self.add_item(item);
            self.announce(EventKind::ItemCreated(id));
        }
        self.loan().drop_surplus(step);
        Ok(())
    }
}

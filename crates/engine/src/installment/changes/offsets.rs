//! The line items of amounts that a change waives, forgives or turns into principal.

use crate::installment::allocation::MoneyToAllocate;
use crate::installment::loan::Allocation;
use crate::installment::payments::allocated_item;
use crate::item::{ChangeItem, Component, ItemId, ItemKind, ItemReason, LineItem, Name, Split};
use crate::money::Cents;
use crate::outcome::EventKind;
use crate::step::{FoldError, StepContext};
use crate::timeline::FeeClass;
use alloc::vec::Vec;

impl StepContext<'_> {
    /// Lowers the balance by an offset that is allocated like a payment.
    pub(super) fn offset(
        &mut self,
        id: ItemId,
        amount: Cents,
        component: Component,
        reason: ItemReason,
    ) -> Result<(), FoldError> {
        self.admit(amount)?;
        let events = self.out.events.len();
        let allocated = self.allocate(amount, Some(component))?;
        let step = self.state.steps;
        self.loan().keep_surplus(step, allocated.surplus());
        self.add_offset(id, amount, allocated, reason, events);
        Ok(())
    }

    fn add_offset(&mut self, id: ItemId, amount: Cents, allocated: Allocation, reason: ItemReason, events: usize) {
        let mut item = allocated_item(id.clone(), ItemKind::DebitOffset, self.place.at, amount, &allocated);
        item.reason = Some(reason);
        self.add_item(item);
        self.keep_room(allocated);
        self.announce_at(events, EventKind::ItemCreated(id));
    }

    /// Takes off all posted interest, and that of the open period if `accrued`. Returns how much.
    pub(super) fn offset_interest(
        &mut self,
        change: &Name,
        accrued: bool,
        reason: ItemReason,
    ) -> Result<Cents, FoldError> {
        self.accrue();
        let open = if accrued { self.unrecognised()? } else { Cents::ZERO };
        let amount = self.state.loan().interest + open;
        if amount.is_zero() {
            return Ok(Cents::ZERO);
        }
        self.admit(amount)?;
        let events = self.out.events.len();
        let allocated = core::mem::take(&mut self.state.scratch);
        let mut money = MoneyToAllocate { left: amount, accrued: open, pays_off: false, allocated };
        for row in self.state.loan().first_row..=self.last_row() + 1 {
            self.fill_posted_interest(&mut money, row);
        }
        self.pay_accrued_interest(&mut money)?;
        assert!(money.left.is_zero(), "interest that is owed can be taken off");
        let id = ItemId::OfChange { change: change.clone(), item: ChangeItem::InterestOffset };
        self.add_offset(id, amount, money.allocated, reason, events);
        Ok(amount)
    }

    /// Adds principal that interest or fees have become.
    pub(super) fn capitalize_amount(
        &mut self,
        change: &Name,
        item: ChangeItem,
        amount: Cents,
    ) -> Result<(), FoldError> {
        self.admit(amount)?;
        self.accrue();
        let id = ItemId::OfChange { change: change.clone(), item };
        let debt = self.add_debt(id.clone(), ItemKind::CreditOffset, amount, Component::Principal, self.place.at);
        if let Some(added) = debt.slot.and_then(|slot| self.out.items.get_mut(slot as usize)) {
            added.reason = Some(ItemReason::Capitalized);
        }
        let loan = self.loan();
        loan.principal_items.push(debt);
        loan.lent += amount;
        loan.principal += amount;
        self.schedule_rest();
        Ok(())
    }

    /// Interest becomes principal.
    pub(super) fn capitalize_interest(&mut self, change: &Name, accrued: bool) -> Result<(), FoldError> {
        let amount = self.offset_interest(change, accrued, ItemReason::Capitalized)?;
        if amount.is_positive() {
            self.capitalize_amount(change, ChangeItem::CapitalizedInterest, amount)?;
        }
        Ok(())
    }

    /// Unpaid fees become principal.
    pub(super) fn capitalize_fees(&mut self, change: &Name) -> Result<(), FoldError> {
        let amount = self.state.loan().fees_balance();
        if amount.is_zero() {
            return Ok(());
        }
        let id = ItemId::OfChange { change: change.clone(), item: ChangeItem::FeeOffset };
        self.offset(id, amount, Component::Fee, ItemReason::Capitalized)?;
        self.capitalize_amount(change, ChangeItem::CapitalizedFees, amount)
    }

    /// Waives all unpaid fees, and returns their sum.
    pub(super) fn waive_fees(&mut self, change: &Name) -> Cents {
        let fees: Vec<_> = core::mem::take(&mut self.loan().fees);
        let mut waived = Cents::ZERO;
        for (number, fee) in (1..).zip(fees) {
            let debt = fee.debt;
            waived += debt.balance;
            if debt.kind == ItemKind::LateFee {
                self.loan().late_fees.charged -= debt.balance;
            }
            self.set_balance(debt.slot, &debt.id, Cents::ZERO);
            let id = ItemId::OfChange { change: change.clone(), item: ChangeItem::Waiver { number } };
            let mut item = LineItem::new(id.clone(), ItemKind::FeeWaiver, self.place.at, -debt.balance);
            item.fees = -debt.balance;
            item.splits.push(Split { item: debt.id, kind: debt.kind, component: Component::Fee, cents: debt.balance });
            self.add_item(item);
            self.announce(EventKind::ItemCreated(id));
        }
        waived
    }

    /// Charges a sum anew as equal fees, one for each row from `first` on; the last takes the rest.
    pub(super) fn spread_fees(&mut self, change: &Name, first: u32, sum: Cents) -> Result<(), FoldError> {
        let last = self.last_row();
        let share = Cents(sum.0 / i64::from(last + 1 - first));
        let mut left = sum;
        for row in first..=last {
            let part = if row == last { left } else { share };
            left -= part;
            if part.is_zero() {
                continue;
            }
            let id = ItemId::OfChange { change: change.clone(), item: ChangeItem::Fee { number: row + 1 - first } };
            self.charge_fee_of(row, (id, ItemKind::ManualFee), part, FeeClass::Fee, self.place.at)?;
        }
        Ok(())
    }
}

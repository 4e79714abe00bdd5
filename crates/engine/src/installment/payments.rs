//! Payments: recording them, changing their status, reversing them. Also debit offsets, which are allocated like
//! payments.

use super::loan::Allocation;
use crate::item::{Component, ItemId, ItemKind, ItemStatus, LineItem, Name};
use crate::money::Cents;
use crate::outcome::{EventKind, Refusal};
use crate::state::{Undecided, Unsettled};
use crate::status::Status;
use crate::step::{FoldError, Revised, Revision, StepContext};
use crate::time::Time;
use crate::timeline::{Backdating, Entry, FeeClass};
use alloc::boxed::Box;

/// A payment about to be applied.
struct Receipt<'a> {
    name: &'a Name,
    amount: Cents,
    status: ItemStatus,
    allocation: Option<Component>,
    effective_at: Time,
    /// Whether its line item was already announced when it was authorized.
    known: bool,
}

impl StepContext<'_> {
    /// Records a payment.
    pub fn payment(
        &mut self,
        entry: &Entry,
        amount: Cents,
        status: ItemStatus,
        allocation: Option<Component>,
    ) -> Result<(), FoldError> {
        let name = &entry.name;
        let mut receipt = Receipt { name, amount, status, allocation, effective_at: entry.effective_at, known: false };
        let early = self.state.decided_early.iter().position(|(decided, _)| decided == name);
        match early.map(|index| self.state.decided_early.remove(index).1) {
            Some(true) => receipt.status = ItemStatus::Valid,
            Some(false) => {
                // The cancellation was announced when it was decided.
                self.forget_payment(name);
                self.add_payment(&Receipt { status: ItemStatus::Invalid, ..receipt });
                return Ok(());
            }
            None => {}
        }
        match receipt.status {
            ItemStatus::Valid | ItemStatus::Pending => self.receive(receipt),
            ItemStatus::Authorized if self.will_be_valid(name) => self.receive(receipt),
            ItemStatus::Authorized => {
                let standing = Undecided::Waits { amount, allocation, effective_at: entry.effective_at };
                self.state.unsettled.push(Unsettled { name: name.clone(), standing });
                self.note_payment(&receipt);
                Ok(())
            }
            ItemStatus::Invalid => {
                self.forget_payment(name);
                self.note_payment(&receipt);
                Ok(())
            }
        }
    }

    /// Adds the line item of a payment that moves no money.
    fn add_payment(&mut self, receipt: &Receipt<'_>) {
        let id = ItemId::Input(receipt.name.clone());
        let mut item = LineItem::new(id, ItemKind::Payment, self.place.at, -receipt.amount);
        (item.status, item.effective_at) = (receipt.status, receipt.effective_at);
        self.add_item(item);
    }

    /// [`StepContext::add_payment`], and announces the item.
    fn note_payment(&mut self, receipt: &Receipt<'_>) {
        self.add_payment(receipt);
        let id = ItemId::Input(receipt.name.clone());
        self.announce(if receipt.known { EventKind::ItemUpdated(id) } else { EventKind::ItemCreated(id) });
    }

    /// Records that a payment is invalid.
    pub fn forget_payment(&mut self, name: &Name) {
        if let Some(past) = &mut self.loan().past {
            past.invalid.push(name.clone());
        }
    }

    /// Applies the money of a payment.
    fn receive(&mut self, receipt: Receipt<'_>) -> Result<(), FoldError> {
        let Receipt { name, amount, status, allocation, effective_at, known } = receipt;
        let events = self.out.events.len();
        let mut allocated = match self.undone(name) {
            // The item stays as it was; no money is poured.
            Some(Revised::Reversed(allocated)) => allocated.clone(),
            Some(_) => {
                self.state.unsettled.push(Unsettled { name: name.clone(), standing: Undecided::Counts });
                self.note_payment(&Receipt { status: ItemStatus::Invalid, ..receipt });
                return Ok(());
            }
            None => {
                self.admit(amount)?;
                let allocated = self.allocate(amount, allocation)?;
                self.drop_fraction()?;
                self.tolerate_shortfalls()?;
                let (step, pyramiding) = (self.state.steps, self.plan.policy.late_fee.pyramiding);
                self.loan().note_receipt(step, amount, &allocated.shares, pyramiding);
                self.loan().keep_surplus(step, allocated.surplus());
                self.state.paid_total += amount;
                self.state.interest_paid_total += allocated.component(Component::Interest);
                allocated
            }
        };
        let id = ItemId::Input(name.clone());
        let mut item = allocated_item(id.clone(), ItemKind::Payment, self.place.at, amount, &allocated);
        (item.status, item.effective_at) = (status, effective_at);
        self.add_item(item);
        // Interest that the payment paid before it was posted is announced after the payment.
        self.announce_at(events, if known { EventKind::ItemUpdated(id) } else { EventKind::ItemCreated(id) });
        let standing = match status {
            ItemStatus::Pending => Some(Undecided::Counts),
            ItemStatus::Authorized => Some(Undecided::WillBeValid),
            ItemStatus::Valid | ItemStatus::Invalid => None,
        };
        if let Some(standing) = standing {
            self.state.unsettled.push(Unsettled { name: name.clone(), standing });
        }
        let step = self.state.steps;
        if let Some(past) = &mut self.loan().past {
            past.remember(name.clone(), amount, status, step, &mut allocated);
        }
        self.keep_room(allocated);
        if self.undone(name).is_none() { self.write_off_small_balance() } else { Ok(()) }
    }

    /// Keeps the allocated memory for the next payment.
    pub fn keep_room(&mut self, mut allocated: Allocation) {
        allocated.shares.clear();
        allocated.paid_down.clear();
        allocated.lowered = None;
        self.state.scratch = allocated;
    }

    /// Makes a pending or authorized payment valid or invalid.
    pub fn payment_status(&mut self, name: &Name, valid: bool) -> Result<Result<(), Refusal>, FoldError> {
        let status = if valid { ItemStatus::Valid } else { ItemStatus::Invalid };
        let Some(index) = self.state.unsettled.iter().position(|unsettled| unsettled.name == *name) else {
            return self.decide_early(name, valid, Refusal::StatusIsFinal, Refusal::StatusIsFinal);
        };
        let unsettled = self.state.unsettled.remove(index);
        match (unsettled.standing, valid) {
            (Undecided::Waits { .. }, true) if self.terms.backdating == Backdating::Replay => {
                let payment = name.clone();
                return Err(FoldError::Revise(Box::new(Revision { payment, now: Revised::Valid })));
            }
            (Undecided::Waits { amount, allocation, effective_at }, true) => {
                self.receive(Receipt { name, amount, status, allocation, effective_at, known: true })?;
            }
            (Undecided::Waits { .. }, false) => {
                self.forget_payment(name);
                self.change_payment(name, status);
            }
            (Undecided::Counts | Undecided::WillBeValid, true) => self.change_payment(name, status),
            (Undecided::Counts | Undecided::WillBeValid, false) => {
                let owed = self.state.balances().owed();
                let unpaid = self.state.loan().unpaid_after_grace();
                if self.undone(name).is_none() {
                    self.undo_payment(name, false)?;
                }
                self.forget_payment(name);
                self.change_payment(name, status);
                self.reopen_if_owing_again(owed)?;
                self.recount_late(&unpaid)?;
            }
        }
        Ok(Ok(()))
    }

    /// Decides about a payment that is neither pending nor authorized. The decision is refused if the payment was
    /// applied or is invalid, and remembered if the payment's own time is in the future.
    pub fn decide_early(
        &mut self,
        name: &Name,
        valid: bool,
        applied: Refusal,
        invalid: Refusal,
    ) -> Result<Result<(), Refusal>, FoldError> {
        let Some(past) = &self.state.loan().past else { return Err(FoldError::NeedsPast) };
        if past.payments.iter().any(|payment| payment.name == *name) {
            return Ok(Err(applied));
        }
        if past.invalid.contains(name) {
            return Ok(Err(invalid));
        }
        match self.state.decided_early.iter_mut().find(|(decided, _)| decided == name) {
            Some((_, false)) => return Ok(Err(invalid)),
            Some(decision) => decision.1 = valid,
            None => self.state.decided_early.push((name.clone(), valid)),
        }
        self.announce(EventKind::ItemUpdated(ItemId::Input(name.clone())));
        Ok(Ok(()))
    }

    /// Changes the status of a payment's line item.
    fn change_payment(&mut self, name: &Name, status: ItemStatus) {
        let id = ItemId::Input(name.clone());
        let slot = self.slot_of(&id);
        self.set_item_status(slot, &id, status);
        if let Some(past) = &mut self.loan().past
            && let Some(payment) = past.payments.iter_mut().find(|payment| payment.name == *name)
        {
            payment.status = status;
        }
        self.announce(EventKind::ItemUpdated(id));
    }

    /// Undoes a payment: as posted, by exact negatives; under replay, by folding again without it.
    fn undo_payment(&mut self, name: &Name, keep: bool) -> Result<(Cents, Allocation), FoldError> {
        let Some(past) = &self.state.loan().past else { return Err(FoldError::NeedsPast) };
        let Some(applied) = past.payments.iter().find(|payment| payment.name == *name).cloned() else {
            return Err(FoldError::NeedsPast);
        };
        let allocated = past.allocation_of(&applied);
        if self.undone(name).is_some() {
            return Ok((applied.amount, allocated));
        }
        if self.terms.backdating == Backdating::Replay {
            let now = if keep { Revised::Reversed(allocated) } else { Revised::Invalid };
            return Err(FoldError::Revise(Box::new(Revision { payment: name.clone(), now })));
        }
        self.undo(&applied, &allocated)?;
        Ok((applied.amount, allocated))
    }

    /// Reverses a payment that bounced.
    pub fn reversal(&mut self, entry: &Entry, payment: &Name) -> Result<Result<(), Refusal>, FoldError> {
        let authorized = |unsettled: &Unsettled| unsettled.standing != Undecided::Counts && unsettled.name == *payment;
        if self.state.unsettled.iter().any(authorized) {
            return Ok(Err(Refusal::NotConfirmed));
        }
        let Some(past) = &mut self.loan().past else { return Err(FoldError::NeedsPast) };
        match past.payments.iter_mut().find(|applied| applied.name == *payment) {
            None => return self.decide_early(payment, false, Refusal::NotReversible, Refusal::NotReversible),
            Some(applied) if applied.reversed => return Ok(Err(Refusal::AlreadyReversed)),
            Some(applied) if applied.status == ItemStatus::Invalid => return Ok(Err(Refusal::NotReversible)),
            Some(applied) => applied.reversed = true,
        }
        let owed = self.state.balances().owed();
        let unpaid = self.state.loan().unpaid_after_grace();
        let (amount, allocated) = self.undo_payment(payment, true)?;
        self.state.unsettled.retain(|unsettled| unsettled.name != *payment);
        self.add_reversal(entry, amount, &allocated);
        let id = ItemId::Input(payment.clone());
        let slot = self.slot_of(&id);
        self.set_reversed_by(slot, &id, &entry.name);
        self.announce(EventKind::PaymentReversed { payment: payment.clone() });
        let fee = self.terms.reversal_fee;
        if fee.is_positive() && self.state.status != Status::CHARGED_OFF {
            let id = ItemId::ReversalFee { reversal: entry.name.clone() };
            self.charge_fee(id, ItemKind::ReturnCheckFee, fee, FeeClass::Penalty, self.place.at)?;
        }
        self.reopen_if_owing_again(owed)?;
        self.recount_late(&unpaid)?;
        Ok(Ok(()))
    }

    /// Reopens an account that closed because it was paid off, if an undone payment left more owed than the surplus
    /// pays.
    pub fn reopen_if_owing_again(&mut self, owed_before: Cents) -> Result<(), FoldError> {
        self.use_surplus_if_more_is_owed(owed_before)?;
        let owes_again = self.state.balances().owed() > owed_before;
        if owes_again && self.state.status.closed_by_itself() { self.reopen(self.state.active_pair) } else { Ok(()) }
    }

    /// Adds the reversal's line item, and one for each component it gave back.
    fn add_reversal(&mut self, entry: &Entry, amount: Cents, allocated: &Allocation) {
        let id = ItemId::Input(entry.name.clone());
        let mut item = LineItem::new(id.clone(), ItemKind::PaymentReversal, self.place.at, amount);
        item.effective_at = entry.effective_at;
        let components = [Component::Principal, Component::Interest, Component::Fee];
        for component in components {
            *item.component_mut(component) = allocated.component(component);
        }
        self.add_item(item);
        self.announce(EventKind::ItemCreated(id));
        for component in components {
            let amount = allocated.component(component);
            if amount.is_positive() {
                let id = ItemId::ReversalPart { reversal: entry.name.clone(), component };
                let mut part = LineItem::new(id.clone(), ItemKind::ReversalPart(component), self.place.at, amount);
                *part.component_mut(component) = amount;
                self.add_item(part);
                self.announce(EventKind::ItemCreated(id));
            }
        }
    }

    /// Lowers the balance. The amount is allocated like a payment but does not count as one.
    pub fn debit(&mut self, entry: &Entry, amount: Cents, component: Component) -> Result<(), FoldError> {
        self.admit(amount)?;
        let events = self.out.events.len();
        let allocated = self.allocate(amount, Some(component))?;
        self.drop_fraction()?;
        self.tolerate_shortfalls()?;
        let step = self.state.steps;
        self.loan().keep_surplus(step, allocated.surplus());
        let id = ItemId::Input(entry.name.clone());
        let mut item = allocated_item(id.clone(), ItemKind::DebitOffset, self.place.at, amount, &allocated);
        item.effective_at = entry.effective_at;
        self.add_item(item);
        self.keep_room(allocated);
        self.announce_at(events, EventKind::ItemCreated(id));
        Ok(())
    }
}

/// The line item of allocated money.
pub(crate) fn allocated_item(id: ItemId, kind: ItemKind, at: Time, amount: Cents, allocated: &Allocation) -> LineItem {
    let mut item = LineItem::new(id, kind, at, -amount);
    item.balance = -allocated.surplus();
    item.splits = allocated.paid_down.iter().map(|(split, _)| split.clone()).collect();
    for component in [Component::Principal, Component::Interest, Component::Fee] {
        *item.component_mut(component) = -allocated.component(component);
    }
    item
}

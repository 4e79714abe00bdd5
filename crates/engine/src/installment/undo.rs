//! Undoing a payment as posted, by exact negatives of where its money went. Later postings are not recomputed. Rows
//! ahead that the payment lowered get their earlier amounts back.

use super::loan::{Allocation, OpenFee, OpenItem, PaymentShare};
use super::past::Applied;
use crate::item::{Component, ItemId, ItemStatus, Split};
use crate::money::Cents;
use crate::outcome::EventKind;
use crate::step::{FoldError, StepContext};
use alloc::vec::Vec;

impl StepContext<'_> {
    /// Undoes everything that an applied payment paid. Needs the past.
    pub fn undo(&mut self, applied: &Applied, allocated: &Allocation) -> Result<(), FoldError> {
        self.accrue();
        self.undo_write_off(applied.step)?;
        self.undo_uses_of_surplus(applied.step)?;
        let refunded = self.recall_refunded(applied.step);
        self.undo_allocation(allocated)?;
        self.loan().drop_receipt(applied.step);
        self.state.paid_total -= applied.amount;
        self.schedule_rest();
        self.owe_refunded(&applied.name, refunded)
    }

    /// Undoes everything that allocated money paid.
    pub fn undo_allocation(&mut self, allocated: &Allocation) -> Result<(), FoldError> {
        let mut cancelled = Vec::new();
        for share in &allocated.shares {
            match share {
                PaymentShare::PrepaidInterest { row, cents, id } if !self.begun(*row) => {
                    self.cancel_prepaid(*row, *cents, id);
                    cancelled.push(id);
                }
                _ => self.undo_share(share),
            }
        }
        for (split, order) in &allocated.paid_down {
            if split.component != Component::Fee && !cancelled.contains(&&split.item) {
                self.restore_item(split, *order);
            }
        }
        for share in &allocated.shares {
            if let PaymentShare::Fee { .. } = share {
                self.restore_fee(share, allocated);
            }
        }
        self.state.interest_paid_total -= allocated.component(Component::Interest);
        match &allocated.lowered {
            Some(lowered) => self.give_back_plan(lowered),
            None => Ok(()),
        }
    }

    /// Whether an instalment's period has begun.
    fn begun(&self, instalment: u32) -> bool {
        let current = self.state.loan().current();
        instalment < current || (instalment == current && self.has_begun())
    }

    /// Flat interest of a period that has not begun is not owed: interest paid for it in advance becomes invalid.
    fn cancel_prepaid(&mut self, instalment: u32, cents: Cents, id: &ItemId) {
        let row = self.loan().row_mut(instalment);
        row.interest -= cents;
        row.interest_paid -= cents;
        row.prepaid_interest -= cents;
        let period = &mut self.loan().period;
        if period.instalment == instalment {
            period.recognised -= cents;
        }
        let slot = self.slot_of(id);
        self.set_item_status(slot, id, ItemStatus::Invalid);
        self.announce(EventKind::ItemUpdated(id.clone()));
    }

    fn undo_share(&mut self, share: &PaymentShare) {
        match *share {
            PaymentShare::Interest { row, cents } | PaymentShare::PrepaidInterest { row, cents, .. } => {
                self.loan().recall_rows(row);
                let kept = self.loan().row_mut(row);
                kept.interest_paid -= cents;
                if kept.retired {
                    kept.interest -= cents;
                    return self.assign_interest(self.open_row(), cents);
                }
                kept.note_unpaid();
                self.loan().interest += cents;
                if row > self.last_row() {
                    self.loan().recall_tail();
                }
            }
            PaymentShare::Principal { row, cents } => {
                self.loan().recall_rows(row);
                let loan = self.loan();
                loan.principal += cents;
                let kept = loan.row_mut(row);
                kept.principal_paid -= cents;
                kept.note_unpaid();
                match (kept.posted, kept.retired) {
                    (true, true) => {
                        kept.principal -= cents;
                        loan.posted_principal -= cents;
                    }
                    (true, false) => loan.posted_unpaid += cents,
                    (false, _) => {}
                }
            }
            PaymentShare::Extra { row, cents } => {
                self.loan().recall_rows(row);
                let loan = self.loan();
                loan.row_mut(row).extra -= cents;
                loan.posted_principal -= cents;
                loan.principal += cents;
            }
            PaymentShare::Tail { cents } => self.undo_tail(cents),
            PaymentShare::Surplus { cents } => self.state.surplus -= cents,
            PaymentShare::Fee { .. } => {}
        }
    }

    /// Undoes principal that was paid into the end of the loan: first the part that no row has reached yet, then from
    /// the rows it paid, latest first. Those rows are past due now.
    fn undo_tail(&mut self, cents: Cents) {
        let loan = self.loan();
        let not_reached = loan.prepaid_from_end();
        loan.principal += cents;
        let mut left = (cents - not_reached).or_zero();
        let mut number = loan.first_row + loan.rows.len() as u32;
        while left.is_positive() && number > 1 {
            number -= 1;
            loan.recall_rows(number);
            let row = loan.row_mut(number);
            let part = row.tail.min(left);
            row.tail -= part;
            row.principal_paid -= part;
            row.note_unpaid();
            let mut given_back = part;
            if row.retired {
                row.principal -= part;
                loan.posted_principal -= part;
            } else {
                loan.posted_unpaid += part;
            }
            // Money from the end that a recalculation turned into principal of a row.
            let row = loan.row_mut(number);
            let extra = row.extra.min(left - given_back);
            row.extra -= extra;
            loan.posted_principal -= extra;
            given_back += extra;
            left -= given_back;
        }
    }

    /// Reopens a debt that was paid down.
    fn restore_item(&mut self, split: &Split, order: u64) {
        let slot = self.slot_of(&split.item);
        let loan = self.loan();
        let debt = if split.component == Component::Principal {
            loan.principal_items.iter_mut().find(|debt| debt.id == split.item)
        } else {
            let index = loan.interest_items.partition_point(|debt| debt.order < order);
            if loan.interest_items.get(index).is_none_or(|debt| debt.order != order) {
                let (id, kind) = (split.item.clone(), split.kind);
                loan.interest_items.insert(index, OpenItem { id, kind, order, balance: Cents::ZERO, slot });
            }
            loan.interest_items.get_mut(index)
        };
        if let Some(debt) = debt {
            debt.balance += split.cents;
            let debt = debt.clone();
            self.set_balance(debt.slot, &debt.id, debt.balance);
        }
    }

    fn restore_fee(&mut self, share: &PaymentShare, allocated: &Allocation) {
        let PaymentShare::Fee { instalment, class, cents, id } = share else { return };
        let paid_down = allocated.paid_down.iter().find(|(split, _)| split.item == *id);
        let Some((split, order)) = paid_down else { return };
        let order = *order;
        let slot = self.slot_of(&split.item);
        let loan = self.loan();
        let index = loan.fees.partition_point(|fee| fee.debt.order < order);
        if loan.fees.get(index).is_none_or(|fee| fee.debt.order != order) {
            let debt = OpenItem { id: id.clone(), kind: split.kind, order, balance: Cents::ZERO, slot };
            loan.fees.insert(index, OpenFee { debt, class: *class, instalment: *instalment });
        }
        let debt = &mut loan.fees[index].debt;
        debt.balance += *cents;
        let debt = debt.clone();
        self.set_balance(debt.slot, &debt.id, debt.balance);
    }

    /// The index of an item in this fold's outcome.
    pub fn slot_of(&self, id: &ItemId) -> Option<u32> {
        self.out.items.iter().rposition(|item| item.id == *id).map(|slot| slot as u32)
    }
}

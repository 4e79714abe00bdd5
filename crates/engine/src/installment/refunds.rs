//! Refunds: surplus is paid out to the borrower, and may come back.
//!
//! A refund that is larger than the surplus, and a payment that is undone after its surplus was refunded, leave a debt:
//! the part that the surplus does not cover is owed as principal of the last instalment.

use super::records::Refunded;
use crate::item::{ItemId, ItemKind, ItemReason, ItemStatus, LineItem, Name};
use crate::money::Cents;
use crate::outcome::{EventKind, Refusal};
use crate::step::{FoldError, StepContext};
use crate::timeline::Entry;

impl StepContext<'_> {
    /// Pays surplus out.
    pub fn refund(&mut self, entry: &Entry, amount: Cents) -> Result<(), FoldError> {
        let id = ItemId::Input(entry.name.clone());
        let mut item = LineItem::new(id.clone(), ItemKind::Refund, self.place.at, amount);
        item.effective_at = entry.effective_at;
        let early = self.state.decided_early.iter().position(|(decided, _)| *decided == entry.name);
        if let Some(index) = early {
            // The cancellation was announced when it was decided.
            self.state.decided_early.remove(index);
            self.forget_payment(&entry.name);
            item.status = ItemStatus::Invalid;
            self.add_item(item);
            return Ok(());
        }
        self.admit(amount)?;
        let owed = self.state.balances().owed();
        let covered = amount.min(self.state.surplus);
        self.state.surplus -= covered;
        let fed_by = self.loan().take_surplus(covered);
        self.add_item(item);
        self.announce(EventKind::ItemCreated(id));
        let refund = entry.name.clone();
        if let Some(past) = &mut self.loan().past {
            past.surplus.refunds.push(Refunded { name: refund.clone(), amount, fed_by, reversed: false });
        }
        if amount > covered {
            self.owe_refund(refund, amount - covered)?;
        }
        self.reopen_if_owing_again(owed)
    }

    /// The borrower owes the part of a refund that no surplus covers.
    fn owe_refund(&mut self, name: Name, amount: Cents) -> Result<(), FoldError> {
        let id = ItemId::RefundExcess { refund: name };
        self.raise_principal(id, amount, self.place.at, Some(ItemReason::RefundExcess))
    }

    /// A refund came back: it is surplus again, or pays what is owed.
    pub fn refund_reversal(&mut self, entry: &Entry, refund: &Name) -> Result<Result<(), Refusal>, FoldError> {
        let Some(past) = &mut self.loan().past else { return Err(FoldError::NeedsPast) };
        let Some(refunded) = past.surplus.refunds.iter_mut().find(|refunded| refunded.name == *refund) else {
            return self.decide_early(refund, false, Refusal::NotReversible, Refusal::AlreadyReversed);
        };
        if refunded.reversed {
            return Ok(Err(Refusal::AlreadyReversed));
        }
        refunded.reversed = true;
        let (amount, fed_by) = (refunded.amount, refunded.fed_by.clone());
        self.admit(amount)?;
        let step = self.state.steps;
        let loan = self.loan();
        fed_by.iter().for_each(|(step, cents)| loan.keep_surplus(*step, *cents));
        loan.keep_surplus(step, amount - fed_by.iter().map(|(_, cents)| *cents).sum());
        self.state.surplus += amount;
        let id = ItemId::Input(entry.name.clone());
        let mut item = LineItem::new(id.clone(), ItemKind::RefundReversal, self.place.at, -amount);
        item.effective_at = entry.effective_at;
        self.add_item(item);
        self.announce(EventKind::ItemCreated(id));
        let id = ItemId::Input(refund.clone());
        let slot = self.slot_of(&id);
        self.set_reversed_by(slot, &id, &entry.name);
        self.use_surplus()?;
        Ok(Ok(()))
    }

    /// Before a payment is undone, returns to the surplus what was refunded of it, so that the payment takes it off
    /// again. [`StepContext::owe_refunded`] makes it a debt.
    pub fn recall_refunded(&mut self, step: u64) -> Cents {
        let refunded = self.loan().take_from_refunds(step);
        self.state.surplus += refunded;
        refunded
    }

    /// After a payment is undone, the borrower owes what was refunded of it.
    pub fn owe_refunded(&mut self, payment: &Name, refunded: Cents) -> Result<(), FoldError> {
        if refunded.is_positive() { self.owe_refund(payment.clone(), refunded) } else { Ok(()) }
    }
}

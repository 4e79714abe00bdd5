//! What a row asks for moves to a later one.

use crate::change::{Deferral, DeferredRow};
use crate::installment::loan::PendingDeferral;
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};
use alloc::vec::Vec;

impl StepContext<'_> {
    pub(super) fn examine_deferral(&self, deferral: &Deferral) -> Result<(), Refusal> {
        let rows = self.deferred_rows(deferral)?;
        if rows.iter().any(|pending| self.asks_for_something(pending)) { Ok(()) } else { Err(Refusal::NothingToChange) }
    }

    /// The rows that are deferred, and where to.
    fn deferred_rows(&self, deferral: &Deferral) -> Result<Vec<PendingDeferral>, Refusal> {
        let rows = deferral.rows.iter().enumerate();
        rows.map(|(index, row)| self.deferred_row(index as u32, row, deferral.accrues)).collect()
    }

    fn deferred_row(&self, index: u32, named: &DeferredRow, accrues: bool) -> Result<PendingDeferral, Refusal> {
        let wrong = |field, rule| Refusal::ListField { list: "deferrals", index, field, rule };
        let last = self.last_row();
        let row = self.row_due_on(named.due_date).ok_or(wrong("due_date", super::NO_SUCH_ROW))?;
        if row == last {
            return Err(wrong("due_date", "must not be the due date of the last instalment"));
        }
        let to = match named.deferred_to {
            None => last,
            Some(day) => self.row_due_on(day).ok_or(wrong("deferred_to", super::NO_SUCH_ROW))?,
        };
        if to <= row || self.first_ahead().is_none_or(|ahead| to < ahead) {
            return Err(wrong("deferred_to", "must be the due date of a later instalment after the change's date"));
        }
        Ok(PendingDeferral { row, to, balance: named.balance, accrues })
    }

    /// Whether a row still asks for a part that is to be deferred.
    fn asks_for_something(&self, pending: &PendingDeferral) -> bool {
        let loan = self.state.loan();
        let fees = loan.fees.iter().any(|fee| fee.instalment == pending.row && fee.debt.balance.is_positive());
        if pending.balance.has_fees() && fees {
            return true;
        }
        let Some(row) = loan.row(pending.row) else { return pending.row >= loan.first_row };
        if !row.posted {
            return !row.retired;
        }
        (pending.balance.has_principal() && row.unpaid_principal().is_positive())
            || (pending.balance.has_interest() && row.unpaid_interest().is_positive())
    }

    pub(super) fn defer(&mut self, deferral: &Deferral) -> Result<(), FoldError> {
        let Ok(rows) = self.deferred_rows(deferral) else { return Ok(()) };
        for pending in rows {
            if !self.asks_for_something(&pending) {
                continue;
            }
            if pending.row < self.state.loan().current() {
                self.defer_row(&pending)?;
            } else {
                let loan = self.loan();
                loan.deferrals.retain(|other| other.row != pending.row || other.balance != pending.balance);
                loan.deferrals.push(pending);
            }
        }
        self.seek_late_row(self.state.loan().late_row);
        Ok(())
    }

    /// A row was posted: the deferrals that waited for it take effect.
    pub(in crate::installment) fn defer_posted(&mut self, row: u32) -> Result<(), FoldError> {
        while let Some(index) = self.state.loan().deferrals.iter().position(|pending| pending.row == row) {
            let pending = self.loan().deferrals.remove(index);
            self.defer_row(&pending)?;
        }
        // A retired row has no fee moment.
        let late_row = self.state.loan().late_row;
        if late_row == row && self.state.loan().row(row).is_some_and(|row| row.retired) {
            self.seek_late_row(late_row);
        }
        Ok(())
    }

    /// Moves what a posted row still asks for to a later row. Fees of a row that is paid need the past: the row was
    /// released.
    fn defer_row(&mut self, pending: &PendingDeferral) -> Result<(), FoldError> {
        let PendingDeferral { row, to, balance, accrues } = *pending;
        let loan = self.loan();
        loan.recall_rows(row);
        if row < loan.first_row {
            return Err(FoldError::NeedsPast);
        }
        let from = loan.row_mut(row);
        let interest = if balance.has_interest() { from.unpaid_interest() } else { Cents::ZERO };
        let principal = if balance.has_principal() { from.unpaid_principal() } else { Cents::ZERO };
        from.interest -= interest;
        from.principal -= principal;
        from.retired |= balance == crate::change::DeferredBalance::All;
        from.on_time |= from.unpaid().is_zero();
        if from.retired {
            (from.deferred_interest, from.deferred_principal) = (Cents::ZERO, Cents::ZERO);
        }
        loan.posted_principal -= principal;
        loan.posted_unpaid -= principal;
        let later = loan.row_mut(to);
        later.interest += interest;
        later.deferred_interest += interest;
        later.deferred_principal += principal;
        if !accrues {
            later.interest_free += principal;
            loan.interest_free += principal;
        }
        if balance.has_fees() {
            let fees = loan.fees.iter_mut().filter(|fee| fee.instalment == row);
            fees.for_each(|fee| fee.instalment = to);
        }
        Ok(())
    }
}

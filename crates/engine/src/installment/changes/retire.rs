//! Retiring the rows behind that are unpaid: they ask for nothing more.

use crate::installment::loan::InstalmentRow;
use crate::money::Cents;
use crate::step::{FoldError, StepContext};
use alloc::vec::Vec;

impl StepContext<'_> {
    /// The unpaid rows behind, oldest first. A row that falls due today is behind, whether or not it is posted.
    pub(super) fn unpaid_behind(&self) -> Vec<u32> {
        let loan = self.state.loan();
        let behind = |number: u32| number <= loan.plan.count() && self.due_day(number) <= self.today;
        let is_unpaid = |number: u32, row: &InstalmentRow| {
            !row.retired && if row.posted { row.unpaid().is_positive() } else { self.asks_more_today(number) }
        };
        let begun = loan.first_row..=loan.current().min(loan.plan.count());
        let row = |number: u32| loan.row(number).copied().unwrap_or_default();
        begun.filter(|number| behind(*number) && is_unpaid(*number, &row(*number))).collect()
    }

    /// Whether the open row, which falls due today, is not yet paid.
    fn asks_more_today(&self, number: u32) -> bool {
        let loan = self.state.loan();
        let accrued = self.unrecognised().unwrap_or_default();
        let row = loan.row(number).copied().unwrap_or_default();
        let interest = row.unpaid_interest() + self.accrued_for(accrued, number);
        (interest + self.principal_room(accrued, number)).is_positive()
    }

    /// Retires rows behind. Their principal is again that of the rows ahead. Returns their interest, which no row has
    /// taken yet, and the interest that a row of today will post at its close.
    pub(super) fn retire(&mut self, rows: &[u32]) -> Result<(Cents, Cents), FoldError> {
        let (mut floating, mut to_come) = (Cents::ZERO, Cents::ZERO);
        for number in rows {
            let is_posted = self.state.loan().row(*number).is_some_and(|row| row.posted);
            if !is_posted {
                to_come += self.unrecognised()?;
            }
            let loan = self.loan();
            loan.deferrals.retain(|pending| pending.row != *number);
            let row = loan.row_mut(*number);
            let interest = row.unpaid_interest();
            row.interest -= interest;
            row.deferred_interest = row.deferred_interest.min(row.interest);
            row.deferred_principal = row.deferred_principal.min(row.principal_paid);
            let free = core::mem::take(&mut row.interest_free);
            row.retired = true;
            if is_posted {
                let principal = row.unpaid_principal();
                row.principal -= principal;
                loan.posted_principal -= principal;
                loan.posted_unpaid -= principal;
            }
            loan.interest_free -= free;
            floating += interest;
        }
        self.seek_late_row(self.state.loan().late_row);
        Ok((floating, to_come))
    }

    /// Takes back the interest that was carried over to rows ahead.
    pub(super) fn take_carried(&mut self, first: u32) -> Cents {
        let loan = self.loan();
        let (mut taken, from) = (Cents::ZERO, loan.first_row);
        for (index, row) in loan.rows.iter_mut().enumerate().filter(|(_, row)| !row.posted) {
            if from + index as u32 >= first {
                let carried = (row.unpaid_interest() - row.deferred_interest).or_zero();
                row.interest -= carried;
                taken += carried;
            }
        }
        taken
    }

    /// Each row from `first` on asks for an equal part of interest in addition to its amount; the last for the rest.
    pub(super) fn spread_interest(&mut self, first: u32, interest: Cents) {
        let last = self.last_row();
        let share = Cents(interest.0 / i64::from(last + 1 - first));
        let mut left = interest;
        let loan = self.loan();
        for number in first..=last {
            let part = if number == last { left } else { share };
            left -= part;
            let row = loan.row_mut(number);
            row.interest += part;
            row.deferred_interest += part;
        }
    }
}

impl InstalmentRow {
    /// Adds what another row holds, which was taken out of the plan.
    pub(super) fn merge(&mut self, other: &InstalmentRow) {
        self.interest += other.interest;
        self.interest_paid += other.interest_paid;
        self.principal_paid += other.principal_paid;
        self.extra += other.extra;
        self.prepaid_interest += other.prepaid_interest;
        self.prepaid_parts += other.prepaid_parts;
        self.fees += other.fees;
        self.deferred_interest += other.deferred_interest;
        self.deferred_principal += other.deferred_principal;
        self.interest_free += other.interest_free;
    }
}

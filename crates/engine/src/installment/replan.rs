//! What follows when the plan in force has other dates or numbers: the open period, the next fee moment, notices, and
//! the rows that payments refer to.

use super::terms::InterestMethod;
use crate::money::Cents;
use crate::step::{FoldError, StepContext};
use crate::time::Time;

impl StepContext<'_> {
    /// Follows the plan after its dates changed. Call [`StepContext::accrue`] before the change.
    pub fn follow_plan(&mut self) -> Result<(), FoldError> {
        let (agreed, loan) = (self.plan, self.loan());
        let first = loan.current().min(loan.plan.count() + 1);
        loan.plan.move_to_business_days(&agreed.policy, &agreed.dates, first);
        self.restate_period()?;
        self.seek_late_row(self.state.loan().late_row);
        let place = self.place;
        let loan = self.loan();
        loan.late_at = place.first_moment_from(loan.late_at);
        let (terms, place) = (self.terms, self.place);
        let (notices, rows) = self.state.notices_and_rows();
        notices.iter_mut().for_each(|notice| notice.seek(terms, rows, place));
        Ok(())
    }

    /// The open period gets the dates of the plan. What has accrued in it is restated: a day of principal earns another
    /// part of the period.
    fn restate_period(&mut self) -> Result<(), FoldError> {
        let (terms, agreed, place) = (self.terms, self.plan, self.place);
        let loan = self.loan();
        let row = loan.current();
        if row > loan.plan.count() {
            return Ok(());
        }
        let (start, end) = (loan.plan.period_start(&agreed.dates, row), loan.plan.due_day(&agreed.dates, row));
        let earning = loan.plan.earning(&agreed.policy, &agreed.dates, row);
        let period = &mut loan.period;
        if (period.start, period.end, period.earning) == (start, end, earning) {
            return Ok(());
        }
        let not_passed = place.first_moment_from(terms.close_of(end));
        (period.start, period.end, period.earning) = (start, end, earning);
        period.ends_at = not_passed;
        if let Some(past) = &mut loan.past {
            let restated = past.accruals.iter_mut().rev().take_while(|accrual| accrual.from >= start);
            restated.for_each(|accrual| accrual.earning = earning);
        }
        Ok(self.fix_interest()?)
    }

    /// The open period becomes that of another row. After maturity the running period becomes a regular one.
    pub fn reopen_period(&mut self, row: u32, was_matured: bool) {
        let (is_periodic, today) = (self.plan.policy.interest == InterestMethod::Periodic, self.today);
        let loan = self.loan();
        let principal = loan.earning_principal();
        let period = &mut loan.period;
        period.instalment = row;
        period.number = period.number.max(row);
        if was_matured && period.ends_at == Time::NEVER {
            // No interest accrued since maturity.
            (period.accrued, period.reduced, period.through) = (0, 0, today);
            period.fixed = is_periodic.then_some(Cents::ZERO);
            period.principal = principal;
        }
    }

    /// Rows got other numbers: `paid` is that of a row as payments refer to it, `asks` as fees do.
    pub fn renumber(&mut self, paid: impl Fn(u32) -> u32, asks: impl Fn(u32) -> u32) {
        let loan = self.loan();
        loan.fees.iter_mut().for_each(|fee| fee.instalment = asks(fee.instalment));
        loan.renumber_receipts(&paid, &asks);
        if let Some(past) = &mut loan.past {
            past.renumber(&paid);
        }
    }
}

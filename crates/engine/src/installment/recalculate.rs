//! Recalculating the level payment over future rows.

use super::loan::PrincipalTarget;
use super::plan::{Periods, Spread};
use super::row_amounts::{Ask, Lowered};
use crate::money::Cents;
use crate::step::{FoldError, StepContext};
use alloc::vec::Vec;

impl StepContext<'_> {
    /// Recalculates the amounts of the rows from `first` on. They repay the principal that earlier rows do not take
    /// (`asked_before` is the planned principal of future rows before `first`), plus the principal already paid into
    /// them and the interest carried over to them. Interest-only rows at the beginning and rows paid in full keep their
    /// amounts. Returns the amounts before, or `None` if there are no rows to recalculate.
    pub fn recalculate(&mut self, first: u32, asked_before: Cents) -> Result<Option<Lowered>, FoldError> {
        let plan = self.plan;
        let first = first.max(self.state.loan().plan.repays_from());
        let (mut paid, mut begun, mut carried, mut paid_into) = (Vec::new(), Vec::new(), Cents::ZERO, Cents::ZERO);
        let loan = self.state.loan();
        for (number, row) in loan.numbered_rows().filter(|(number, row)| *number >= first && !row.posted) {
            let own = if number == loan.current() { loan.period.recognised } else { row.prepaid_interest };
            let paid_in = row.interest_paid + row.principal_paid;
            let total = match loan.target(number) {
                PrincipalTarget::Total(total) => Some(total),
                PrincipalTarget::Principal(_) | PrincipalTarget::Rest => None,
            };
            if total.is_some_and(|total| total.is_positive() && paid_in >= total) {
                paid.push(number);
                begun.push((number, loan.plan.amount(number)));
                continue;
            }
            carried += (row.interest - own).or_zero();
            paid_into += row.principal_paid;
            if total.is_some() && paid_in.is_positive() {
                begun.push((number, paid_in));
            }
        }
        if first > loan.plan.count() {
            return Ok(None);
        }
        let principal = loan.unscheduled() - asked_before + paid_into;
        let over = Spread { principal: principal.or_zero(), carried, first, paid: &paid };
        let periods = Periods { policy: &plan.policy, dates: &plan.dates, rates: &loan.rates, rows: &loan.plan };
        let kept_interest = loan.plan.kept_interest(first);
        let kept: Vec<(u32, Cents)> =
            (first..=loan.plan.count()).map(|row| (row, loan.plan.kept_interest(row))).collect();
        let level = periods.spread(&over, kept_interest)?;
        let ask = |amount| Ask::of(plan.policy.method, amount, kept_interest);
        let rows = &mut self.loan().plan;
        let lowered = rows.rewrite(first, ask(level));
        for (row, interest) in kept.into_iter().filter(|(_, interest)| *interest != kept_interest) {
            rows.rewrite_one(row, Ask::of(plan.policy.method, level, interest));
        }
        for (number, least) in begun.into_iter().filter(|(number, least)| *least > level || paid.contains(number)) {
            rows.rewrite_one(number, ask(least));
        }
        Ok(Some(lowered))
    }

    /// Restores the plan that a payment lowered. The rows ahead get their earlier amounts back, except those rewritten
    /// since, which are recalculated. A row due today is no longer ahead. Call it after the money was given back.
    pub fn give_back_plan(&mut self, lowered: &Lowered) -> Result<(), FoldError> {
        let Some(ahead) = self.first_ahead() else { return Ok(()) };
        let Some(rewritten) = self.loan().plan.restore(lowered, ahead) else { return Ok(()) };
        let asked = self.planned_principal(rewritten)?;
        self.recalculate(rewritten, asked)?;
        Ok(())
    }

    /// The first row whose due date is after today.
    pub fn first_ahead(&self) -> Option<u32> {
        let loan = self.state.loan();
        let mut rows = loan.current()..=loan.plan.count();
        rows.find(|row| loan.plan.due_day(&self.plan.dates, *row) > self.today)
    }

    /// The unpaid principal of the future rows before `first`, if all goes as planned.
    fn planned_principal(&mut self, first: u32) -> Result<Cents, FoldError> {
        // An account that closed because it was paid off is about to reopen.
        let earns = !self.state.status.is_closed() || self.state.status.closed_by_itself();
        let mut projection = self.projection(earns)?;
        let mut asked = Cents::ZERO;
        for _ in self.state.loan().current()..first {
            asked += projection.post()?.unpaid_principal();
            projection.pay_and_go_on()?;
        }
        Ok(asked)
    }
}

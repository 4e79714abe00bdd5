//! Recalculating the level payment over future rows.

use super::loan::{InstalmentRow, Loan};
use super::plan::{Periods, Spread};
use super::row_amounts::{Ask, Lowered};
use super::target::PrincipalTarget;
use super::terms::Method;
use crate::money::Cents;
use crate::step::{FoldError, StepContext};
use alloc::vec::Vec;

/// What rows ahead hold already.
#[derive(Default)]
struct PaidInto {
    /// Rows paid in full.
    paid: Vec<u32>,
    /// What rows must ask for at least: what was paid into them.
    least: Vec<(u32, Cents)>,
    /// Interest carried over to rows that are not paid in full.
    carried: Cents,
    /// Principal paid into rows that are not paid in full.
    principal: Cents,
    /// Principal that other rows deferred to them.
    deferred: Cents,
}

impl Loan {
    /// Principal paid into the end of the loan that no row has reached yet.
    pub(super) fn prepaid_from_end(&self) -> Cents {
        let not_posted: Cents = self.rows.iter().filter(|row| !row.posted).map(|row| row.principal_paid).sum();
        self.lent - self.posted_principal - not_posted - self.unscheduled()
    }

    /// Principal paid into the end of the loan becomes principal of a row.
    pub(super) fn take_prepaid(&mut self, row: u32) {
        let prepaid = self.prepaid_from_end();
        if prepaid.is_positive() {
            self.row_mut(row).extra += prepaid;
            self.posted_principal += prepaid;
        }
    }

    /// What the rows from `first` on hold already.
    fn paid_into(&self, first: u32) -> PaidInto {
        let mut into = PaidInto::default();
        for (number, row) in self.numbered_rows().filter(|(number, row)| *number >= first && !row.posted) {
            let own = if number == self.current() { self.period.recognised } else { row.prepaid_interest };
            let paid_in = row.interest_paid + row.principal_paid;
            let total = match self.target(number) {
                PrincipalTarget::Total(total) => Some(total),
                PrincipalTarget::Principal(_) | PrincipalTarget::Rest => None,
            };
            into.deferred += row.deferred_principal;
            if total.is_some_and(|total| total.is_positive() && paid_in >= total) {
                into.principal += row.deferred_principal;
                into.paid.push(number);
                into.least.push((number, self.plan.amount(number)));
                continue;
            }
            into.carried += (row.interest - own - row.deferred_interest).or_zero();
            into.principal += row.principal_paid;
            if total.is_some() && paid_in.is_positive() {
                into.least.push((number, (paid_in - row.deferred()).or_zero()));
            }
        }
        into
    }
}

impl StepContext<'_> {
    /// Recalculates the amounts of the rows from `first` on. They repay the principal that earlier rows do not take
    /// (`asked_before` is the planned principal of future rows before `first`), plus the principal already paid into
    /// them and the interest carried over to them, `floating` interest included, which no row has taken yet.
    /// Interest-only rows at the beginning and rows paid in full keep their amounts. Principal prepaid from the end
    /// becomes principal of the first row. Returns the amounts before, or `None` if there are no rows to recalculate.
    pub fn recalculate(
        &mut self,
        first: u32,
        asked_before: Cents,
        floating: Cents,
    ) -> Result<Option<Lowered>, FoldError> {
        let plan = self.plan;
        let mut first = first.max(self.state.loan().plan.repays_from());
        // Rows of a given schedule may be interest only, too.
        let is_interest_only = |row: u32| self.state.loan().plan.ask(row) == Ask::Principal(Cents::ZERO);
        while plan.policy.method == Method::Level && first < self.last_row() && is_interest_only(first) {
            first += 1;
        }
        if first > self.last_row() {
            return Ok(None);
        }
        self.loan().take_prepaid(first);
        let into = self.state.loan().paid_into(first);
        let loan = self.state.loan();
        let principal = loan.unscheduled() - asked_before - into.deferred + into.principal;
        let over = Spread { principal: principal.or_zero(), carried: into.carried + floating, first, paid: &into.paid };
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
        for (number, least) in into.least.iter().filter(|(number, least)| *least > level || into.paid.contains(number))
        {
            rows.rewrite_one(*number, ask(*least));
        }
        self.carry_on_excess(first);
        Ok(Some(lowered))
    }

    /// Carried interest that exceeds what a row asks for moves to the rows after it.
    fn carry_on_excess(&mut self, first: u32) {
        let last = self.last_row();
        let loan = self.loan();
        let (rows, from) = (loan.first_row + loan.rows.len() as u32, first.max(loan.current()));
        for number in from..rows.min(last) {
            let loan = self.loan();
            let PrincipalTarget::Total(total) = loan.target(number) else { continue };
            let row = loan.row_mut(number);
            let excess = (row.interest + row.principal_paid - total).or_zero();
            let moved = excess.min(row.unpaid_interest() - row.deferred_interest.min(row.unpaid_interest()));
            if moved.is_positive() {
                row.interest -= moved;
                self.place_interest(number + 1, moved);
            }
        }
    }

    /// Restores the plan that a payment lowered. The rows ahead get their earlier amounts back, except those rewritten
    /// since, which are recalculated. A row due today is no longer ahead. Call it after the money was given back.
    pub fn give_back_plan(&mut self, lowered: &Lowered) -> Result<(), FoldError> {
        let Some(ahead) = self.first_ahead() else { return Ok(()) };
        let Some(rewritten) = self.loan().plan.restore(lowered, ahead) else { return Ok(()) };
        let asked = self.planned_principal(rewritten)?;
        self.recalculate(rewritten, asked, Cents::ZERO)?;
        Ok(())
    }

    /// The first row whose due date is after today.
    pub fn first_ahead(&self) -> Option<u32> {
        let loan = self.state.loan();
        let mut rows = loan.current()..=loan.plan.count();
        rows.find(|row| loan.plan.due_day(&self.plan.dates, *row) > self.today)
    }

    /// The unpaid principal of the future rows before `first`, if all goes as planned.
    pub fn planned_principal(&mut self, first: u32) -> Result<Cents, FoldError> {
        // An account that closed because it was paid off is about to reopen.
        let earns = !self.state.status.is_closed() || self.state.status.closed_by_itself();
        let mut projection = self.projection(earns)?;
        let mut asked = Cents::ZERO;
        for _ in self.state.loan().current()..first {
            asked += projection.post()?.unpaid_principal();
            projection.pay_and_go_on()?;
        }
        // What these rows defer to later ones is asked by those, on top of their own.
        let held = |row: &InstalmentRow| !row.posted;
        let rows = self.state.loan().numbered_rows().filter(|(number, row)| *number >= first && held(row));
        let before: Cents = rows.map(|(_, row)| row.deferred_principal).sum();
        Ok(asked + projection.deferred_principal() - before)
    }
}

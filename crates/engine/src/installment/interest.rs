//! Interest: accrued on the principal day by day, posted at the end of a period, exact until it is rounded once.

use super::loan::{Accrual, Loan, OpenItem, Period};
use super::rates::{Source, Window};
use super::target::PrincipalTarget;
use super::terms::InterestRoundingAt;
use crate::calendar::Day;
use crate::item::{Component, ItemId, ItemKind};
use crate::money::{Cents, Overflow};
use crate::step::{FoldError, StepContext};
use crate::time::Time;

impl Period {
    /// Whether the period has begun at a point in time. A period begins right after the previous due moment.
    pub(crate) fn has_begun(&self, at: Time) -> bool {
        at > self.began_at
    }
}

impl StepContext<'_> {
    /// Whether the open period has begun. At the exact instant of the previous due moment it has not.
    pub fn has_begun(&self) -> bool {
        self.state.loan().period.has_begun(self.place.at)
    }

    /// Counts principal up to today, before the principal or its rate changes. A payment counts from its own date. The
    /// days of a closed account were already [passed](StepContext::pass_closed_time).
    pub fn accrue(&mut self) {
        let (today, agreed) = (self.today, self.plan);
        let loan = self.loan();
        let earns = agreed.earns(loan.current(), loan.plan.count());
        let (principal, period) = (loan.accruing_principal(), &mut loan.period);
        let (from, earning) = (period.through, period.earning);
        // Clocks set back across midnight can show an earlier date again: counted days stay counted.
        let day = today.clamp(period.through, period.end);
        period.accrued += earning.accrue(principal, &loan.rates, from, day);
        period.reduced += earning.accrue_reduction(principal, &loan.rates, from, day);
        period.through = day;
        if let Some(past) = &mut loan.past
            && from < day
            && earns
        {
            past.accruals.push(Accrual { from, to: day, principal, earning });
        }
        // The level payment needs the rates of the whole open period, including days already counted.
        loan.rates.forget_before(period.start);
    }

    /// The instant at which a period begins still belongs to the previous one: a payment at that instant lowers the
    /// principal with which the new period begins.
    pub fn begin_again_at_its_instant(&mut self) -> Result<(), FoldError> {
        let plan = self.plan;
        if self.has_begun() || self.state.status.is_closed() {
            return Ok(());
        }
        let loan = self.loan();
        let principal = loan.earning_principal();
        let period = &mut loan.period;
        if period.principal == principal {
            return Ok(());
        }
        period.principal = principal;
        if plan.policy.method.keeps_interest() && plan.earns(period.instalment, loan.plan.count()) {
            let interest = loan.plan.kept_interest(period.instalment);
            let ends = loan.principal.is_zero() && !plan.owes_all_interest();
            period.fixed = Some(if ends { period.recognised } else { interest });
        }
        Ok(self.fix_interest()?)
    }

    /// Computes the open period's interest if the product fixes it at the beginning, from the rates known so far. It is
    /// never below the amount that has already become a line item. Call [`StepContext::accrue`] first.
    pub fn fix_interest(&mut self) -> Result<(), Overflow> {
        let plan = self.plan;
        let loan = self.loan();
        let is_fixed = loan.period.fixed.is_some() && !plan.policy.method.keeps_interest();
        if is_fixed && plan.earns(loan.current(), loan.plan.count()) {
            let counted = loan.counted_to(loan.period.end)?;
            // A repaid loan never owes more than before: the payoff that was paid remains the payoff.
            let was = loan.period.fixed.unwrap_or_default();
            let interest = if loan.principal.is_zero() { counted.min(was) } else { counted };
            loan.period.fixed = Some(interest.max(loan.period.recognised));
        }
        Ok(())
    }

    /// Stops or resumes interest from today on, according to the status. Closing does neither: a closed account owes
    /// the interest it has earned, and a stop lasts until the account reopens. If the principal was paid while interest
    /// was stopped, no more interest is owed: the payoff that was paid remains the payoff.
    pub fn cap_by_status(&mut self) -> Result<(), FoldError> {
        let stopped = self.state.stops(self.terms).interest;
        let is_stopped = self.state.loan().rates.is_capped(&Source::Status);
        if stopped == is_stopped || self.state.status.is_closed() {
            return Ok(());
        }
        self.accrue();
        let today = self.today;
        if stopped {
            self.loan().add_window(Window::of_status(today));
        } else {
            self.loan().end_windows(&Source::Status, today);
        }
        if stopped || self.state.loan().principal.is_positive() {
            self.fix_interest()?;
        }
        Ok(())
    }

    /// Money was poured: under `PAYMENT` the fraction of a cent accrued until today falls away.
    pub fn drop_fraction(&mut self) -> Result<(), FoldError> {
        let at = self.plan.policy.interest_rounding_at;
        let loan = self.state.loan();
        if at != InterestRoundingAt::Payment || loan.period.fixed.is_some() || self.state.status.is_closed() {
            return Ok(());
        }
        self.accrue();
        Ok(self.loan().drop_fraction()?)
    }

    /// Interest of the open period that is owed so far and is not a line item yet. Call [`StepContext::accrue`] first.
    pub fn unrecognised(&self) -> Result<Cents, FoldError> {
        if !self.has_begun() || self.state.status.is_closed() {
            return Ok(Cents::ZERO);
        }
        let loan = self.state.loan();
        let interest = loan.interest_to(self.today)?;
        Ok((interest - loan.period.recognised).or_zero())
    }

    /// The amount that pays everything off. Call [`StepContext::accrue`] first.
    pub fn payoff(&self) -> Result<Cents, FoldError> {
        Ok(self.state.balances().owed() + self.unrecognised()? + self.interest_not_begun())
    }

    /// Turns interest of the open period into a line item before the period ends.
    pub fn recognise(&mut self, amount: Cents) -> Result<OpenItem, FoldError> {
        let period = &mut self.loan().period;
        period.recognised += amount;
        period.parts += 1;
        let id = ItemId::Interest { period: period.number, part: period.parts };
        self.admit(amount)?;
        Ok(self.add_debt(id, ItemKind::Interest, amount, Component::Interest, self.place.at))
    }

    /// Posts the interest of the open period at its end.
    pub fn post_interest(&mut self) -> Result<(), FoldError> {
        self.accrue();
        let loan = self.state.loan();
        let period = loan.period;
        let interest = loan.interest_to(period.end)?;
        let rest = (interest - period.recognised).or_zero();
        if rest.is_positive() {
            self.admit(rest)?;
            let id = ItemId::Interest { period: period.number, part: 0 };
            let debt = self.add_debt(id, ItemKind::Interest, rest, Component::Interest, self.place.at);
            self.loan().interest_items.push_back(debt);
            self.assign_interest(self.open_row(), rest);
            self.loan().period.recognised += rest;
        }
        Ok(())
    }

    /// The row that takes the open period's interest. After the last instalment it is the row of interest after
    /// maturity.
    pub fn open_row(&self) -> u32 {
        self.state.loan().current().min(self.last_row() + 1)
    }

    /// Assigns posted interest to a row. A row with a fixed total takes at most what its principal leaves of that
    /// total; the rest moves to the following rows, and the last row takes all of it.
    pub fn assign_interest(&mut self, instalment: u32, amount: Cents) {
        self.loan().interest += amount;
        self.place_interest(instalment, amount);
    }

    /// [`StepContext::assign_interest`], of interest that is already counted in the balance.
    pub fn place_interest(&mut self, instalment: u32, amount: Cents) {
        let (last, today) = (self.last_row(), self.today);
        let loan = self.loan();
        if instalment > last {
            return loan.add_to_tail(instalment, today, amount);
        }
        let mut left = amount;
        let mut number = instalment.max(loan.first_row);
        while left.is_positive() {
            let room = loan.interest_room(number).map_or(left, |room| room.min(left));
            loan.row_mut(number).interest += room;
            left -= room;
            number += 1;
        }
    }
}

impl Loan {
    /// The principal on which the open period earns: the unpaid principal, or the principal at its beginning if its
    /// interest is fixed then.
    pub(super) fn accruing_principal(&self) -> Cents {
        if self.period.fixed.is_some() { self.period.principal } else { self.earning_principal() }
    }

    /// The unpaid principal that earns interest: without principal deferred free of interest.
    pub(super) fn earning_principal(&self) -> Cents {
        self.principal - self.interest_free.min(self.unscheduled())
    }

    /// Adds a rate or a limit. Call [`StepContext::accrue`] first.
    pub(crate) fn add_window(&mut self, window: Window) {
        if let Some(past) = &mut self.past {
            past.rates.add(window.clone());
        }
        self.rates.add(window);
    }

    /// Ends the rates and limits of a source. Call [`StepContext::accrue`] first.
    pub(crate) fn end_windows(&mut self, source: &Source, day: Day) {
        if let Some(past) = &mut self.past {
            past.rates.end(source, day);
        }
        self.rates.end(source, day);
    }

    /// The interest of the open period up to a date, rounded, if the principal does not change. If interest is fixed at
    /// the beginning, that of the whole period.
    pub fn interest_to(&self, day: Day) -> Result<Cents, Overflow> {
        self.period.fixed.map_or_else(|| self.counted_to(day), Ok)
    }

    /// [`Loan::interest_to`], always computed by days.
    fn counted_to(&self, day: Day) -> Result<Cents, Overflow> {
        let period = &self.period;
        let day = day.clamp(period.through, period.end);
        let more = period.earning.accrue(self.accruing_principal(), &self.rates, period.through, day);
        self.rounded_interest(period.accrued + more)
    }

    /// How much more interest a row can take; `None` if it has no limit.
    pub(crate) fn interest_room(&self, instalment: u32) -> Option<Cents> {
        match self.target(instalment) {
            PrincipalTarget::Total(total) => {
                let row = self.row(instalment).copied().unwrap_or_default();
                Some((total - row.principal_paid - row.interest).or_zero())
            }
            PrincipalTarget::Principal(_) | PrincipalTarget::Rest => None,
        }
    }
}

//! The figures of an account at a point in time: payoff, per-diem, days past due.

use super::loan::{InstalmentRow, Loan, OpenFee};
use super::terms::Installment;
use crate::calendar::Day;
use crate::change::CapTag;
use crate::money::{Cents, Overflow, Percent};
use crate::outcome::{Balances, FoldOutcome};
use crate::state::State;
use crate::status::Status;
use crate::step::{FoldError, StepContext};
use crate::terms::Terms;
use crate::time::Time;
use crate::timeline::TimelinePosition;

/// The figures of an account at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its status.
    pub status: Status,
    /// The amounts owed, and the surplus held for the borrower.
    pub balances: Balances,
    /// Interest that has accrued and is not posted yet.
    pub accrued: Cents,
    /// The amount that pays everything off: all balances and the accrued interest, and all interest that is kept if
    /// the product says so.
    pub payoff: Cents,
    /// How much the payoff grows from today to tomorrow.
    pub per_diem: Cents,
    /// Local days since the oldest unpaid due date.
    pub days_past_due: i32,
    /// Unpaid interest and principal of the instalments that are past due, plus the unpaid fees that are past due.
    pub past_due: Cents,
    /// The part of `past_due` that is fees and penalties.
    pub past_due_fees: Cents,
    /// Late instalments in a row.
    pub late_count: u32,
    /// The yearly rate of today.
    pub rate: Percent,
    /// Whether a cap of the Servicemembers Civil Relief Act covers today.
    pub is_scra: bool,
    /// The next instalment to fall due, and when.
    pub next_due: Option<(u32, Time)>,
}

/// Reads a state that is folded up to `at`.
pub fn read(terms: &Terms, state: &State, at: Time) -> Result<Reading, FoldError> {
    if state.status.is_closed() {
        read_now(terms, &pass_closed_time(terms, state, at)?, at)
    } else {
        read_now(terms, state, at)
    }
}

/// A closed account at a point in time, with the due dates passed that lie after its closing.
pub(crate) fn pass_closed_time(terms: &Terms, state: &State, at: Time) -> Result<State, FoldError> {
    let mut state = state.clone();
    let place = TimelinePosition::late(at, 0);
    StepContext::scratch(terms, &mut state, &mut FoldOutcome::default(), place).pass_closed_time()?;
    Ok(state)
}

fn read_now(terms: &Terms, state: &State, at: Time) -> Result<Reading, FoldError> {
    let (loan, plan) = (state.loan(), terms.installment());
    let today = terms.zone.day_at(at);
    let closed = state.status.is_closed();
    let balances = state.balances();
    let accrued = if closed { Cents::ZERO } else { loan.accrued_at(at, today)? };
    let oldest = loan.oldest_unpaid_day(plan);
    let past_due_fees = loan.past_due_fees();
    let is_due = !closed && (1..=loan.plan.count()).contains(&loan.current());
    Ok(Reading {
        status: state.status,
        balances,
        accrued,
        payoff: balances.owed() + accrued + if closed { Cents::ZERO } else { loan.owed_ahead(plan, at) },
        per_diem: if closed { Cents::ZERO } else { loan.per_diem(plan, today)? },
        days_past_due: oldest.map_or(0, |day| today.days_since(day).max(0)),
        past_due: loan.past_due_rows() + past_due_fees,
        past_due_fees,
        late_count: loan.late_count,
        rate: loan.rates.on(today),
        is_scra: loan.rates.is_capped_by(CapTag::Scra, today),
        next_due: is_due.then_some((loan.current(), loan.period.ends_at)),
    })
}

impl Loan {
    /// The kept interest of periods that have not begun by then, as far as a payoff asks for it.
    fn owed_ahead(&self, plan: &Installment, at: Time) -> Cents {
        let first = self.current() + u32::from(self.period.has_begun(at));
        if plan.owes_all_interest() { self.kept_interest_from(first) } else { Cents::ZERO }
    }

    /// Interest of the open period that is owed by then and not posted yet.
    fn accrued_at(&self, at: Time, today: Day) -> Result<Cents, Overflow> {
        if !self.period.has_begun(at) {
            return Ok(Cents::ZERO);
        }
        let interest = self.interest_to(today)?;
        Ok((interest - self.period.recognised).or_zero())
    }

    /// What one more day earns; zero if interest is fixed for the period.
    fn per_diem(&self, plan: &Installment, today: Day) -> Result<Cents, Overflow> {
        let period = &self.period;
        if period.fixed.is_some() {
            return Ok(Cents::ZERO);
        }
        let mut earning = period.earning;
        if today >= period.end {
            // The end date itself is the first day of the next period.
            let next = period.instalment + 1;
            if !plan.earns(next, self.plan.count()) {
                return Ok(Cents::ZERO);
            }
            earning = self.plan.earning(&plan.policy, &plan.dates, next);
        }
        earning.cents(earning.accrue(self.principal, &self.rates, today, today.plus_days(1)))
    }

    /// Unpaid interest and principal of the instalments whose due moment has passed.
    fn past_due_rows(&self) -> Cents {
        self.rows.iter().take_while(|row| row.posted).map(InstalmentRow::unpaid).sum()
    }

    /// Unpaid fees of the periods that have ended, and fees that belong to no instalment.
    fn past_due_fees(&self) -> Cents {
        let is_past_due = |fee: &&OpenFee| fee.instalment < self.current() || fee.instalment > self.plan.count();
        self.fees.iter().filter(is_past_due).map(|fee| fee.debt.balance).sum()
    }
}

//! The amortization schedule: past rows as they were, future rows as they will be if everything is paid on time.
//!
//! The projection pays past-due amounts on the date of reading and every later instalment in full on its due date. It
//! uses the same posting code as the fold, on a copy of the state.

use super::carry::Carry;
use super::loan::{InstalmentRow, Loan};
use super::reading::pass_closed_time;
use super::terms::InterestRoundingAt;
use crate::calendar::Day;
use crate::money::Cents;
use crate::outcome::FoldOutcome;
use crate::state::State;
use crate::step::{FoldError, StepContext};
use crate::terms::Terms;
use crate::time::Time;
use crate::timeline::TimelinePosition;
use alloc::vec::Vec;

/// A row of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    /// Which instalment, counted from 1.
    pub instalment: u32,
    /// The end date of its cycle.
    pub cycle_end: Day,
    /// Its due date.
    pub due_day: Day,
    /// Its due moment.
    pub due_at: Time,
    /// The interest in it.
    pub interest: Cents,
    /// The principal in it.
    pub principal: Cents,
    /// The loan's principal less the principal of the earlier rows.
    pub start: Cents,
    /// The loan's principal less the principal of the rows up to and including this one.
    pub end: Cents,
    /// Fees charged in its period.
    pub fees: Cents,
    /// The amount paid into it so far, without fees.
    pub paid: Cents,
    /// The amount still to be paid, without fees.
    pub outstanding: Cents,
    /// Whether it was paid by its due date; `None` before that date.
    pub paid_on_time: Option<bool>,
    /// Whether it asks for nothing more, because a change moved what was unpaid of it.
    pub retired: bool,
    /// The part that was moved here from other rows.
    pub deferred: Cents,
    /// The part that was missing when it counted as paid.
    pub shortfall: Cents,
}

impl ScheduleRow {
    /// Interest plus principal.
    pub fn total(&self) -> Cents {
        self.interest + self.principal
    }
}

/// The schedule of a state that was folded from the beginning up to `at`. A state read from a snapshot lacks the paid
/// rows, so it fails with [`FoldError::NeedsPast`].
pub fn schedule(terms: &Terms, state: &State, at: Time) -> Result<Vec<ScheduleRow>, FoldError> {
    let passed = if state.status.is_closed() { Some(pass_closed_time(terms, state, at)?) } else { None };
    let state = passed.as_ref().unwrap_or(state);
    let loan = state.loan();
    let last = loan.plan.count();
    let mut rows = Vec::with_capacity(last as usize);
    let mut start = loan.lent;
    for instalment in 1..loan.current().min(last + 1) {
        let row = passed_row(loan, instalment).ok_or(FoldError::NeedsPast)?;
        let paid = row.interest_paid + row.principal_paid + row.extra;
        start = push(&mut rows, (terms, loan), instalment, row, paid, start);
    }
    let mut projection = Projection::new(terms, state, at, !state.status.is_closed())?;
    for instalment in loan.current()..=last {
        let row = projection.post()?;
        let paid_so_far =
            loan.row(instalment).map_or(Cents::ZERO, |row| row.interest_paid + row.principal_paid + row.extra);
        start = push(&mut rows, (terms, loan), instalment, &row, paid_so_far + row.tail, start);
        projection.pay_and_go_on()?;
    }
    Ok(rows)
}

fn passed_row(loan: &Loan, instalment: u32) -> Option<&InstalmentRow> {
    match loan.row(instalment) {
        Some(row) => Some(row),
        None => loan.past.as_ref()?.rows.get(instalment as usize - 1),
    }
}

/// Adds a row and returns the principal after it.
fn push(
    rows: &mut Vec<ScheduleRow>,
    (terms, loan): (&Terms, &Loan),
    instalment: u32,
    row: &InstalmentRow,
    paid: Cents,
    start: Cents,
) -> Cents {
    let dates = &terms.installment().dates;
    let principal = row.principal + row.extra;
    let end = start - principal;
    let due_day = loan.plan.due_day(dates, instalment);
    rows.push(ScheduleRow {
        instalment,
        cycle_end: loan.plan.cycle_end(dates, instalment),
        due_day,
        due_at: terms.close_of(due_day),
        interest: row.interest,
        principal,
        start,
        end,
        shortfall: row.shortfall,
        fees: row.fees,
        paid,
        outstanding: row.interest + principal - paid,
        paid_on_time: (row.posted && !row.retired).then_some(row.on_time),
        retired: row.retired,
        deferred: row.deferred(),
    });
    end
}

impl<'a> StepContext<'a> {
    /// A copy of the account that continues from now as if everything were paid on time.
    pub(super) fn projection(&mut self, earns: bool) -> Result<Projection<'a>, FoldError> {
        // The past is not copied.
        let past = self.loan().past.take();
        let projection = Projection::new(self.terms, self.state, self.place.at, earns);
        self.loan().past = past;
        projection
    }
}

/// A copy of an account that continues as if everything were paid on time.
pub(super) struct Projection<'a> {
    terms: &'a Terms,
    state: State,
    scratch: FoldOutcome,
    earns: bool,
}

impl<'a> Projection<'a> {
    /// Starts by paying the past-due amounts at `at`.
    pub fn new(terms: &'a Terms, state: &State, at: Time, earns: bool) -> Result<Projection<'a>, FoldError> {
        let mut projection = Projection { terms, state: state.clone(), scratch: FoldOutcome::default(), earns };
        projection.state.loan_mut().past = None;
        projection.state.forget_slots();
        projection.run(at).accrue();
        if projection.state.loan().oldest_past_due().is_some() {
            projection.run(at).drop_fraction()?;
        }
        let loan = projection.state.loan_mut();
        loan.principal -= loan.posted_unpaid;
        loan.posted_unpaid = Cents::ZERO;
        projection.run(at).begin_again_at_its_instant()?;
        projection.settle_interest();
        Ok(projection)
    }

    fn run(&mut self, at: Time) -> StepContext<'_> {
        let place = TimelinePosition::late(at, 0);
        StepContext::scratch(self.terms, &mut self.state, &mut self.scratch, place)
    }

    /// Stops interest of the open period if the account no longer earns any: it is closed or has no principal left.
    fn settle_interest(&mut self) {
        let period = &mut self.state.loan_mut().period;
        if !self.earns {
            period.fixed = Some(period.recognised);
        }
    }

    /// Principal that rows not yet posted ask for in place of other rows.
    pub fn deferred_principal(&self) -> Cents {
        let rows = self.state.loan().rows.iter().filter(|row| !row.posted);
        rows.map(|row| row.deferred_principal).sum()
    }

    /// Posts the open row. The returned copy is marked as not yet due.
    pub fn post(&mut self) -> Result<InstalmentRow, FoldError> {
        let loan = self.state.loan();
        let instalment = loan.current();
        let ends_at = loan.period.ends_at;
        let mut run = self.run(ends_at);
        run.post_interest()?;
        run.post_principal(instalment);
        run.defer_posted(instalment)?;
        let row = *self.state.loan_mut().row_mut(instalment);
        Ok(InstalmentRow { posted: false, ..row })
    }

    /// Pays the row just posted, in full and on time, and opens the next.
    pub fn pay_and_go_on(&mut self) -> Result<(), FoldError> {
        let loan = self.state.loan_mut();
        let instalment = loan.current();
        let ends_at = loan.period.ends_at;
        let row = loan.row_mut(instalment);
        let is_paid = row.unpaid().is_zero();
        let unpaid = row.unpaid_principal();
        row.principal_paid += unpaid;
        row.interest_paid = row.interest;
        loan.principal -= unpaid;
        loan.posted_unpaid -= unpaid;
        self.earns &= loan.principal.is_positive() || self.terms.installment().owes_all_interest();
        self.run(ends_at).open_period(instalment + 1)?;
        if !is_paid && self.terms.installment().policy.interest_rounding_at == InterestRoundingAt::Payment {
            self.state.loan_mut().carry = Carry::default();
        }
        self.settle_interest();
        Ok(())
    }
}

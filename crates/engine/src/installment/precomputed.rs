//! Precomputed interest: fixed row by row when the loan is opened, and kept.

use super::plan::{Periods, Plan, Spread, quotient};
use super::row_amounts::{Ask, RowAmounts};
use super::terms::{Installment, Method, PrecomputedRefund, PrecomputedSplit};
use crate::money::{Cents, Overflow};
use crate::step::StepContext;
use alloc::vec::Vec;
use num_bigint::BigUint;

/// Above this many months, the sum of digits is not allowed in some places.
const LONG_SUM_OF_DIGITS_MONTHS: i32 = 61;

impl Installment {
    /// Whether a payoff also asks for the interest of periods that have not begun.
    pub(crate) fn owes_all_interest(&self) -> bool {
        self.policy.method.keeps_interest() && self.policy.precomputed_refund == PrecomputedRefund::None
    }

    /// Whether the sum of digits is used for more than 61 months, which some laws forbid.
    pub fn has_long_sum_of_digits(&self) -> bool {
        let policy = &self.policy;
        let last = self.rows.due_day(&self.dates, self.rows.count());
        policy.method == Method::Precomputed
            && policy.precomputed_split == PrecomputedSplit::SumOfDigits
            && self.dates.start.interval_to(last).months >= LONG_SUM_OF_DIGITS_MONTHS
            && self.dates.start.interval_to(last).thirty_day_count() > 30 * LONG_SUM_OF_DIGITS_MONTHS
    }
}

impl Periods<'_> {
    /// The plan of a loan whose interest is kept, except one that is spread equally.
    pub fn precomputed(&self, principal: Cents) -> Result<(Plan, RowAmounts), Overflow> {
        let (level, rows) = match self.policy.precomputed_split {
            PrecomputedSplit::SumOfDigits => self.sum_of_digits(principal)?,
            PrecomputedSplit::Actuarial | PrecomputedSplit::Equal => self.actuarial(principal)?,
        };
        Ok((Plan { level, flat_interest: Cents::ZERO }, RowAmounts::of_rows((1..).zip(rows))))
    }

    /// The table of a level loan, its interest rounded row by row.
    fn actuarial(&self, principal: Cents) -> Result<(Cents, Vec<Ask>), Overflow> {
        let first = self.rows.repays_from();
        let whole = Spread { principal, carried: Cents::ZERO, first, paid: &[] };
        let mut plan = Plan { level: self.level_payment(&whole)?, flat_interest: Cents::ZERO };
        if self.policy.smooth_last {
            plan = self.smooth(principal, plan)?;
        }
        let (mut unpaid, mut carried) = (principal, Cents::ZERO);
        let mut asks = Vec::new();
        for row in 1..=self.rows.count() {
            let accrued = self.period_interest(row, unpaid)? + carried;
            let ask = match row {
                _ if row == self.rows.count() => Ask::Kept { principal: unpaid, interest: accrued },
                _ if row < first => Ask::Kept { principal: Cents::ZERO, interest: accrued },
                _ => {
                    let interest = accrued.min(plan.level);
                    Ask::Kept { principal: (plan.level - interest).min(unpaid), interest }
                }
            };
            if let Ask::Kept { principal, interest } = ask {
                unpaid -= principal;
                carried = accrued - interest;
            }
            asks.push(ask);
        }
        Ok((plan.level, asks))
    }

    /// Rows of equal total. Of the finance charge, the first k of n rows take the share of their digits: n, n - 1, ...
    fn sum_of_digits(&self, principal: Cents) -> Result<(Cents, Vec<Ask>), Overflow> {
        let policy = self.policy;
        let charge = self.finance_charge(principal)?;
        let count = i128::from(self.rows.count());
        let total = {
            let all = BigUint::from((principal + charge).0.unsigned_abs());
            quotient(all, BigUint::from(self.rows.count()), policy.instalment_rounding, policy.rounding)?
        };
        let digits = count * (count + 1);
        let (mut unpaid, mut before) = (principal, Cents::ZERO);
        let mut asks = Vec::new();
        for row in 1..=count {
            let taken = digits - (count - row) * (count - row + 1);
            let share = BigUint::from((i128::from(charge.0) * taken).unsigned_abs());
            let until = quotient(share, BigUint::from(digits.unsigned_abs()), Cents(1), policy.interest_rounding)?;
            let interest = until - before;
            before = until;
            let principal = if row == count { unpaid } else { (total - interest).or_zero().min(unpaid) };
            unpaid -= principal;
            asks.push(Ask::Kept { principal, interest });
        }
        Ok((total, asks))
    }
}

impl StepContext<'_> {
    /// The interest of periods that have not begun, as far as a payoff asks for it.
    pub fn interest_not_begun(&self) -> Cents {
        let loan = self.state.loan();
        if !self.plan.owes_all_interest() || self.state.status.is_closed() {
            return Cents::ZERO;
        }
        loan.kept_interest_from(loan.current() + u32::from(self.has_begun()))
    }
}

impl super::loan::Loan {
    /// The kept interest of the rows from `first` on that is not paid yet.
    pub(super) fn kept_interest_from(&self, first: u32) -> Cents {
        let unpaid = |row: u32| {
            let prepaid = self.row(row).map_or(Cents::ZERO, |row| row.prepaid_interest);
            (self.plan.kept_interest(row) - prepaid).or_zero()
        };
        (first..=self.plan.count()).map(unpaid).sum()
    }
}

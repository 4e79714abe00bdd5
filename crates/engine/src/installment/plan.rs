//! The plan: the amount of each instalment, fixed when the loan is opened.
//!
//! The level payment is computed as an exact ratio of whole numbers and rounded once. If r1, r2, ... are what a cent
//! earns in each period, n equal payments of P·(1+r1)···(1+rn) / S repay a principal P, where S is the value at the end
//! of one cent paid at the end of each period: S ← S·(1+r) + 1 from period to period.

use super::dates::Dates;
use super::in_force::PlanInForce;
use super::rates::Rates;
use super::terms::{InstallmentPolicy, Method};
use crate::money::{Cents, Overflow, Percent, Rounding, round_ratio, round_up};
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

/// The amount of each instalment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// `Level`: the instalment. `EqualPrincipal` and `Flat`: its principal.
    pub level: Cents,
    /// `Flat`: the interest in each instalment; otherwise zero.
    pub flat_interest: Cents,
}

/// An amount to spread over the rows from `first` on.
pub(crate) struct Spread<'a> {
    /// The principal that the rows repay.
    pub principal: Cents,
    /// Interest that the rows take in addition.
    pub carried: Cents,
    /// The first row.
    pub first: u32,
    /// Rows that are already paid in full: their periods count, but they take no further payment.
    pub paid: &'a [u32],
}

/// The periods of a plan, and the rates of their dates.
#[derive(Clone, Copy)]
pub(crate) struct Periods<'a> {
    pub policy: &'a InstallmentPolicy,
    pub dates: &'a Dates,
    pub rates: &'a Rates,
    pub rows: &'a PlanInForce,
}

impl Periods<'_> {
    /// [`Plan::level`] for an amount spread over rows.
    pub fn spread(&self, over: &Spread<'_>, flat_interest: Cents) -> Result<Cents, Overflow> {
        let (policy, unit) = (self.policy, self.policy.instalment_rounding);
        let rows = i128::from(self.rows.count() + 1 - over.first) - over.paid.len() as i128;
        match policy.method {
            Method::Level => self.level_payment(over),
            // The instalment is rounded to whole units, so its interest is included if it is fixed.
            Method::Flat | Method::Precomputed if unit > Cents(1) && policy.keeps_equal_interest() => {
                let total = i128::from(over.principal.0) + i128::from(flat_interest.0) * rows;
                Ok((to_unit(total, rows, unit, policy.rounding)? - flat_interest).or_zero())
            }
            Method::EqualPrincipal | Method::Flat | Method::Precomputed => {
                to_unit(i128::from(over.principal.0), rows, unit, policy.rounding)
            }
        }
    }

    /// Original principal x rate x time / n: the interest of all periods, spread evenly.
    pub fn flat_interest(&self, principal: Cents) -> Result<Cents, Overflow> {
        self.interest_of_all(principal, self.rows.count())
    }

    /// Original principal x rate x time: the interest of all periods.
    pub fn finance_charge(&self, principal: Cents) -> Result<Cents, Overflow> {
        self.interest_of_all(principal, 1)
    }

    fn interest_of_all(&self, principal: Cents, parts: u32) -> Result<Cents, Overflow> {
        let (mut numerator, mut denominator) = (BigUint::from(0_u8), BigUint::from(1_u8));
        for instalment in 1..=self.rows.count() {
            let (earned, of) = self.whole_period(instalment);
            numerator = numerator * of + &denominator * earned;
            denominator *= of;
        }
        let (numerator, denominator) = (numerator * principal.0.unsigned_abs(), denominator * parts);
        quotient(numerator, denominator, Cents(1), self.policy.interest_rounding)
    }

    /// (P x G - balloon) / S, see the top of this file.
    pub fn level_payment(&self, over: &Spread<'_>) -> Result<Cents, Overflow> {
        let mut growth = BigUint::from(1_u8);
        let mut worth = BigUint::from(0_u8);
        let mut scale = BigUint::from(1_u8);
        for instalment in over.first..=self.rows.amortized_over() {
            let (earned, of) = self.whole_period(instalment);
            growth *= earned + of;
            worth *= earned + of;
            scale *= of;
            if !over.paid.contains(&instalment) {
                worth += &scale;
            }
        }
        let base = over.principal.0.unsigned_abs() + over.carried.0.unsigned_abs();
        let (grown, balloon) = (growth * base, scale * self.rows.balloon().0.unsigned_abs());
        let repaid = if grown > balloon { grown - balloon } else { BigUint::ZERO };
        quotient(repaid, worth, self.policy.instalment_rounding, self.policy.rounding)
    }

    /// What a whole period earns per cent of principal, as a ratio in lowest terms.
    fn whole_period(&self, row: u32) -> (u128, u128) {
        let (from, to) = (self.rows.period_start(self.dates, row), self.rows.due_day(self.dates, row));
        let (earned, of) = if row > self.rows.count() {
            // A row that only the amortization has: its nominal length, at the last row's rate.
            let last = self.rows.due_day(self.dates, self.rows.count());
            let days = self.rows.period_length(self.dates, row).thirty_day_count().max(0).unsigned_abs();
            let rate = self.rates.on(last.plus_days(-1)).millionths().unsigned_abs();
            (u128::from(days) * rate, 360 * Percent::WHOLE.unsigned_abs())
        } else {
            self.rows.earning(self.policy, self.dates, row).whole(self.rates, from, to)
        };
        let common = greatest_common_divisor(earned, of);
        (earned / common, of / common)
    }

    /// Adjusts the level payment once by the last row's difference, spread over the level rows, if that makes the last
    /// row closer.
    pub fn smooth(&self, principal: Cents, plan: Plan) -> Result<Plan, Overflow> {
        let last = self.last_instalment(principal, plan.level)?;
        let difference = last - plan.level;
        let rows = i128::from(self.rows.count() + 1 - self.rows.repays_from());
        let step = round_ratio(i128::from(difference.0.abs()), rows, self.policy.rounding)?;
        let moved = plan.level + Cents(step.0 * difference.0.signum());
        let last_moved = self.last_instalment(principal, moved)?;
        let closer = (last_moved - moved).0.abs() < difference.0.abs();
        Ok(if closer { Plan { level: moved, ..plan } } else { plan })
    }

    /// The last instalment if all instalments are paid on time.
    fn last_instalment(&self, principal: Cents, level: Cents) -> Result<Cents, Overflow> {
        let (mut unpaid, mut carried) = (principal, Cents::ZERO);
        for instalment in self.rows.repays_from()..self.rows.count() {
            // Interest that exceeds the instalment, as after a long first period, is carried to the next.
            let interest = self.period_interest(instalment, unpaid)? + carried;
            carried = (interest - level).or_zero();
            unpaid -= (level - interest).or_zero().min(unpaid);
        }
        Ok(unpaid + carried + self.period_interest(self.rows.count(), unpaid)?)
    }

    /// What a principal earns in a whole period.
    pub fn period_interest(&self, row: u32, principal: Cents) -> Result<Cents, Overflow> {
        let (from, to) = (self.rows.period_start(self.dates, row), self.rows.due_day(self.dates, row));
        let earning = self.rows.earning(self.policy, self.dates, row);
        earning.cents(earning.accrue(principal, self.rates, from, to))
    }
}

/// A ratio of cents, rounded to the nearest multiple of `unit`.
fn to_unit(numerator: i128, denominator: i128, unit: Cents, rounding: Rounding) -> Result<Cents, Overflow> {
    let units = round_ratio(numerator, denominator * i128::from(unit.0), rounding)?;
    units.0.checked_mul(unit.0).map(Cents).ok_or(Overflow)
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A ratio of whole numbers of any size, rounded to the nearest multiple of `unit` cents.
pub(crate) fn quotient(
    numerator: BigUint,
    denominator: BigUint,
    unit: Cents,
    rounding: Rounding,
) -> Result<Cents, Overflow> {
    let denominator = denominator * unit.0.unsigned_abs();
    let whole = &numerator / &denominator;
    let rest = numerator - &whole * &denominator;
    let odd = whole.bit(0);
    let up = round_up((&rest + &rest).cmp(&denominator), odd, rounding);
    let units = i64::try_from(whole).map_err(|_| Overflow)? + i64::from(up);
    units.checked_mul(unit.0).filter(|cents| *cents <= Cents::LIMIT.0).map(Cents).ok_or(Overflow)
}

//! The plan: the amount of each instalment, fixed when the loan is opened.
//!
//! The level payment is computed as an exact ratio of whole numbers and rounded once. If r1, r2, ... are what a cent
//! earns in each period, n equal payments of P·(1+r1)···(1+rn) / S repay a principal P, where S is the value at the end
//! of one cent paid at the end of each period: S ← S·(1+r) + 1 from period to period.

use super::dates::Dates;
use super::earning::Earning;
use super::rates::Rates;
use super::terms::{InstallmentPolicy, Method};
use crate::money::{Cents, Overflow, Rounding, round_ratio, round_up};
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

/// Computes the plan of a loan.
pub(crate) fn agree(policy: &InstallmentPolicy, dates: &Dates, principal: Cents) -> Result<Plan, Overflow> {
    let rates = &Rates::plain(policy.rate);
    let flat_interest = match policy.method {
        Method::Flat => flat_interest(policy, dates, rates, principal)?,
        _ => Cents::ZERO,
    };
    let whole = Spread { principal, carried: Cents::ZERO, first: 1, paid: &[] };
    let level = spread(policy, dates, rates, &whole, flat_interest)?;
    let plan = Plan { level, flat_interest };
    if policy.smooth_last && policy.method == Method::Level {
        smooth(policy, dates, rates, principal, plan)
    } else {
        Ok(plan)
    }
}

/// An amount to spread over the rows from `first` on.
pub(crate) struct Spread<'a> {
    /// The principal that the rows repay.
    pub principal: Cents,
    /// Interest that the rows take in addition.
    pub carried: Cents,
    /// The first row; interest-only rows repay no principal.
    pub first: u32,
    /// Rows that are already paid in full: their periods count, but they take no further payment.
    pub paid: &'a [u32],
}

/// [`Plan::level`] for an amount spread over rows.
pub(crate) fn spread(
    policy: &InstallmentPolicy,
    dates: &Dates,
    rates: &Rates,
    over: &Spread<'_>,
    flat_interest: Cents,
) -> Result<Cents, Overflow> {
    let first = over.first.max(policy.interest_only + 1);
    let unit = policy.instalment_rounding;
    let rows = i128::from(policy.instalments + 1 - first) - over.paid.len() as i128;
    match policy.method {
        Method::Level => level_payment(policy, dates, rates, &Spread { first, ..*over }),
        // The instalment is rounded to whole units, so its interest is included if it is fixed.
        Method::Flat if unit > Cents(1) => {
            let total = i128::from(over.principal.0) + i128::from(flat_interest.0) * rows;
            Ok((to_unit(total, rows, unit, policy.rounding)? - flat_interest).or_zero())
        }
        Method::EqualPrincipal | Method::Flat | Method::Precomputed => {
            to_unit(i128::from(over.principal.0), rows, unit, policy.rounding)
        }
    }
}

/// A ratio of cents, rounded to the nearest multiple of `unit`.
fn to_unit(numerator: i128, denominator: i128, unit: Cents, rounding: Rounding) -> Result<Cents, Overflow> {
    let units = round_ratio(numerator, denominator * i128::from(unit.0), rounding)?;
    units.0.checked_mul(unit.0).map(Cents).ok_or(Overflow)
}

/// Original principal x rate x time / n: the interest of all periods, spread evenly.
fn flat_interest(
    policy: &InstallmentPolicy,
    dates: &Dates,
    rates: &Rates,
    principal: Cents,
) -> Result<Cents, Overflow> {
    let (mut numerator, mut denominator) = (BigUint::from(0_u8), BigUint::from(1_u8));
    for instalment in 1..=policy.instalments {
        let (earned, of) = whole_period(policy, dates, rates, instalment);
        numerator = numerator * of + &denominator * earned;
        denominator *= of;
    }
    let denominator = denominator * policy.instalments;
    quotient(numerator * principal.0.unsigned_abs(), denominator, Cents(1), policy.interest_rounding)
}

fn level_payment(
    policy: &InstallmentPolicy,
    dates: &Dates,
    rates: &Rates,
    over: &Spread<'_>,
) -> Result<Cents, Overflow> {
    let mut growth = BigUint::from(1_u8);
    let mut worth = BigUint::from(0_u8);
    let mut scale = BigUint::from(1_u8);
    for instalment in over.first..=policy.instalments {
        let (earned, of) = whole_period(policy, dates, rates, instalment);
        growth *= earned + of;
        worth *= earned + of;
        scale *= of;
        if !over.paid.contains(&instalment) {
            worth += &scale;
        }
    }
    let base = over.principal.0.unsigned_abs() + over.carried.0.unsigned_abs();
    quotient(growth * base, worth, policy.instalment_rounding, policy.rounding)
}

/// What a whole period earns per cent of principal, as a ratio in lowest terms.
fn whole_period(policy: &InstallmentPolicy, dates: &Dates, rates: &Rates, instalment: u32) -> (u128, u128) {
    let (from, to) = (dates.period_start(instalment), dates.due_day(instalment));
    let (earned, of) = Earning::in_period(policy, dates, instalment, from, to).whole(rates, from, to);
    let common = greatest_common_divisor(earned, of);
    (earned / common, of / common)
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

/// Adjusts the level payment once by the last row's difference, spread over the level rows, if that makes the last row
/// closer.
fn smooth(
    policy: &InstallmentPolicy,
    dates: &Dates,
    rates: &Rates,
    principal: Cents,
    plan: Plan,
) -> Result<Plan, Overflow> {
    let last = last_instalment(policy, dates, rates, principal, plan.level)?;
    let difference = last - plan.level;
    let rows = i128::from(policy.instalments - policy.interest_only);
    let step = round_ratio(i128::from(difference.0.abs()), rows, policy.rounding)?;
    let moved = plan.level + Cents(step.0 * difference.0.signum());
    let last_moved = last_instalment(policy, dates, rates, principal, moved)?;
    let closer = (last_moved - moved).0.abs() < difference.0.abs();
    Ok(if closer { Plan { level: moved, ..plan } } else { plan })
}

/// The last instalment if all instalments are paid on time.
fn last_instalment(
    policy: &InstallmentPolicy,
    dates: &Dates,
    rates: &Rates,
    principal: Cents,
    level: Cents,
) -> Result<Cents, Overflow> {
    let (mut unpaid, mut carried) = (principal, Cents::ZERO);
    for instalment in policy.interest_only + 1..policy.instalments {
        // Interest that exceeds the instalment, as after a long first period, is carried to the next.
        let interest = period_interest(policy, dates, rates, instalment, unpaid)? + carried;
        carried = (interest - level).or_zero();
        unpaid -= (level - interest).or_zero().min(unpaid);
    }
    Ok(unpaid + carried + period_interest(policy, dates, rates, policy.instalments, unpaid)?)
}

/// What a principal earns in a whole period.
fn period_interest(
    policy: &InstallmentPolicy,
    dates: &Dates,
    rates: &Rates,
    instalment: u32,
    principal: Cents,
) -> Result<Cents, Overflow> {
    let (from, to) = (dates.period_start(instalment), dates.due_day(instalment));
    let earning = Earning::in_period(policy, dates, instalment, from, to);
    earning.cents(earning.accrue(principal, rates, from, to))
}

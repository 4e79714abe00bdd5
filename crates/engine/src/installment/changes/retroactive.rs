//! The interest that a late change of the rate would have saved.

use crate::installment::plan::quotient;
use crate::installment::rates::Window;
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};
use num_bigint::{BigInt, Sign};

impl StepContext<'_> {
    /// Sums, over the dates from the window's start up to today, the difference that the window makes to the rate times
    /// the principal on which interest was counted times the date's share of a year. Rounded once. Needs the past.
    pub(super) fn saving(&self, window: &Window) -> Result<Result<Cents, Refusal>, FoldError> {
        let Some(past) = &self.state.loan().past else { return Err(FoldError::NeedsPast) };
        let mut with = past.rates.clone();
        with.add(window.clone());
        let until = window.to.map_or(self.today, |to| to.min(self.today));
        let (mut numerator, mut denominator) = (BigInt::from(0), BigInt::from(1));
        for accrual in &past.accruals {
            let (from, to) = (accrual.from.max(window.from), accrual.to.min(until));
            if from >= to {
                continue;
            }
            let saved = accrual.earning.weigh(&past.rates, from, to) - accrual.earning.weigh(&with, from, to);
            let (earned, of) = accrual.earning.ratio(i128::from(accrual.principal.0) * saved);
            if denominator == BigInt::from(of) {
                numerator += earned;
            } else {
                numerator = numerator * of + &denominator * earned;
                denominator *= of;
                shorten(&mut numerator, &mut denominator);
            }
        }
        let (sign, magnitude) = numerator.into_parts();
        if sign == Sign::Minus {
            let rule = "must not be true: the change would have cost interest";
            return Ok(Err(Refusal::Field { field: "retroactive", rule }));
        }
        let rounding = self.plan.policy.rounding;
        Ok(Ok(quotient(magnitude, denominator.magnitude().clone(), Cents(1), rounding)?))
    }
}

/// Keeps a ratio small: the shares of a year have few different denominators.
fn shorten(numerator: &mut BigInt, denominator: &mut BigInt) {
    let (mut a, mut b) = (numerator.magnitude().clone(), denominator.magnitude().clone());
    while b != num_bigint::BigUint::from(0_u8) {
        (a, b) = (b.clone(), a % b);
    }
    let common = BigInt::from(a);
    if common > BigInt::from(1) {
        *numerator /= &common;
        *denominator /= &common;
    }
}

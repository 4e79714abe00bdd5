//! Fractions of a cent that rounding leaves behind, and that later interest takes into account.
//!
//! The product's [`InterestRoundingAt`] decides what happens to the fraction when interest is rounded:
//!
//! | value | at the end of a period | at a payment |
//! |---|---|---|
//! | `PERIOD_END` | it falls away | it stays |
//! | `CARRY` | it goes to the next period | it stays |
//! | `PAYMENT` | it goes to the next period | it falls away |
//! | `DAILY` | no fraction: each day's interest is rounded | the same |
//!
//! The fraction is an exact ratio. It may be negative: interest of 1.005 posted as 1.01 leaves -0.005.

use super::earning::Earning;
use super::loan::Loan;
use super::plan::quotient;
use super::terms::InterestRoundingAt;
use crate::money::{Cents, Overflow};
use alloc::vec::Vec;
use num_bigint::{BigInt, BigUint, Sign};
use serde::{Deserialize, Serialize};

/// Interest to be added to what the open period has accrued: a ratio of cents, exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carry {
    /// The numerator, as signed bytes, lowest first; empty for no fraction.
    numerator: Vec<u8>,
    /// The denominator, as bytes, lowest first.
    denominator: Vec<u8>,
}

impl Carry {
    /// A ratio in lowest terms.
    fn new(numerator: BigInt, denominator: &BigUint) -> Carry {
        if numerator.sign() == Sign::NoSign {
            return Carry::default();
        }
        let common = greatest_common_divisor(numerator.magnitude().clone(), denominator.clone());
        let denominator = denominator / &common;
        Carry {
            numerator: (numerator / BigInt::from(common)).to_signed_bytes_le(),
            denominator: denominator.to_bytes_le(),
        }
    }

    /// Whole cents that the open period has earned before the account was boarded.
    pub(super) fn of(cents: Cents) -> Carry {
        Carry::new(BigInt::from(cents.0), &BigUint::from(1_u8))
    }

    /// The sum of this fraction and what a period accrued, as a ratio.
    fn plus(&self, earning: &Earning, accrued: i128) -> Result<(BigInt, BigUint), Overflow> {
        let (interest, of) = earning.exact(accrued)?;
        let of = BigUint::from(of.unsigned_abs());
        if self.numerator.is_empty() {
            return Ok((BigInt::from(interest), of));
        }
        let numerator = BigInt::from_signed_bytes_le(&self.numerator);
        let denominator = BigUint::from_bytes_le(&self.denominator);
        let sum = BigInt::from(interest) * BigInt::from(denominator.clone()) + numerator * BigInt::from(of.clone());
        Ok((sum, denominator * of))
    }

    /// The sum of this fraction and what a period accrued, rounded. It is not negative.
    fn cents(&self, earning: &Earning, accrued: i128) -> Result<Cents, Overflow> {
        if self.numerator.is_empty() {
            return earning.cents(accrued);
        }
        match self.plus(earning, accrued)? {
            (sum, _) if sum.sign() == Sign::Minus => Ok(Cents::ZERO),
            (sum, of) => quotient(sum.into_parts().1, of, Cents(1), earning.rounding()),
        }
    }
}

fn greatest_common_divisor(mut a: BigUint, mut b: BigUint) -> BigUint {
    while b != BigUint::ZERO {
        (a, b) = (b.clone(), a % b);
    }
    a
}

impl Loan {
    /// The interest of the open period for what it has accrued, with the fraction carried to it, rounded.
    pub(super) fn rounded_interest(&self, accrued: i128) -> Result<Cents, Overflow> {
        self.carry.cents(&self.period.earning, accrued)
    }

    /// The interest accrued so far becomes a whole number of cents.
    pub(super) fn drop_fraction(&mut self) -> Result<(), Overflow> {
        let rounded = self.rounded_interest(self.period.accrued)?;
        let (sum, of) = Carry::default().plus(&self.period.earning, self.period.accrued)?;
        self.carry = Carry::new(BigInt::from(rounded.0) * BigInt::from(of.clone()) - sum, &of);
        Ok(())
    }

    /// The open period has been posted: carries the fraction that is left to the next one.
    pub(super) fn carry_fraction(&mut self, at: InterestRoundingAt) -> Result<(), Overflow> {
        if matches!(at, InterestRoundingAt::PeriodEnd | InterestRoundingAt::Daily) {
            self.carry = Carry::default();
            return Ok(());
        }
        if self.period.fixed.is_some() {
            return Ok(());
        }
        let posted = self.rounded_interest(self.period.accrued)?.max(self.period.recognised);
        let (sum, of) = self.carry.plus(&self.period.earning, self.period.accrued)?;
        self.carry = Carry::new(sum - BigInt::from(posted.0) * BigInt::from(of.clone()), &of);
        Ok(())
    }
}

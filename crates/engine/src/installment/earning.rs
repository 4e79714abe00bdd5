//! What a day of principal earns: the fraction of a year that a day is, as whole numbers.

use super::rates::Rates;
use super::terms::{DayCount, InstallmentPolicy, InterestRoundingAt};
use crate::calendar::{Day, Interval, is_leap_year};
use crate::money::{Cents, Overflow, Percent, Rounding, round_ratio, round_whole, whole_cents};
use serde::{Deserialize, Serialize};

/// Days in a common and in a leap year.
const YEAR: i128 = 365;
const LEAP_YEAR: i128 = 366;

/// What a day of principal earns within one period.
///
/// The interest of a period is `accrued * factor / divisor`, where `accrued` sums principal times the weight of the
/// days it was unpaid times their [rates](Rates). All three are whole numbers, so the result is exact until the
/// quotient is rounded to a cent. If each day's interest is rounded, `accrued` sums the cents of the days instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earning {
    day_count: DayCount,
    factor: i128,
    divisor: i128,
    rounding: Rounding,
    /// Whether each day's interest is rounded.
    rounded_daily: bool,
}

impl Earning {
    /// No interest is earned.
    pub(crate) const NOTHING: Earning = Earning {
        day_count: DayCount::Thirty360,
        factor: 0,
        divisor: 1,
        rounding: Rounding::HalfEven,
        rounded_daily: false,
    };

    /// What a day of principal earns in a period that runs from one date to another. `length` is its length as a
    /// fraction of a year, if the day count has one.
    pub fn in_period(policy: &InstallmentPolicy, from: Day, to: Day, length: impl FnOnce() -> Interval) -> Earning {
        // If the zone skipped a day, a period of one day may have no days; it earns nothing with any divisor.
        let days = i128::from(to.days_since(from).max(1));
        let (parts, of_year) = match policy.day_count {
            // The agreed length is the fraction of a year; the actual days divide it equally.
            DayCount::Thirty360 => {
                let agreed = length().thirty_day_count();
                (i128::from(agreed.max(0)), 360 * days)
            }
            DayCount::Actual365 => (1, YEAR),
            DayCount::Actual360 => (1, 360),
            DayCount::ActualActual => (1, YEAR * LEAP_YEAR),
        };
        Earning {
            day_count: policy.day_count,
            factor: parts,
            divisor: of_year * Percent::WHOLE,
            rounding: policy.interest_rounding,
            rounded_daily: policy.interest_rounding_at == InterestRoundingAt::Daily,
        }
    }

    /// What a principal accrues from one date to another, the last excluded, to be added to `accrued`.
    pub fn accrue(&self, principal: Cents, rates: &Rates, from: Day, to: Day) -> i128 {
        rates.sum(from, to, |from, to, rate| self.accrue_at(principal, from, to, rate))
    }

    /// [`Earning::accrue`], of the part that caps take off the instalments.
    pub(crate) fn accrue_reduction(&self, principal: Cents, rates: &Rates, from: Day, to: Day) -> i128 {
        if !rates.reduces() {
            return 0;
        }
        let without = rates.sum_without_reduction(from, to, |from, to, rate| self.accrue_at(principal, from, to, rate));
        without - self.accrue(principal, rates, from, to)
    }

    /// What a principal accrues on dates with the same rate.
    fn accrue_at(&self, principal: Cents, from: Day, to: Day, rate: i128) -> i128 {
        if !self.rounded_daily {
            return i128::from(principal.0) * self.weight(from, to) * rate;
        }
        let day = |weight: i128| {
            round_whole(i128::from(principal.0) * weight * rate * self.factor, self.divisor, self.rounding)
        };
        match self.day_count {
            DayCount::ActualActual => {
                let leap = leap_days(from, to);
                let common = i128::from(to.days_since(from)) - leap;
                common * day(LEAP_YEAR) + leap * day(YEAR)
            }
            _ => i128::from(to.days_since(from)) * day(1),
        }
    }

    /// The weight of the days from one date to another, the last excluded, times their rates.
    pub fn weigh(&self, rates: &Rates, from: Day, to: Day) -> i128 {
        rates.weigh(from, to, |from, to| self.weight(from, to))
    }

    /// The weight of the days from one date to another, the last excluded.
    fn weight(&self, from: Day, to: Day) -> i128 {
        match self.day_count {
            DayCount::ActualActual => {
                let leap = leap_days(from, to);
                let common = i128::from(to.days_since(from)) - leap;
                common * LEAP_YEAR + leap * YEAR
            }
            _ => i128::from(to.days_since(from)),
        }
    }

    /// Converts what was accrued to cents, rounded.
    pub fn cents(&self, accrued: i128) -> Result<Cents, Overflow> {
        let (interest, of) = self.exact(accrued)?;
        if of == 1 { whole_cents(interest) } else { round_ratio(interest, of, self.rounding) }
    }

    /// What was accrued, as an exact ratio of cents.
    pub(crate) fn exact(&self, accrued: i128) -> Result<(i128, i128), Overflow> {
        if self.rounded_daily {
            return Ok((accrued, 1));
        }
        Ok((accrued.checked_mul(self.factor).ok_or(Overflow)?, self.divisor))
    }

    /// How fractions of a cent are rounded.
    pub(crate) fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// Weighted principal as a ratio of cents.
    pub(crate) fn ratio(&self, accrued: i128) -> (i128, i128) {
        (accrued * self.factor, self.divisor)
    }

    /// What a whole period earns for each cent, as a ratio.
    pub(crate) fn whole(&self, rates: &Rates, from: Day, to: Day) -> (u128, u128) {
        ((self.weigh(rates, from, to) * self.factor).unsigned_abs(), self.divisor.unsigned_abs())
    }
}

/// How many of the days from one date to another, the last excluded, lie in leap years.
fn leap_days(from: Day, to: Day) -> i128 {
    let (first_year, last_year) = (from.ymd().0, to.ymd().0);
    let mut leap = 0;
    for year in first_year..=last_year {
        if is_leap_year(year) {
            let begin = from.max(Day::from_ymd(year, 1, 1));
            let end = to.min(Day::from_ymd(year + 1, 1, 1));
            leap += i128::from(end.days_since(begin).max(0));
        }
    }
    leap
}

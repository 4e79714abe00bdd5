//! Money: whole cents, and the one place where a fraction is rounded to cents.

use alloc::string::{String, ToString};
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use serde::{Deserialize, Serialize};

/// An amount in cents. Positive means that the borrower owes more.
///
/// Sums cannot overflow: every amount enters an account through a check that keeps the account's gross turnover below
/// [`Cents::LIMIT`]. If that check ever failed, the arithmetic operators would panic rather than wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cents(pub i64);

impl Cents {
    /// Zero.
    pub const ZERO: Cents = Cents(0);
    /// The largest single amount a caller may state: 10^13 cents.
    pub const LARGEST_INPUT: Cents = Cents(10_000_000_000_000);
    /// The largest gross turnover of an account; an input beyond it is refused.
    pub const LIMIT: Cents = Cents(i64::MAX / 8);

    /// Whether the amount is greater than zero.
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// Whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The amount, or zero if it is negative.
    pub fn or_zero(self) -> Cents {
        self.max(Cents::ZERO)
    }
}

impl Add for Cents {
    type Output = Cents;
    fn add(self, other: Cents) -> Cents {
        Cents(self.0 + other.0)
    }
}

impl Sub for Cents {
    type Output = Cents;
    fn sub(self, other: Cents) -> Cents {
        Cents(self.0 - other.0)
    }
}

impl Neg for Cents {
    type Output = Cents;
    fn neg(self) -> Cents {
        Cents(-self.0)
    }
}

impl AddAssign for Cents {
    fn add_assign(&mut self, other: Cents) {
        *self = *self + other;
    }
}

impl SubAssign for Cents {
    fn sub_assign(&mut self, other: Cents) {
        *self = *self - other;
    }
}

impl Sum for Cents {
    fn sum<I: Iterator<Item = Cents>>(amounts: I) -> Cents {
        amounts.fold(Cents::ZERO, Add::add)
    }
}

/// Units and cents without separators: `1234.56`.
impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", magnitude / 100, magnitude % 100)
    }
}

/// What to do with a fraction of a cent; the first two round to the nearest cent and differ only at exactly half a cent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rounding {
    /// To the even neighbour.
    #[default]
    HalfEven,
    /// Away from zero.
    HalfUp,
    /// Every fraction is dropped.
    Down,
}

/// An amount exceeded the largest that the engine can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// `numerator / denominator` in whole cents. The numerator must not be negative, the denominator must be positive.
///
/// This is the engine's only division of money, except for the level payment, whose ratio needs more bits.
pub fn round_ratio(numerator: i128, denominator: i128, rounding: Rounding) -> Result<Cents, Overflow> {
    whole_cents(round_whole(numerator, denominator, rounding))
}

/// [`round_ratio`] without the limit on amounts.
pub(crate) fn round_whole(numerator: i128, denominator: i128, rounding: Rounding) -> i128 {
    assert!(numerator >= 0 && denominator > 0, "a ratio of money has no sign");
    let (whole, rest) = divide(numerator, denominator);
    whole + i128::from(round_up(rest.cmp(&(denominator - rest)), whole % 2 != 0, rounding))
}

/// A number of cents, if it is within [`Cents::LIMIT`].
pub(crate) fn whole_cents(cents: i128) -> Result<Cents, Overflow> {
    i64::try_from(cents).ok().filter(|cents| *cents <= Cents::LIMIT.0).map(Cents).ok_or(Overflow)
}

/// Quotient and remainder. Most amounts fit 64 bits, where division is many times faster.
fn divide(numerator: i128, denominator: i128) -> (i128, i128) {
    match (u64::try_from(numerator), u64::try_from(denominator)) {
        (Ok(numerator), Ok(denominator)) => (i128::from(numerator / denominator), i128::from(numerator % denominator)),
        _ => (numerator / denominator, numerator % denominator),
    }
}

/// Whether to round up, from how the remainder compares with one half, and whether the quotient is odd.
pub(crate) fn round_up(rest_to_half: core::cmp::Ordering, odd: bool, rounding: Rounding) -> bool {
    match rest_to_half {
        core::cmp::Ordering::Less => false,
        core::cmp::Ordering::Greater => rounding != Rounding::Down,
        core::cmp::Ordering::Equal => match rounding {
            Rounding::HalfEven => odd,
            Rounding::HalfUp => true,
            Rounding::Down => false,
        },
    }
}

/// A percentage, exact to a millionth of a percent: `6.2` is 6.2 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Percent(u64);

impl Percent {
    /// Zero percent.
    pub const ZERO: Percent = Percent(0);
    /// The largest percentage accepted: 10,000 %.
    pub const LARGEST: Percent = Percent(10_000 * Percent::ONE);
    /// 100 % in the unit of [`Percent::millionths`].
    pub const WHOLE: i128 = 100 * Percent::ONE as i128;
    const ONE: u64 = 1_000_000;
    const PLACES: usize = 6;

    /// This many millionths of a percent.
    pub const fn from_millionths(millionths: u64) -> Percent {
        Percent(millionths)
    }

    /// Millionths of a percent; [`Percent::WHOLE`] of them are 100 %.
    pub const fn millionths(self) -> i128 {
        self.0 as i128
    }

    /// Parses `12`, `12.0` or `6.255`: digits with at most six decimal places, from 0 to 10,000.
    pub fn parse(text: &str) -> Option<Percent> {
        let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(places) {
            return None;
        }
        let places = places.trim_end_matches('0');
        if places.len() > Self::PLACES {
            return None;
        }
        let scale = 10_u64.pow((Self::PLACES - places.len()) as u32);
        let fraction = if places.is_empty() { 0 } else { places.parse::<u64>().ok()? * scale };
        let percent = Percent(whole.parse::<u64>().ok()?.checked_mul(Self::ONE)?.checked_add(fraction)?);
        (percent <= Self::LARGEST).then_some(percent)
    }

    /// This percentage of an amount, which must not be negative.
    pub fn of(self, amount: Cents, rounding: Rounding) -> Result<Cents, Overflow> {
        round_ratio(i128::from(amount.0) * self.millionths(), Self::WHOLE, rounding)
    }
}

/// The shortest form: `12`, not `12.0`.
impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, places) = (self.0 / Self::ONE, self.0 % Self::ONE);
        let mut text: String = whole.to_string();
        if places > 0 {
            let digits = alloc::format!("{places:06}");
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
        f.write_str(&text)
    }
}

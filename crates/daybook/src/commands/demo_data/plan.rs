//! Level instalments, calculated independently of the engine, so that the generated files can reveal an error in it.
//!
//! With a yearly rate of t tenths of a percent, the monthly rate r is t/12000, and the level payment of P over n months
//! is P r (1+r)^n / ((1+r)^n - 1). This is a fraction of integers with some hundred digits, rounded once.

use std::cmp::Ordering;

/// The divisor that turns a yearly rate in tenths of a percent into a monthly rate.
const PARTS: u64 = 12_000;

/// The level payment, in cents.
pub fn level(principal: u64, rate_tenths: u64, months: u32) -> u64 {
    let (mut grown, mut plain) = (Wide::from(1), Wide::from(1));
    for _ in 0..months {
        grown = grown.times(PARTS + rate_tenths);
        plain = plain.times(PARTS);
    }
    let numerator = grown.times(rate_tenths).times(principal);
    let denominator = grown.minus(&plain).times(PARTS);
    rounded(&numerator, &denominator, principal * 2)
}

/// The interest of a month, in cents.
pub fn interest(principal: u64, rate_tenths: u64) -> u64 {
    let (parts, whole) = (principal * rate_tenths, principal * rate_tenths / PARTS);
    match (2 * (parts % PARTS)).cmp(&PARTS) {
        Ordering::Less => whole,
        Ordering::Equal => whole + (whole & 1),
        Ordering::Greater => whole + 1,
    }
}

/// Rounds a fraction to the nearest integer, half to even. The result must be at most `most`.
fn rounded(numerator: &Wide, denominator: &Wide, most: u64) -> u64 {
    let twice = numerator.times(2);
    let (mut least, mut most) = (0, most);
    // Finds the largest integer that is at most one half above the fraction.
    while least < most {
        let middle = (least + most).div_ceil(2);
        if denominator.times(2 * middle - 1) <= twice {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    let is_half = least > 0 && denominator.times(2 * least - 1) == twice;
    if is_half { least - (least & 1) } else { least }
}

/// An integer of up to 1,024 bits, least significant word first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wide([u64; 16]);

impl Wide {
    fn from(number: u64) -> Wide {
        let mut words = [0; 16];
        words[0] = number;
        Wide(words)
    }

    fn times(&self, factor: u64) -> Wide {
        let mut carried = 0_u128;
        Wide(self.0.map(|word| {
            let product = u128::from(word) * u128::from(factor) + carried;
            carried = product >> 64;
            product as u64
        }))
    }

    /// Subtracts a number that is not larger.
    fn minus(&self, other: &Wide) -> Wide {
        let mut words = [0; 16];
        let mut borrowed = false;
        for (place, word) in words.iter_mut().enumerate() {
            let (less, first) = self.0[place].overflowing_sub(other.0[place]);
            let (less, second) = less.overflowing_sub(borrowed.into());
            (*word, borrowed) = (less, first || second);
        }
        Wide(words)
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        Some(self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instalments_are_those_of_published_tables() {
        // 1,200.00 over 12 months at 12 %; 10,000.00 over 36 months at 12 % and at 6 %; 200,000.00 over 36 at 4.5 %.
        assert_eq!(level(120_000, 120, 12), 10_662);
        assert_eq!(level(1_000_000, 120, 36), 33_214);
        assert_eq!(level(1_000_000, 60, 36), 30_422);
        assert_eq!(level(20_000_000, 45, 36), 594_938);
    }

    #[test]
    fn half_a_cent_goes_to_the_even_one() {
        assert_eq!([50, 150, 250, 251].map(|principal| interest(principal, 120)), [0, 2, 2, 3]);
        let fraction = |numerator| rounded(&Wide::from(numerator), &Wide::from(10), 100);
        assert_eq!([4, 5, 6, 15, 25, 26].map(fraction), [0, 0, 1, 2, 2, 3]);
    }
}

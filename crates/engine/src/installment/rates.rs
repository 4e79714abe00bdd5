//! The yearly rate of each date: the rate of the terms, unless a cap is lower.
//!
//! A [`Cap`] limits the rate for a window of dates. The rate of a date is the lowest of the plain rate and of all caps
//! that cover the date. So windows may overlap and be added in any order, and a window's end needs no input of its own.

use crate::calendar::Day;
use crate::money::Percent;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A limit on the yearly rate from a date on, until an end date (excluded) or without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// The source of the limit.
    pub source: CapSource,
    /// The highest rate.
    pub rate: Percent,
    /// The first date it covers.
    pub from: Day,
    /// The first date after it; `None` while it has no end.
    pub to: Option<Day>,
}

/// The source of a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CapSource {
    /// A status that stops interest.
    Status,
}

impl Cap {
    fn covers(&self, day: Day) -> bool {
        self.from <= day && self.to.is_none_or(|to| day < to)
    }
}

/// The rates of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// The rate of the terms.
    plain: Percent,
    /// The limits that cover a date of the open period or a later one.
    caps: Vec<Cap>,
}

impl Rates {
    /// A rate without limits.
    pub fn plain(plain: Percent) -> Rates {
        Rates { plain, caps: Vec::new() }
    }

    /// The rate of a date.
    pub fn on(&self, day: Day) -> Percent {
        let caps = self.caps.iter().filter(|cap| cap.covers(day)).map(|cap| cap.rate);
        caps.fold(self.plain, Percent::min)
    }

    /// Sums weight times rate (in millionths of a percent) over the dates from `from` to `to`, the last excluded.
    /// `weight` returns the total weight of a stretch of dates.
    pub(crate) fn weigh(&self, from: Day, to: Day, weight: impl Fn(Day, Day) -> i128) -> i128 {
        self.sum(from, to, |from, to, rate| weight(from, to) * rate)
    }

    /// Sums what each stretch of dates with the same rate (in millionths of a percent) adds, the last date excluded.
    pub(crate) fn sum(&self, from: Day, to: Day, of: impl Fn(Day, Day, i128) -> i128) -> i128 {
        let mut sum = 0;
        let mut begin = from;
        while begin < to {
            let end = self.next_change(begin).map_or(to, |change| change.min(to));
            sum += of(begin, end, self.on(begin).millionths());
            begin = end;
        }
        sum
    }

    /// The first date after `day` on which a window begins or has ended.
    fn next_change(&self, day: Day) -> Option<Day> {
        let edges = self.caps.iter().flat_map(|cap| [Some(cap.from), cap.to]).flatten();
        edges.filter(|edge| *edge > day).min()
    }

    /// Whether a cap of this source without an end is in force.
    pub fn is_capped(&self, source: CapSource) -> bool {
        self.caps.iter().any(|cap| cap.source == source && cap.to.is_none())
    }

    /// Adds a limit.
    pub(crate) fn cap(&mut self, cap: Cap) {
        self.caps.push(cap);
    }

    /// Ends the limits of a source that have no end yet.
    pub(crate) fn end(&mut self, source: CapSource, day: Day) {
        let open = self.caps.iter_mut().filter(|cap| cap.source == source && cap.to.is_none());
        open.for_each(|cap| cap.to = Some(day));
    }

    /// Drops limits that cover no date from `day` on.
    pub(crate) fn forget_before(&mut self, day: Day) {
        self.caps.retain(|cap| cap.to.is_none_or(|to| to > day && to > cap.from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(number: i32) -> Day {
        Day::from_number(number)
    }

    fn cap(percent: u64, from: i32, to: Option<i32>) -> Cap {
        let rate = Percent::from_millionths(percent * 1_000_000);
        Cap { source: CapSource::Status, rate, from: day(from), to: to.map(day) }
    }

    fn rates(caps: &[Cap]) -> Rates {
        let mut rates = Rates::plain(Percent::from_millionths(12_000_000));
        caps.iter().for_each(|one| rates.cap(*one));
        rates
    }

    /// The sum, computed date by date.
    fn by_dates(rates: &Rates, from: i32, to: i32) -> i128 {
        (from..to).map(|number| rates.on(day(number)).millionths()).sum()
    }

    #[test]
    fn the_rate_of_a_date_is_the_lowest_that_covers_it() {
        let all = [cap(6, 10, Some(20)), cap(0, 15, Some(18)), cap(20, 0, None), cap(9, 12, None), cap(3, 5, Some(5))];
        let rates = rates(&all);
        let percents: Vec<i128> = (4..22).map(|number| rates.on(day(number)).millionths() / 1_000_000).collect();
        assert_eq!(percents, [12, 12, 12, 12, 12, 12, 6, 6, 6, 6, 6, 0, 0, 0, 6, 6, 9, 9]);
        for (from, to) in [(0, 30), (15, 18), (16, 17), (5, 5), (19, 12)] {
            let sum = rates.weigh(day(from), day(to), |from, to| i128::from(to.days_since(from)));
            assert_eq!(sum, by_dates(&rates, from, to), "{from} to {to}");
        }
    }

    #[test]
    fn a_cap_ends_and_is_forgotten_once_its_dates_are_counted() {
        let mut rates = rates(&[cap(0, 10, None)]);
        assert!(rates.is_capped(CapSource::Status));
        rates.end(CapSource::Status, day(15));
        assert!(!rates.is_capped(CapSource::Status));
        rates.forget_before(day(14));
        assert_eq!(by_dates(&rates, 8, 17), 4 * 12_000_000, "two dates before it and two after it");
        rates.forget_before(day(15));
        assert_eq!(rates, super::tests::rates(&[]));
    }
}

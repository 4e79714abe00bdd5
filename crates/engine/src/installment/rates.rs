//! The yearly rate of each date: a plain rate, unless a cap is lower.
//!
//! A [`Window`] covers dates. The plain rate of a date is that of the window with the latest start that covers it, or
//! the rate of the terms. A cap limits the rate. The rate of a date is the lowest of its plain rate and of all caps
//! that cover it. So windows may overlap and be added in any order, and a window's end needs no input of its own.

use crate::calendar::Day;
use crate::change::CapTag;
use crate::item::Name;
use crate::money::{Cents, Percent};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A rate or a limit for dates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The source.
    pub source: Source,
    /// What it does.
    pub effect: Effect,
    /// The first date as it was named; plain rates are ranked by it.
    pub named_from: Day,
    /// The first date it covers: later than `named_from` if it was recorded late.
    pub from: Day,
    /// The first date after it; `None` while it has no end.
    pub to: Option<Day>,
}

/// The source of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A status that stops interest.
    Status,
    /// A change.
    Change(Name),
}

/// What a window does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// The plain rate.
    Plain(Percent),
    /// The highest rate.
    Cap {
        /// The highest rate.
        rate: Percent,
        /// The law behind it.
        tag: Option<CapTag>,
        /// Whether each instalment asks less by what the cap forgives.
        reduces: bool,
    },
    /// The flat late fee.
    LateFee(Cents),
}

impl Window {
    /// A stop of interest by the status.
    pub(crate) fn of_status(from: Day) -> Window {
        let effect = Effect::Cap { rate: Percent::ZERO, tag: None, reduces: false };
        Window { source: Source::Status, effect, named_from: from, from, to: None }
    }

    fn covers(&self, day: Day) -> bool {
        self.from <= day && self.to.is_none_or(|to| day < to)
    }

    /// Whether the window covers no date from `day` on.
    fn is_over(&self, day: Day) -> bool {
        self.to.is_some_and(|to| to <= day || to <= self.from)
    }
}

/// The rates of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// The rate of the terms.
    plain: Percent,
    /// The windows that cover a date of the open period or a later one, in the order of the timeline.
    windows: Vec<Window>,
}

impl Rates {
    /// A rate without windows.
    pub fn plain(plain: Percent) -> Rates {
        Rates { plain, windows: Vec::new() }
    }

    /// The rate of a date.
    pub fn on(&self, day: Day) -> Percent {
        if self.windows.is_empty() { self.plain } else { self.on_without(day, |_| false) }
    }

    /// The rate of a date if some caps are left out.
    fn on_without(&self, day: Day, left_out: impl Fn(&Effect) -> bool) -> Percent {
        let (mut plain, mut latest, mut lowest) = (self.plain, None, None::<Percent>);
        for window in self.windows.iter().filter(|window| window.covers(day)) {
            match window.effect {
                Effect::Plain(rate) if latest.is_none_or(|start| window.named_from >= start) => {
                    (plain, latest) = (rate, Some(window.named_from));
                }
                Effect::Cap { rate, .. } if !left_out(&window.effect) => {
                    lowest = Some(lowest.map_or(rate, |lowest| lowest.min(rate)));
                }
                Effect::Plain(_) | Effect::Cap { .. } | Effect::LateFee(_) => {}
            }
        }
        lowest.map_or(plain, |lowest| lowest.min(plain))
    }

    /// Sums weight times rate (in millionths of a percent) over the dates from `from` to `to`, the last excluded.
    /// `weight` returns the total weight of a stretch of dates.
    pub(crate) fn weigh(&self, from: Day, to: Day, weight: impl Fn(Day, Day) -> i128) -> i128 {
        if self.windows.is_empty() {
            return if from < to { weight(from, to) * self.plain.millionths() } else { 0 };
        }
        self.sum(from, to, |from, to, rate| weight(from, to) * rate)
    }

    /// Sums what each stretch of dates with the same rate (in millionths of a percent) adds, the last date excluded.
    pub(crate) fn sum(&self, from: Day, to: Day, of: impl Fn(Day, Day, i128) -> i128) -> i128 {
        self.sum_as(from, to, of, |day| self.on(day))
    }

    /// [`Rates::sum`], without the caps that lower the instalments.
    pub(crate) fn sum_without_reduction(&self, from: Day, to: Day, of: impl Fn(Day, Day, i128) -> i128) -> i128 {
        self.sum_as(from, to, of, |day| self.on_without(day, |cap| matches!(cap, Effect::Cap { reduces: true, .. })))
    }

    fn sum_as(&self, from: Day, to: Day, of: impl Fn(Day, Day, i128) -> i128, rate: impl Fn(Day) -> Percent) -> i128 {
        let mut sum = 0;
        let mut begin = from;
        while begin < to {
            let end = self.next_change(begin).map_or(to, |change| change.min(to));
            sum += of(begin, end, rate(begin).millionths());
            begin = end;
        }
        sum
    }

    /// Whether a cap reduces the instalments.
    pub(crate) fn reduces(&self) -> bool {
        self.windows.iter().any(|window| matches!(window.effect, Effect::Cap { reduces: true, .. }))
    }

    /// The first date after `day` on which a window begins or has ended.
    fn next_change(&self, day: Day) -> Option<Day> {
        let edges = self.windows.iter().flat_map(|window| [Some(window.from), window.to]).flatten();
        edges.filter(|edge| *edge > day).min()
    }

    /// Whether the rate of a date from `from` on differs from that of other rates.
    pub(crate) fn differs_from(&self, other: &Rates, from: Day) -> bool {
        let mut day = from;
        loop {
            if self.on(day) != other.on(day) {
                return true;
            }
            let next = [self.next_change(day), other.next_change(day)].into_iter().flatten().min();
            let Some(next) = next else { return false };
            day = next;
        }
    }

    /// The flat late fee of a date, if a promotion has one.
    pub fn late_fee_on(&self, day: Day) -> Option<Cents> {
        let covering = self.windows.iter().filter(|window| window.covers(day));
        let fees = covering.filter_map(|window| match window.effect {
            Effect::LateFee(fee) => Some((window.named_from, fee)),
            _ => None,
        });
        fees.max_by_key(|(from, _)| *from).map(|(_, fee)| fee)
    }

    /// Whether a cap of this law covers a date.
    pub fn is_capped_by(&self, law: CapTag, day: Day) -> bool {
        let is_of = |window: &Window| matches!(window.effect, Effect::Cap { tag: Some(tag), .. } if tag == law);
        self.windows.iter().any(|window| is_of(window) && window.covers(day))
    }

    /// Whether a window of this source without an end is in force.
    pub fn is_capped(&self, source: &Source) -> bool {
        self.windows.iter().any(|window| window.source == *source && window.to.is_none())
    }

    /// Whether a change has a window that is not over.
    pub(crate) fn has(&self, source: &Source, day: Day) -> bool {
        self.windows.iter().any(|window| window.source == *source && !window.is_over(day))
    }

    /// Adds a window.
    pub(crate) fn add(&mut self, window: Window) {
        self.windows.push(window);
    }

    /// Ends the windows of a source that go on after a date.
    pub(crate) fn end(&mut self, source: &Source, day: Day) {
        let open = self.windows.iter_mut().filter(|window| window.source == *source && !window.is_over(day));
        open.for_each(|window| window.to = Some(day.max(window.from)));
    }

    /// Drops windows that cover no date from `day` on.
    pub(crate) fn forget_before(&mut self, day: Day) {
        if !self.windows.is_empty() {
            self.windows.retain(|window| !window.is_over(day));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(number: i32) -> Day {
        Day::from_number(number)
    }

    fn percent(percent: u64) -> Percent {
        Percent::from_millionths(percent * 1_000_000)
    }

    fn window(effect: Effect, from: i32, to: Option<i32>) -> Window {
        Window { source: Source::Status, effect, named_from: day(from), from: day(from), to: to.map(day) }
    }

    fn cap(rate: u64, from: i32, to: Option<i32>) -> Window {
        window(Effect::Cap { rate: percent(rate), tag: None, reduces: false }, from, to)
    }

    fn plain(rate: u64, from: i32, to: Option<i32>) -> Window {
        window(Effect::Plain(percent(rate)), from, to)
    }

    fn rates(windows: &[Window]) -> Rates {
        let mut rates = Rates::plain(percent(12));
        windows.iter().for_each(|window| rates.add(window.clone()));
        rates
    }

    /// The sum, computed date by date.
    fn by_dates(rates: &Rates, from: i32, to: i32) -> i128 {
        (from..to).map(|number| rates.on(day(number)).millionths()).sum()
    }

    fn percents(rates: &Rates, from: i32, to: i32) -> Vec<i128> {
        (from..to).map(|number| rates.on(day(number)).millionths() / 1_000_000).collect()
    }

    #[test]
    fn the_rate_of_a_date_is_the_lowest_that_covers_it() {
        let all = [cap(6, 10, Some(20)), cap(0, 15, Some(18)), cap(20, 0, None), cap(9, 12, None), cap(3, 5, Some(5))];
        let rates = rates(&all);
        assert_eq!(percents(&rates, 4, 22), [12, 12, 12, 12, 12, 12, 6, 6, 6, 6, 6, 0, 0, 0, 6, 6, 9, 9]);
        for (from, to) in [(0, 30), (15, 18), (16, 17), (5, 5), (19, 12)] {
            let sum = rates.weigh(day(from), day(to), |from, to| i128::from(to.days_since(from)));
            assert_eq!(sum, by_dates(&rates, from, to), "{from} to {to}");
        }
    }

    /// The plain rate with the latest start counts; of equal starts the later one.
    #[test]
    fn the_latest_plain_rate_counts_until_it_ends() {
        let all =
            [plain(9, 2, None), plain(5, 4, Some(7)), plain(20, 1, Some(9)), plain(7, 4, Some(6)), cap(8, 3, None)];
        let told = [12, 20, 9, 8, 7, 7, 5, 8];
        assert_eq!(percents(&rates(&all), 0, 8), told);
        let reordered = [4, 2, 1, 3, 0].map(|index: usize| all[index].clone());
        assert_eq!(percents(&rates(&reordered), 0, 8), told, "equal starts keep their order, others have none");
    }

    #[test]
    fn a_cap_ends_and_is_forgotten_once_its_dates_are_counted() {
        let mut rates = rates(&[cap(0, 10, None)]);
        assert!(rates.is_capped(&Source::Status));
        rates.end(&Source::Status, day(15));
        assert!(!rates.is_capped(&Source::Status));
        rates.forget_before(day(14));
        assert_eq!(by_dates(&rates, 8, 17), 4 * 12_000_000, "two dates before it and two after it");
        rates.forget_before(day(15));
        assert_eq!(rates, super::tests::rates(&[]));
    }
}

//! The plan in force: when each row falls due, how long its period is, and what it asks for.
//!
//! An account starts with the plan of its terms; changes rewrite it. Rows that follow one rule are stored as one
//! segment, so a plan that no change has touched takes a few bytes, regardless of the number of rows.
//!
//! A row's number is its place in the plan. Rows beyond the last have dates too: they are the periods of interest after
//! maturity.

use super::dates::Dates;
use super::earning::Earning;
use super::row_amounts::{Ask, RowAmounts};
use super::semi_month::{self, HalfMonth};
use super::terms::{Adjust, InstallmentPolicy};
use crate::calendar::{Day, Interval};
use crate::money::Cents;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The plan in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanInForce {
    /// The number of rows.
    pub(super) count: u32,
    /// The first row that repays principal; those before it are interest only.
    pub(super) repays_from: u32,
    /// Where the due dates differ from those of the terms, by first row.
    pub(super) dates: Vec<DateSegment>,
    /// The periods that differ from the regular ones, by row.
    pub(super) periods: Vec<OwnPeriod>,
    /// What each row asks for.
    pub(super) amounts: RowAmounts,
    /// The due dates, moved to business days; empty if they do not move.
    pub(super) adjusted: Vec<Day>,
    /// By how much the last row is larger than the others.
    pub(super) balloon: Cents,
    /// The number of rows over which the level payment would repay the loan, if it is larger than theirs.
    pub(super) amortized_over: u32,
}

/// Consecutive rows whose due dates follow one rule, up to the next segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DateSegment {
    /// The first row.
    pub from: u32,
    /// What to add to a row's number to get its index in the rule.
    pub shift: i32,
    pub rule: DateRule,
}

/// How due dates follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DateRule {
    /// As in the terms; the index is the number of the instalment there.
    Agreed,
    /// Index 0 is due on the anchor, the others at an interval from it.
    Every { anchor: Day, interval: Interval },
    /// The dates by index; later ones follow the last at an interval. Their periods are counted.
    Listed { days: Vec<Day>, interval: Interval },
    /// Two days of each month in turn; index 0 is the due date with the number `first`.
    TwiceAMonth { days: [u8; 2], first: HalfMonth },
}

/// A period that differs from the regular ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnPeriod {
    pub row: u32,
    /// Its first date; `None` for the due date of the row before.
    pub start: Option<Day>,
    pub length: OwnLength,
}

/// The length of a period under `THIRTY_360`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OwnLength {
    /// Counted between its dates: whole months, then days.
    Counted,
    /// Agreed.
    Agreed(Interval),
    /// The row has no period and no moments: it shows what was paid into rows that a re-age removed.
    None,
}

impl PlanInForce {
    /// The dates of the terms, before the amounts are known.
    pub(crate) fn regular(policy: &InstallmentPolicy) -> PlanInForce {
        PlanInForce { count: policy.instalments, repays_from: policy.interest_only + 1, ..PlanInForce::default() }
    }

    /// By how much the last row is larger than the others.
    pub(crate) fn balloon(&self) -> Cents {
        self.balloon
    }

    /// The number of rows over which the level payment repays the loan.
    pub(crate) fn amortized_over(&self) -> u32 {
        self.amortized_over.max(self.count)
    }

    /// Moves the due dates from `first` on to business days.
    pub(crate) fn move_to_business_days(&mut self, policy: &InstallmentPolicy, dates: &Dates, first: u32) {
        self.adjusted.truncate(first as usize - 1);
        self.extend_business_days(policy, dates, self.count + 1);
    }

    /// Makes sure that the due dates up to `last` are moved to business days.
    pub(crate) fn extend_business_days(&mut self, policy: &InstallmentPolicy, dates: &Dates, last: u32) {
        if policy.business_days.adjust == Adjust::None {
            return;
        }
        for row in self.adjusted.len() as u32 + 1..=last {
            let moved = policy.business_days.moved(self.unmoved_due_day(dates, row), self.adjusted.last().copied());
            self.adjusted.push(moved);
        }
    }

    /// The first row that repays principal.
    pub(crate) fn repays_from(&self) -> u32 {
        self.repays_from
    }

    /// The number of rows.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// What a row asks for. The last row takes the rest of the loan, regardless of this.
    pub(crate) fn ask(&self, row: u32) -> Ask {
        self.amounts.of(row)
    }

    /// The amount of a row: its total, or its principal if interest is added on top.
    pub fn amount(&self, row: u32) -> Cents {
        self.amounts.of(row).amount()
    }

    /// The fixed interest of a row; zero if its interest is what accrues.
    pub(crate) fn kept_interest(&self, row: u32) -> Cents {
        match self.amounts.of(row) {
            Ask::Kept { interest, .. } => interest,
            Ask::Total(_) | Ask::Principal(_) => Cents::ZERO,
        }
    }

    /// The date at whose close a row falls due and its period ends.
    pub fn due_day(&self, dates: &Dates, row: u32) -> Day {
        match row.checked_sub(1).and_then(|index| self.adjusted.get(index as usize)) {
            Some(day) => *day,
            None => self.unmoved_due_day(dates, row),
        }
    }

    /// The due date of a row before it moves to a business day.
    fn unmoved_due_day(&self, dates: &Dates, row: u32) -> Day {
        match self.segment(row) {
            None => dates.due_day(row),
            Some(segment) => segment.due_day(dates, row),
        }
    }

    /// The end date of a row's cycle.
    pub fn cycle_end(&self, dates: &Dates, row: u32) -> Day {
        match self.segment(row) {
            None => dates.cycle_end(row),
            Some(DateSegment { rule: DateRule::Agreed, shift, .. }) => dates.cycle_end(index(row, *shift) as u32),
            Some(segment) => dates.cycle_end_before(segment.due_day(dates, row)),
        }
    }

    /// The date at whose close an unpaid row becomes late.
    pub fn late_day(&self, dates: &Dates, row: u32) -> Day {
        dates.late_after(self.due_day(dates, row))
    }

    /// The date on which the period of a row begins.
    pub fn period_start(&self, dates: &Dates, row: u32) -> Day {
        match self.own_period(row) {
            Some(OwnPeriod { start: Some(start), .. }) => *start,
            _ if row <= 1 => dates.start,
            _ => self.due_day(dates, row - 1),
        }
    }

    /// The length of a row's period, as a fraction of a year under `THIRTY_360`.
    pub(crate) fn period_length(&self, dates: &Dates, row: u32) -> Interval {
        let counted = || self.period_start(dates, row).interval_to(self.due_day(dates, row));
        match self.own_period(row).map(|own| own.length) {
            Some(OwnLength::Agreed(length)) => length,
            Some(OwnLength::Counted) => counted(),
            Some(OwnLength::None) => Interval::ZERO,
            None => match self.segment(row).map(|segment| &segment.rule) {
                Some(DateRule::Listed { days, interval }) => {
                    let is_listed = self.segment(row).is_some_and(|own| index(row, own.shift) < days.len() as i32);
                    if is_listed { counted() } else { *interval }
                }
                Some(DateRule::TwiceAMonth { .. }) => semi_month::LENGTH,
                Some(DateRule::Every { interval, .. }) => *interval,
                None | Some(DateRule::Agreed) => dates.period_length(row),
            },
        }
    }

    /// The interval between the due dates from a row on.
    pub(crate) fn interval(&self, dates: &Dates, row: u32) -> Interval {
        match self.segment(row).map(|segment| &segment.rule) {
            Some(DateRule::Every { interval, .. } | DateRule::Listed { interval, .. }) => *interval,
            Some(DateRule::TwiceAMonth { .. }) => semi_month::LENGTH,
            None | Some(DateRule::Agreed) => dates.cycle(),
        }
    }

    /// Whether a row has a due moment of its own.
    pub(crate) fn has_moments(&self, row: u32) -> bool {
        self.own_period(row).is_none_or(|own| own.length != OwnLength::None)
    }

    /// The row with a due date.
    pub(crate) fn row_due_on(&self, dates: &Dates, day: Day) -> Option<u32> {
        (1..=self.count).find(|row| self.has_moments(*row) && self.due_day(dates, *row) == day)
    }

    /// What a day of principal earns in the period of a row.
    pub(crate) fn earning(&self, policy: &InstallmentPolicy, dates: &Dates, row: u32) -> Earning {
        let (from, to) = (self.period_start(dates, row), self.due_day(dates, row));
        Earning::in_period(policy, from, to, || self.period_length(dates, row))
    }

    pub(super) fn segment(&self, row: u32) -> Option<&DateSegment> {
        self.dates.iter().rev().find(|segment| segment.from <= row)
    }

    pub(super) fn own_period(&self, row: u32) -> Option<&OwnPeriod> {
        self.periods.iter().find(|own| own.row == row)
    }

    /// Lets one row ask for more: its total grows by `total`, or its principal by `principal`.
    pub(crate) fn raise(&mut self, row: u32, total: Cents, principal: Cents) {
        let ask = match self.amounts.of(row) {
            Ask::Total(amount) => Ask::Total(amount + total),
            Ask::Principal(amount) => Ask::Principal(amount + principal),
            Ask::Kept { principal: amount, interest } => Ask::Kept { principal: amount + principal, interest },
        };
        self.amounts.replace_one(row, ask);
    }
}

impl DateSegment {
    pub fn due_day(&self, dates: &Dates, row: u32) -> Day {
        let index = index(row, self.shift);
        match &self.rule {
            DateRule::Agreed => dates.due_day(index as u32),
            DateRule::Every { anchor, interval } => dates.after(*anchor, *interval, index),
            DateRule::TwiceAMonth { days, first } => semi_month::date(*days, first + index),
            DateRule::Listed { days, interval } => match days.get(index as usize) {
                Some(day) => *day,
                None => {
                    let last = days.last().copied().unwrap_or(dates.start);
                    dates.after(last, *interval, index + 1 - days.len() as i32)
                }
            },
        }
    }
}

/// The index of a row in a rule.
pub(super) fn index(row: u32, shift: i32) -> i32 {
    row as i32 + shift
}

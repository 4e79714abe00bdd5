//! Cycles, due dates and periods.
//!
//! A cycle ends at the close of business of its end date. An instalment falls due at its cycle's end, or a fixed
//! interval before or after it. The *period* of an instalment runs from the previous due date (for the first
//! instalment, from the account's start date) to its own due date. Interest and schedule are computed by period.

use super::terms::InstallmentPolicy;
use crate::calendar::{Day, Interval, MonthEnd};
use serde::{Deserialize, Serialize};

/// When the instalments of a loan fall due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dates {
    /// The account's local date.
    pub start: Day,
    /// The date from which cycles are counted.
    anchor: Day,
    /// How many cycles end on the anchor itself: 1 if the first cycle has its own length, else 0.
    anchor_cycles: i32,
    cycle: Interval,
    first_period: Interval,
    due_after_cycle: Interval,
    grace: Interval,
    month_end: MonthEnd,
    /// A date that the zone skipped; the following date replaces it.
    missing_day: Option<Day>,
}

impl Dates {
    /// The dates of a loan that starts on a local date, in a zone that may have skipped a day.
    pub(crate) fn new(policy: &InstallmentPolicy, start: Day, missing_day: Option<Day>) -> Dates {
        let first = policy.first_cycle.filter(|interval| !interval.is_zero());
        let late = &policy.late_fee;
        let counted = i32::from(late.grace_counts_due_date && !late.grace.is_zero());
        let mut dates = Dates {
            start,
            anchor: first.map_or(start, |interval| start.plus(interval, 1, policy.month_end)),
            anchor_cycles: i32::from(first.is_some()),
            cycle: policy.cycle,
            first_period: first.unwrap_or(policy.cycle).and(policy.due_after_cycle),
            due_after_cycle: policy.due_after_cycle,
            grace: match late.tiers.first() {
                Some(tier) => Interval::days(tier.after as i32),
                None => late.grace.and(Interval::days(-counted)),
            },
            month_end: policy.month_end,
            missing_day,
        };
        dates.anchor = dates.existing(dates.anchor);
        dates
    }

    fn existing(&self, day: Day) -> Day {
        if self.missing_day == Some(day) { day.plus_days(1) } else { day }
    }

    /// Whether a date replaces the previous one, which the zone skipped.
    pub(crate) fn stands_in(&self, day: Day) -> bool {
        self.missing_day == Some(day.plus_days(-1))
    }

    /// The date at whose close a cycle ends. Months are counted from the anchor, so that the 31st returns after
    /// February.
    pub fn cycle_end(&self, cycle: u32) -> Day {
        self.existing(self.anchor.plus(self.cycle, cycle as i32 - self.anchor_cycles, self.month_end))
    }

    /// The date at whose close an instalment falls due and its period ends. Also defined beyond the last instalment,
    /// for interest after maturity.
    pub fn due_day(&self, instalment: u32) -> Day {
        self.existing(self.cycle_end(instalment).plus(self.due_after_cycle, 1, self.month_end))
    }

    /// The date an interval after another, a number of times.
    pub(crate) fn after(&self, day: Day, interval: Interval, count: i32) -> Day {
        self.existing(day.plus(interval, count, self.month_end))
    }

    /// The end date of the cycle of an instalment with this due date.
    pub(crate) fn cycle_end_before(&self, due_day: Day) -> Day {
        self.after(due_day, self.due_after_cycle, -1)
    }

    /// The interval between due dates.
    pub(crate) fn cycle(&self) -> Interval {
        self.cycle
    }

    /// The agreed length of an instalment's period.
    pub fn period_length(&self, instalment: u32) -> Interval {
        if instalment <= 1 { self.first_period } else { self.cycle }
    }

    /// The date at whose close an unpaid instalment with this due date becomes late.
    pub fn late_after(&self, due_day: Day) -> Day {
        self.existing(due_day.plus(self.grace, 1, self.month_end))
    }
}

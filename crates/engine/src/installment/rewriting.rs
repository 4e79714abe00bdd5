//! Rewriting the plan in force: other amounts, other due dates, rows added, taken out or replaced.

use super::dates::Dates;
use super::in_force::{DateRule, DateSegment, OwnLength, OwnPeriod, PlanInForce, index};
use super::row_amounts::{Ask, Lowered};
use super::semi_month;
use crate::calendar::{Day, Interval};
use crate::money::Cents;
use alloc::vec::Vec;

/// New rows that replace all from a row on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRows {
    /// The number of the first one.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// The due date of the first one.
    pub due_day: Day,
    /// The interval between due dates.
    pub interval: Interval,
    /// Where the first period begins.
    pub start: Day,
    /// How many of them are interest only.
    pub interest_only: u32,
}

impl DateRule {
    /// Two days of each month from one of them on.
    fn twice_a_month(days: [u8; 2], from: Day) -> DateRule {
        DateRule::TwiceAMonth { days, first: semi_month::first_after(days, from.plus_days(-1)) }
    }
}

impl PlanInForce {
    /// Rewrites the amounts of the rows from `first` on.
    pub(crate) fn rewrite(&mut self, first: u32, ask: Ask) -> Lowered {
        self.amounts.rewrite(first, ask)
    }

    /// Rewrites the amount of one row, as part of the latest rewriting.
    pub(crate) fn rewrite_one(&mut self, row: u32, ask: Ask) {
        self.amounts.rewrite_one(row, ask);
    }

    /// Gives rows their earlier amounts back, see [`super::row_amounts::RowAmounts::restore`].
    pub(crate) fn restore(&mut self, lowered: &Lowered, first: u32) -> Option<u32> {
        self.amounts.restore(lowered, first)
    }

    /// Begins a segment of due dates at a row and returns its index.
    fn split(&mut self, row: u32) -> usize {
        let after = self.dates.partition_point(|segment| segment.from <= row);
        let before = after.checked_sub(1).map(|index| self.dates[index].clone());
        match before {
            Some(segment) if segment.from == row => after - 1,
            Some(segment) => {
                self.dates.insert(after, DateSegment { from: row, ..segment });
                after
            }
            None => {
                self.dates.insert(0, DateSegment { from: row, shift: 0, rule: DateRule::Agreed });
                0
            }
        }
    }

    /// Replaces the period of a row that differs from the regular ones.
    fn set_period(&mut self, row: u32, length: OwnLength) {
        let start = self.own_period(row).and_then(|own| own.start);
        self.periods.retain(|own| own.row != row);
        self.periods.push(OwnPeriod { row, start, length });
        self.periods.sort_by_key(|own| own.row);
    }

    /// A row and those after it fall due on other dates: the row on `day`, the others at the regular interval from it.
    /// Listed dates all move by as many days.
    pub(crate) fn move_from(&mut self, dates: &Dates, row: u32, day: Day, semi_monthly: Option<[u8; 2]>) {
        let (moved, interval) = (day.days_since(self.due_day(dates, row)), self.interval(dates, row));
        let at = self.split(row);
        if let DateSegment { rule: DateRule::Listed { days, .. }, shift, .. } = &mut self.dates[at] {
            let first = index(row, *shift).max(0) as usize;
            days.iter_mut().skip(first).for_each(|day| *day = day.plus_days(moved));
        } else {
            let rule = match (&self.dates[at].rule, semi_monthly) {
                (_, Some(days)) => DateRule::twice_a_month(days, day),
                (DateRule::TwiceAMonth { days, .. }, None) => DateRule::twice_a_month(*days, day),
                _ => DateRule::Every { anchor: day, interval },
            };
            self.dates.truncate(at);
            self.dates.push(DateSegment { from: row, shift: -(row as i32), rule });
            self.periods.retain(|own| own.row <= row);
        }
        self.set_period(row, OwnLength::Counted);
    }

    /// A row and those after it fall due some cycles later. Listed dates move by as many intervals.
    pub(crate) fn postpone_from(&mut self, dates: &Dates, row: u32, cycles: u32) {
        let by = cycles as i32;
        let is_counted = self.is_counted(row);
        let (length, interval) = (self.period_length(dates, row), self.interval(dates, row));
        let at = self.split(row);
        for segment in &mut self.dates[at..] {
            match &mut segment.rule {
                DateRule::Agreed | DateRule::Every { .. } | DateRule::TwiceAMonth { .. } => segment.shift += by,
                DateRule::Listed { days, interval } => {
                    let later = |day: &mut Day| *day = dates.after(*day, *interval, by);
                    days.iter_mut().for_each(later);
                }
            }
        }
        if !is_counted {
            let more = Interval { months: interval.months * by, days: interval.days * by };
            self.set_period(row, OwnLength::Agreed(length.and(more)));
        }
    }

    /// Whether the length of a row's period is counted between its dates.
    fn is_counted(&self, row: u32) -> bool {
        match self.own_period(row) {
            Some(own) => own.length == OwnLength::Counted,
            None => matches!(self.segment(row), Some(DateSegment { rule: DateRule::Listed { .. }, .. })),
        }
    }

    /// Takes rows out. The row after them gets the number of the first one, and a period that begins where theirs did.
    pub(crate) fn take_out(&mut self, dates: &Dates, row: u32, count: u32) {
        let next = row + count;
        let is_counted = (row..=next).any(|row| self.is_counted(row));
        let lengths = (row..=next).map(|row| self.period_length(dates, row));
        let length = lengths.fold(Interval::ZERO, Interval::and);
        let start = self.own_period(row).and_then(|own| own.start);
        let at = self.split(next);
        let mut after = self.dates.split_off(at);
        after.iter_mut().for_each(|segment| {
            segment.from -= count;
            segment.shift += count as i32;
        });
        self.dates.retain(|segment| segment.from < row);
        self.dates.extend(after);
        self.periods.retain(|own| own.row < row || own.row > next);
        self.periods.iter_mut().filter(|own| own.row > next).for_each(|own| own.row -= count);
        let length = if is_counted { OwnLength::Counted } else { OwnLength::Agreed(length) };
        self.periods.push(OwnPeriod { row, start, length });
        self.periods.sort_by_key(|own| own.row);
        self.amounts.take_out(row, count);
        self.count -= count;
        if self.repays_from > row {
            self.repays_from = self.repays_from.saturating_sub(count).max(row);
        }
    }

    /// Adds rows at the end.
    pub(crate) fn extend(&mut self, count: u32) {
        self.set_period(self.count + 1, OwnLength::Counted);
        self.count += count;
    }

    /// Replaces all rows from a row on. `paid` is the date of a row before the new ones that shows what was paid into
    /// the old ones.
    pub(crate) fn replace_from(&mut self, paid: Option<Day>, new: &NewRows) {
        let row = new.first - u32::from(paid.is_some());
        self.dates.retain(|segment| segment.from < row);
        self.periods.retain(|own| own.row < row);
        self.adjusted.truncate(row as usize - 1);
        (self.balloon, self.amortized_over) = (Cents::ZERO, 0);
        if let Some(day) = paid {
            let rule = DateRule::Listed { days: Vec::from([day]), interval: Interval::ZERO };
            self.dates.push(DateSegment { from: row, shift: -(row as i32), rule });
            self.periods.push(OwnPeriod { row, start: None, length: OwnLength::None });
        }
        let rule = DateRule::Every { anchor: new.due_day, interval: new.interval };
        self.dates.push(DateSegment { from: new.first, shift: -(new.first as i32), rule });
        self.periods.push(OwnPeriod { row: new.first, start: Some(new.start), length: OwnLength::Counted });
        self.count = new.first - 1 + new.count;
        self.repays_from = new.first + new.interest_only;
    }
}

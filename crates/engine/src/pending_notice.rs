//! A configured notice in force: its next occurrence in the account's calendar.

use crate::calendar::{Day, TimeOfDay};
use crate::installment::in_force::PlanInForce;
use crate::notify::{NoticeKind, Setting, When};
use crate::terms::Terms;
use crate::time::Time;
use crate::timeline::TimelinePosition;
use serde::{Deserialize, Serialize};

/// A setting in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The setting.
    pub setting: Setting,
    /// The local date and time (and microseconds) from which intervals are counted.
    since: (Day, TimeOfDay, i64),
    /// The next occurrence and its number.
    next: Option<(Time, u32)>,
    /// The number of the last occurrence that has fired, or had passed when the account closed. A setting that replaces
    /// another continues after it.
    fired: u32,
    /// The value of `fired` of the replaced setting at the place of the replacement; 0 if this setting replaced none.
    taken_over: u32,
}

impl Pending {
    /// A setting that takes effect at a place in the timeline, replacing another if one is given.
    pub(crate) fn new(
        terms: &Terms,
        rows: &PlanInForce,
        setting: Setting,
        place: TimelinePosition,
        instead_of: Option<&Pending>,
    ) -> Pending {
        let before = instead_of.filter(|_| matches!(setting.when, When::Offset(_)));
        let fired = before.map_or(0, |before| before.fired);
        let taken_over = before.map_or(0, |before| before.fired_before(terms, rows, place));
        let (day, time) = terms.zone.local(place.at);
        let since = (day, time, place.at.subsecond_micros());
        let mut pending = Pending { setting, since, next: None, fired, taken_over };
        pending.seek(terms, rows, place);
        pending
    }

    /// When it fires next.
    pub fn next_at(&self) -> Option<Time> {
        self.next.map(|(at, _)| at)
    }

    /// The instalment that the next occurrence concerns; `None` for an account summary.
    pub(crate) fn instalment(&self) -> Option<u32> {
        match self.setting.kind {
            NoticeKind::AccountSummary => None,
            _ => self.next.map(|(_, occurrence)| occurrence),
        }
    }

    /// Moves to the first occurrence after a place.
    pub(crate) fn seek(&mut self, terms: &Terms, rows: &PlanInForce, place: TimelinePosition) {
        let first = self.first_not(terms, rows, |at| place.is_after_moment(at));
        let (_, last) = self.occurrences(rows);
        self.go_to(terms, rows, first.max(self.fired + 1), last);
    }

    /// The number of the first occurrence that has not passed, or one past the last if all have.
    fn first_not(&self, terms: &Terms, rows: &PlanInForce, passed: impl Fn(Time) -> bool) -> u32 {
        let (mut low, last) = self.occurrences(rows);
        let mut high = last + 1;
        while low < high {
            let middle = low + (high - low) / 2;
            if passed(self.moment(terms, rows, middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The last occurrence that had fired before a place. The place may lie before notices that have already fired.
    fn fired_before(&self, terms: &Terms, rows: &PlanInForce, place: TimelinePosition) -> u32 {
        let passed = self.first_not(terms, rows, |at| place.is_after_moment(at)) - 1;
        self.taken_over.max(self.fired.min(passed))
    }

    /// Marks the next occurrence as fired and moves to the following one.
    pub(crate) fn advance(&mut self, terms: &Terms, rows: &PlanInForce) {
        let (_, last) = self.occurrences(rows);
        if let Some((_, occurrence)) = self.next {
            self.fired = occurrence;
            self.go_to(terms, rows, occurrence + 1, last);
        }
    }

    /// The account closes: occurrences up to this place are over, and later ones never fire. The place may lie before
    /// notices that have already fired; those do not count, as in a fold from the beginning.
    pub(crate) fn close(&mut self, terms: &Terms, rows: &PlanInForce, place: TimelinePosition) {
        let (_, last) = self.occurrences(rows);
        self.fired = self.taken_over.max(self.first_not(terms, rows, |at| place.is_after_moment(at)) - 1);
        self.go_to(terms, rows, self.fired + 1, last);
    }

    /// The account reopens at a place. It is already folded up to a point in time: notices announced by then are not
    /// sent again, and notices missed by then are not made up for.
    pub(crate) fn reopen(
        &mut self,
        terms: &Terms,
        rows: &PlanInForce,
        place: TimelinePosition,
        processed_through: Option<Time>,
    ) {
        self.seek(terms, rows, place);
        while self.next_at().is_some_and(|at| processed_through.is_some_and(|through| at <= through)) {
            self.advance(terms, rows);
        }
    }

    /// Rows got other numbers: the last occurrence that has fired.
    pub(crate) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        if !matches!(self.setting.kind, NoticeKind::AccountSummary) {
            (self.fired, self.taken_over) = (number(self.fired), number(self.taken_over));
        }
    }

    fn go_to(&mut self, terms: &Terms, rows: &PlanInForce, occurrence: u32, last: u32) {
        let is_row = !matches!(self.setting.kind, NoticeKind::AccountSummary);
        let has_moments = |occurrence: &u32| !is_row || rows.has_moments(*occurrence);
        let occurrence = (occurrence..=last).find(has_moments).unwrap_or(last + 1);
        let exists = self.setting.enabled && occurrence <= last;
        self.next = exists.then(|| (self.moment(terms, rows, occurrence), occurrence));
    }

    /// The numbers of the first and the last occurrence.
    fn occurrences(&self, rows: &PlanInForce) -> (u32, u32) {
        /// Enough for one notice a day for two centuries.
        const MOST_REPEATS: u32 = 73_000;
        let count = rows.count();
        match self.setting.kind {
            NoticeKind::AccountSummary => (1, MOST_REPEATS),
            NoticeKind::LoanEndDate => (count, count),
            NoticeKind::PaymentDueDate | NoticeKind::LateFeeDate => (1, count),
        }
    }

    fn moment(&self, terms: &Terms, rows: &PlanInForce, occurrence: u32) -> Time {
        let month_end = terms.installment().policy.month_end;
        let dates = &terms.installment().dates;
        let anchor = match self.setting.kind {
            NoticeKind::PaymentDueDate | NoticeKind::LoanEndDate => rows.due_day(dates, occurrence),
            NoticeKind::LateFeeDate => rows.late_day(dates, occurrence),
            NoticeKind::AccountSummary => self.since.0,
        };
        let (day, usual, micros) = match self.setting.when {
            When::Offset(days) => (anchor.plus_days(days), terms.close_of_business, 0),
            When::Every(interval) => (anchor.plus(interval, occurrence as i32, month_end), self.since.1, self.since.2),
        };
        match self.setting.time {
            Some(time) => terms.zone.at(day, time),
            None => terms.zone.at(day, usual).plus_micros(micros),
        }
    }
}

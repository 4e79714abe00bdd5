//! Configurable notices: off until an account configures them, fired at moments of the account's calendar.
//!
//! A [`Setting`] defines what to announce and when. While it is in force the state keeps the next occurrence
//! ([`Pending`]); the fold fires it at its moment, unless the account is closed by then.

use crate::calendar::{Day, Interval, TimeOfDay};
use crate::terms::Terms;
use crate::time::Time;
use crate::timeline::TimelinePosition;
use serde::{Deserialize, Serialize};

/// The largest offset in days, either way.
pub const LARGEST_OFFSET: i32 = 366;

/// The kinds of configurable notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoticeKind {
    /// An instalment's due date, paid or not.
    PaymentDueDate,
    /// The date an instalment becomes late, while it is unpaid.
    LateFeeDate,
    /// The last instalment's due date.
    LoanEndDate,
    /// A summary of the account, sent at an interval.
    AccountSummary,
}

impl NoticeKind {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            NoticeKind::PaymentDueDate => "payment_due_date",
            NoticeKind::LateFeeDate => "late_fee_date",
            NoticeKind::LoanEndDate => "loan_end_date",
            NoticeKind::AccountSummary => "account_summary",
        }
    }
}

/// When a notice fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// This many local days after the date of its event; negative means before.
    Offset(i32),
    /// Repeatedly; first one interval after the setting takes effect.
    Every(Interval),
}

/// A notice configured for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What to announce.
    pub kind: NoticeKind,
    /// When.
    pub when: When,
    /// The local time of day. `None` means the usual time: close of business for an offset, the time of day at which
    /// the setting took effect for an interval.
    pub time: Option<TimeOfDay>,
    /// False disables the notice.
    pub enabled: bool,
}

impl Setting {
    /// Checks that the kind and the schedule fit together and that the schedule is in range.
    pub fn check(&self) -> Result<(), &'static str> {
        match (self.kind, self.when) {
            (NoticeKind::AccountSummary, When::Every(interval)) if interval.months >= 0 && interval.days >= 0 => {
                if interval.is_zero() {
                    Err("interval must be at least 1 day")
                } else {
                    Ok(())
                }
            }
            (NoticeKind::AccountSummary, When::Every(_)) => Err("interval must not be negative"),
            (NoticeKind::AccountSummary, When::Offset(_)) => {
                Err("interval is required for account_summary, not time_offset")
            }
            (_, When::Every(_)) => Err("time_offset is required for this notification_type, not interval"),
            (_, When::Offset(days)) if days.abs() > LARGEST_OFFSET => Err("time_offset must be from -366 to 366 days"),
            (_, When::Offset(_)) => Ok(()),
        }
    }

    /// Whether a later setting replaces this one: same kind and same offset.
    pub fn is_replaced_by(&self, later: &Setting) -> bool {
        self.kind == later.kind
            && match (self.when, later.when) {
                (When::Offset(a), When::Offset(b)) => a == b,
                _ => true,
            }
    }
}

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
        setting: Setting,
        place: TimelinePosition,
        instead_of: Option<&Pending>,
    ) -> Pending {
        let before = instead_of.filter(|_| matches!(setting.when, When::Offset(_)));
        let fired = before.map_or(0, |before| before.fired);
        let taken_over = before.map_or(0, |before| before.fired_before(terms, place));
        let (day, time) = terms.zone.local(place.at);
        let since = (day, time, place.at.subsecond_micros());
        let mut pending = Pending { setting, since, next: None, fired, taken_over };
        pending.seek(terms, place);
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
    pub(crate) fn seek(&mut self, terms: &Terms, place: TimelinePosition) {
        let first = self.first_not(terms, |at| place.is_after_moment(at));
        let (_, last) = self.occurrences(terms);
        self.go_to(terms, first.max(self.fired + 1), last);
    }

    /// The number of the first occurrence that has not passed, or one past the last if all have.
    fn first_not(&self, terms: &Terms, passed: impl Fn(Time) -> bool) -> u32 {
        let (mut low, last) = self.occurrences(terms);
        let mut high = last + 1;
        while low < high {
            let middle = low + (high - low) / 2;
            if passed(self.moment(terms, middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The last occurrence that had fired before a place. The place may lie before notices that have already fired.
    fn fired_before(&self, terms: &Terms, place: TimelinePosition) -> u32 {
        let passed = self.first_not(terms, |at| place.is_after_moment(at)) - 1;
        self.taken_over.max(self.fired.min(passed))
    }

    /// Marks the next occurrence as fired and moves to the following one.
    pub(crate) fn advance(&mut self, terms: &Terms) {
        let (_, last) = self.occurrences(terms);
        if let Some((_, occurrence)) = self.next {
            self.fired = occurrence;
            self.go_to(terms, occurrence + 1, last);
        }
    }

    /// The account closes: occurrences up to this place are over, and later ones never fire. The place may lie before
    /// notices that have already fired; those do not count, as in a fold from the beginning.
    pub(crate) fn close(&mut self, terms: &Terms, place: TimelinePosition) {
        let (_, last) = self.occurrences(terms);
        self.fired = self.taken_over.max(self.first_not(terms, |at| place.is_after_moment(at)) - 1);
        self.go_to(terms, self.fired + 1, last);
    }

    /// The account reopens at a place. It is already folded up to a point in time: notices announced by then are not
    /// sent again, and notices missed by then are not made up for.
    pub(crate) fn reopen(&mut self, terms: &Terms, place: TimelinePosition, processed_through: Option<Time>) {
        self.seek(terms, place);
        while self.next_at().is_some_and(|at| processed_through.is_some_and(|through| at <= through)) {
            self.advance(terms);
        }
    }

    fn go_to(&mut self, terms: &Terms, occurrence: u32, last: u32) {
        let exists = self.setting.enabled && occurrence <= last;
        self.next = exists.then(|| (self.moment(terms, occurrence), occurrence));
    }

    /// The numbers of the first and the last occurrence.
    fn occurrences(&self, terms: &Terms) -> (u32, u32) {
        /// Enough for one notice a day for two centuries.
        const MOST_REPEATS: u32 = 73_000;
        let count = terms.installment().count();
        match self.setting.kind {
            NoticeKind::AccountSummary => (1, MOST_REPEATS),
            NoticeKind::LoanEndDate => (count, count),
            NoticeKind::PaymentDueDate | NoticeKind::LateFeeDate => (1, count),
        }
    }

    fn moment(&self, terms: &Terms, occurrence: u32) -> Time {
        let month_end = terms.installment().policy.month_end;
        let dates = &terms.installment().dates;
        let anchor = match self.setting.kind {
            NoticeKind::PaymentDueDate | NoticeKind::LoanEndDate => dates.due_day(occurrence),
            NoticeKind::LateFeeDate => dates.late_day(occurrence),
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

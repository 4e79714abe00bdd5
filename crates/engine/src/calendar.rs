//! Local calendar dates and the intervals between them.

use alloc::string::{String, ToString};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A calendar date, counted in days since 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Day(i32);

/// Days in the 400 years after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01, where eras begin, to 1970-01-01.
const EPOCH_FROM_ERA: i64 = 719_468;

impl Day {
    /// The date this many days after 1970-01-01.
    pub const fn from_number(days: i32) -> Day {
        Day(days)
    }

    /// Days since 1970-01-01.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// The date with this year, month (1 to 12) and day of the month.
    pub const fn from_ymd(year: i32, month: u32, day: u32) -> Day {
        // A year that begins in March puts the leap day last, so that every month starts at a fixed offset.
        let march_year = if month <= 2 { year - 1 } else { year } as i64;
        let era = march_year.div_euclid(400);
        let year_of_era = march_year.rem_euclid(400);
        let march_month = ((month + 9) % 12) as i64;
        let day_of_year = (153 * march_month + 2) / 5 + day as i64 - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Day((era * DAYS_PER_ERA + day_of_era - EPOCH_FROM_ERA) as i32)
    }

    /// Year, month (1 to 12) and day of the month.
    pub const fn ymd(self) -> (i32, u32, u32) {
        let days = self.0 as i64 + EPOCH_FROM_ERA;
        let era = days.div_euclid(DAYS_PER_ERA);
        let day_of_era = days.rem_euclid(DAYS_PER_ERA);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * march_month + 2) / 5 + 1) as u32;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 } as u32;
        let year = (year_of_era + era * 400) as i32 + (month <= 2) as i32;
        (year, month, day)
    }

    /// Reads `2025-01-31`.
    pub fn parse(text: &str) -> Option<Day> {
        let date: jiff::civil::Date = text.parse().ok()?;
        (text.len() == 10).then(|| Day::from_ymd(i32::from(date.year()), date.month() as u32, date.day() as u32))
    }

    /// The date this many days later, or earlier if negative.
    pub const fn plus_days(self, days: i32) -> Day {
        Day(self.0 + days)
    }

    /// The number of days from `earlier` to this date; negative if `earlier` is the later one.
    pub const fn days_since(self, earlier: Day) -> i32 {
        self.0 - earlier.0
    }

    /// This date plus a number of months. `month_end` decides where the date falls if that month has no such day.
    pub const fn plus_months(self, months: i32, month_end: MonthEnd) -> Day {
        let (year, month, day) = self.ymd();
        let count = year * 12 + month as i32 - 1 + months;
        let (year, month) = (count.div_euclid(12), count.rem_euclid(12) as u32 + 1);
        let last = days_in_month(year, month);
        match month_end {
            _ if day <= last => Day::from_ymd(year, month, day),
            MonthEnd::Clamp => Day::from_ymd(year, month, last),
            MonthEnd::Roll => Day(Day::from_ymd(year, month, last).0 + 1),
        }
    }

    /// The time to a later date: the largest number of whole months that fit, then days.
    pub fn interval_to(self, later: Day) -> Interval {
        let ((from_year, from_month, _), (to_year, to_month, _)) = (self.ymd(), later.ymd());
        let mut months = (to_year - from_year) * 12 + to_month as i32 - from_month as i32;
        if months > 0 && self.plus_months(months, MonthEnd::Clamp) > later {
            months -= 1;
        }
        let months = months.max(0);
        Interval { months, days: later.days_since(self.plus_months(months, MonthEnd::Clamp)) }
    }

    /// This date plus `count` times an interval: first all months, then all days.
    pub const fn plus(self, interval: Interval, count: i32, month_end: MonthEnd) -> Day {
        let months = interval.months * count;
        let day = if months == 0 { self } else { self.plus_months(months, month_end) };
        day.plus_days(interval.days * count)
    }
}

/// `2025-01-31`.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// Whether a year has 366 days.
pub const fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Where a monthly date falls in a month that is too short for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MonthEnd {
    /// On the month's last day.
    #[default]
    Clamp,
    /// On the 1st of the month after.
    Roll,
}

/// A length of time in months and days, such as `1 month - 10 days`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Calendar months.
    pub months: i32,
    /// Days.
    pub days: i32,
}

impl Interval {
    /// An empty interval.
    pub const ZERO: Interval = Interval { months: 0, days: 0 };
    /// The forms that [`Interval::parse`] reads, for messages.
    pub const FORMS: &'static str = "\"1 month\", \"7 days\", \"-5 days\", \"1 month - 10 days\"";
    const LARGEST: i32 = 10_000;

    /// This many months.
    pub const fn months(months: i32) -> Interval {
        Interval { months, days: 0 }
    }

    /// This many days.
    pub const fn days(days: i32) -> Interval {
        Interval { months: 0, days }
    }

    /// Whether the interval is empty.
    pub const fn is_zero(self) -> bool {
        self.months == 0 && self.days == 0
    }

    /// The sum of two intervals.
    pub const fn and(self, other: Interval) -> Interval {
        Interval { months: self.months + other.months, days: self.days + other.days }
    }

    /// The length in days, counting 30 days for each month.
    pub const fn thirty_day_count(self) -> i32 {
        self.months * 30 + self.days
    }

    /// Reads `1 month`, `3 months`, `7 days`, `-5 days`, `1 month - 10 days`.
    pub fn parse(text: &str) -> Option<Interval> {
        let mut words = text.split_ascii_whitespace();
        let mut interval = Interval::ZERO;
        let (mut sign, mut number) = (1, words.next()?);
        loop {
            if number.starts_with('+') {
                return None;
            }
            let count = number.parse::<i32>().ok().filter(|count| count.unsigned_abs() <= Self::LARGEST as u32)?;
            let unit = match words.next()? {
                "month" | "months" => &mut interval.months,
                "day" | "days" => &mut interval.days,
                _ => return None,
            };
            *unit += sign * count;
            if unit.abs() > Self::LARGEST {
                return None;
            }
            sign = match words.next() {
                None => return Some(interval),
                Some("+") => 1,
                Some("-") => -1,
                Some(_) => return None,
            };
            number = words.next()?;
        }
    }
}

/// The form that [`Interval::parse`] reads.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |count: i32, unit: &str| -> String {
            let plural = if count.abs() == 1 { "" } else { "s" };
            alloc::format!("{count} {unit}{plural}")
        };
        let text = match (self.months, self.days) {
            (0, days) => part(days, "day"),
            (months, 0) => part(months, "month"),
            (months, days) => {
                let sign = if days < 0 { "-" } else { "+" };
                alloc::format!("{} {sign} {}", part(months, "month"), part(days.abs(), "day"))
            }
        };
        f.write_str(&text.to_string())
    }
}

/// A time of day, in seconds since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TimeOfDay(u32);

impl TimeOfDay {
    /// One second before midnight, the usual close of business.
    pub const END_OF_DAY: TimeOfDay = TimeOfDay(86_399);

    /// This hour, minute and second, or `None` if one of them is out of range.
    pub const fn new(hour: u32, minute: u32, second: u32) -> Option<TimeOfDay> {
        if hour < 24 && minute < 60 && second < 60 { Some(TimeOfDay(hour * 3600 + minute * 60 + second)) } else { None }
    }

    /// Seconds since midnight.
    pub const fn seconds(self) -> u32 {
        self.0
    }

    /// Reads `23:59:59`.
    pub fn parse(text: &str) -> Option<TimeOfDay> {
        let mut parts = text.split(':').map(|part| {
            let two_digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            if two_digits { part.parse::<u32>().ok() } else { None }
        });
        let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
        if parts.next().is_some() { None } else { TimeOfDay::new(hour, minute, second) }
    }
}

/// `23:59:59`.
impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}", self.0 / 3600, self.0 / 60 % 60, self.0 % 60)
    }
}

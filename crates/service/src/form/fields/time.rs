//! Points in time, intervals, times of day, zones.

use super::text::{TextRule, read_text};
use daybook_engine::calendar::{Day, Interval, TimeOfDay};
use daybook_engine::notify::LARGEST_OFFSET;
use daybook_engine::terms::{EARLIEST, LATEST};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::openapi::{KnownFormat, RefOr, Schema};

macro_rules! parsed_texts {
    ($($(#[$doc:meta])* $name:ident($inner:ty) $rule:expr, $parse:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name($inner);

        impl $name {
            const RULE: TextRule = $rule;

            /// The parsed value.
            pub const fn get(&self) -> &$inner {
                &self.0
            }

            /// Wraps a value that is known to be valid.
            pub const fn known(value: $inner) -> $name {
                $name(value)
            }

            /// Parses text that is not JSON, such as a query parameter; returns the rule that the text breaks.
            pub fn read(text: &str) -> Result<$name, String> {
                let parse: fn(&str) -> Result<$inner, &'static str> = $parse;
                parse(text).map($name).map_err(|rule| match rule {
                    "" => format!("must be {}", Self::RULE.sentence),
                    rule => rule.to_owned(),
                })
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                $name::read(&read_text(deserializer, &Self::RULE)?).map_err(D::Error::custom)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                Self::RULE.schema()
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

/// The parsers below return "" if the rule's own sentence is the whole error.
const BY_RULE: &str = "";

const ANY: TextRule =
    TextRule { sentence: "", least: 0, most: 64, check: |_| true, pattern: None, format: None, example: "" };

parsed_texts! {
    /// A point in time with its offset.
    Moment(Time) TextRule {
        sentence: "an RFC 3339 time with an offset, such as 2025-02-15T09:00:00-05:00",
        format: Some(KnownFormat::DateTime),
        example: "2025-02-15T09:00:00-05:00",
        ..ANY
    }, parse_moment;
    /// An interval.
    IntervalText(Interval) TextRule {
        sentence: "an interval, such as \"1 month\" or \"7 days\"",
        pattern: Some("^-?[0-9]+ (months?|days?)( [+-] [0-9]+ (months?|days?))*$"),
        example: "1 month",
        ..ANY
    }, parse_interval;
    /// A date.
    DateText(Day) TextRule {
        sentence: "a date that exists, such as 2025-03-15",
        format: Some(KnownFormat::Date),
        example: "2025-03-15",
        ..ANY
    }, parse_date;
    /// A date, which is the start of that day in the product's zone, or a point in time with its offset.
    DateOrMoment(DateOrTime) TextRule {
        sentence: "a date, such as 2025-03-15, or an RFC 3339 time with an offset, such as 2025-03-15T09:00:00-05:00",
        example: "2025-03-15",
        ..ANY
    }, parse_date_or_moment;
    /// An instalment: the last one, or its due date.
    DeferredTo(Option<Day>) TextRule {
        sentence: "MATURITY, or the due date of an instalment, such as 2025-06-15",
        example: "MATURITY",
        ..ANY
    }, |text| if text == MATURITY { Ok(None) } else { parse_date(text).map(Some) };
    /// The length of a cycle: an interval, or `semi-month` for two instalments a month.
    CycleText(Cycle) TextRule {
        sentence: "an interval, such as \"1 month\" or \"14 days\", or semi-month",
        example: "1 month",
        ..ANY
    }, |text| if text == SEMI_MONTH { Ok(Cycle::SemiMonth) } else { parse_interval(text).map(Cycle::Every) };
    /// A number of days before or after a date.
    DayOffset(i32) TextRule {
        sentence: "a number of days from -366 to 366, such as \"-1 days\" (before), \"0 days\" or \"3 days\" (after)",
        pattern: Some("^[+-]?[0-9]{1,3} days?$"),
        example: "-1 days",
        ..ANY
    }, parse_day_offset;
    /// A time of day.
    TimeOfDayText(TimeOfDay) TextRule {
        sentence: "a time of day written HH:MM:SS, such as 09:00:00",
        pattern: Some("^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"),
        example: "09:00:00",
        ..ANY
    }, |text| TimeOfDay::parse(text).ok_or(BY_RULE);
    /// A local time of day in the product's zone. An offset may follow; it must be one that the zone uses, and it has
    /// no effect.
    CloseOfBusiness(DailyTime) TextRule {
        sentence: "a time of day written HH:MM:SS, with or without an offset, such as 17:00:00 or 17:00:00-05:00",
        example: "17:00:00",
        ..ANY
    }, parse_daily_time;
    /// The IANA name of a time zone.
    ZoneName(Zone) TextRule {
        sentence: "the IANA name of a time zone, such as America/New_York",
        example: "America/New_York",
        ..ANY
    }, |text| Zone::named(text).ok_or(BY_RULE);
}

/// The first second of a day.
const MIDNIGHT: TimeOfDay = match TimeOfDay::new(0, 0, 0) {
    Some(midnight) => midnight,
    None => TimeOfDay::END_OF_DAY,
};
/// The word for the last instalment.
pub(crate) const MATURITY: &str = "MATURITY";
/// The word for two instalments a month.
const SEMI_MONTH: &str = "semi-month";

/// A date or a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrTime {
    /// A date in the product's zone.
    Date(Day),
    /// A point in time.
    Time(Time),
}

impl DateOrTime {
    /// The point in time: for a date, the start of that day.
    pub fn at(self, zone: &Zone) -> Time {
        match self {
            DateOrTime::Date(day) => zone.at(day, MIDNIGHT),
            DateOrTime::Time(time) => time,
        }
    }

    /// The date.
    pub fn day(self, zone: &Zone) -> Day {
        match self {
            DateOrTime::Date(day) => day,
            DateOrTime::Time(time) => zone.day_at(time),
        }
    }
}

impl fmt::Display for DateOrTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DateOrTime::Date(day) => day.fmt(f),
            DateOrTime::Time(time) => crate::view::time::Utc(*time).fmt(f),
        }
    }
}

/// The length of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cycle {
    /// An interval.
    Every(Interval),
    /// Half a month: two days of each month.
    SemiMonth,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cycle::Every(interval) => interval.fmt(f),
            Cycle::SemiMonth => f.write_str(SEMI_MONTH),
        }
    }
}

/// A local time of day and, if one was given, the offset from UTC in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyTime {
    /// The time of day.
    pub time: TimeOfDay,
    /// The offset; `None` for `-00:00`, which leaves the offset to the zone.
    pub offset_seconds: Option<i64>,
}

impl DailyTime {
    /// The local time of day. Returns an error if the offset is not one that the zone uses. The result does not depend
    /// on the date: the same text means the same in July and in November.
    pub fn local(self, zone: &Zone) -> Result<TimeOfDay, String> {
        let Some(offset) = self.offset_seconds else { return Ok(self.time) };
        let known = zone.offsets();
        if known.contains(&offset) {
            return Ok(self.time);
        }
        let known: Vec<String> = known.into_iter().map(|offset| Offset(offset).to_string()).collect();
        Err(format!(
            "must be a local time of {}, whose offset is {}, not {}; leave the offset out",
            zone.name(),
            known.join(" or "),
            Offset(offset)
        ))
    }
}

/// An offset from UTC in seconds, written `-05:00`.
struct Offset(i64);

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", self.0.abs() / 3600, self.0.abs() / 60 % 60)
    }
}

impl fmt::Display for DailyTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.time)?;
        self.offset_seconds.map_or(Ok(()), |offset| write!(f, "{}", Offset(offset)))
    }
}

macro_rules! written_by_display {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

written_by_display!(IntervalText, TimeOfDayText, CloseOfBusiness, DateText, DateOrMoment, CycleText);

impl Serialize for DeferredTo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(day) => serializer.collect_str(&day),
            None => serializer.serialize_str(MATURITY),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::view::time::Utc(self.0).serialize(serializer)
    }
}

impl Serialize for DayOffset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for DayOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} days", self.0)
    }
}

impl Serialize for ZoneName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

/// Removes this many digits from the front of a text.
fn digits(text: &mut &str, count: usize) -> Option<i64> {
    let (front, rest) = text.split_at_checked(count)?;
    if !front.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    *text = rest;
    front.parse().ok()
}

fn mark(text: &mut &str, marks: &[char]) -> Option<()> {
    *text = text.strip_prefix(marks)?;
    Some(())
}

/// `2025-02-15T09:00:00-05:00`, with up to six decimal places of the second.
fn parse_moment(text: &str) -> Result<Time, &'static str> {
    let mut rest = text;
    let (year, month, day) = date(&mut rest).ok_or(BY_RULE)?;
    mark(&mut rest, &['T', 't', ' ']).ok_or(BY_RULE)?;
    let (hour, minute, second) = clock(&mut rest).ok_or(BY_RULE)?;
    let micros = fraction(&mut rest)?;
    if rest.is_empty() {
        return Err("must end with an offset, such as Z or -05:00");
    }
    let offset = offset(rest).ok_or(BY_RULE)?;
    if !(1900..2300).contains(&year) {
        return Err("must be in the years 1900 to 2299");
    }
    let (year, month, day) = (year as i32, month as u32, day as u32);
    let date = Day::from_ymd(year, month, day);
    let time_of_day = TimeOfDay::new(hour as u32, minute as u32, second as u32);
    let (true, Some(time_of_day)) = ((1..=12).contains(&month) && date.ymd() == (year, month, day), time_of_day) else {
        return Err("must be a date and time that exist");
    };
    let local = i64::from(date.number()) * 86_400 + i64::from(time_of_day.seconds());
    Ok(Time::from_seconds(local - offset).plus_micros(micros))
}

fn date(rest: &mut &str) -> Option<(i64, i64, i64)> {
    let year = digits(rest, 4)?;
    mark(rest, &['-'])?;
    let month = digits(rest, 2)?;
    mark(rest, &['-'])?;
    Some((year, month, digits(rest, 2)?))
}

fn clock(rest: &mut &str) -> Option<(i64, i64, i64)> {
    let hour = digits(rest, 2)?;
    mark(rest, &[':'])?;
    let minute = digits(rest, 2)?;
    mark(rest, &[':'])?;
    Some((hour, minute, digits(rest, 2)?))
}

/// The microseconds after a decimal point, if there is one.
fn fraction(rest: &mut &str) -> Result<i64, &'static str> {
    let Some(after) = rest.strip_prefix('.') else { return Ok(0) };
    let length = after.bytes().take_while(u8::is_ascii_digit).count();
    let (places, after) = after.split_at(length);
    *rest = after;
    if places.is_empty() {
        return Err(BY_RULE);
    }
    let places = places.trim_end_matches('0');
    if places.len() > 6 {
        return Err("must be exact to the microsecond: at most 6 decimal places of the second");
    }
    let scale = 10_i64.pow(6 - places.len() as u32);
    Ok(if places.is_empty() { 0 } else { places.parse::<i64>().map_err(|_| BY_RULE)? * scale })
}

/// Parses `Z`, `+02:00` or `-05:00` as seconds ahead of UTC.
fn offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let mut rest = text;
    mark(&mut rest, &['+', '-'])?;
    let hours = digits(&mut rest, 2)?;
    mark(&mut rest, &[':'])?;
    let minutes = digits(&mut rest, 2)?;
    (rest.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn parse_interval(text: &str) -> Result<Interval, &'static str> {
    // Longer numbers exceed every limit, and their sums could overflow.
    let short = text.split_ascii_whitespace().all(|word| word.len() <= 6);
    if short { Interval::parse(text).ok_or(BY_RULE) } else { Err(BY_RULE) }
}

fn parse_date(text: &str) -> Result<Day, &'static str> {
    if !text.is_ascii() {
        return Err(BY_RULE);
    }
    let day = Day::parse(text).ok_or(BY_RULE)?;
    if (EARLIEST..=LATEST).contains(&day) { Ok(day) } else { Err("must be from 1900-01-01 to 2199-12-31") }
}

fn parse_date_or_moment(text: &str) -> Result<DateOrTime, &'static str> {
    match text.len() {
        10 => parse_date(text).map(DateOrTime::Date),
        _ => parse_moment(text).map(DateOrTime::Time),
    }
}

fn parse_day_offset(text: &str) -> Result<i32, &'static str> {
    let (number, word) = text.split_once(' ').ok_or(BY_RULE)?;
    let days: i32 = number.parse().map_err(|_| BY_RULE)?;
    let fits = matches!(word, "day" | "days") && (-LARGEST_OFFSET..=LARGEST_OFFSET).contains(&days);
    if fits { Ok(days) } else { Err(BY_RULE) }
}

fn parse_daily_time(text: &str) -> Result<DailyTime, &'static str> {
    let (time, rest) = text.split_at_checked(8).ok_or(BY_RULE)?;
    let time = TimeOfDay::parse(time).ok_or(BY_RULE)?;
    // In RFC 3339, `-00:00` means that the local offset is unknown.
    let is_open = matches!(rest, "" | "-00:00" | "-0000" | "-00");
    let offset_seconds = if is_open { None } else { Some(daily_offset(rest).ok_or(BY_RULE)?) };
    Ok(DailyTime { time, offset_seconds })
}

/// Parses the offset of a time of day, in any form of ISO 8601: `-05:00`, `-0500`, `-05`.
fn daily_offset(text: &str) -> Option<i64> {
    match text.len() {
        3 => offset(&format!("{text}:00")),
        5 => offset(&format!("{}:{}", text.get(..3)?, text.get(3..)?)),
        _ => offset(text),
    }
}

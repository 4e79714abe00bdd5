//! Formatting of money, times and words.
//!
//! Pages show the fields of the service's views. A view has amounts in cents and times in a zone; templates turn them
//! into text with [`AsMoney`] and [`AsMoment`]: `{{ account.summary.principal_cents.money() }}`. There is no arithmetic
//! with money here.

use daybook_engine::calendar::{Day, TimeOfDay};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::view::time::{Local, Utc};
use std::fmt;

/// An amount in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money(pub i64);

/// An amount of a view, which is in cents.
pub trait AsMoney {
    /// The amount, for a page.
    fn money(&self) -> Money;
}

impl AsMoney for i64 {
    fn money(&self) -> Money {
        Money(*self)
    }
}

impl Money {
    /// Whether it is zero.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// A plain decimal, for form fields and CSV: `-1234.56`.
    pub fn plain(&self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        format!("{sign}{}.{:02}", cents / 100, cents % 100)
    }

    /// Parses a typed amount: `1,234.56`, `$12`, `12.5`. More than two decimals are refused, and so are commas that do
    /// not separate thousands: in `15,00`, many users would mean a decimal comma.
    pub fn typed(text: &str) -> Option<Money> {
        let text = text.trim();
        let (negative, text) = match text.strip_prefix(['-', '\u{2212}']) {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text),
        };
        let text = text.strip_prefix('$').unwrap_or(text).trim();
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let whole = without_commas(whole)?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && part.is_empty()) || !digits(&whole) || !digits(part) || part.len() > 2 {
            return None;
        }
        let cents = format!("{whole}{part:0<2}").parse::<i64>().ok()?;
        Some(Money(if negative { -cents } else { cents }))
    }
}

/// Removes the commas, if each separates thousands.
fn without_commas(whole: &str) -> Option<String> {
    let Some((first, rest)) = whole.split_once(',') else { return Some(whole.to_owned()) };
    let begins = (1..=3).contains(&first.len()) && !first.starts_with('0');
    let parts_thousands = begins && rest.split(',').all(|group| group.len() == 3);
    parts_thousands.then(|| whole.replace(',', ""))
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "\u{2212}" } else { "" };
        write!(f, "{sign}${}.{:02}", Count(cents / 100), cents % 100)
    }
}

/// A short amount for a chart's axis: `$950`, `$12.6k`, `$9.4bn`. Rounded to the nearest unit.
pub fn short_money(cents: i64) -> String {
    const UNITS: [(u64, &str); 4] = [(1_000_000_000_000, "tn"), (1_000_000_000, "bn"), (1_000_000, "m"), (1_000, "k")];
    let dollars = (cents.unsigned_abs() + 50) / 100;
    let sign = if cents < 0 { "\u{2212}" } else { "" };
    match UNITS.iter().find(|(unit, _)| dollars >= 10 * unit || (dollars >= *unit && *unit > 1_000)) {
        None => format!("{sign}${}", Count(dollars)),
        Some((unit, name)) => {
            let tenths = (dollars + unit / 20) / (unit / 10);
            match tenths % 10 {
                0 => format!("{sign}${}{name}", tenths / 10),
                tenth => format!("{sign}${}.{tenth}{name}", tenths / 10),
            }
        }
    }
}

/// A number with thousands separators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

/// A number of a view.
pub trait AsCount {
    /// The number, for a page.
    fn count(&self) -> Count;
}

impl AsCount for u64 {
    fn count(&self) -> Count {
        Count(*self)
    }
}

/// For numbers that are never negative.
impl AsCount for i64 {
    fn count(&self) -> Count {
        Count(u64::try_from(*self).unwrap_or(0))
    }
}

impl Count {
    /// Whether it is zero.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// The number with its noun: `1 account`, `2 accounts`.
    pub fn of(&self, one: &str, many: &str) -> String {
        format!("{self} {}", if self.0 == 1 { one } else { many })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A time as the service writes it: RFC 3339 with the offset of the product's zone, or UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisplayTime(pub String);

/// A time of a view.
pub trait AsMoment {
    /// The time, for a page.
    fn moment(&self) -> DisplayTime;
}

impl AsMoment for Local {
    fn moment(&self) -> DisplayTime {
        DisplayTime(self.to_string())
    }
}

impl AsMoment for Utc {
    fn moment(&self) -> DisplayTime {
        DisplayTime(self.to_string())
    }
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl DisplayTime {
    /// A time in a zone.
    pub fn new(time: Time, zone: &Zone) -> DisplayTime {
        Local::new(time, zone).moment()
    }

    /// The time itself.
    pub fn time(&self) -> Option<Time> {
        Time::parse(&self.0)
    }

    /// `15 Feb 2025`.
    pub fn day(&self) -> String {
        let part = |range: std::ops::Range<usize>| self.0.get(range).unwrap_or_default();
        let month = part(5..7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
        match month {
            Some(month) => format!("{} {month} {}", part(8..10).trim_start_matches('0'), part(0..4)),
            None => self.0.clone(),
        }
    }

    /// `09:00`, or `09:00:05` where seconds matter.
    pub fn clock(&self) -> &str {
        match self.0.get(17..19) {
            Some("00") | None => self.0.get(11..16).unwrap_or_default(),
            Some(_) => self.0.get(11..19).unwrap_or_default(),
        }
    }

    /// `2025-02-15`, the format of date fields.
    pub fn date(&self) -> &str {
        self.0.get(0..10).unwrap_or_default()
    }

    /// `2025-02-15T09:00:00`, the format of date and time fields.
    pub fn field(&self) -> &str {
        self.0.get(0..19).unwrap_or_default()
    }

    /// `UTC`, `UTC−05:00`.
    pub fn offset(&self) -> String {
        let text = self.0.trim_start_matches(|letter: char| letter != 'T');
        match text.find(['+', '-', 'Z']).and_then(|at| text.get(at..)) {
            Some("Z" | "+00:00" | "-00:00") | None => "UTC".to_owned(),
            Some(offset) => format!("UTC{}", offset.replace('-', "\u{2212}")),
        }
    }
}

/// `15 Feb 2025, 09:00 UTC−05:00`
impl fmt::Display for DisplayTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} {}", self.day(), self.clock(), self.offset())
    }
}

/// Parses a typed local time of a zone: `2025-02-15T09:00`, with or without seconds, or a date, which means the start
/// of that day. A time with an offset is taken as it is.
pub fn typed_moment(text: &str, zone: &Zone) -> Option<Time> {
    let text = text.trim();
    if let Some(time) = Time::parse(text) {
        return Some(time);
    }
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let day = Day::parse(date)?;
    let clock = if clock.len() == 5 { format!("{clock}:00") } else { clock.to_owned() };
    Some(zone.at(day, TimeOfDay::parse(&clock)?))
}

/// A constant's name as plain text: `DELINQUENT` becomes `Delinquent`, `CHARGE_OFF` becomes `Charge off`. `SCRA` is an
/// abbreviation and stays as it is.
pub fn plain_words(name: &str) -> String {
    match name {
        "SCRA" => return name.to_owned(),
        "ORIG_FEE" => return "Origination fee".to_owned(),
        "RETURN_CHECK_FEE" => return "Fee for a bounced payment".to_owned(),
        _ => {}
    }
    let text = name.replace('_', " ").to_lowercase();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The reason for a status as plain text within a sentence: `CHARGE_OFF` becomes `charge off`.
pub fn reason_words(name: &str) -> String {
    if name == "SCRA" { name.to_owned() } else { plain_words(name).to_lowercase() }
}

/// A sentence of the service, with its amounts in dollars and its dates as `15 Feb 2025`.
pub fn told(sentence: &str) -> String {
    let text = daybook_cases::with_dollars(sentence);
    let words = text.split(' ').map(|word| {
        let date = word.get(..10).filter(|date| Day::parse(date).is_some());
        let rest = date.map(|_| word.get(10..).unwrap_or_default());
        match (date, rest) {
            (Some(date), Some(rest)) if rest.chars().all(|letter| letter.is_ascii_punctuation()) => {
                format!("{}{rest}", DisplayTime(date.to_owned()).day())
            }
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_at_an_edge_is_short() {
        for (cents, text) in [
            (0, "$0"),
            (95_000, "$950"),
            (123_456, "$1,235"),
            (1_262_912, "$12.6k"),
            (2_000_000, "$20k"),
            (150_000_000, "$1.5m"),
            (1_214_319_957_900, "$12.1bn"),
            (-1_300_000, "\u{2212}$13k"),
        ] {
            assert_eq!(short_money(cents), text, "{cents}");
        }
    }

    #[test]
    fn money_reads_and_writes_as_people_do() {
        let shown = [(0, "$0.00"), (5, "$0.05"), (123_456_789, "$1,234,567.89"), (-100_000, "\u{2212}$1,000.00")];
        for (cents, text) in shown {
            assert_eq!(Money(cents).to_string(), text);
        }
        let typed = [("1,234.56", 123_456), ("$12", 1_200), ("12.5", 1_250), (".5", 50), ("-3", -300), (" 7.00 ", 700)];
        for (text, cents) in typed {
            assert_eq!(Money::typed(text), Some(Money(cents)), "{text}");
        }
        assert_eq!(Money::typed("12,345,678.9"), Some(Money(1_234_567_890)));
        for nonsense in
            ["15,00", "1,00,000", "1234,567", ",500", "1,", "0,500", "1,234,5", "1.234,56", "1,,234", "12,34.56"]
        {
            assert_eq!(Money::typed(nonsense), None, "{nonsense}");
        }
        for nonsense in ["", "abc", "1.234", "1e5", "0x10", "NaN", "1.2.3", "99999999999999999999", "--1", "$"] {
            assert_eq!(Money::typed(nonsense), None, "{nonsense}");
        }
        assert_eq!(Money(-123_456).plain(), "-1234.56");
    }

    #[test]
    fn sentences_of_the_service_have_amounts_and_dates_for_people() {
        let sentence = "A fee of 5.00 was charged on 2025-03-05, from 2025-03-01 until 2025-04-01.";
        let shown = "A fee of $5.00 was charged on 5 Mar 2025, from 1 Mar 2025 until 1 Apr 2025.";
        assert_eq!(told(sentence), shown);
        assert_eq!(told("Time 2025-03-05T09:00:00Z stays."), "Time 2025-03-05T09:00:00Z stays.");
    }

    #[test]
    fn moments_are_read_in_their_zone() {
        let moment = DisplayTime("2025-02-05T09:00:00-05:00".to_owned());
        assert_eq!(moment.to_string(), "5 Feb 2025, 09:00 UTC\u{2212}05:00");
        assert_eq!(moment.field(), "2025-02-05T09:00:00");
        assert_eq!(DisplayTime("2025-02-05T09:00:07.25Z".to_owned()).to_string(), "5 Feb 2025, 09:00:07 UTC");
        let zone = Zone::named("America/New_York").expect("a zone");
        assert_eq!(typed_moment("2025-02-05T09:00", &zone), Time::parse("2025-02-05T09:00:00-05:00"));
        assert_eq!(typed_moment("2025-07-05", &zone), Time::parse("2025-07-05T00:00:00-04:00"));
        assert_eq!(typed_moment("2025-07-05T00:00:00Z", &zone), Time::parse("2025-07-05T00:00:00Z"));
        for nonsense in ["", "yesterday", "2025-02-30", "2025-13-01", "2025-02-05T25:00"] {
            assert_eq!(typed_moment(nonsense, &zone), None, "{nonsense}");
        }
    }
}

//! Times as text: RFC 3339, written without a calendar library or heap allocation.

use daybook_engine::calendar::Day;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::openapi::schema::{SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema};

/// A point in time in a zone's local time: `2025-02-15T09:00:00-05:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The point in time.
    pub time: Time,
    /// How far local time is ahead of UTC, in whole minutes.
    offset_min: i16,
}

impl Local {
    /// A point in time in a zone.
    pub fn new(time: Time, zone: &Zone) -> Local {
        // An offset is less than a day. It is cut to whole minutes; the text still names the same point in time.
        Local { time, offset_min: (zone.offset_at(time) / 60) as i16 }
    }
}

/// A point in time in UTC: `2025-02-15T14:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc(pub Time);

/// A point in time in a zone, or in UTC for objects that have none.
#[derive(Clone, Copy, Debug)]
pub enum Stamp {
    /// In a zone.
    Local(Local),
    /// In UTC.
    Utc(Utc),
}

/// The longest text: date, T, time, six decimal places, offset.
const LONGEST: usize = 32;

/// The text of a time, on the stack.
struct Text {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Text {
    /// Writes a time with an offset from UTC in seconds; `None` writes it in UTC.
    fn new(time: Time, offset: Option<i64>) -> Text {
        let mut text = Text { bytes: [0; LONGEST], length: 0 };
        let local = time.seconds() + offset.unwrap_or(0);
        let (year, month, day) = Day::from_number(local.div_euclid(86_400) as i32).ymd();
        let second = local.rem_euclid(86_400);
        text.digits(i64::from(year), 4).push(b'-').digits(month.into(), 2).push(b'-').digits(day.into(), 2);
        text.push(b'T')
            .digits(second / 3600, 2)
            .push(b':')
            .digits(second / 60 % 60, 2)
            .push(b':')
            .digits(second % 60, 2);
        text.fraction(time.subsecond_micros());
        match offset {
            None => text.push(b'Z'),
            Some(offset) => {
                let sign = if offset < 0 { b'-' } else { b'+' };
                // Before standard time, the offsets of some zones included seconds, which RFC 3339 cannot express.
                let minutes = offset.abs() / 60;
                text.push(sign).digits(minutes / 60, 2).push(b':').digits(minutes % 60, 2)
            }
        };
        text
    }

    fn push(&mut self, byte: u8) -> &mut Text {
        self.bytes[self.length] = byte;
        self.length += 1;
        self
    }

    fn digits(&mut self, number: i64, count: usize) -> &mut Text {
        let mut rest = number.unsigned_abs();
        for place in (self.length..self.length + count).rev() {
            self.bytes[place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length += count;
        self
    }

    /// The decimal places of the second, as many as needed.
    fn fraction(&mut self, micros: i64) {
        if micros == 0 {
            return;
        }
        self.push(b'.').digits(micros, 6);
        while self.bytes[self.length - 1] == b'0' {
            self.length -= 1;
        }
    }

    fn as_str(&self) -> &str {
        // Only ASCII was written.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Local {
    fn text(&self) -> Text {
        Text::new(self.time, Some(i64::from(self.offset_min) * 60))
    }
}

impl Utc {
    fn text(&self) -> Text {
        Text::new(self.0, None)
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl Serialize for Local {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl Serialize for Utc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Stamp::Local(local) => local.serialize(serializer),
            Stamp::Utc(utc) => utc.serialize(serializer),
        }
    }
}

fn schema() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .examples(["2025-02-15T09:00:00-05:00"])
        .into()
}

macro_rules! times {
    ($($name:ty),*) => {$(
        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                schema()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                "Time".into()
            }
        }
    )*};
}

times!(Local, Utc, Stamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_their_zone() {
        let time = |text: &str| Time::parse(text).unwrap();
        let zone = |name: &str| Zone::named(name).unwrap();
        for (given, name, expected) in [
            ("2025-02-15T14:00:00Z", "America/New_York", "2025-02-15T09:00:00-05:00"),
            ("2025-07-15T13:00:00Z", "America/New_York", "2025-07-15T09:00:00-04:00"),
            ("2025-07-15T13:00:00.5Z", "Asia/Kathmandu", "2025-07-15T18:45:00.5+05:45"),
            ("2025-01-01T02:30:00.000001Z", "America/St_Johns", "2024-12-31T23:00:00.000001-03:30"),
            ("1969-12-31T23:59:59.25Z", "UTC", "1969-12-31T23:59:59.25+00:00"),
        ] {
            let zone = zone(name);
            assert_eq!(Local::new(time(given), &zone).to_string(), expected);
        }
        assert_eq!(Utc(time("2025-02-15T09:00:00-05:00")).to_string(), "2025-02-15T14:00:00Z");
    }

    #[test]
    fn what_is_written_names_the_same_point_in_time() {
        // New York was 4:56:02 behind UTC before 1883; the text has whole minutes.
        let time = Time::parse("1880-01-01T00:00:00Z").unwrap();
        let zone = Zone::named("America/New_York").unwrap();
        assert_eq!(Time::parse(&Local::new(time, &zone).to_string()), Some(time));
    }
}

//! Points in time, to the microsecond.
//!
//! The engine never reads a clock: every [`Time`] is part of a timeline entry, is the time up to which to fold, or is
//! computed from terms.

use core::fmt;
use serde::{Deserialize, Serialize};

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(i64);

const MICROS_PER_SECOND: i64 = 1_000_000;

impl Time {
    /// Later than every moment the engine computes: "never".
    pub const NEVER: Time = Time(i64::MAX);
    /// Earlier than every moment the engine computes.
    pub const BEGINNING: Time = Time(i64::MIN);

    /// The point that many microseconds after 1970-01-01T00:00:00Z.
    pub const fn from_micros(micros: i64) -> Time {
        Time(micros)
    }

    /// The point that many seconds after 1970-01-01T00:00:00Z.
    pub const fn from_seconds(seconds: i64) -> Time {
        Time(seconds * MICROS_PER_SECOND)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded towards the past.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(MICROS_PER_SECOND)
    }

    /// The microseconds beyond [`Time::seconds`].
    pub const fn subsecond_micros(self) -> i64 {
        self.0.rem_euclid(MICROS_PER_SECOND)
    }

    /// This point moved by a number of microseconds, saturating at the limits of the type.
    pub const fn plus_micros(self, micros: i64) -> Time {
        Time(self.0.saturating_add(micros))
    }

    /// Parses an RFC 3339 time with its offset, such as `2025-02-15T09:00:00-05:00`.
    pub fn parse(text: &str) -> Option<Time> {
        let timestamp: jiff::Timestamp = text.parse().ok()?;
        Some(Time(timestamp.as_microsecond()))
    }
}

/// RFC 3339 in UTC.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp}"),
            Err(_) if self.0 > 0 => f.write_str("never"),
            Err(_) => f.write_str("the beginning"),
        }
    }
}

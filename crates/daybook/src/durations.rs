//! Durations as text: `15s`, `1m`, `5d`, `500ms`, `2h`, and `0`.
//!
//! A duration is one integer and one unit, so that a value in a configuration file has one meaning.

use std::time::Duration;

/// The units, largest first, with their length in milliseconds.
const UNITS: &[(&str, u64)] = &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// The longest duration of a setting: a longer one is a typing error.
pub const LONGEST: Duration = Duration::from_secs(3_650 * 86_400);

/// The error message for an invalid duration.
pub const RULE: &str = "must be a whole number with a unit (ms, s, m, h or d), such as 500ms, 15s or 5d, or 0; \
                        at most 3650d";

/// Parses a duration. `None` if the text breaks the [`RULE`].
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let length = Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(*unit_ms)?);
    (length <= LONGEST).then_some(length)
}

/// Writes a duration in the largest unit that divides it evenly.
pub fn show(length: Duration) -> String {
    let length_ms = length.as_millis();
    let fits = UNITS.iter().find(|(_, unit_ms)| length_ms.is_multiple_of(u128::from(*unit_ms)));
    match fits {
        Some((name, unit_ms)) if length_ms > 0 => format!("{}{name}", length_ms / u128::from(*unit_ms)),
        _ => "0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        let cases = [("500ms", 500), ("15s", 15_000), ("1m", 60_000), ("2h", 7_200_000), ("5d", 432_000_000), ("0", 0)];
        for (text, ms) in cases {
            assert_eq!(parse(text), Some(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_refused() {
        for text in ["", "5", "s", "-1s", "1.5h", "1h30m", "5 d", "5D", "5w", "3651d", "99999999999999999999d"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_largest_unit_that_fits_is_written() {
        for text in ["500ms", "15s", "90s", "1m", "36h", "5d", "0"] {
            assert_eq!(parse(text).map(show).as_deref(), Some(text));
        }
        assert_eq!(parse("120s").map(show).as_deref(), Some("2m"));
    }
}

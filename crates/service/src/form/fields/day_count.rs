//! A number of days: a whole number, or an interval in days, such as `"5 days"`.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

const MOST: u32 = 3_650;
const RULE: &str = "a number of days from 0 to 3650, such as \"5 days\" or 5";

/// A number of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayCountNumber(u32);

impl DayCountNumber {
    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Wraps a number that is known to be valid.
    pub const fn known(number: u32) -> DayCountNumber {
        DayCountNumber(number)
    }
}

impl<'de> Deserialize<'de> for DayCountNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DayCountNumber, D::Error> {
        struct DaysVisitor;
        impl Visitor<'_> for DaysVisitor {
            type Value = DayCountNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(RULE)
            }

            fn visit_u64<E: Error>(self, days: u64) -> Result<DayCountNumber, E> {
                let days = u32::try_from(days).ok().filter(|days| *days <= MOST);
                days.map(DayCountNumber).ok_or_else(|| E::custom(format!("must be {RULE}")))
            }

            fn visit_i64<E: Error>(self, days: i64) -> Result<DayCountNumber, E> {
                // A negative number exceeds the limit as an unsigned one.
                self.visit_u64(days.cast_unsigned())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<DayCountNumber, E> {
                let number = text.strip_suffix(" days").or_else(|| text.strip_suffix(" day"));
                let days = number.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
                self.visit_u64(days.and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX))
            }
        }
        deserializer.deserialize_any(DaysVisitor)
    }
}

impl Serialize for DayCountNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} days", self.0))
    }
}

impl utoipa::PartialSchema for DayCountNumber {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Integer]))
            .description(Some("A number of days: text such as `5 days`, or a whole number from 0 to 3650"))
            .pattern(Some("^[0-9]{1,4} days?$"))
            .minimum(Some(0))
            .maximum(Some(MOST))
            .examples(["5 days"])
            .into()
    }
}

impl utoipa::ToSchema for DayCountNumber {
    fn name() -> std::borrow::Cow<'static, str> {
        "DayCountNumber".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_a_number_or_an_interval_in_days() {
        let read = |json: &str| serde_json::from_str::<DayCountNumber>(json).ok().map(DayCountNumber::get);
        for (json, days) in [("5", 5), ("\"5 days\"", 5), ("\"1 day\"", 1), ("0", 0), ("\"3650 days\"", 3_650)] {
            assert_eq!(read(json), Some(days), "{json}");
        }
        for json in ["-1", "3651", "\"5\"", "\"1 month\"", "\"-5 days\"", "\" days\"", "\"+5 days\"", "5.5", "null"] {
            assert_eq!(read(json), None, "{json}");
        }
        assert_eq!(serde_json::to_string(&DayCountNumber::known(5)).unwrap(), "\"5 days\"");
    }
}

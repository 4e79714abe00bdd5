//! Numbers: amounts, counts, percentages.

use daybook_engine::change::{MOST_EXTENSION_ROWS, MOST_ROWS_OF_A_CHANGE};
use daybook_engine::money::{Cents, Percent};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;
use utoipa::openapi::schema::{SchemaFormat, SchemaType, Type};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema};

/// The rule for an integer.
struct NumberRule {
    /// The rule in words, after "must be".
    sentence: &'static str,
    least: i64,
    most: i64,
    format: KnownFormat,
    example: i64,
}

impl NumberRule {
    fn schema(&self) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(self.format.clone())))
            .minimum(Some(self.least))
            .maximum(Some(self.most))
            .examples([self.example])
            .into()
    }
}

fn read_number<'de, D: Deserializer<'de>>(deserializer: D, rule: &'static NumberRule) -> Result<i64, D::Error> {
    struct NumberVisitor(&'static NumberRule);
    impl Visitor<'_> for NumberVisitor {
        type Value = i64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0.sentence)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
            let rule = self.0;
            if (rule.least..=rule.most).contains(&number) {
                Ok(number)
            } else {
                Err(E::custom(format!("must be {}", rule.sentence)))
            }
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
            // A number that does not fit is larger than every limit.
            self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
        }
    }
    deserializer.deserialize_i64(NumberVisitor(rule))
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($inner:ty) $rule:expr, $wrap:expr, $plain:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name($inner);

        impl $name {
            const RULE: NumberRule = $rule;

            /// The number.
            pub const fn get(self) -> $inner {
                self.0
            }

            /// Wraps a number that is known to be valid.
            pub const fn known(number: $inner) -> $name {
                $name(number)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                read_number(deserializer, &Self::RULE).map(|number| $name($wrap(number)))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_i64($plain(self.0))
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

const CENTS: NumberRule = NumberRule {
    sentence: "a whole number of cents from 1 to 10000000000000",
    least: 1,
    most: Cents::LARGEST_INPUT.0,
    format: KnownFormat::Int64,
    example: 120_000,
};
const COUNT: NumberRule = NumberRule {
    sentence: "a whole number from 0 to 99999",
    least: 0,
    most: 99_999,
    format: KnownFormat::Int32,
    example: 36,
};

numbers! {
    /// An amount of money, in cents; at least one.
    Amount(Cents) CENTS, Cents, |cents: Cents| cents.0;
    /// An amount of money, in cents; may be zero.
    AmountOrZero(Cents) NumberRule { sentence: "a whole number of cents from 0 to 10000000000000", least: 0, ..CENTS },
        Cents, |cents: Cents| cents.0;
    /// A count; may be zero.
    Count(u32) COUNT, |number| number as u32, i64::from;
    /// An amount of money, in cents, up to 100.00.
    SmallAmount(Cents) NumberRule { sentence: "a whole number of cents from 0 to 10000", most: 10_000, least: 0, example: 99, ..CENTS },
        Cents, |cents: Cents| cents.0;
    /// How many instalments a change skips.
    SkippedCount(u32) NumberRule {
        sentence: "a whole number from 1 to 60", least: 1, most: MOST_ROWS_OF_A_CHANGE as i64, example: 1, ..COUNT
    }, |number| number as u32, i64::from;
    /// How many instalments are added.
    AddedCount(u32) NumberRule {
        sentence: "a whole number from 1 to 600", least: 1, most: MOST_EXTENSION_ROWS as i64, example: 12, ..COUNT
    }, |number| number as u32, i64::from;
    /// A number of instalments.
    InstalmentCount(u32) NumberRule { sentence: "a whole number from 1 to 1200", least: 1, most: 1_200, ..COUNT },
        |number| number as u32, i64::from;
    /// A day of the month.
    DayOfMonth(u8) NumberRule { sentence: "a whole number from 1 to 31", least: 1, most: 31, example: 15, ..COUNT },
        |number| number as u8, i64::from;
    /// A count; at least one.
    PositiveCount(u32) NumberRule { sentence: "a whole number from 1 to 99999", least: 1, ..COUNT },
        |number| number as u32, i64::from;
}

/// A percentage: `6.2` is 6.2 %. Parsed from the number's text, never through a float.
///
/// Webhooks carry percentages, and a receiver may parse `data`, write it again and compare signatures. From 0.0001 up,
/// JavaScript and Python write the same digits as this service. Below that, Python writes an exponent (`1e-05`), so a
/// smaller percentage is refused: some receivers could not reproduce the signed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PercentText(Percent);

impl PercentText {
    /// The percentage.
    pub const fn get(self) -> Percent {
        self.0
    }

    /// Wraps a percentage.
    pub(crate) const fn known(percent: Percent) -> PercentText {
        PercentText(percent)
    }
}

const PERCENT_RULE: &str = "must be 0, or a number from 0.0001 to 10000, with at most 6 decimal places and no exponent";
/// The smallest percentage that is not zero.
const SMALLEST_PERCENT: Percent = Percent::from_millionths(100);

impl<'de> Deserialize<'de> for PercentText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PercentText, D::Error> {
        let number = Box::<RawValue>::deserialize(deserializer)?;
        let percent = Percent::parse(number.get());
        let taken = percent.filter(|percent| *percent == Percent::ZERO || *percent >= SMALLEST_PERCENT);
        taken.map(PercentText).ok_or_else(|| D::Error::custom(PERCENT_RULE))
    }
}

impl Serialize for PercentText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millionths = self.0.millionths();
        if millionths % 1_000_000 == 0 {
            return serializer.serialize_u64((millionths / 1_000_000) as u64);
        }
        let number = RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?;
        number.serialize(serializer)
    }
}

impl fmt::Display for PercentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl utoipa::PartialSchema for PercentText {
    fn schema() -> RefOr<Schema> {
        let about = "A percentage, exact to 6 decimal places: 6.2 is 6.2 %. It is 0 or at least 0.0001.";
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .description(Some(about))
            .minimum(Some(0))
            .maximum(Some(10_000))
            .examples([12])
            .into()
    }
}

impl utoipa::ToSchema for PercentText {
    fn name() -> std::borrow::Cow<'static, str> {
        "Percent".into()
    }
}

/// A percentage from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharePercent(Percent);

/// A yearly rate: a number or its text, from 0 to 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct YearlyRate(Percent);

macro_rules! limited_percents {
    ($($name:ident $rule:literal, $most:literal, $may_be_text:literal;)*) => {$(
        impl $name {
            /// The percentage.
            pub const fn get(self) -> Percent {
                self.0
            }

            /// Wraps a percentage that is known to be valid.
            pub const fn known(percent: Percent) -> $name {
                $name(percent)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let number = Box::<RawValue>::deserialize(deserializer)?;
                let text = number.get();
                let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(|_| $may_be_text);
                let percent = Percent::parse(inner.unwrap_or(text));
                let is_valid = |percent: &Percent| {
                    let is_written_alike = *percent == Percent::ZERO || *percent >= SMALLEST_PERCENT;
                    is_written_alike && *percent <= Percent::from_millionths($most * 1_000_000)
                };
                percent.filter(is_valid).map($name).ok_or_else(|| D::Error::custom($rule))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                PercentText(self.0).serialize(serializer)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let types = if $may_be_text { vec![Type::Number, Type::String] } else { vec![Type::Number] };
                let pattern = $may_be_text.then_some("^[0-9]{1,4}([.][0-9]{1,6})?$");
                ObjectBuilder::new()
                    .schema_type(SchemaType::Array(types))
                    .description(Some($rule))
                    .minimum(Some(0))
                    .maximum(Some($most))
                    .pattern(pattern)
                    .examples([12])
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

limited_percents! {
    SharePercent "must be 0, or a number from 0.0001 to 100, with at most 6 decimal places and no exponent", 100, false;
    YearlyRate "must be 0, or a number or its text from 0.0001 to 1000, with at most 6 decimal places and no exponent",
        1000, true;
}

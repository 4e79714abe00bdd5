//! The rules for single values.
//!
//! Each type parses itself from JSON and rejects invalid values with a sentence that begins with "must". Each describes
//! the same rule in the API reference. Every string and every list has a limit.

mod change_choice;
mod choice;
mod day_count;
mod number;
mod stored_object;
mod text;
mod time;

pub use change_choice::*;
pub use choice::*;
pub use day_count::DayCountNumber;
pub use number::*;
pub use stored_object::*;
pub use text::*;
pub use time::*;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, schema::SchemaType};

/// The maximum number of external fields of a customer or an account.
pub const MOST_EXTERNAL_FIELDS: usize = 100;
/// The maximum number of external fields of a line item.
pub const MOST_ITEM_EXTERNAL_FIELDS: usize = 10;
/// The maximum number of customers, or of accounts, assigned in one request.
pub const MOST_ASSIGNED: usize = 100;
/// The number of buckets that can be ordered.
pub const MOST_BUCKETS: usize = 12;

/// Parses a list with a maximum number of entries.
pub(crate) fn list<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let entries = Option::<Vec<T>>::deserialize(deserializer)?;
    match entries {
        Some(entries) if entries.len() > MOST => {
            Err(D::Error::custom(format!("must have at most {MOST} entries, not {}", entries.len())))
        }
        entries => Ok(entries),
    }
}

/// Parses a list that is required, with a minimum and a maximum number of entries.
pub(crate) fn full_list<'de, D, T, const LEAST: usize, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let entries = Vec::<T>::deserialize(deserializer)?;
    if (LEAST..=MOST).contains(&entries.len()) {
        Ok(entries)
    } else {
        Err(D::Error::custom(format!("must have {LEAST} to {MOST} entries, not {}", entries.len())))
    }
}

/// A value that is accepted and has no effect; the form's `warnings` name it.
#[derive(Debug, Clone)]
pub struct Ignored(Box<RawValue>);

impl PartialEq for Ignored {
    fn eq(&self, other: &Ignored) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Ignored {
    /// Whether it is the number 0, `false` or an empty value, which request nothing.
    pub fn asks_for_nothing(&self) -> bool {
        matches!(self.0.get(), "0" | "false" | "null" | "{}" | "[]" | "\"\"")
    }

    /// The value; `None` if it cannot be parsed, such as a number that is too large or a list nested too deeply.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_str(self.0.get()).ok()
    }
}

impl<'de> Deserialize<'de> for Ignored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ignored, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        if value.get().contains("\\u0000") { Err(D::Error::custom(NO_NUL)) } else { Ok(Ignored(value)) }
    }
}

impl Serialize for Ignored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl utoipa::PartialSchema for Ignored {
    fn schema() -> RefOr<Schema> {
        let about = "Accepted for compatibility, without effect; the response lists it in `warnings`.";
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(about)).into()
    }
}

impl utoipa::ToSchema for Ignored {}

/// Warnings for ignored fields. Each field is paired with whether it was given.
pub(crate) fn warnings(fields: &[(&str, bool)]) -> Vec<String> {
    let given = fields.iter().filter(|(_, given)| *given);
    given.map(|(field, _)| format!("{field} is accepted, but not supported: it has no effect")).collect()
}

/// Returns the rule that a new `metro2_config` breaks, if any.
pub(crate) fn check_metro2(config: Option<&StoredObject>) -> Result<(), super::FieldProblem> {
    config.map_or(Ok(()), StoredObject::check).map_err(|rule| super::FieldProblem::new("metro2_config", rule))
}

/// The warning about a `metro2_config`.
pub(crate) fn metro2_warning(is_given: bool) -> Option<String> {
    let warning = "metro2_config is stored and returned, but not supported: nothing is reported to credit bureaus";
    is_given.then(|| warning.to_owned())
}

super::form! {
    /// A field of the caller's own.
    ExternalField {
        /// Its name.
        key: FieldKey,
        /// Its value.
        value: FieldValue,
        ;
    }
}

//! Objects that are stored and returned unchanged, without effect.

use super::NO_NUL;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::openapi::schema::{AdditionalProperties, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

/// The maximum size of the value as compact JSON, in bytes.
const MOST_BYTES: usize = 16_384;
/// The maximum nesting depth of its lists and objects.
const MOST_DEPTH: usize = 8;
/// The maximum length of a field name in it.
const LONGEST_NAME: usize = 100;
/// The largest integer that every JSON parser reads exactly.
const LARGEST_NUMBER: i64 = (1 << 53) - 1;

/// An object that is stored and returned; the form's `warnings` state that it has no effect.
///
/// It is stored exactly as it was sent, so that a form has the same hash and content in every build.
/// [`StoredObject::check`] applies to new values only. Webhooks carry the object too, and a receiver must be able to
/// reproduce the exact text from the parsed value.
#[derive(Debug, Clone)]
pub struct StoredObject(Box<RawValue>);

impl PartialEq for StoredObject {
    fn eq(&self, other: &StoredObject) -> bool {
        self.0.get() == other.0.get()
    }
}

impl StoredObject {
    /// Returns the rule that the value breaks, if any.
    pub fn check(&self) -> Result<(), String> {
        let value: Value = serde_json::from_str(self.0.get()).map_err(|_| "must be JSON".to_owned())?;
        if !value.is_object() {
            return Err("must be an object".to_owned());
        }
        check(&value, 1)?;
        match value.to_string().len() {
            0..=MOST_BYTES => Ok(()),
            length => Err(format!("must have at most {MOST_BYTES} bytes as compact JSON, not {length}")),
        }
    }

    /// The value to return; `None` if it breaks a rule that was introduced after it was stored.
    pub fn given_back(&self) -> Option<Value> {
        self.check().ok()?;
        serde_json::from_str(self.0.get()).ok()
    }
}

fn check(value: &Value, depth: usize) -> Result<(), String> {
    if depth > MOST_DEPTH {
        return Err(format!("must not nest lists and objects more than {MOST_DEPTH} levels deep"));
    }
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(whole) if whole.unsigned_abs() <= LARGEST_NUMBER.unsigned_abs() => Ok(()),
            _ => Err(format!("must contain only whole numbers up to {LARGEST_NUMBER}; send {number} as text")),
        },
        Value::Array(values) => values.iter().try_for_each(|value| check(value, depth + 1)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            let is_name =
                |(at, byte): (usize, u8)| byte == b'_' || byte.is_ascii_alphabetic() || at > 0 && byte.is_ascii_digit();
            if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().enumerate().all(is_name) {
                return Err(format!(
                    "must have field names of 1 to {LONGEST_NAME} letters, digits and _, and the first character must \
                     not be a digit"
                ));
            }
            check(value, depth + 1)
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

impl<'de> Deserialize<'de> for StoredObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StoredObject, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        if value.get().contains("\\u0000") { Err(D::Error::custom(NO_NUL)) } else { Ok(StoredObject(value)) }
    }
}

impl Serialize for StoredObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl utoipa::PartialSchema for StoredObject {
    fn schema() -> RefOr<Schema> {
        let about = "Stored and returned, without effect; the response lists it in `warnings`. Its values are text, \
                     whole numbers, `true`, `false`, `null`, lists and objects.";
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(about))
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl utoipa::ToSchema for StoredObject {
    /// The name in the OpenAPI description.
    fn name() -> std::borrow::Cow<'static, str> {
        "Kept".into()
    }
}

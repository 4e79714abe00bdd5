//! Forms: the request bodies that callers send.
//!
//! A form is one struct with three uses: it parses a request body, it documents the body in the API reference, and it
//! defines what is stored. [`parse`] turns bytes into a form or returns an error:
//!
//! ```text
//! bytes ──► parse ──► form ──► engine input, policy::terms, the store
//!             │
//!             ├─► BadForm::Malformed   the bytes are not JSON              (400)
//!             └─► BadForm::Invalid     a field breaks a rule, with its path (422)
//! ```
//!
//! Small types in [`fields`] hold the rules for single values (an id, a time, an amount), so every field of a parsed
//! form is valid on its own. Methods that return [`FieldProblem`]s check rules across several fields. Unknown fields
//! are refused, so that a typo does not pass silently. Fields that similar services support and this one does not are
//! accepted, and the form's `warnings` name them.

mod account;
mod auth;
mod change;
mod contract;
mod customer;
pub mod fields;
mod line_item;
mod notification;
mod policy_parts;
mod product;
mod roll;
mod status_effects;
mod unsupported;
mod webhook;

pub use account::{AccountSummary, AssignCustomer, CycleType, NewAccount, PostPromoOverview, SetStatus};
pub use auth::{NewKey, TokenRequest};
pub use change::{
    ChangeCancel, DeferralRow, DueDateChange, LoanChange, NewCapitalization, NewDeferral, NewExtension,
    NewInterestPause, NewInterestRate, NewReAge, NewReAmortization, NewRestructure, NewSkip, NewTempPromo, RateTags,
    ReplacedInterestRate, Resolved,
};
pub use contract::{OpeningBalances, OpeningFee, PaidToDate, PastDueInstallment, ScheduledInstallment};
pub use customer::{AssignAccount, BusinessDetails, CustomerUpdate, FieldUpdate, NewCustomer};
pub use line_item::{
    ChangeLineItem, FeeWaiver, ManualFee, NewRefund, Offset, PaymentRecord, PaymentReversal, RefundReversal,
};
pub use notification::NotificationConfig;
pub use policy_parts::{BusinessDayPolicy, LateFeeTierPolicy, ReAgeLimitPolicy};
pub(crate) use product::CLOSE_OF_BUSINESS;
pub use product::{
    Admin, AmortizationPolicies, BillingCyclePolicies, DEFAULT_ZONE, DefaultAttributes, FeePolicies, InterestPolicies,
    LifecyclePolicies, NewProduct, OpeningPolicies, PaymentDuePolicies, PaymentPouringPolicies,
    PostPromotionalPolicies, ProductOverview, PromoFamily, SetMigrationMode,
};
pub use roll::{Roll, RollOrder};
pub use status_effects::{EffectsByStatus, PairEffects};
pub use webhook::{EventName, Replay, Resend, Subscribe};

use serde::Deserializer;
use serde::de::{DeserializeOwned, IgnoredAny, Visitor};
use std::fmt;

/// A field and the rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The path of the field: `summary.initial_principal_cents`.
    pub field: String,
    /// The rule, as a sentence about the field: `must be ...`.
    pub message: String,
}

impl FieldProblem {
    /// A rule that a field breaks.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> FieldProblem {
        FieldProblem { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.message)
    }
}

/// Why bytes cannot be parsed as a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadForm {
    /// They are not JSON.
    Malformed {
        /// What is wrong, with line and column.
        message: String,
    },
    /// They are JSON, but a field breaks a rule.
    Invalid {
        /// The path of the field: `external_fields[0].key`; empty for the body itself.
        field: String,
        /// The rule, as a sentence about the field.
        message: String,
    },
}

impl From<FieldProblem> for BadForm {
    fn from(problem: FieldProblem) -> BadForm {
        BadForm::Invalid { field: problem.field, message: problem.message }
    }
}

impl fmt::Display for BadForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadForm::Malformed { message } => f.write_str(message),
            BadForm::Invalid { field, message } => write!(f, "{field} {message}"),
        }
    }
}

impl std::error::Error for BadForm {}

/// Parses a form. An empty body counts as `{}`.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BadForm> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| BadForm::Malformed { message: format!("the body is not UTF-8: {error}") })?;
    let text = if text.trim_ascii().is_empty() { "{}" } else { text };
    let mut reader = serde_json::Deserializer::from_str(text);
    if !text.trim_ascii_start().starts_with('{') {
        is_json(text)?;
        return Err(BadForm::Invalid { field: String::new(), message: "the body must be an object".into() });
    }
    let form: T = serde_path_to_error::deserialize(&mut reader).map_err(|error| bad_form(text, error))?;
    reader.end().map_err(malformed)?;
    Ok(form)
}

fn malformed(error: serde_json::Error) -> BadForm {
    BadForm::Malformed { message: format!("the body is not JSON: {error}") }
}

fn is_json(text: &str) -> Result<(), BadForm> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(malformed)
}

fn bad_form(text: &str, error: serde_path_to_error::Error<serde_json::Error>) -> BadForm {
    let path = error.path().to_string();
    let error = error.into_inner();
    if !error.is_data() {
        return malformed(error);
    }
    // An invalid field may precede the place where the text stops being JSON; malformed JSON is then the error to
    // report.
    if let Err(malformed) = is_json(text) {
        return malformed;
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    explain(&path, message.strip_suffix(&place).unwrap_or(&message))
}

/// Turns a parser error into a sentence about a field. Errors of serde are plain text in fixed forms; the rules in
/// [`fields`] already return sentences.
fn explain(path: &str, message: &str) -> BadForm {
    let parent = if path == "." { "" } else { path };
    let named = |prefix: &str| message.strip_prefix(prefix)?.split('`').next();
    let within = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    let (field, message) = if let Some(name) = named("missing field `") {
        (within(name), "is required".to_owned())
    } else if let Some(name) = named("duplicate field `") {
        let is_in_path = parent == name || parent.ends_with(&format!(".{name}"));
        (if is_in_path { parent.to_owned() } else { within(name) }, "is given twice".to_owned())
    } else if message.starts_with("unknown field `") {
        let known = message.split_once(", expected ").map_or("none", |(_, known)| known);
        let known = known.trim_start_matches("one of ").replace('`', "");
        (parent.to_owned(), format!("is not a known field; the known ones are: {known}"))
    } else if let Some((_, expected)) = message.split_once(", expected ").filter(|_| message.starts_with("invalid ")) {
        (parent.to_owned(), format!("must be {expected}"))
    } else {
        (parent.to_owned(), message.to_owned())
    };
    BadForm::Invalid { field, message }
}

/// Declares a form: required fields first, then, after a semicolon, optional ones. Absent fields are not stored.
macro_rules! form {
    // A form with only optional fields implements `Default`, so that it can be left out as a whole.
    ($(#[$doc:meta])* $name:ident { ; $($rest:tt)* }) => {
        form! { $(#[$doc])* #[derive(Default)] $name { @required ; $($rest)* } }
    };
    ($(#[$doc:meta])* $name:ident {
        $(@required)?
        $($(#[$required_meta:meta])* $required:ident: $required_type:ty,)*
        ;
        $($(#[$optional_meta:meta])* $optional:ident: $optional_type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Deserialize, serde::Serialize, utoipa::ToSchema)]
        #[serde(deny_unknown_fields, expecting = "an object", remote = "Self")]
        pub struct $name {
            $($(#[$required_meta])* pub $required: $required_type,)*
            $(
                $(#[$optional_meta])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$optional_type>,
            )*
        }
        crate::form::only_objects! { $name }
    };
}
use form;

/// Makes a form accept only objects. The implementation that serde derives for a struct also accepts an array of its
/// fields in order, and a wrong type must not be accepted.
macro_rules! only_objects {
    ($name:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                $name::deserialize($crate::form::OnlyObject(deserializer))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $name::serialize(self, serializer)
            }
        }
    };
}
use only_objects;

/// Deserializes an object, whatever type is requested.
struct OnlyObject<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for OnlyObject<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;

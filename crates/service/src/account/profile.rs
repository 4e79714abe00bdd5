//! The part of an account that is not its terms: customers, external fields.

use crate::form::fields::ExternalField;
use crate::problem::Problem;
use crate::view::AccountCustomer;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Customers and external fields of an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its customers, each with a role.
    #[serde(default)]
    pub customers: Vec<AccountCustomer>,
    /// The account's ids and fields in other systems.
    #[serde(default)]
    pub external_fields: Vec<ExternalField>,
    /// The credit limit of a revolving account.
    #[serde(default)]
    pub credit_limit_cents: Option<i64>,
    /// For reports to credit bureaus; the service does not use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metro2_config: Option<serde_json::Value>,
}

impl Profile {
    /// Parses the stored text.
    pub fn read(text: &str) -> Result<Profile, Problem> {
        if text.is_empty() || text == "{}" {
            return Ok(Profile::default());
        }
        serde_json::from_str(text).map_err(|error| Problem::internal(format!("a profile cannot be read: {error}")))
    }

    /// Renders the text to store.
    pub fn write(&self) -> Arc<str> {
        if *self == Profile::default() {
            return Arc::from("{}");
        }
        serde_json::to_string(self).map_or_else(|_| Arc::from("{}"), Arc::from)
    }
}

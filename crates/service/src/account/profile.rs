//! What people keep on an account beside its terms: customers, external fields.

use crate::form::fields::ExternalField;
use crate::problem::Problem;
use crate::view::AccountCustomer;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What people keep on an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its customers, each with a role.
    #[serde(default)]
    pub customers: Vec<AccountCustomer>,
    /// What other systems call it.
    #[serde(default)]
    pub external_fields: Vec<ExternalField>,
    /// Of a revolving account.
    #[serde(default)]
    pub credit_limit_cents: Option<i64>,
    /// For reports to credit bureaus; nothing acts on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metro2_config: Option<serde_json::Value>,
}

impl Profile {
    /// Reads what the store keeps.
    pub fn read(text: &str) -> Result<Profile, Problem> {
        if text.is_empty() || text == "{}" {
            return Ok(Profile::default());
        }
        serde_json::from_str(text).map_err(|error| Problem::internal(format!("a profile cannot be read: {error}")))
    }

    /// Writes what the store keeps.
    pub fn write(&self) -> Arc<str> {
        if *self == Profile::default() {
            return Arc::from("{}");
        }
        serde_json::to_string(self).map_or_else(|_| Arc::from("{}"), Arc::from)
    }
}

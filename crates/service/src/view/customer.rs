//! Customers.

use super::time::Utc;
use crate::form::fields::{CustomerRole, CustomerType, ExternalField, StoredObject};
use crate::form::{BusinessDetails, NewCustomer};
use daybook_engine::time::Time;
use serde::Serialize;
use utoipa::ToSchema;

/// A customer. Only the last four digits of the social security number are shown.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Customer {
    /// The id.
    pub customer_id: String,
    /// When it was recorded.
    pub created_at: Utc,
    /// When it last changed.
    pub updated_at: Utc,
    /// A person or a business.
    pub customer_type: CustomerType,
    /// First name.
    pub name_first: Option<String>,
    /// Middle name.
    pub name_middle: Option<String>,
    /// Last name.
    pub name_last: Option<String>,
    /// Prefix of the name.
    pub name_prefix: Option<String>,
    /// Suffix of the name.
    pub name_suffix: Option<String>,
    /// Email address.
    pub email: Option<String>,
    /// Phone number.
    pub phone_number: Option<String>,
    /// Date of birth.
    pub date_of_birth: Option<String>,
    /// Street and number.
    pub address_line_one: Option<String>,
    /// Second line of the address.
    pub address_line_two: Option<String>,
    /// City.
    pub address_city: Option<String>,
    /// State.
    pub address_state: Option<String>,
    /// Postal code.
    pub address_zip: Option<String>,
    /// Country.
    pub address_country_code: Option<String>,
    /// The names and the tax number of a business.
    pub business_details: Option<BusinessDetails>,
    /// The last four digits of the social security number.
    pub ssn_last_four: Option<String>,
    /// The result of the customer's identity check, in the caller's own words.
    pub verification_status: Option<String>,
    /// The caller's own fields, stored with the customer.
    pub external_fields: Vec<ExternalField>,
    /// The accounts the customer belongs to.
    pub accounts: Vec<CustomerAccount>,
    /// For reports to credit bureaus: returned as it was given, without effect. Absent if it was not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StoredObject>)]
    pub metro2_config: Option<serde_json::Value>,
    /// Warnings about given fields that have no effect; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An account that a customer belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CustomerAccount {
    /// The account.
    pub account_id: String,
    /// The customer's role on the account.
    pub customer_account_role: CustomerRole,
}

/// The data of a customer beyond the form.
#[derive(Clone, Debug)]
pub struct CustomerFacts {
    /// The id.
    pub customer_id: String,
    /// When it was recorded.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// The last four digits of the social security number.
    pub ssn_last_four: Option<String>,
    /// The accounts the customer belongs to.
    pub accounts: Vec<CustomerAccount>,
}

impl Customer {
    /// The view of a customer.
    pub fn new(form: NewCustomer, facts: CustomerFacts) -> Customer {
        macro_rules! text {
            ($field:ident) => {
                form.$field.map(|text| text.into_string())
            };
        }
        let (customer_type, warnings) = (form.kind(), form.warnings());
        Customer {
            customer_id: facts.customer_id,
            created_at: Utc(facts.created_at),
            updated_at: Utc(facts.updated_at),
            customer_type,
            name_first: text!(name_first),
            name_middle: text!(name_middle),
            name_last: text!(name_last),
            name_prefix: text!(name_prefix),
            name_suffix: text!(name_suffix),
            email: text!(email),
            phone_number: text!(phone_number),
            date_of_birth: text!(date_of_birth),
            address_line_one: text!(address_line_one),
            address_line_two: text!(address_line_two),
            address_city: text!(address_city),
            address_state: text!(address_state),
            address_zip: text!(address_zip),
            address_country_code: text!(address_country_code),
            business_details: form.business_details,
            ssn_last_four: facts.ssn_last_four,
            verification_status: text!(verification_status),
            external_fields: form.external_fields.unwrap_or_default(),
            accounts: facts.accounts,
            metro2_config: form.metro2_config.as_ref().and_then(|config| config.given_back()),
            warnings,
        }
    }

    /// The name of the business, if it is known by one.
    fn business_name(&self) -> Option<&str> {
        let business = self.business_details.as_ref()?;
        business.business_name.as_ref().or(business.business_legal_name.as_ref()).map(|name| name.as_str())
    }

    /// The customer's full name.
    pub fn name(&self) -> String {
        let parts = [&self.name_prefix, &self.name_first, &self.name_middle, &self.name_last, &self.name_suffix];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        match self.business_name() {
            Some(name) if parts.is_empty() || self.customer_type == CustomerType::Business => name.to_owned(),
            _ => parts.join(" "),
        }
    }
}

//! Customers.

use super::time::Utc;
use crate::form::fields::{CustomerRole, CustomerType, ExternalField, Kept};
use crate::form::{BusinessDetails, NewCustomer};
use daybook_engine::time::Time;
use serde::Serialize;
use utoipa::ToSchema;

/// A customer. Only the last four digits of the social security number are shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct Customer<'a> {
    /// The id.
    pub customer_id: &'a str,
    /// When it was recorded.
    pub created_at: Utc,
    /// When it last changed.
    pub updated_at: Utc,
    /// A person or a business.
    pub customer_type: CustomerType,
    /// First name.
    pub name_first: Option<&'a str>,
    /// Middle name.
    pub name_middle: Option<&'a str>,
    /// Last name.
    pub name_last: Option<&'a str>,
    /// Prefix of the name.
    pub name_prefix: Option<&'a str>,
    /// Suffix of the name.
    pub name_suffix: Option<&'a str>,
    /// Email address.
    pub email: Option<&'a str>,
    /// Phone number.
    pub phone_number: Option<&'a str>,
    /// Date of birth.
    pub date_of_birth: Option<&'a str>,
    /// Street and number.
    pub address_line_one: Option<&'a str>,
    /// Second line of the address.
    pub address_line_two: Option<&'a str>,
    /// City.
    pub address_city: Option<&'a str>,
    /// State.
    pub address_state: Option<&'a str>,
    /// Postal code.
    pub address_zip: Option<&'a str>,
    /// Country.
    pub address_country_code: Option<&'a str>,
    /// The names and the tax number of a business.
    pub business_details: Option<&'a BusinessDetails>,
    /// The last four digits of the social security number.
    pub ssn_last_four: Option<&'a str>,
    /// The result of the customer's identity check, in the caller's own words.
    pub verification_status: Option<&'a str>,
    /// The caller's own fields, stored with the customer.
    pub external_fields: &'a [ExternalField],
    /// The accounts the customer belongs to.
    pub accounts: &'a [CustomerAccount],
    /// For reports to credit bureaus: returned as it was given, without effect. Absent if it was not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Kept>)]
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
#[derive(Clone, Copy, Debug)]
pub struct CustomerFacts<'a> {
    /// The id.
    pub customer_id: &'a str,
    /// When it was recorded.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// The last four digits of the social security number.
    pub ssn_last_four: Option<&'a str>,
    /// The accounts the customer belongs to.
    pub accounts: &'a [CustomerAccount],
}

impl<'a> Customer<'a> {
    /// The view of a customer.
    pub fn new(form: &'a NewCustomer, facts: &CustomerFacts<'a>) -> Customer<'a> {
        macro_rules! text {
            ($field:ident) => {
                form.$field.as_ref().map(|text| text.as_str())
            };
        }
        Customer {
            customer_id: facts.customer_id,
            created_at: Utc(facts.created_at),
            updated_at: Utc(facts.updated_at),
            customer_type: form.kind(),
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
            business_details: form.business_details.as_ref(),
            ssn_last_four: facts.ssn_last_four,
            verification_status: text!(verification_status),
            external_fields: form.external_fields.as_deref().unwrap_or_default(),
            accounts: facts.accounts,
            metro2_config: form.metro2_config.as_ref().and_then(|config| config.given_back()),
            warnings: form.warnings(),
        }
    }
}

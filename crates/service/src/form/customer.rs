//! Customers: the borrowers.

use super::fields::*;
use super::{FieldProblem, form};
use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};

/// Declares the two forms that share a customer's plain fields: the new customer and the update.
macro_rules! customer_forms {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        form! {
            /// A customer. Only a name or a business name is required.
            NewCustomer {
                ;
                /// The id; generated if absent.
                customer_id: Id,
                $($(#[$doc])* $field: $type,)*
                /// The social security number. It is stored encrypted, and only its last four digits are ever shown.
                #[serde(skip_serializing)]
                ssn: Ssn,
                /// The caller's own fields, stored with the customer.
                #[serde(deserialize_with = "list::<_, _, MOST_EXTERNAL_FIELDS>")]
                #[schema(max_items = 100)]
                external_fields: Vec<ExternalField>,
                /// The accounts the customer belongs to.
                #[serde(deserialize_with = "list::<_, _, MOST_ASSIGNED>")]
                #[schema(max_items = 100)]
                assign_to_accounts: Vec<AssignAccount>,
                /// Not supported.
                payment_processor_config: Ignored,
                /// Not supported.
                plaid_config: Ignored,
                /// Not supported.
                associated_entities: Ignored,
                /// For reports to credit bureaus: stored and returned, without effect.
                metro2_config: StoredObject,
                /// Not supported.
                issuer_processor_details: Ignored,
            }
        }

        /// Changes to a customer. Absent fields stay as they are; fields that are `null` are removed.
        #[derive(Debug, Clone, PartialEq, serde::Deserialize, serde::Serialize, utoipa::ToSchema)]
        #[serde(deny_unknown_fields, expecting = "an object", remote = "Self")]
        pub struct CustomerUpdate {
            $(
                $(#[$doc])*
                #[serde(default, skip_serializing_if = "FieldUpdate::is_keep")]
                #[schema(value_type = Option<$type>)]
                pub $field: FieldUpdate<$type>,
            )*
            /// The social security number. It is stored encrypted, and only its last four digits are ever shown.
            #[serde(default, skip_serializing)]
            #[schema(value_type = Option<Ssn>)]
            pub ssn: FieldUpdate<Ssn>,
            /// The caller's own fields, stored with the customer. They replace all previous ones.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[serde(deserialize_with = "list::<_, _, MOST_EXTERNAL_FIELDS>")]
            #[schema(max_items = 100)]
            pub external_fields: Option<Vec<ExternalField>>,
            /// Further accounts to assign the customer to.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[serde(deserialize_with = "list::<_, _, MOST_ASSIGNED>")]
            #[schema(max_items = 100)]
            pub assign_to_accounts: Option<Vec<AssignAccount>>,
            /// For reports to credit bureaus: stored and returned, without effect.
            #[serde(default, skip_serializing_if = "FieldUpdate::is_keep")]
            #[schema(value_type = Option<StoredObject>)]
            pub metro2_config: FieldUpdate<StoredObject>,
        }

        super::only_objects! { CustomerUpdate }

        impl CustomerUpdate {
            /// Applies the changes to a customer.
            pub fn apply(self, customer: &mut NewCustomer) -> Result<(), FieldProblem> {
                $(self.$field.apply(&mut customer.$field);)*
                self.ssn.apply(&mut customer.ssn);
                self.metro2_config.apply(&mut customer.metro2_config);
                if let Some(fields) = self.external_fields {
                    customer.external_fields = Some(fields);
                }
                for assigned in self.assign_to_accounts.into_iter().flatten() {
                    let accounts = customer.assign_to_accounts.get_or_insert_default();
                    accounts.retain(|before| before.account_id != assigned.account_id);
                    accounts.push(assigned);
                }
                customer.check()
            }
        }
    };
}

customer_forms! {
    /// First name.
    name_first: ShortText,
    /// Middle name.
    name_middle: ShortText,
    /// Last name.
    name_last: ShortText,
    /// Prefix of the name.
    name_prefix: ShortText,
    /// Suffix of the name.
    name_suffix: ShortText,
    /// Email address.
    email: Email,
    /// Phone number, in E.164 form.
    phone_number: Phone,
    /// Date of birth.
    date_of_birth: BirthDate,
    /// Street and number.
    address_line_one: ShortText,
    /// Second line of the address.
    address_line_two: ShortText,
    /// City.
    address_city: ShortText,
    /// State.
    address_state: ShortText,
    /// Postal code.
    address_zip: ShortText,
    /// Country.
    address_country_code: CountryCode,
    /// A person or a business. Default: `business` if `business_details` is given, otherwise `person`.
    customer_type: CustomerType,
    /// The names and the tax number of a business.
    business_details: BusinessDetails,
    /// The result of the customer's identity check, in the caller's own words.
    verification_status: ShortText,
}

form! {
    /// The names and the tax number of a business.
    BusinessDetails {
        ;
        /// Its name.
        business_name: ShortText,
        /// Its legal name.
        business_legal_name: ShortText,
        /// The name it trades under.
        doing_business_as: ShortText,
        /// Its tax number.
        business_ein: ShortText,
    }
}

form! {
    /// An account that a customer belongs to.
    AssignAccount {
        /// The account.
        account_id: Reference,
        ;
        /// The customer's role on the account. Default: `PRIMARY`.
        customer_account_role: CustomerRole,
    }
}

impl NewCustomer {
    /// Checks rules across fields, such as that there is a name.
    pub fn check(&self) -> Result<(), FieldProblem> {
        let given = |name: &Option<ShortText>| name.as_ref().is_some_and(|name| !name.as_str().trim().is_empty());
        let business = self.business_details.as_ref();
        let is_named = given(&self.name_first)
            || given(&self.name_last)
            || business.is_some_and(|business| given(&business.business_name) || given(&business.business_legal_name));
        let rule = "is required, unless name_last, business_details.business_name or \
                    business_details.business_legal_name is given";
        if !is_named {
            return Err(FieldProblem::new("name_first", rule));
        }
        check_metro2(self.metro2_config.as_ref())?;
        let accounts: Vec<&str> =
            self.assign_to_accounts.iter().flatten().map(|assigned| assigned.account_id.as_str()).collect();
        match (0..accounts.len()).find(|index| accounts[..*index].contains(&accounts[*index])) {
            Some(index) => Err(FieldProblem::new(
                format!("assign_to_accounts[{index}].account_id"),
                "is the same account as an earlier one of the list",
            )),
            None => Ok(()),
        }
    }

    /// The type of the customer: as given, otherwise derived from whether business details are present.
    pub fn kind(&self) -> CustomerType {
        let described = if self.business_details.is_some() { CustomerType::Business } else { CustomerType::Person };
        self.customer_type.unwrap_or(described)
    }

    /// Names the given fields that have no effect.
    pub fn warnings(&self) -> Vec<String> {
        let others = warnings(&[
            ("payment_processor_config", self.payment_processor_config.is_some()),
            ("plaid_config", self.plaid_config.is_some()),
            ("associated_entities", self.associated_entities.is_some()),
            ("issuer_processor_details", self.issuer_processor_details.is_some()),
        ]);
        others.into_iter().chain(metro2_warning(self.metro2_config.is_some())).collect()
    }
}

/// How an update changes one field.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum FieldUpdate<T> {
    /// Absent: the field stays.
    #[default]
    Keep,
    /// `null`: the field is removed.
    Remove,
    /// A value: the field is set.
    Set(T),
}

impl<T> FieldUpdate<T> {
    /// Whether the field stays as it is.
    pub fn is_keep(&self) -> bool {
        matches!(self, FieldUpdate::Keep)
    }

    fn apply(self, field: &mut Option<T>) {
        match self {
            FieldUpdate::Keep => {}
            FieldUpdate::Remove => *field = None,
            FieldUpdate::Set(value) => *field = Some(value),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FieldUpdate<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FieldUpdate<T>, D::Error> {
        Option::<T>::deserialize(deserializer).map(|value| value.map_or(FieldUpdate::Remove, FieldUpdate::Set))
    }
}

impl<T: Serialize> Serialize for FieldUpdate<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FieldUpdate::Keep | FieldUpdate::Remove => serializer.serialize_none(),
            FieldUpdate::Set(value) => value.serialize(serializer),
        }
    }
}

//! The groups of a product's fields, in the order of the form.

use super::contract_fields::{BUSINESS_DAYS, DIFFERENCES, INTEREST_ROUNDING, MORE_LATE_FEES, PRECOMPUTED, RE_AGES};
use super::fields::{
    AMORTIZATION, BACKDATED, BASICS, BILLING, DEFAULTS, DELINQUENCY, FEES, INTEREST, MIGRATION, POURING,
};
use crate::form::{Field, FieldKind};

/// A group of fields.
#[derive(Clone, Copy, Debug)]
pub struct FieldGroup {
    /// The heading.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    /// Whether most products need it.
    pub is_basic: bool,
}

/// All groups, in the order of the form.
pub const GROUPS: &[FieldGroup] = &[
    FieldGroup { name: "Basics", about: "Only the first two are required.", fields: BASICS, is_basic: true },
    FieldGroup { name: "Billing cycle", about: "When instalments fall due.", fields: BILLING, is_basic: false },
    FieldGroup {
        name: "Business days",
        about: "Due dates at weekends and on holidays; two instalments a month.",
        fields: BUSINESS_DAYS,
        is_basic: false,
    },
    FieldGroup { name: "Late fees", about: "What an unpaid instalment costs.", fields: FEES, is_basic: false },
    FieldGroup {
        name: "More late fees",
        about: "Several fees for an instalment, and a limit for the loan.",
        fields: MORE_LATE_FEES,
        is_basic: false,
    },
    FieldGroup {
        name: "Delinquency",
        about: "What late instalments in a row lead to.",
        fields: DELINQUENCY,
        is_basic: false,
    },
    FieldGroup {
        name: "Statuses",
        about: "What each status stops. Notices are webhooks that are set for single accounts, such as reminders.",
        fields: super::effects::FIELDS,
        is_basic: false,
    },
    FieldGroup { name: "Amortization", about: "The size of the instalments.", fields: AMORTIZATION, is_basic: false },
    FieldGroup {
        name: "Precomputed interest",
        about: "Interest that is fixed when an account is opened.",
        fields: PRECOMPUTED,
        is_basic: false,
    },
    FieldGroup { name: "Interest", about: "How interest is calculated.", fields: INTEREST, is_basic: false },
    FieldGroup {
        name: "Rounding of interest",
        about: "How and when interest becomes whole cents.",
        fields: INTEREST_ROUNDING,
        is_basic: false,
    },
    FieldGroup {
        name: "Small differences",
        about: "Payments that are a few cents too low.",
        fields: DIFFERENCES,
        is_basic: false,
    },
    FieldGroup {
        name: "Limits on re-ages",
        about: "How often an account may be re-aged or restructured.",
        fields: RE_AGES,
        is_basic: false,
    },
    FieldGroup {
        name: "Payment allocation",
        about: "The debts that a payment pays first.",
        fields: POURING,
        is_basic: false,
    },
    FieldGroup {
        name: "Backdating",
        about: "Entries and accounts with a date in the past.",
        fields: BACKDATED,
        is_basic: false,
    },
    FieldGroup { name: "Defaults", about: "Amounts that an account can override.", fields: DEFAULTS, is_basic: false },
    FieldGroup { name: "Migration mode", about: "Loading the history of loans.", fields: MIGRATION, is_basic: false },
];

/// The sample loan of the schedule next to the form. These fields are not part of the product.
pub const PREVIEW: &[Field] = &[
    Field::new("preview_principal", "For a loan of", FieldKind::Dollars, "").hint("12,000.00"),
    Field::new("preview_start", "Starting on", FieldKind::Date, ""),
];

/// Every field of the form.
pub fn all() -> Vec<Field> {
    GROUPS.iter().flat_map(|group| group.fields).chain(PREVIEW).copied().collect()
}

/// Every field of a product.
pub fn of_product() -> Vec<Field> {
    GROUPS.iter().flat_map(|group| group.fields).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field of the form exists in the service, and every policy of a complete product has a field.
    #[test]
    fn every_policy_of_the_service_can_be_typed_and_is_explained() {
        use daybook_service::form::{self, NewProduct};
        for field in of_product() {
            assert!(!field.label.is_empty(), "{}", field.name);
            let mut call = serde_json::json!({
                "product_overview": {"product_name": "A", "product_type": "INSTALLMENT"}
            });
            crate::form::put(&mut call, field.name, serde_json::Value::Null);
            // An unknown field is refused by its name; a known field is refused only for its value.
            if let Err(bad) = form::parse::<NewProduct>(call.to_string().as_bytes()) {
                let words = bad.to_string();
                assert!(!words.contains("unknown") && !words.contains("not a field"), "{}: {words}", field.name);
            }
        }
        let settled = serde_json::json!({
            "product_overview": {"product_name": "A", "product_type": "INSTALLMENT"},
            "post_promotional_policies": {"post_promo_len": 12},
        });
        let product: NewProduct = form::parse(settled.to_string().as_bytes()).expect("a product");
        let policy = daybook_service::policy::product_policy(&product, None).expect("a policy");
        let (life, post) = daybook_service::policy::describe(&policy, None);
        let described = serde_json::json!({"product_lifecycle_policies": life, "post_promotional_policies": post});
        let mut known = Vec::new();
        leaves("", &described, &mut known);
        assert!(known.len() > 20, "{known:?}");
        for path in known {
            assert!(of_product().iter().any(|field| field.name == path), "{path} cannot be typed");
        }
    }

    fn leaves(path: &str, value: &serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    leaves(&path, value, into);
                }
            }
            _ => into.push(path.to_owned()),
        }
    }
}

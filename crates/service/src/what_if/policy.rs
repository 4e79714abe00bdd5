//! The terms of an account under another policy.
//!
//! An account's terms are its product's policy with the account's own values. A value that differs from the product's is
//! the account's own: it stays, as it would if the product had been created with the other policy.

use crate::form::{NewProduct, parse};
use crate::policy::{product_policy, settle_product};
use crate::problem::Problem;
use daybook_engine::installment::{InstallmentPolicy, LateFeePolicy};
use daybook_engine::terms::{Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use serde_json::Value;

/// The fields of a product that are its policy.
const POLICY_FIELDS: [&str; 2] = ["product_lifecycle_policies", "post_promotional_policies"];

/// A product's policy, and another one.
#[derive(Clone, Debug)]
pub(super) struct OtherPolicy {
    product: Policy,
    other: Policy,
}

impl OtherPolicy {
    /// The policy of a product in which some fields have other values. A field that is `null` gets its default.
    pub(super) fn of(product: &NewProduct, fields: &Value, now: Time) -> Result<OtherPolicy, Problem> {
        let Value::Object(given) = fields else {
            return Err(Problem::invalid("policy", "must be an object with the policy fields of a new product"));
        };
        if let Some(unknown) = given.keys().find(|field| !POLICY_FIELDS.contains(&field.as_str())) {
            let message = format!("is not a policy field: only {} may differ", POLICY_FIELDS.join(" and "));
            return Err(Problem::invalid(unknown.as_str(), message));
        }
        let mut form = serde_json::to_value(product)
            .map_err(|error| Problem::internal(format!("a form cannot be serialized: {error}")))?;
        replace(&mut form, fields);
        let form: NewProduct = parse(form.to_string().as_bytes())?;
        Problem::not_supported(form.unsupported())?;
        let form = settle_product(form, now)?;
        Ok(OtherPolicy { product: product_policy(product, None)?, other: product_policy(&form, None)? })
    }

    /// The terms of an account under the other policy, and whether the account keeps values of its own where the
    /// policies differ.
    pub(super) fn terms(&self, terms: &Terms) -> Result<(Terms, bool), Problem> {
        let own = policy_of(terms);
        let (policy, keeps_own) = self.merged(&own);
        if policy == own {
            return Ok((terms.clone(), keeps_own));
        }
        let terms = Terms::new(&policy, terms.opening.clone()).map_err(|invalid| {
            let sentences: Vec<String> = invalid.iter().map(ToString::to_string).collect();
            Problem::invalid("", format!("the policy does not fit the account: {}", sentences.join("; ")))
        })?;
        Ok((terms, keeps_own))
    }

    fn merged(&self, own: &Policy) -> (Policy, bool) {
        let (product, other) = (&self.product, &self.other);
        let ProductPolicy::Installment(product_loan) = &product.product;
        let ProductPolicy::Installment(other_loan) = &other.product;
        let ProductPolicy::Installment(own_loan) = &own.product;
        let mut choice = Choice::default();
        // The account's zone has the offsets of its past: it stays unless the policies name different zones.
        let policy = Policy {
            zone: choice.of(&product.zone, &other.zone, &own.zone),
            close_of_business: choice.of(&product.close_of_business, &other.close_of_business, &own.close_of_business),
            backdating: choice.of(&product.backdating, &other.backdating, &own.backdating),
            reversal_fee: choice.of(&product.reversal_fee, &other.reversal_fee, &own.reversal_fee),
            status_effects: choice.of(&product.status_effects, &other.status_effects, &own.status_effects),
            product: ProductPolicy::Installment(choice.of_loan(product_loan, other_loan, own_loan)),
        };
        (policy, choice.keeps_own)
    }
}

/// The policy that an account's terms were made from.
fn policy_of(terms: &Terms) -> Policy {
    Policy {
        zone: terms.zone.clone(),
        close_of_business: terms.close_of_business,
        backdating: terms.backdating,
        reversal_fee: terms.reversal_fee,
        status_effects: terms.status_effects.clone(),
        product: ProductPolicy::Installment(terms.installment().policy.clone()),
    }
}

/// Replaces fields of an object, at any depth. Lists are replaced as a whole; `null` removes a field.
fn replace(target: &mut Value, fields: &Value) {
    let Value::Object(given) = fields else {
        *target = fields.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in given {
        if value.is_null() {
            target.remove(name);
        } else {
            replace(target.entry(name.as_str()).or_insert(Value::Null), value);
        }
    }
}

/// Chooses each value of an account's policy.
#[derive(Debug, Default)]
struct Choice {
    keeps_own: bool,
}

impl Choice {
    /// The other policy's value if the account has the product's; otherwise the account's own.
    fn of<T: Clone + PartialEq>(&mut self, product: &T, other: &T, own: &T) -> T {
        if product == other {
            return own.clone();
        }
        if own == product {
            return other.clone();
        }
        self.keeps_own |= own != other;
        own.clone()
    }
}

/// Chooses every field of a struct. A field that is missing here does not compile.
macro_rules! choose {
    ($choice:ident, $product:ident, $other:ident, $own:ident, $type:ident { $($field:ident,)* } $($special:ident: $value:expr,)*) => {
        $type {
            $($field: $choice.of(&$product.$field, &$other.$field, &$own.$field),)*
            $($special: $value,)*
        }
    };
}

impl Choice {
    fn of_loan(
        &mut self,
        product: &InstallmentPolicy,
        other: &InstallmentPolicy,
        own: &InstallmentPolicy,
    ) -> InstallmentPolicy {
        let late_fee = self.of_late_fee(&product.late_fee, &other.late_fee, &own.late_fee);
        choose!(self, product, other, own, InstallmentPolicy {
            instalments,
            rate,
            cycle,
            first_cycle,
            due_after_cycle,
            month_end,
            method,
            interest_only,
            instalment_rounding,
            smooth_last,
            interest,
            day_count,
            rounding,
            after_maturity,
            order,
            span,
            surplus,
            delinquent_after,
            charge_off_after,
            semi_monthly,
            business_days,
            shortfall,
            write_off,
            re_age_limits,
            interest_rounding,
            interest_rounding_at,
            precomputed_split,
            precomputed_refund,
        } late_fee: late_fee,)
    }

    fn of_late_fee(&mut self, product: &LateFeePolicy, other: &LateFeePolicy, own: &LateFeePolicy) -> LateFeePolicy {
        choose!(
            self,
            product,
            other,
            own,
            LateFeePolicy {
                grace,
                grace_counts_due_date,
                kind,
                flat,
                percent,
                least,
                most,
                cap,
                pyramiding,
                tiers,
                loan_cap,
            }
        )
    }
}

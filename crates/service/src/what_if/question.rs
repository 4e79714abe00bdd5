//! What a caller asks, and the checks.

use super::conditions::Conditions;
use super::policy::OtherPolicy;
use crate::Service;
use crate::access::{Caller, Right};
use crate::account::preview::FURTHEST_AHEAD_MICROS;
use crate::catalog::ProductInfo;
use crate::form::{LoanChange, parse};
use crate::policy::product_policy;
use crate::problem::Problem;
use daybook_engine::calendar::Day;
use daybook_engine::time::Time;
use daybook_store::records::ProductKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The kinds of changes.
const KINDS: [&str; 11] = [
    "interest_rate",
    "temp_promo",
    "interest_pause",
    "due_date",
    "skip",
    "extension",
    "payment_deferral",
    "re_amortization",
    "re_age",
    "restructure",
    "capitalization",
];

/// What a caller asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhatIfQuestion {
    /// The product whose accounts are compared.
    pub product_id: String,
    /// The policy fields of `POST /products` that differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// A change to each account: its `kind`, and the fields of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Value>,
    /// The conditions that an account must meet, as texts.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// The moment to compare: a time, or a date, which means its close of business. Default: each account's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

/// A checked question.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(super) product: Arc<ProductInfo>,
    pub(super) policy: Option<OtherPolicy>,
    pub(super) change: Option<LoanChange>,
    pub(super) conditions: Conditions,
    pub(super) as_of: Option<Time>,
    pub(super) now: Time,
}

impl Service {
    /// Checks a question.
    pub(super) async fn comparison(&self, who: &Caller, asked: &WhatIfQuestion) -> Result<Comparison, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        let key = ProductKey { org: who.org, product: Arc::from(asked.product_id.as_str()) };
        let product = self.catalog.fresh_product(&key).await?;
        let product = product.ok_or_else(|| Problem::not_found("product", &asked.product_id))?;
        if asked.policy.is_none() && asked.change.is_none() {
            return Err(Problem::invalid("policy", "or a change is required"));
        }
        let policy = asked.policy.as_ref().map(|fields| OtherPolicy::of(&product.form, fields, now)).transpose()?;
        let change = asked.change.as_ref().map(loan_change).transpose()?;
        let as_of = asked.as_of.as_deref().map(|text| as_of(text, &product, now)).transpose()?;
        let conditions = Conditions::parse(&asked.conditions)?;
        Ok(Comparison { product, policy, change, conditions, as_of, now })
    }
}

/// The moment to compare. A date means its close of business.
fn as_of(text: &str, product: &ProductInfo, now: Time) -> Result<Time, Problem> {
    let at = match Day::parse(text) {
        Some(day) => {
            let policy = product_policy(&product.form, None)?;
            Some(policy.zone.at(day, policy.close_of_business))
        }
        None => Time::parse(text),
    };
    let at = at.ok_or_else(|| {
        let rule = "must be a date or a time, such as 2026-07-01 or 2026-07-01T12:00:00-04:00";
        Problem::invalid("as_of", rule)
    })?;
    if at > now.plus_micros(FURTHEST_AHEAD_MICROS) {
        return Err(Problem::invalid("as_of", "must not be more than 60 years ahead"));
    }
    Ok(at)
}

/// The change, by its `kind`. The other fields are those of its call.
fn loan_change(fields: &Value) -> Result<LoanChange, Problem> {
    let Value::Object(mut fields) = fields.clone() else {
        return Err(Problem::invalid("change", "must be an object with a kind and the fields of its call"));
    };
    let kind = match fields.remove("kind") {
        Some(Value::String(kind)) => kind,
        _ => return Err(Problem::invalid("kind", format!("must be one of {}", KINDS.join(", ")))),
    };
    let body = Value::Object(fields).to_string();
    let body = body.as_bytes();
    Ok(match kind.as_str() {
        "interest_rate" => LoanChange::InterestRate(parse(body)?),
        "temp_promo" => LoanChange::TempPromo(parse(body)?),
        "interest_pause" => LoanChange::InterestPause(parse(body)?),
        "due_date" => LoanChange::DueDate(parse(body)?),
        "skip" => LoanChange::Skip(parse(body)?),
        "extension" => LoanChange::Extension(parse(body)?),
        "payment_deferral" => LoanChange::Deferral(parse(body)?),
        "re_amortization" => LoanChange::ReAmortization(parse(body)?),
        "re_age" => LoanChange::ReAge(parse(body)?),
        "restructure" => LoanChange::Restructure(parse(body)?),
        "capitalization" => LoanChange::Capitalization(parse(body)?),
        _ => return Err(Problem::invalid("kind", format!("must be one of {}", KINDS.join(", ")))),
    })
}

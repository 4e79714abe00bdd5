//! What a caller asks, and the checks.

use super::conditions::Conditions;
use super::policy::OtherPolicy;
use crate::Service;
use crate::access::{Caller, Right};
use crate::account::preview::FURTHEST_AHEAD_MICROS;
use crate::catalog::ProductInfo;
use crate::policy::product_policy;
use crate::problem::Problem;
use daybook_engine::calendar::Day;
use daybook_engine::change::Change;
use daybook_engine::time::Time;
use daybook_store::records::ProductKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

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
    pub(super) change: Option<TriedChange>,
    pub(super) conditions: Conditions,
    pub(super) as_of: Option<Time>,
    pub(super) now: Time,
}

/// A change to try on each account.
#[derive(Clone, Debug)]
pub(super) struct TriedChange {
    /// When it takes effect; `None` for the account's clock.
    pub(super) effective_at: Option<Time>,
    /// The change.
    pub(super) change: Change,
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
        let change = asked.change.as_ref().map(tried_change).transpose()?;
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

fn tried_change(_fields: &Value) -> Result<TriedChange, Problem> {
    Err(Problem::invalid("change", "is not supported yet"))
}

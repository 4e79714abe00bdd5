//! Turns forms into the engine's terms.
//!
//! A product's form contains only what the caller gave. This module adds the defaults, then an account's overrides, and
//! the engine derives [`Terms`] or returns errors. An error names the product's field; if the account overrides that
//! field, the error names the account's field, which its caller can change.
//!
//! ```text
//! NewProduct ─┐
//!             ├─► product_policy ──► Policy ──► terms ──► Terms
//! NewAccount ─┘                        └──────► describe ──► the view of the product, with defaults
//! ```

mod contract_fields;
mod contracts;
mod describe;
mod openings;

use crate::form::fields::*;
use crate::form::{
    AccountSummary, AmortizationPolicies, BillingCyclePolicies, BusinessDayPolicy, CLOSE_OF_BUSINESS, CycleType,
    DefaultAttributes, EffectsByStatus, FeePolicies, InterestPolicies, LateFeeTierPolicy, LifecyclePolicies,
    NewAccount, NewProduct, PaymentDuePolicies, PaymentPouringPolicies, PostPromoOverview, PostPromotionalPolicies,
    ReAgeLimitPolicy,
};
use contracts::opening_of;
use daybook_engine::calendar::{Interval, TimeOfDay};
use daybook_engine::contract::ContractAmounts;
use daybook_engine::installment::{InstallmentPolicy, LateFeePolicy, Shortfall, Span};
use daybook_engine::money::{Cents, Percent};
use daybook_engine::terms::{Invalid, Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;

pub use crate::form::{DEFAULT_ZONE, FieldProblem};
pub use contract_fields::ContractFields;
pub use describe::describe;
pub use openings::{openings, way_back};

/// The principal of the sample loan that checks a new product.
const SAMPLE_PRINCIPAL: Cents = Cents(100_000);

/// The days of the month of two instalments a month, by default.
const SEMI_MONTHLY_DAYS: [u8; 2] = [1, 15];

const REVOLVING: &str = "REVOLVING products are not supported yet";
const LEN: &str = "post_promotional_policies.post_promo_len";
const RATE: &str = "post_promotional_policies.post_promo_default_interest_rate_percent";
const CYCLE: &str = "product_lifecycle_policies.billing_cycle_policies.cycle_interval";
const GRACE: &str = "product_lifecycle_policies.fee_policies.late_fee_grace";
const LATE_FEE: &str = "product_lifecycle_policies.default_attributes.default_late_fee_cents";
const REVERSAL_FEE: &str = "product_lifecycle_policies.default_attributes.default_payment_reversal_fee_cents";
const INTEREST_ONLY: &str = "product_lifecycle_policies.amortization_policies.interest_only_cycles";
const PRINCIPAL: &str = "summary.initial_principal_cents";

/// Resolves what a product leaves open and checks it with a sample loan. Returns the form to store.
pub fn settle_product(mut product: NewProduct, created_at: Time) -> Result<NewProduct, Vec<FieldProblem>> {
    product.settle_close_of_business().map_err(|problem| vec![problem])?;
    let policy = product_policy(&product, None)?;
    let effective_at = product.effective_at.as_ref().map_or(created_at, |moment| *moment.get());
    let sample = Opening::new(effective_at, SAMPLE_PRINCIPAL, Cents::ZERO);
    Terms::new(&policy, sample).map_err(|invalid| name_fields(invalid, None))?;
    Ok(product)
}

/// Derives the terms of an account.
pub fn terms(product: &NewProduct, account: &NewAccount, effective_at: Time) -> Result<Terms, Vec<FieldProblem>> {
    let mut policy = product_policy(product, Some(account))?;
    let ProductPolicy::Installment(loan) = &mut policy.product;
    let opening = opening_of(account, loan, &policy.zone, effective_at)?;
    if let ContractAmounts::Schedule(rows) = &opening.agreed.contract.amounts {
        loan.instalments = rows.len() as u32;
    }
    Terms::new(&policy, opening).map_err(|invalid| name_fields(invalid, Some(account)))
}

/// The credit limit of an account: its own or its product's.
pub fn credit_limit(product: &NewProduct, account: &NewAccount) -> Option<Cents> {
    let own = account.summary.as_ref().and_then(|summary| summary.credit_limit_cents);
    let attributes = product.product_lifecycle_policies.as_ref().and_then(|life| life.default_attributes.as_ref());
    own.or(attributes.and_then(|attributes| attributes.default_credit_limit_cents)).map(|limit| limit.get())
}

/// The policy of a product, with the overrides of an account applied.
pub fn product_policy(product: &NewProduct, account: Option<&NewAccount>) -> Result<Policy, Vec<FieldProblem>> {
    if product.product_overview.product_type == ProductType::Revolving {
        return Err(vec![FieldProblem::new("product_overview.product_type", REVOLVING)]);
    }
    let given = PolicyFields::new(product, account);
    let Some(zone) = product.zone() else {
        return Err(vec![FieldProblem::new(
            "product_lifecycle_policies.billing_cycle_policies.product_time_zone",
            "is not a known time zone",
        )]);
    };
    let Some(instalments) = given.overview.post_promo_len.or(given.post.post_promo_len) else {
        return Err(vec![FieldProblem::new(LEN, "is required for an INSTALLMENT product")]);
    };
    let close_of_business = match given.billing.close_of_business_time.as_ref().map(|close| *close.get()) {
        None => TimeOfDay::END_OF_DAY,
        Some(DailyTime { time, offset_seconds: None }) => time,
        Some(_) => {
            let message = "has an offset that was not checked against the time zone";
            return Err(vec![FieldProblem::new(CLOSE_OF_BUSINESS, message)]);
        }
    };
    given.check()?;
    let reversal_fee = given.summary.payment_reversal_fee_cents.or(given.attributes.default_payment_reversal_fee_cents);
    Ok(Policy {
        zone,
        close_of_business,
        backdating: given.life.backdating_policy.map(Into::into).unwrap_or_default(),
        reversal_fee: reversal_fee.map_or(Cents::ZERO, |fee| fee.get()),
        status_effects: given.life.status_effects.as_ref().map(EffectsByStatus::effects).unwrap_or_default(),
        product: ProductPolicy::Installment(given.installment(instalments.get())),
    })
}

/// The groups of fields of a product and an account. An absent group has no fields set.
struct PolicyFields {
    life: LifecyclePolicies,
    billing: BillingCyclePolicies,
    due: PaymentDuePolicies,
    fees: FeePolicies,
    amortization: AmortizationPolicies,
    interest: InterestPolicies,
    pouring: PaymentPouringPolicies,
    attributes: DefaultAttributes,
    post: PostPromotionalPolicies,
    summary: AccountSummary,
    cycle: CycleType,
    overview: PostPromoOverview,
}

impl PolicyFields {
    fn new(product: &NewProduct, account: Option<&NewAccount>) -> PolicyFields {
        let life = product.product_lifecycle_policies.clone().unwrap_or_default();
        PolicyFields {
            billing: life.billing_cycle_policies.clone().unwrap_or_default(),
            due: life.payment_due_policies.clone().unwrap_or_default(),
            fees: life.fee_policies.clone().unwrap_or_default(),
            amortization: life.amortization_policies.clone().unwrap_or_default(),
            interest: life.interest_policies.clone().unwrap_or_default(),
            pouring: life.payment_pouring_policies.clone().unwrap_or_default(),
            attributes: life.default_attributes.clone().unwrap_or_default(),
            post: product.post_promotional_policies.clone().unwrap_or_default(),
            summary: account.and_then(|account| account.summary.clone()).unwrap_or_default(),
            cycle: account.and_then(|account| account.cycle_type.clone()).unwrap_or_default(),
            overview: account.and_then(|account| account.post_promo_overview.clone()).unwrap_or_default(),
            life,
        }
    }

    /// The rules about which fields may be given together.
    fn check(&self) -> Result<(), Vec<FieldProblem>> {
        let mut broken = Vec::new();
        let cycle = self.billing.cycle_interval.as_ref().map(|cycle| *cycle.get());
        if self.billing.semi_monthly_days.is_some() && cycle != Some(Cycle::SemiMonth) {
            let field = "product_lifecycle_policies.billing_cycle_policies.semi_monthly_days";
            broken.push(FieldProblem::new(field, "is allowed only with cycle_interval semi-month"));
        }
        let tiers = "product_lifecycle_policies.fee_policies.late_fee_tiers";
        match &self.fees.late_fee_tiers {
            Some(tiers_given) if tiers_given.is_empty() => {
                broken.push(FieldProblem::new(tiers, "must have at least one tier"));
            }
            // The engine refuses the other fields of a single fee.
            Some(_) if self.fees.late_fee_type == Some(LateFeeType::Flat) => {
                let field = "product_lifecycle_policies.fee_policies.late_fee_type";
                broken.push(FieldProblem::new(field, "must be absent if late_fee_tiers are given"));
            }
            _ => {}
        }
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }

    fn installment(&self, instalments: u32) -> InstallmentPolicy {
        let rate =
            self.overview.post_promo_impl_interest_rate_percent.or(self.post.post_promo_default_interest_rate_percent);
        let usual = InstallmentPolicy::new(instalments, rate.map_or(Percent::ZERO, |rate| rate.get()));
        let (amortization, interest, pouring) = (&self.amortization, &self.interest, &self.pouring);
        let order = pouring.order.as_ref().map(|order| order.iter().filter_map(|name| name.bucket()).collect());
        let first_cycle = self.cycle.first_cycle_interval.as_ref().or(self.billing.first_cycle_interval.as_ref());
        InstallmentPolicy {
            cycle: self.cycle().unwrap_or(usual.cycle),
            semi_monthly: self.semi_monthly(),
            business_days: self
                .billing
                .business_days
                .as_ref()
                .map(BusinessDayPolicy::business_days)
                .unwrap_or_default(),
            shortfall: self.shortfall(),
            write_off: self.due.write_off_balance_cents.map_or(usual.write_off, |cents| cents.get()),
            re_age_limits: self.due.re_age_limits.as_ref().map(ReAgeLimitPolicy::limits).unwrap_or_default(),
            interest_rounding: interest.interest_rounding.or(interest.rounding).map(Into::into).unwrap_or_default(),
            interest_rounding_at: interest.interest_rounding_at.map(Into::into).unwrap_or_default(),
            precomputed_split: amortization.precomputed_split.map(Into::into).unwrap_or_default(),
            precomputed_refund: amortization.precomputed_refund.map(Into::into).unwrap_or_default(),
            first_cycle: first_cycle.map(|interval| *interval.get()),
            due_after_cycle: interval(&self.billing.cycle_due_interval).unwrap_or(usual.due_after_cycle),
            month_end: amortization.month_end.map_or(usual.month_end, Into::into),
            method: amortization.method.map_or(usual.method, Into::into),
            interest_only: amortization.interest_only_cycles.map_or(usual.interest_only, |cycles| cycles.get()),
            instalment_rounding: amortization
                .installment_rounding_cents
                .map_or(usual.instalment_rounding, |cents| cents.get()),
            smooth_last: amortization.smooth_last_installment.unwrap_or(usual.smooth_last),
            interest: interest.interest_calc_method.map_or(usual.interest, Into::into),
            day_count: interest.day_count.map_or(usual.day_count, Into::into),
            rounding: interest.rounding.map_or(usual.rounding, Into::into),
            after_maturity: interest.interest_after_maturity.map_or(usual.after_maturity, Into::into),
            order: order.unwrap_or(usual.order),
            span: pouring.span.map_or(Span::without_own(pouring.order.is_some()), Into::into),
            surplus: pouring.surplus.map_or(usual.surplus, Into::into),
            late_fee: self.late_fee(),
            delinquent_after: self
                .due
                .delinquent_on_n_consecutive_late_fees
                .map_or(usual.delinquent_after, |n| n.get()),
            charge_off_after: self
                .due
                .charge_off_on_n_consecutive_late_fees
                .map_or(usual.charge_off_after, |n| n.get()),
            instalments: usual.instalments,
            rate: usual.rate,
        }
    }

    /// The length of a cycle; `None` if it is not given or there are two instalments a month.
    fn cycle(&self) -> Option<Interval> {
        match self.billing.cycle_interval.as_ref().map(|cycle| *cycle.get()) {
            Some(Cycle::Every(interval)) => Some(interval),
            Some(Cycle::SemiMonth) | None => None,
        }
    }

    /// The days of the month, if there are two instalments a month.
    fn semi_monthly(&self) -> Option<[u8; 2]> {
        let is_semi_month = self.billing.cycle_interval.as_ref().is_some_and(|cycle| *cycle.get() == Cycle::SemiMonth);
        let days = self.billing.semi_monthly_days.map(|days| days.map(DayOfMonth::get));
        is_semi_month.then(|| days.unwrap_or(SEMI_MONTHLY_DAYS))
    }

    fn shortfall(&self) -> Shortfall {
        Shortfall {
            cents: self.due.shortfall_tolerance_cents.map(|cents| cents.get()),
            percent: self.due.shortfall_tolerance_percent.map(|percent| percent.get()),
            rule: self.due.shortfall_tolerance_rule.map(Into::into).unwrap_or_default(),
            goes_to: self.due.shortfall_goes_to.map(Into::into).unwrap_or_default(),
        }
    }

    fn late_fee(&self) -> LateFeePolicy {
        let (fees, summary) = (&self.fees, &self.summary);
        let flat = summary.late_fee_cents.or(self.attributes.default_late_fee_cents);
        LateFeePolicy {
            grace: interval(&self.cycle.late_fee_grace).or(interval(&fees.late_fee_grace)).unwrap_or_default(),
            grace_counts_due_date: fees.late_fee_grace_counts_due_date.unwrap_or(false),
            kind: fees.late_fee_type.map(Into::into).unwrap_or_default(),
            flat: flat.map_or(Cents::ZERO, |cents| cents.get()),
            percent: fees.late_fee_percent.map_or(Percent::ZERO, |percent| percent.get()),
            least: fees.late_fee_min_cents.map(|cents| cents.get()),
            most: fees.late_fee_max_cents.map(|cents| cents.get()),
            cap: summary.late_fee_cap_percent.or(fees.late_fee_cap_percent).map(|percent| percent.get()),
            pyramiding: fees.late_fee_pyramiding.map(Into::into).unwrap_or_default(),
            tiers: fees.late_fee_tiers.iter().flatten().map(LateFeeTierPolicy::tier).collect(),
            loan_cap: fees.late_fee_loan_cap_cents.map(|cents| cents.get()),
        }
    }
}

fn interval(text: &Option<IntervalText>) -> Option<Interval> {
    text.as_ref().map(|text| *text.get())
}

/// Names fields by the names the caller knows.
fn name_fields(invalid: Vec<Invalid>, account: Option<&NewAccount>) -> Vec<FieldProblem> {
    let given = account.map(|account| {
        let summary = account.summary.clone().unwrap_or_default();
        let cycle = account.cycle_type.clone().unwrap_or_default();
        (summary, cycle, account.post_promo_overview.clone().unwrap_or_default())
    });
    let (summary, cycle, overview) = given.unwrap_or_default();
    let name = |invalid: Invalid| {
        let own = match invalid.field {
            LEN if overview.post_promo_len.is_some() => "post_promo_overview.post_promo_len",
            RATE if overview.post_promo_impl_interest_rate_percent.is_some() => {
                "post_promo_overview.post_promo_impl_interest_rate_percent"
            }
            INTEREST_ONLY if overview.post_promo_len.is_some() => {
                let rule = "must be greater than the product's interest_only_cycles";
                return FieldProblem::new("post_promo_overview.post_promo_len", rule);
            }
            GRACE if cycle.late_fee_grace.is_some() => "cycle_type.late_fee_grace",
            CYCLE if cycle.first_cycle_interval.is_some() => "cycle_type.first_cycle_interval",
            REVERSAL_FEE if summary.payment_reversal_fee_cents.is_some() => "summary.payment_reversal_fee_cents",
            "summary.late_fee_cents" if summary.late_fee_cents.is_none() => LATE_FEE,
            field => field,
        };
        FieldProblem::new(own, invalid.rule)
    };
    invalid.into_iter().map(name).collect()
}

/// The length of the first cycle: its own, or that of the other cycles.
pub(crate) fn first_cycle(loan: &InstallmentPolicy) -> Interval {
    loan.first_cycle.filter(|interval| !interval.is_zero()).unwrap_or(loan.cycle)
}

#[cfg(test)]
mod tests;

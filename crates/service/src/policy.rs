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

mod openings;

use crate::form::fields::*;
use crate::form::{
    AccountSummary, AmortizationPolicies, BillingCyclePolicies, CLOSE_OF_BUSINESS, CycleType, DefaultAttributes,
    EffectsByStatus, FeePolicies, InterestPolicies, LifecyclePolicies, NewAccount, NewProduct, PaymentDuePolicies,
    PaymentPouringPolicies, PostPromoOverview, PostPromotionalPolicies,
};
use daybook_engine::calendar::{Interval, TimeOfDay};
use daybook_engine::installment::{InstallmentPolicy, LateFeePolicy, Span};
use daybook_engine::money::{Cents, Percent};
use daybook_engine::terms::{Invalid, Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;

pub use crate::form::{DEFAULT_ZONE, FieldProblem};
pub use openings::{openings, way_back};

/// The principal of the sample loan that checks a new product.
const SAMPLE_PRINCIPAL: Cents = Cents(100_000);

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
    let policy = product_policy(product, Some(account))?;
    let summary = account.summary.as_ref();
    let Some(principal) = summary.and_then(|summary| summary.initial_principal_cents) else {
        return Err(vec![FieldProblem::new(PRINCIPAL, "is required")]);
    };
    let origination_fee =
        summary.and_then(|summary| summary.origination_fee_cents).map_or(Cents::ZERO, |fee| fee.get());
    let opening = Opening::new(effective_at, principal.get(), origination_fee);
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

    fn installment(&self, instalments: u32) -> InstallmentPolicy {
        let rate =
            self.overview.post_promo_impl_interest_rate_percent.or(self.post.post_promo_default_interest_rate_percent);
        let usual = InstallmentPolicy::new(instalments, rate.map_or(Percent::ZERO, |rate| rate.get()));
        let (amortization, interest, pouring) = (&self.amortization, &self.interest, &self.pouring);
        let order = pouring.order.as_ref().map(|order| order.iter().filter_map(|name| name.bucket()).collect());
        let first_cycle = self.cycle.first_cycle_interval.as_ref().or(self.billing.first_cycle_interval.as_ref());
        InstallmentPolicy {
            cycle: interval(&self.billing.cycle_interval).unwrap_or(usual.cycle),
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
            ..usual
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
            ..LateFeePolicy::default()
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

/// A policy as a product shows it, with every default filled in.
pub fn describe(policy: &Policy, credit_limit: Option<Cents>) -> (LifecyclePolicies, PostPromotionalPolicies) {
    let ProductPolicy::Installment(loan) = &policy.product;
    let late = &loan.late_fee;
    let close = DailyTime { time: policy.close_of_business, offset_seconds: None };
    let life = LifecyclePolicies {
        billing_cycle_policies: Some(BillingCyclePolicies {
            cycle_interval: Some(IntervalText::known(loan.cycle)),
            cycle_due_interval: Some(IntervalText::known(loan.due_after_cycle)),
            first_cycle_interval: Some(IntervalText::known(first_cycle(loan))),
            close_of_business_time: Some(CloseOfBusiness::known(close)),
            product_time_zone: Some(ZoneName::known(policy.zone.clone())),
        }),
        payment_due_policies: Some(PaymentDuePolicies {
            delinquent_on_n_consecutive_late_fees: Some(PositiveCount::known(loan.delinquent_after)),
            charge_off_on_n_consecutive_late_fees: Some(PositiveCount::known(loan.charge_off_after)),
        }),
        fee_policies: Some(FeePolicies {
            late_fee_grace: Some(IntervalText::known(late.grace)),
            late_fee_grace_counts_due_date: Some(late.grace_counts_due_date),
            late_fee_type: Some(late.kind.into()),
            late_fee_percent: (late.percent > Percent::ZERO).then(|| PercentText::known(late.percent)),
            late_fee_min_cents: late.least.map(AmountOrZero::known),
            late_fee_max_cents: late.most.map(AmountOrZero::known),
            late_fee_cap_percent: late.cap.map(PercentText::known),
            surcharge_fee_interval: None,
            default_surcharge_fee_structure: None,
            late_fee_pyramiding: Some(late.pyramiding.into()),
        }),
        amortization_policies: Some(AmortizationPolicies {
            method: Some(loan.method.into()),
            interest_only_cycles: Some(Count::known(loan.interest_only)),
            month_end: Some(loan.month_end.into()),
            installment_rounding_cents: Some(Amount::known(loan.instalment_rounding)),
            smooth_last_installment: Some(loan.smooth_last),
        }),
        interest_policies: Some(InterestPolicies {
            interest_calc_method: Some(loan.interest.into()),
            day_count: Some(loan.day_count.into()),
            rounding: Some(loan.rounding.into()),
            interest_after_maturity: Some(loan.after_maturity.into()),
        }),
        payment_pouring_policies: Some(PaymentPouringPolicies {
            order: Some(loan.order.iter().filter_map(|bucket| BucketName::of(*bucket)).collect()),
            span: Some(loan.span.into()),
            surplus: Some(loan.surplus.into()),
        }),
        backdating_policy: Some(policy.backdating.into()),
        // Not part of the engine's policy; see `openings`.
        opening_policies: None,
        default_attributes: Some(DefaultAttributes {
            default_credit_limit_cents: credit_limit.map(AmountOrZero::known),
            default_late_fee_cents: Some(AmountOrZero::known(late.flat)),
            default_payment_reversal_fee_cents: Some(AmountOrZero::known(policy.reversal_fee)),
        }),
        status_effects: Some(EffectsByStatus::of(&policy.status_effects)),
    };
    let post = PostPromotionalPolicies {
        post_promo_len: Some(PositiveCount::known(loan.instalments)),
        post_promo_default_interest_rate_percent: Some(PercentText::known(loan.rate)),
    };
    (life, post)
}

/// The length of the first cycle: its own, or that of the other cycles.
pub(crate) fn first_cycle(loan: &InstallmentPolicy) -> Interval {
    loan.first_cycle.filter(|interval| !interval.is_zero()).unwrap_or(loan.cycle)
}

#[cfg(test)]
mod tests;

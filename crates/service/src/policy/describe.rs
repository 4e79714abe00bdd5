//! A product's policy as the product shows it: with every default filled in.

use super::first_cycle;
use crate::form::fields::*;
use crate::form::{
    AmortizationPolicies, BillingCyclePolicies, BusinessDayPolicy, DefaultAttributes, EffectsByStatus, FeePolicies,
    InterestPolicies, LateFeeTierPolicy, LifecyclePolicies, PaymentDuePolicies, PaymentPouringPolicies,
    PostPromotionalPolicies, ReAgeLimitPolicy,
};
use daybook_engine::installment::{InstallmentPolicy, Method};
use daybook_engine::money::{Cents, Percent};
use daybook_engine::terms::{Policy, ProductPolicy};

/// A policy as a product shows it, with every default filled in.
pub fn describe(policy: &Policy, credit_limit: Option<Cents>) -> (LifecyclePolicies, PostPromotionalPolicies) {
    let ProductPolicy::Installment(loan) = &policy.product;
    let late = &loan.late_fee;
    let precomputed = loan.method == Method::Precomputed;
    let life = LifecyclePolicies {
        billing_cycle_policies: Some(billing(policy, loan)),
        payment_due_policies: Some(payment_due(loan)),
        fee_policies: Some(FeePolicies {
            late_fee_grace: late.tiers.is_empty().then(|| IntervalText::known(late.grace)),
            late_fee_grace_counts_due_date: Some(late.grace_counts_due_date),
            late_fee_type: late.tiers.is_empty().then(|| late.kind.into()),
            late_fee_percent: (late.percent > Percent::ZERO).then(|| PercentText::known(late.percent)),
            late_fee_min_cents: late.least.map(AmountOrZero::known),
            late_fee_max_cents: late.most.map(AmountOrZero::known),
            late_fee_cap_percent: late.cap.map(PercentText::known),
            surcharge_fee_interval: None,
            default_surcharge_fee_structure: None,
            late_fee_pyramiding: Some(late.pyramiding.into()),
            late_fee_tiers: (!late.tiers.is_empty()).then(|| late.tiers.iter().map(LateFeeTierPolicy::of).collect()),
            late_fee_loan_cap_cents: late.loan_cap.map(AmountOrZero::known),
        }),
        amortization_policies: Some(AmortizationPolicies {
            method: Some(loan.method.into()),
            interest_only_cycles: Some(Count::known(loan.interest_only)),
            month_end: Some(loan.month_end.into()),
            installment_rounding_cents: Some(Amount::known(loan.instalment_rounding)),
            smooth_last_installment: Some(loan.smooth_last),
            precomputed_split: precomputed.then(|| loan.precomputed_split.into()),
            precomputed_refund: precomputed.then(|| loan.precomputed_refund.into()),
        }),
        interest_policies: Some(InterestPolicies {
            interest_calc_method: Some(loan.interest.into()),
            day_count: Some(loan.day_count.into()),
            rounding: Some(loan.rounding.into()),
            interest_rounding: Some(loan.interest_rounding.into()),
            interest_rounding_at: Some(loan.interest_rounding_at.into()),
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

/// Cycles and due dates.
fn billing(policy: &Policy, loan: &InstallmentPolicy) -> BillingCyclePolicies {
    let close = DailyTime { time: policy.close_of_business, offset_seconds: None };
    BillingCyclePolicies {
        cycle_interval: Some(CycleText::known(match loan.semi_monthly {
            Some(_) => Cycle::SemiMonth,
            None => Cycle::Every(loan.cycle),
        })),
        semi_monthly_days: loan.semi_monthly.map(|days| days.map(DayOfMonth::known)),
        business_days: Some(BusinessDayPolicy::of(&loan.business_days)),
        cycle_due_interval: Some(IntervalText::known(loan.due_after_cycle)),
        first_cycle_interval: Some(IntervalText::known(first_cycle(loan))),
        close_of_business_time: Some(CloseOfBusiness::known(close)),
        product_time_zone: Some(ZoneName::known(policy.zone.clone())),
    }
}

/// The consequences of late and short payments.
fn payment_due(loan: &InstallmentPolicy) -> PaymentDuePolicies {
    PaymentDuePolicies {
        delinquent_on_n_consecutive_late_fees: Some(PositiveCount::known(loan.delinquent_after)),
        charge_off_on_n_consecutive_late_fees: Some(PositiveCount::known(loan.charge_off_after)),
        shortfall_tolerance_cents: loan.shortfall.cents.map(AmountOrZero::known),
        shortfall_tolerance_percent: loan.shortfall.percent.map(SharePercent::known),
        shortfall_tolerance_rule: Some(loan.shortfall.rule.into()),
        shortfall_goes_to: Some(loan.shortfall.goes_to.into()),
        write_off_balance_cents: Some(SmallAmount::known(loan.write_off)),
        re_age_limits: Some(ReAgeLimitPolicy::of(&loan.re_age_limits)),
    }
}

//! The terms of a product in words: business days, several late fees, small differences, re-ages, rounding.

use crate::display::{AsMoney, Count, plain_words};
use daybook_service::form::fields::{
    BusinessDayRule, InterestRoundingMoment, LateFeeType, PrecomputedRefundRule, PrecomputedSplitRule, RoundingRule,
    ShortfallRuleName, ShortfallTarget,
};
use daybook_service::form::{
    AmortizationPolicies, BillingCyclePolicies, BusinessDayPolicy, FeePolicies, InterestPolicies, LateFeeTierPolicy,
    PaymentDuePolicies,
};

/// Where due dates move that are not business days; empty if they do not move.
pub fn business_days(billing: &BillingCyclePolicies) -> String {
    let Some(policy) = &billing.business_days else { return String::new() };
    let moved = match policy.adjust {
        None | Some(BusinessDayRule::None) => return String::new(),
        Some(BusinessDayRule::Following) => "to the next business day",
        Some(BusinessDayRule::ModifiedFollowing) => {
            "to the next business day, or to the one before if the month would change"
        }
        Some(BusinessDayRule::Preceding) => "to the business day before",
    };
    format!("A due date that is not a business day moves {moved}. {}", days_off(policy))
}

fn days_off(policy: &BusinessDayPolicy) -> String {
    let weekend = policy.weekend.iter().flatten().map(|day| plain_words(day.name()));
    let weekend: Vec<String> = weekend.collect();
    let holidays = policy.holidays.as_ref().map_or(0, Vec::len);
    let holidays = match holidays {
        0 => String::new(),
        n => format!(" and {}", Count(n as u64).of("holiday", "holidays")),
    };
    match (weekend.is_empty(), holidays.is_empty()) {
        (true, true) => "Every day is a business day.".to_owned(),
        (true, false) => format!("Not business days: {}.", holidays.trim_start_matches(" and ")),
        (false, _) => format!("Not business days: {}{holidays}.", weekend.join(", ")),
    }
}

/// The days of two instalments a month; empty if there is one instalment a cycle.
pub fn semi_monthly(billing: &BillingCyclePolicies) -> Option<String> {
    let days = billing.semi_monthly_days.as_ref()?;
    let [first, second] = days.map(|day| day.get());
    Some(format!("Two instalments a month, on day {first} and day {second}; in a shorter month, on its last day."))
}

/// Several late fees in place of one; `None` if there is one.
pub fn tiers(fees: &FeePolicies) -> Option<String> {
    let tiers = fees.late_fee_tiers.as_ref().filter(|tiers| !tiers.is_empty())?;
    let told: Vec<String> = tiers.iter().map(tier).collect();
    Some(format!("{}.", told.join("; ")))
}

fn tier(tier: &LateFeeTierPolicy) -> String {
    let share = tier.percent.map_or_else(|| "0".to_owned(), |percent| percent.to_string());
    let fee = match tier.kind {
        LateFeeType::Flat => tier.amount_cents.map_or(0, |cents| cents.get().0).money().to_string(),
        LateFeeType::PercentOfUnpaid => format!("{share} % of the unpaid instalment"),
        LateFeeType::PercentOfUnpaidPrincipal => format!("{share} % of the instalment's unpaid principal"),
        LateFeeType::PercentOfPayment => format!("{share} % of the whole instalment"),
    };
    let limit = |words: &str, cents: Option<i64>| {
        cents.map_or_else(String::new, |cents| format!(", {words} {}", cents.money()))
    };
    let least = limit("at least", tier.min_cents.map(|cents| cents.get().0));
    let most = limit("at most", tier.max_cents.map(|cents| cents.get().0));
    let after = match tier.after.get() {
        1 => "one day".to_owned(),
        n => format!("{n} days"),
    };
    format!("{fee}{least}{most} if an instalment is unpaid {after} after its due date")
}

/// The limit on all late fees of a loan; empty if there is none.
pub fn late_fee_limit(fees: &FeePolicies) -> String {
    fees.late_fee_loan_cap_cents.map_or_else(String::new, |cents| {
        format!(" All late fees of a loan, without those waived, are at most {}.", cents.get().0.money())
    })
}

/// What happens to a few cents that are missing; empty if nothing special.
pub fn differences(due: &PaymentDuePolicies) -> String {
    let mut sentences = Vec::new();
    let cents = due.shortfall_tolerance_cents.map(|cents| cents.get().0.money().to_string());
    let share = due.shortfall_tolerance_percent.as_ref().map(|share| format!("{} % of the instalment", share.get()));
    let limit = match (cents, share) {
        (Some(cents), Some(share)) => {
            let rule = if due.shortfall_tolerance_rule == Some(ShortfallRuleName::Lower) { "lower" } else { "higher" };
            Some(format!("{cents} or {share}, whichever is {rule}"))
        }
        (cents, share) => cents.or(share),
    };
    if let Some(limit) = limit {
        let asked = match due.shortfall_goes_to {
            Some(ShortfallTarget::LastInstalment) => {
                "The last instalment asks for missing principal, the next instalment for missing interest."
            }
            Some(ShortfallTarget::NextInstalment) | None => "The next instalment asks for what is missing.",
        };
        sentences.push(format!("An instalment counts as paid if at most {limit} is missing. {asked}"));
    }
    match due.write_off_balance_cents.map_or(0, |cents| cents.get().0) {
        0 => {}
        cents => {
            sentences.push(format!("A payoff of at most {} is written off, and the account closes.", cents.money()))
        }
    }
    sentences.join(" ")
}

/// How often an account may be re-aged; empty if there is no limit.
pub fn re_ages(due: &PaymentDuePolicies) -> String {
    let Some(limits) = &due.re_age_limits else { return String::new() };
    let times = |n: u32| if n == 1 { "once".to_owned() } else { format!("{n} times") };
    let within =
        |count: Option<u32>, months: &str| count.map(|n| format!("at most {} within {months} months", times(n)));
    let age = limits.min_age_months.map(|months| match months.get() {
        1 => "not in its first month".to_owned(),
        n => format!("not in its first {n} months"),
    });
    let per_12 = within(limits.per_12_months.map(|n| n.get()), "12");
    let per_60 = within(limits.per_60_months.map(|n| n.get()), "60");
    let told: Vec<String> = [per_12, per_60, age].into_iter().flatten().collect();
    if told.is_empty() {
        return String::new();
    }
    format!("An account may be re-aged or restructured {}.", told.join(", "))
}

/// How precomputed interest is spread and given back.
pub fn precomputed(amortization: &AmortizationPolicies) -> String {
    let split = match amortization.precomputed_split {
        Some(PrecomputedSplitRule::SumOfDigits) => "by the sum of digits (rule of 78)",
        Some(PrecomputedSplitRule::Equal) => "in equal parts",
        Some(PrecomputedSplitRule::Actuarial) | None => "as in the schedule of equal instalments",
    };
    let refund = match amortization.precomputed_refund {
        Some(PrecomputedRefundRule::None) => "A payoff asks for all interest.",
        Some(PrecomputedRefundRule::NotBegun) | None => {
            "A payoff leaves out the interest of periods that have not begun."
        }
    };
    format!(" The interest is spread over the instalments {split}. {refund}")
}

/// How and when interest is rounded, if it differs from other amounts.
pub fn interest_rounding(interest: &InterestPolicies) -> String {
    let how = match interest.interest_rounding {
        rule if rule == interest.rounding => "",
        Some(RoundingRule::HalfEven) => " For interest, half a cent is rounded to the even cent.",
        Some(RoundingRule::HalfUp) => " For interest, half a cent is rounded away from zero.",
        Some(RoundingRule::Down) => " Interest is rounded down.",
        None => "",
    };
    let when = match interest.interest_rounding_at {
        Some(InterestRoundingMoment::Carry) => {
            " At the end of a period, the fraction of a cent is carried to the next one."
        }
        Some(InterestRoundingMoment::Payment) => {
            " At the end of a period, the fraction of a cent is carried to the next one; a payment drops it."
        }
        Some(InterestRoundingMoment::Daily) => " Interest is rounded each day.",
        Some(InterestRoundingMoment::PeriodEnd) | None => "",
    };
    format!("{how}{when}")
}

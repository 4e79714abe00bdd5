//! The terms of a product, in words.
//!
//! The service fills in every default, so no policy is absent in a product that it shows.

use super::effects;
use crate::Console;
use crate::display::{AsMoney, Count, Money, plain_words};
use crate::guard::Visitor;
use crate::page::PageError;
use daybook_engine::money::Cents;
use daybook_engine::zone::Zone;
use daybook_service::form::fields::{
    AmortizationMethod, AmountOrZero, BackdatingPolicy, Cycle, CycleText, DayCountRule, InterestAfterMaturity,
    InterestCalcMethod, IntervalText, LateFeePyramiding, LateFeeType, MonthEndRule, PercentText, PositiveCount,
    PouringSpan, RoundingRule, SurplusRule, ZoneName,
};
use daybook_service::form::{
    AmortizationPolicies, BillingCyclePolicies, FeePolicies, InterestPolicies, OpeningPolicies, PaymentDuePolicies,
    PaymentPouringPolicies,
};
use daybook_service::problem::Problem;
use daybook_service::view::Product;

/// This number of consecutive late instalments, or more, means never.
const NEVER: u32 = 99_999;

/// Fetches a product.
pub async fn fetch(console: &Console, visitor: &Visitor, id: &str) -> Result<Product, PageError> {
    Ok(console.service.get_product(visitor.caller(), id).await?)
}

/// The terms of a product, in words.
pub trait TermsInWords {
    /// The time zone of its calendar.
    fn zone(&self) -> Result<Zone, Problem>;

    /// The name of the time zone.
    fn zone_name(&self) -> &str;

    /// The number of instalments.
    fn length(&self) -> u32;

    /// The interest rate.
    fn rate(&self) -> String;

    /// `36 instalments, one every month, at 12 % a year`.
    fn in_short(&self) -> String;

    /// Every term, as a name and sentences.
    fn in_words(&self) -> Vec<(&'static str, String)>;
}

impl TermsInWords for Product {
    fn zone(&self) -> Result<Zone, Problem> {
        let zone = given_zone(self).map(|zone| zone.get().clone());
        zone.ok_or_else(|| Problem::internal("the time zone of a product is unknown"))
    }

    fn zone_name(&self) -> &str {
        given_zone(self).map_or("", |zone| zone.get().name())
    }

    fn length(&self) -> u32 {
        self.post_promotional_policies.post_promo_len.map_or(0, PositiveCount::get)
    }

    fn rate(&self) -> String {
        percent(self.post_promotional_policies.post_promo_default_interest_rate_percent)
    }

    fn in_short(&self) -> String {
        let billing = self.product_lifecycle_policies.billing_cycle_policies.as_ref();
        let cycle = cycle(billing.and_then(|billing| billing.cycle_interval.as_ref()));
        let count = Count(self.length().into()).of("instalment", "instalments");
        format!("{count}, one every {}, at {} % a year", every(&cycle), self.rate())
    }

    fn in_words(&self) -> Vec<(&'static str, String)> {
        let life = self.product_lifecycle_policies.clone();
        let usual = life.default_attributes.unwrap_or_default();
        let effects = life.status_effects.unwrap_or_default().effects();
        let limit = usual.default_credit_limit_cents;
        vec![
            ("Loan", format!("{}.", self.in_short())),
            ("Dates", dates(&life.billing_cycle_policies.unwrap_or_default())),
            ("Instalments", amortization(&life.amortization_policies.unwrap_or_default())),
            ("Interest", interest(&life.interest_policies.unwrap_or_default())),
            ("Late fee", late_fee(&life.fee_policies.unwrap_or_default(), money(usual.default_late_fee_cents))),
            ("Delinquency", delinquency(&life.payment_due_policies.unwrap_or_default())),
            ("Statuses", effects::words(&effects)),
            ("Bounced payment", reversal(money(usual.default_payment_reversal_fee_cents))),
            ("Payment allocation", pouring(&life.payment_pouring_policies.unwrap_or_default())),
            ("Backdated entries", backdating(life.backdating_policy).to_owned()),
            ("Opening date", openings(&life.opening_policies.unwrap_or_default())),
            ("Credit limit", limit.map_or_else(String::new, |limit| limit.get().0.money().to_string())),
        ]
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .collect()
    }
}

fn given_zone(product: &Product) -> Option<&ZoneName> {
    product.product_lifecycle_policies.billing_cycle_policies.as_ref()?.product_time_zone.as_ref()
}

fn money(amount: Option<AmountOrZero>) -> Money {
    Money(amount.map_or(0, |amount| amount.get().0))
}

fn percent(percent: Option<PercentText>) -> String {
    percent.map_or_else(|| "0".to_owned(), |percent| percent.to_string())
}

fn count(count: Option<PositiveCount>) -> u32 {
    count.map_or(0, PositiveCount::get)
}

fn interval(interval: Option<&IntervalText>) -> String {
    interval.map_or_else(String::new, ToString::to_string)
}

fn cycle(cycle: Option<&CycleText>) -> String {
    match cycle.map(|cycle| *cycle.get()) {
        Some(Cycle::SemiMonth) => "half a month".to_owned(),
        Some(Cycle::Every(interval)) => interval.to_string(),
        None => String::new(),
    }
}

fn openings(openings: &OpeningPolicies) -> String {
    let (years, due_dates) = (count(openings.most_years_back), count(openings.most_due_dates_back));
    format!(
        "An account may begin at most {} and {} in the past. In migration mode there is no limit.",
        Count(years.into()).of("year", "years"),
        Count(due_dates.into()).of("due date", "due dates")
    )
}

/// An interval for use after `every`: `1 month` becomes `month`.
fn every(interval: &str) -> &str {
    interval.strip_prefix("1 ").unwrap_or(interval)
}

fn is_zero(interval: &str) -> bool {
    interval.starts_with("0 ")
}

fn dates(billing: &BillingCyclePolicies) -> String {
    let due = match interval(billing.cycle_due_interval.as_ref()).as_str() {
        none if is_zero(none) => "at the end of the cycle".to_owned(),
        before if before.starts_with('-') => {
            format!("{} before the end of the cycle", before.trim_start_matches('-'))
        }
        after => format!("{after} after the end of the cycle"),
    };
    let cycle = cycle(billing.cycle_interval.as_ref());
    let first = billing.first_cycle_interval.as_ref().filter(|first| first.to_string() != cycle);
    let first = first.map_or_else(String::new, |first| format!(" The first cycle is {first} long."));
    let close = billing.close_of_business_time.as_ref().map_or_else(String::new, ToString::to_string);
    format!(
        "A cycle is {} long; its instalment is due {due}.{first} Close of business is {close} in {}.",
        cycle,
        billing.product_time_zone.as_ref().map_or("", |zone| zone.get().name())
    )
}

fn delinquency(due: &PaymentDuePolicies) -> String {
    let times =
        |n: u32| if n == 1 { "one late instalment".to_owned() } else { format!("{n} late instalments in a row") };
    let charge_off = match count(due.charge_off_on_n_consecutive_late_fees) {
        NEVER.. => "It is never charged off automatically.".to_owned(),
        n => format!("After {} it is charged off.", times(n)),
    };
    let delinquent = times(count(due.delinquent_on_n_consecutive_late_fees));
    format!("After {delinquent} the account is delinquent. {charge_off}")
}

fn late_fee(fees: &FeePolicies, flat: Money) -> String {
    let share = percent(fees.late_fee_percent);
    let fee = match fees.late_fee_type {
        Some(LateFeeType::Flat) if flat.is_zero() => {
            return "No late fee is charged, but an unpaid instalment still counts as late.".to_owned();
        }
        Some(LateFeeType::Flat) => format!("{flat} for each late instalment"),
        Some(LateFeeType::PercentOfUnpaid) => format!("{share} % of the unpaid instalment"),
        Some(LateFeeType::PercentOfUnpaidPrincipal) => format!("{share} % of the instalment's unpaid principal"),
        Some(LateFeeType::PercentOfPayment) | None => format!("{share} % of the whole instalment"),
    };
    let amount = |words: &str, cents: Option<AmountOrZero>| {
        cents.map_or_else(String::new, |cents| format!(", {words} {}", cents.get().0.money()))
    };
    let least = amount("at least", fees.late_fee_min_cents);
    let most = amount("at most", fees.late_fee_max_cents);
    let cap = fees.late_fee_cap_percent;
    let cap = cap.map_or_else(String::new, |cap| format!(", capped at {cap} % of the unpaid amount"));
    let grace = match interval(fees.late_fee_grace.as_ref()).as_str() {
        none if is_zero(none) => "It is charged at close of business on the due date.".to_owned(),
        grace if fees.late_fee_grace_counts_due_date == Some(true) => {
            format!("It is charged after a grace period of {grace}, of which the due date is the first day.")
        }
        grace => {
            format!("It is charged after a grace period of {grace}, which starts on the day after the due date.")
        }
    };
    let counts = match fees.late_fee_pyramiding {
        Some(LateFeePyramiding::FeesOnly) => {
            "even if a part of that money paid fees. Money that paid older, late instalments is not counted."
        }
        Some(LateFeePyramiding::Receipts) | None => {
            "even if a part of that money paid fees or older, late instalments."
        }
    };
    format!(
        "{fee}{least}{most}{cap}. {grace} No fee is charged if the amount of the instalment was received for it, \
         {counts}"
    )
}

fn amortization(amortization: &AmortizationPolicies) -> String {
    let method = match amortization.method {
        Some(AmortizationMethod::EqualPrincipal) => {
            "The same principal in each instalment, and the interest in addition"
        }
        Some(AmortizationMethod::Flat) => {
            "The same principal in each instalment, and the same interest, on the original principal"
        }
        Some(AmortizationMethod::Precomputed) => "Equal instalments, with interest that is fixed at the opening",
        Some(AmortizationMethod::Level) | None => "Equal instalments",
    };
    let only = match amortization.interest_only_cycles.map_or(0, |cycles| cycles.get()) {
        0 => String::new(),
        1 => "; the first instalment pays only interest".to_owned(),
        n => format!("; the first {n} instalments pay only interest"),
    };
    let rounding = match amortization.installment_rounding_cents.map(|cents| cents.get()) {
        None | Some(Cents(1)) => String::new(),
        Some(Cents(cents)) => format!(" Instalments are rounded to multiples of {}.", cents.money()),
    };
    let smooth = if amortization.smooth_last_installment == Some(true) {
        " All instalments are adjusted once, to bring the last instalment closer to the others."
    } else {
        ""
    };
    let month_end = match amortization.month_end {
        Some(MonthEndRule::Roll) => "on the 1st of the next month",
        Some(MonthEndRule::Clamp) | None => "on the month's last day",
    };
    format!(
        "{method}{only}.{rounding}{smooth} If a month does not have the due day, the instalment is due {month_end}."
    )
}

fn interest(interest: &InterestPolicies) -> String {
    let method = match interest.interest_calc_method {
        Some(InterestCalcMethod::Daily) => "Calculated each day, on the principal that is unpaid that day",
        Some(InterestCalcMethod::Periodic) | None => {
            "Calculated once a period, on the principal that is unpaid at the start of the period"
        }
    };
    let days = match interest.day_count {
        Some(DayCountRule::Actual365) => "a day is 1/365 of a year",
        Some(DayCountRule::Actual360) => "a day is 1/360 of a year",
        Some(DayCountRule::ActualActual) => "a day is 1/365 of a year, 1/366 in a leap year",
        Some(DayCountRule::Thirty360) | None => "a month is a twelfth of a year",
    };
    let half = if interest.rounding == Some(RoundingRule::HalfUp) { "away from zero" } else { "to the even cent" };
    let after = match interest.interest_after_maturity {
        Some(InterestAfterMaturity::None) => "No interest accrues after the last due date.",
        Some(InterestAfterMaturity::Accrue) | None => "Interest continues after the last due date.",
    };
    format!("{method}; {days}. Half a cent is rounded {half}. {after}")
}

fn pouring(pouring: &PaymentPouringPolicies) -> String {
    let order = pouring.order.iter().flatten().map(|bucket| plain_words(bucket.name()).to_lowercase());
    let order: Vec<String> = order.collect();
    let span = match pouring.span {
        Some(PouringSpan::OldestInstalmentFirst) => "Oldest instalment first. Within an instalment:",
        Some(PouringSpan::BucketFirst) => {
            "The first kind of debt of all instalments, beginning with the oldest; then the next kind. Order:"
        }
        Some(PouringSpan::InstalmentsFirst) | None => {
            "Interest and principal of the oldest instalment, then of the next; fees last. Order:"
        }
    };
    let surplus = match pouring.surplus {
        Some(SurplusRule::NextInstalment) => "into the next instalments, in advance",
        Some(SurplusRule::ReducePrincipal) => "into principal, and later instalments are recalculated",
        Some(SurplusRule::LastInstalment) | None => "into principal, from the last instalment backwards",
    };
    format!("{span} {}. Overpayments go {surplus}.", order.join(", "))
}

fn reversal(fee: Money) -> String {
    if fee.is_zero() {
        "No fee is charged when a payment is reversed.".to_owned()
    } else {
        format!("A fee of {fee} is charged when a payment is reversed.")
    }
}

fn backdating(policy: Option<BackdatingPolicy>) -> &'static str {
    match policy {
        Some(BackdatingPolicy::Replay) => {
            "They take effect on their own date: the account is recalculated from that date."
        }
        Some(BackdatingPolicy::AsPosted) | None => {
            "They take effect when they are recorded: interest and fees that were charged before stay as they are."
        }
    }
}

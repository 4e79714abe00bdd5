//! The rules that a product's configuration for instalments must keep.

use super::terms::{
    InstallmentPolicy, InterestMethod, InterestRoundingAt, LateFee, LateFeePolicy, LateFeeTier, MOST_INSTALMENTS,
    Method, NEVER, PrecomputedSplit,
};
use crate::calendar::{Day, Interval};
use crate::money::{Cents, Percent};
use crate::validation::{Invalid, check_amount};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The most tiers of late fees.
pub const MOST_TIERS: usize = 6;
/// The latest tier, in days after the due date.
pub const LATEST_TIER_DAYS: u32 = 10_000;
/// The most holidays of a product.
pub const MOST_HOLIDAYS: usize = 2_000;
/// The largest balance that may be written off.
pub const LARGEST_WRITE_OFF: Cents = Cents(10_000);

impl InstallmentPolicy {
    /// Adds every rule that this policy breaks to `invalid`.
    pub(crate) fn check(&self, invalid: &mut Vec<Invalid>) {
        self.check_amounts(invalid);
        self.check_cycle(invalid);
        self.check_interest(invalid);
        self.check_thresholds(invalid);
        self.late_fee.check(invalid);
    }

    fn check_amounts(&self, invalid: &mut Vec<Invalid>) {
        let mut broken = |field, rule: String| invalid.push(Invalid::new(field, rule));
        if !(1..=MOST_INSTALMENTS).contains(&self.instalments) {
            broken("post_promotional_policies.post_promo_len", format!("must be from 1 to {MOST_INSTALMENTS}"));
        }
        if self.interest_only >= self.instalments {
            let rule = "must be less than the number of instalments";
            broken("product_lifecycle_policies.amortization_policies.interest_only_cycles", rule.into());
        }
        if self.rate > Percent::LARGEST {
            let rule = format!("must be from 0 to {}", Percent::LARGEST);
            broken("post_promotional_policies.post_promo_default_interest_rate_percent", rule);
        }
        for (at, bucket) in self.order.iter().enumerate() {
            if self.order[..at].contains(bucket) {
                let rule = "must not name a kind of debt twice";
                broken("product_lifecycle_policies.payment_pouring_policies.order", rule.into());
            }
        }
        if self.method == Method::Precomputed
            && self.precomputed_split == PrecomputedSplit::SumOfDigits
            && self.interest_only > 0
        {
            let rule = "must be 0 with precomputed_split SUM_OF_DIGITS, whose instalments are equal";
            broken("product_lifecycle_policies.amortization_policies.interest_only_cycles", rule.into());
        }
        check_amount(
            invalid,
            "product_lifecycle_policies.amortization_policies.installment_rounding_cents",
            self.instalment_rounding,
            Cents(1),
        );
    }

    fn check_cycle(&self, invalid: &mut Vec<Invalid>) {
        let mut broken = |field, rule: String| invalid.push(Invalid::new(field, rule));
        if self.semi_monthly.is_none() {
            if self.cycle.months < 0 || self.cycle.days < 0 || self.cycle.is_zero() {
                let rule = "must be a positive interval without negative parts";
                broken("product_lifecycle_policies.billing_cycle_policies.cycle_interval", rule.into());
            }
            if self.cycle.months == 0 && self.due_after_cycle.months != 0 {
                // Months of different lengths would put the due dates of short cycles on the same day.
                let rule = "must be in days, because cycle_interval is in days";
                broken("product_lifecycle_policies.billing_cycle_policies.cycle_due_interval", rule.into());
            }
        }
        if let Some([one, other]) = self.semi_monthly
            && (one == other || ![one, other].iter().all(|day| (1..=31).contains(day)))
        {
            let rule = "must be two different days of the month, from 1 to 31";
            broken("product_lifecycle_policies.billing_cycle_policies.semi_monthly_days", rule.into());
        }
        let business = &self.business_days;
        let field = "product_lifecycle_policies.billing_cycle_policies.business_days";
        if business.holidays.len() > MOST_HOLIDAYS {
            broken(field, format!("must not have more than {MOST_HOLIDAYS} holidays"));
        }
        if !business.holidays.is_sorted_by(|a: &Day, b: &Day| a < b) {
            broken(field, "must list each holiday once, in order".into());
        }
        let mut weekend = business.weekend.clone();
        weekend.sort();
        weekend.dedup();
        if weekend.len() >= 7 || weekend.len() < business.weekend.len() {
            broken(field, "must name each day of the weekend once, and leave at least one business day a week".into());
        }
    }

    fn check_interest(&self, invalid: &mut Vec<Invalid>) {
        if self.interest_rounding_at != InterestRoundingAt::PeriodEnd && self.interest != InterestMethod::Daily {
            let field = "product_lifecycle_policies.interest_policies.interest_rounding_at";
            invalid.push(Invalid::new(field, "is only for interest_calc_method DAILY"));
        }
    }

    fn check_thresholds(&self, invalid: &mut Vec<Invalid>) {
        for (field, threshold) in [
            ("delinquent_on_n_consecutive_late_fees", self.delinquent_after),
            ("charge_off_on_n_consecutive_late_fees", self.charge_off_after),
        ] {
            if !(1..=NEVER).contains(&threshold) {
                let rule = format!("{field} must be from 1 to {NEVER} ({NEVER} = never)");
                invalid.push(Invalid::new("product_lifecycle_policies.payment_due_policies", rule));
            }
        }
        if let Some(cents) = self.shortfall.cents {
            let field = "product_lifecycle_policies.payment_due_policies.shortfall_tolerance_cents";
            check_amount(invalid, field, cents, Cents::ZERO);
        }
        if self.shortfall.percent.is_some_and(|percent| percent.millionths() > Percent::WHOLE) {
            let field = "product_lifecycle_policies.payment_due_policies.shortfall_tolerance_percent";
            invalid.push(Invalid::new(field, "must be from 0 to 100"));
        }
        if !(Cents::ZERO..=LARGEST_WRITE_OFF).contains(&self.write_off) {
            let field = "product_lifecycle_policies.payment_due_policies.write_off_balance_cents";
            invalid.push(Invalid::new(field, format!("must be from 0 to {} cents", LARGEST_WRITE_OFF.0)));
        }
    }
}

impl LateFeePolicy {
    fn check(&self, invalid: &mut Vec<Invalid>) {
        let mut broken = |field, rule: String| invalid.push(Invalid::new(field, rule));
        if self.grace.days < 0 || self.grace.months < 0 {
            broken("product_lifecycle_policies.fee_policies.late_fee_grace", "must not be negative".into());
        }
        for percent in [Some(self.percent), self.cap].into_iter().flatten() {
            if percent > Percent::LARGEST {
                let rule = format!("must be from 0 to {}", Percent::LARGEST);
                broken("product_lifecycle_policies.fee_policies.late_fee_percent", rule);
            }
        }
        let fees = "product_lifecycle_policies.fee_policies.late_fee_min_cents";
        let least = self.least.unwrap_or_default();
        let most = self.most.unwrap_or(Cents::LARGEST_INPUT);
        if least > most {
            broken(fees, "must not be greater than late_fee_max_cents".into());
        }
        check_amount(invalid, fees, least, Cents::ZERO);
        check_amount(invalid, "product_lifecycle_policies.fee_policies.late_fee_max_cents", most, Cents::ZERO);
        check_amount(invalid, "summary.late_fee_cents", self.flat, Cents::ZERO);
        if let Some(cap) = self.loan_cap {
            let field = "product_lifecycle_policies.fee_policies.late_fee_loan_cap_cents";
            check_amount(invalid, field, cap, Cents::ZERO);
        }
        if !self.tiers.is_empty() {
            self.check_tiers(invalid);
        }
    }

    /// Tiers take the place of the grace period and of the single fee.
    fn check_tiers(&self, invalid: &mut Vec<Invalid>) {
        let single = [
            ("product_lifecycle_policies.fee_policies.late_fee_grace", self.grace != Interval::ZERO),
            ("product_lifecycle_policies.fee_policies.late_fee_type", self.kind != LateFee::Flat),
            ("product_lifecycle_policies.fee_policies.late_fee_percent", self.percent != Percent::ZERO),
            ("product_lifecycle_policies.fee_policies.late_fee_min_cents", self.least.is_some()),
            ("product_lifecycle_policies.fee_policies.late_fee_max_cents", self.most.is_some()),
        ];
        for (field, _) in single.into_iter().filter(|(_, is_given)| *is_given) {
            invalid.push(Invalid::new(field, "must be absent if late_fee_tiers are given"));
        }
        let tiers = "product_lifecycle_policies.fee_policies.late_fee_tiers";
        if self.tiers.len() > MOST_TIERS {
            invalid.push(Invalid::new(tiers, format!("must have from 1 to {MOST_TIERS} tiers")));
        }
        if !self.tiers.is_sorted_by(|a, b| a.after < b.after) {
            invalid.push(Invalid::new(tiers, "must have rising days in after"));
        }
        for LateFeeTier { after, flat, percent, least, most, .. } in &self.tiers {
            let (least, most) = (least.unwrap_or_default(), most.unwrap_or(Cents::LARGEST_INPUT));
            if *after > LATEST_TIER_DAYS {
                invalid.push(Invalid::new(tiers, format!("must have at most {LATEST_TIER_DAYS} days in after")));
            }
            if *percent > Percent::LARGEST {
                invalid.push(Invalid::new(tiers, format!("must have a percent from 0 to {}", Percent::LARGEST)));
            }
            if least > most {
                invalid.push(Invalid::new(tiers, "must not have a min_cents greater than max_cents"));
            }
            for amount in [*flat, least, most] {
                check_amount(invalid, tiers, amount, Cents::ZERO);
            }
        }
    }
}

//! Parts of a product's policies: business days, tiers of late fees, limits on re-ages.

use super::fields::*;
use super::form;
use daybook_engine::installment::{BusinessDays, LateFeeTier, ReAgeLimits};
use daybook_engine::money::{Cents, Percent};

/// The largest number of tiers of late fees.
pub(crate) const MOST_TIERS: usize = 6;
/// The largest number of holidays.
pub(crate) const MOST_HOLIDAYS: usize = 2_000;
/// The largest number of days in a weekend.
pub(crate) const MOST_WEEKEND_DAYS: usize = 6;

form! {
    /// Business days, and where due dates move that are not business days.
    BusinessDayPolicy {
        ;
        /// Where a due date moves. Default: `NONE`.
        adjust: BusinessDayRule,
        /// The days of the week that are not business days. Default: Saturday and Sunday.
        #[serde(deserialize_with = "list::<_, _, MOST_WEEKEND_DAYS>")]
        #[schema(max_items = 6)]
        weekend: Vec<WeekdayName>,
        /// The dates that are not business days.
        #[serde(deserialize_with = "list::<_, _, MOST_HOLIDAYS>")]
        #[schema(max_items = 2000)]
        holidays: Vec<DateText>,
    }
}

form! {
    /// A late fee that is charged a number of days after the due date.
    LateFeeTierPolicy {
        /// The number of days after the due date.
        after: DayCountNumber,
        /// How the fee is computed.
        #[serde(rename = "type")]
        kind: LateFeeType,
        ;
        /// The percentage, for the percent types.
        percent: PercentText,
        /// The amount, for the type `FLAT`.
        amount_cents: AmountOrZero,
        /// The minimum fee.
        min_cents: AmountOrZero,
        /// The maximum fee.
        max_cents: AmountOrZero,
    }
}

form! {
    /// How often an account may be re-aged or restructured. An absent limit does not apply.
    ReAgeLimitPolicy {
        ;
        /// How often within twelve months.
        per_12_months: Count,
        /// How often within sixty months.
        per_60_months: Count,
        /// The age of the account in months before which it may not be re-aged.
        min_age_months: Count,
    }
}

impl BusinessDayPolicy {
    /// The engine's form of it. Holidays are put in order; one that is given twice counts once.
    pub(crate) fn business_days(&self) -> BusinessDays {
        let usual = BusinessDays::default();
        let weekend = self.weekend.as_ref().map(|days| days.iter().map(|day| (*day).into()).collect());
        let mut holidays: Vec<_> = self.holidays.iter().flatten().map(|day| *day.get()).collect();
        holidays.sort_unstable();
        holidays.dedup();
        BusinessDays {
            adjust: self.adjust.map_or(usual.adjust, Into::into),
            weekend: weekend.unwrap_or(usual.weekend),
            holidays,
        }
    }

    /// The policy with every value.
    pub(crate) fn of(days: &BusinessDays) -> BusinessDayPolicy {
        BusinessDayPolicy {
            adjust: Some(days.adjust.into()),
            weekend: Some(days.weekend.iter().map(|day| (*day).into()).collect()),
            holidays: Some(days.holidays.iter().map(|day| DateText::known(*day)).collect()),
        }
    }
}

impl LateFeeTierPolicy {
    /// The engine's form of it.
    pub(crate) fn tier(&self) -> LateFeeTier {
        LateFeeTier {
            after: self.after.get(),
            kind: self.kind.into(),
            flat: self.amount_cents.map_or(Cents::ZERO, AmountOrZero::get),
            percent: self.percent.map_or(Percent::ZERO, PercentText::get),
            least: self.min_cents.map(AmountOrZero::get),
            most: self.max_cents.map(AmountOrZero::get),
        }
    }

    /// The tier with every value that it has.
    pub(crate) fn of(tier: &LateFeeTier) -> LateFeeTierPolicy {
        LateFeeTierPolicy {
            after: DayCountNumber::known(tier.after),
            kind: tier.kind.into(),
            percent: (tier.percent > Percent::ZERO).then(|| PercentText::known(tier.percent)),
            amount_cents: (!tier.flat.is_zero()).then(|| AmountOrZero::known(tier.flat)),
            min_cents: tier.least.map(AmountOrZero::known),
            max_cents: tier.most.map(AmountOrZero::known),
        }
    }
}

impl ReAgeLimitPolicy {
    /// The engine's form of it.
    pub(crate) fn limits(&self) -> ReAgeLimits {
        ReAgeLimits {
            per_12_months: self.per_12_months.map(Count::get),
            per_60_months: self.per_60_months.map(Count::get),
            min_age_months: self.min_age_months.map(Count::get),
        }
    }

    /// The limits that apply.
    pub(crate) fn of(limits: &ReAgeLimits) -> ReAgeLimitPolicy {
        ReAgeLimitPolicy {
            per_12_months: limits.per_12_months.map(Count::known),
            per_60_months: limits.per_60_months.map(Count::known),
            min_age_months: limits.min_age_months.map(Count::known),
        }
    }
}

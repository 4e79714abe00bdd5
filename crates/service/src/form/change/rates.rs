//! Rates, promotions and pauses of interest.

use crate::form::fields::*;
use crate::form::form;

form! {
    /// The law behind a limit on the rate. At most one of them is true.
    RateTags {
        ;
        /// The Servicemembers Civil Relief Act: 6 percent unless another rate is given.
        scra: bool,
        /// The Military Lending Act: 36 percent unless another rate is given.
        mla: bool,
    }
}

form! {
    /// A yearly rate from a date on, until an end date if there is one. With a tag, it is a limit on the rate.
    NewInterestRate {
        ;
        /// The yearly rate in percent; required without a tag.
        interest_rate: YearlyRate,
        /// The first date of the rate: the date of this moment, or this date. Default: `effective_at`.
        effective_at_inclusive_start: DateOrMoment,
        /// The first date after the rate. Default: it has no end.
        effective_at_exclusive_end: DateOrMoment,
        /// The law behind a limit on the rate.
        tags: RateTags,
        /// What happens to the amounts of the instalments ahead. `REDUCE` needs a tag. Default: `RECALCULATE`; with the
        /// tag `scra`: `REDUCE`.
        level_payment: LevelPaymentRule,
        /// Whether the interest that a backdated rate would have saved is given back. With a tag, it always is.
        /// Default: false.
        retroactive: bool,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect, if its start is absent. It must not be after its start. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Cancels a rate and makes another one in its place.
    ReplacedInterestRate {
        /// The rate that is cancelled.
        interest_rate_id: Reference,
        ;
        /// The yearly rate in percent; required without a tag.
        interest_rate: YearlyRate,
        /// The first date of the rate: the date of this moment, or this date. Default: `effective_at`.
        effective_at_inclusive_start: DateOrMoment,
        /// The first date after the rate. Default: it has no end.
        effective_at_exclusive_end: DateOrMoment,
        /// The law behind a limit on the rate.
        tags: RateTags,
        /// What happens to the amounts of the instalments ahead. `REDUCE` needs a tag. Default: `RECALCULATE`; with the
        /// tag `scra`: `REDUCE`.
        level_payment: LevelPaymentRule,
        /// Whether the interest that a backdated rate would have saved is given back. With a tag, it always is.
        /// Default: false.
        retroactive: bool,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect, if its start is absent. It must not be after its start. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// A promotion for a window of dates: another rate, another flat late fee, or both.
    NewTempPromo {
        /// The first date of the promotion: the date of this moment, or this date.
        temp_promo_inclusive_start: DateOrMoment,
        /// The first date after the promotion.
        temp_promo_exclusive_end: DateOrMoment,
        ;
        /// The yearly rate in percent.
        interest_rate_percent: YearlyRate,
        /// The flat late fee of instalments whose grace period ends in the window.
        late_fee_cents: AmountOrZero,
        /// What happens to the amounts of the instalments ahead: `KEEP` or `RECALCULATE`. Default: `KEEP`.
        level_payment: LevelPaymentRule,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect, if its start is absent. It must not be after its start. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// A window of dates that earn no interest.
    NewInterestPause {
        /// The first date without interest.
        start: DateText,
        /// The first date after the pause.
        end: DateText,
        ;
        /// What happens to the amounts of the instalments ahead: `KEEP` or `RECALCULATE`. Default: `KEEP`.
        level_payment: LevelPaymentRule,
        /// Whether the interest that a backdated pause would have saved is given back. Default: false.
        retroactive: bool,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect, if its start is absent. It must not be after its start. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

impl From<&ReplacedInterestRate> for NewInterestRate {
    fn from(form: &ReplacedInterestRate) -> NewInterestRate {
        NewInterestRate {
            interest_rate: form.interest_rate,
            effective_at_inclusive_start: form.effective_at_inclusive_start.clone(),
            effective_at_exclusive_end: form.effective_at_exclusive_end.clone(),
            tags: form.tags.clone(),
            level_payment: form.level_payment,
            retroactive: form.retroactive,
            change_id: form.change_id.clone(),
            effective_at: form.effective_at.clone(),
            external_fields: form.external_fields.clone(),
        }
    }
}

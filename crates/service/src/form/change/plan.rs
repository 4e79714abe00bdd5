//! Changes of the instalments.

use super::MOST_DEFERRALS;
use crate::form::fields::*;
use crate::form::form;

form! {
    /// Moves the due date of an instalment and of those after it.
    DueDateChange {
        /// The new due date.
        next_due_date: DateText,
        ;
        /// The present due date of the instalment. Default: that of the first one ahead.
        from_due_date: DateText,
        /// For products with two instalments a month: the days of the month from then on. Default: they stay.
        semi_monthly_days: [DayOfMonth; 2],
        /// What happens to the amounts of the instalments ahead: `KEEP` or `RECALCULATE`. Default: `KEEP`.
        level_payment: LevelPaymentRule,
        /// A fee for the change.
        fee_cents: AmountOrZero,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Skips instalments.
    NewSkip {
        ;
        /// The due date of the first instalment that is skipped. Default: that of the first one ahead.
        from_due_date: DateText,
        /// How many instalments are skipped. Default: 1.
        count: SkippedCount,
        /// Whether the loan ends later by as many cycles. If not, the rest of the instalments take the amounts. Default:
        /// true.
        extend_term: bool,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Adds instalments at the end.
    NewExtension {
        /// How many instalments are added.
        count: AddedCount,
        ;
        /// The due date of the first instalment that is recalculated. Default: that of the first one ahead.
        from_due_date: DateText,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// An instalment that is deferred.
    DeferralRow {
        /// Its due date.
        due_date: DateText,
        ;
        /// The due date of the instalment that asks for it instead, or `MATURITY`, the last one. Default: `MATURITY`.
        deferred_to: DeferredTo,
        /// Which part of it is deferred. Default: `ALL`.
        balance: DeferredPart,
    }
}

form! {
    /// Defers instalments to later ones.
    NewDeferral {
        /// The instalments that are deferred.
        #[serde(deserialize_with = "full_list::<_, _, 1, MOST_DEFERRALS>")]
        #[schema(min_items = 1, max_items = 60)]
        deferrals: Vec<DeferralRow>,
        ;
        /// Whether the deferred principal earns interest. Default: `ACCRUE`.
        interest_on_deferred: InterestOnDeferred,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Spreads past-due instalments over those ahead.
    NewReAmortization {
        ;
        /// Which instalments ask for the interest of the past-due ones. Default: `FIRST`.
        interest: SpreadOfInterest,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Replaces all unpaid instalments with new ones. The account is then no longer past due.
    NewReAge {
        /// The due date of the first new instalment.
        first_due_date: DateText,
        /// The number of new instalments.
        installments: InstalmentCount,
        ;
        /// The interval between them. Default: the present one.
        frequency: IntervalText,
        /// What happens to the interest that is owed. Default: `FIRST`.
        interest: ArrearsRule,
        /// What happens to the unpaid fees. Default: `FIRST`.
        fees: ArrearsRule,
        /// The amount of each new instalment. Default: it is computed.
        payment_amount_cents: Amount,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Replaces all unpaid instalments with new ones, at another rate and with less principal if that is requested.
    NewRestructure {
        /// The number of new instalments.
        #[serde(alias = "installments")]
        am_len: InstalmentCount,
        ;
        /// The due date of the first new instalment. Default: that of the first one ahead; if there is none, one
        /// `frequency` after the change.
        first_due_date: DateText,
        /// The interval between them. Default: the present one.
        frequency: IntervalText,
        /// What happens to the interest that is owed. Default: `FIRST`.
        interest: ArrearsRule,
        /// What happens to the unpaid fees. Default: `FIRST`.
        fees: ArrearsRule,
        /// The amount of each new instalment. Default: it is computed.
        payment_amount_cents: Amount,
        /// The yearly rate in percent from then on. Default: the present one.
        interest_rate_percent: YearlyRate,
        /// How many of the new instalments are interest only. Default: 0.
        interest_only_cycles: Count,
        /// Principal that is forgiven. Default: 0.
        principal_forgiven_cents: AmountOrZero,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Turns interest or fees into principal.
    NewCapitalization {
        ;
        /// Which interest. Default: `ALL`.
        interest: CapitalizedInterestRule,
        /// Which fees. Default: `NONE`.
        fees: CapitalizedFees,
        /// What happens to the amounts of the instalments ahead: `RECALCULATE` or `KEEP`. Default: `RECALCULATE`.
        level_payment: LevelPaymentRule,
        /// The id of the change, unique within the account; generated if absent.
        change_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

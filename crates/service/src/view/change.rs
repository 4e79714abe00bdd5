//! Changes to a running loan.

use super::line_item::ProcessingState;
use super::time::Local;
use crate::form::fields::*;
use daybook_engine::calendar::Day;
use daybook_engine::change::{CapTag, Change, Deferral, DueDateChange, RateChange, RateKind, ReAge, Restructure};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use serde::Serialize;
use utoipa::ToSchema;

/// A change to a running loan.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LoanChange {
    /// Its id, unique within the account.
    pub change_id: String,
    /// The account.
    pub account_id: String,
    /// When it takes effect, as its caller gave it.
    pub effective_at: Local,
    /// Its place in the timeline; null while it is held.
    pub applies_at: Option<Local>,
    /// When it was recorded.
    pub created_at: Local,
    /// Its processing state.
    pub processing_state: ProcessingState,
    /// Why it failed; otherwise null.
    pub reason: Option<String>,
    /// From when on it is cancelled; null if it is not.
    pub cancelled_at: Option<Local>,
    /// The caller's own fields, stored with it.
    pub external_fields: Vec<ExternalField>,
    /// Its kind, and what it changes in the fields of the request, with every default filled in.
    #[serde(flatten)]
    pub details: ChangeDetails,
}

/// What a change changes.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "kind")]
pub enum ChangeDetails {
    /// A rate, or a limit on it.
    #[serde(rename = "interest_rate")]
    InterestRate(InterestRateDetails),
    /// A promotion.
    #[serde(rename = "temp_promo")]
    TempPromo(TempPromoDetails),
    /// A pause of interest.
    #[serde(rename = "interest_pause")]
    InterestPause(InterestPauseDetails),
    /// Other due dates.
    #[serde(rename = "due_date")]
    DueDate(DueDateDetails),
    /// Skipped instalments.
    #[serde(rename = "skip")]
    Skip(SkipDetails),
    /// More instalments.
    #[serde(rename = "extension")]
    Extension(ExtensionDetails),
    /// Deferred instalments.
    #[serde(rename = "payment_deferral")]
    Deferral(DeferralDetails),
    /// New instalments under other terms.
    #[serde(rename = "restructure")]
    Restructure(RestructureDetails),
    /// New instalments.
    #[serde(rename = "re_age")]
    ReAge(ReAgeDetails),
    /// Interest or fees that become principal.
    #[serde(rename = "capitalization")]
    Capitalization(CapitalizationDetails),
    /// Past-due instalments spread over those ahead.
    #[serde(rename = "re_amortization")]
    ReAmortization(ReAmortizationDetails),
}

/// A rate, or a limit on it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct InterestRateDetails {
    /// The same as `change_id`.
    pub interest_rate_id: String,
    /// The yearly rate in percent.
    pub interest_rate: PercentText,
    /// From when on the rate counts.
    pub effective_at_inclusive_start: Local,
    /// When the rate ends; null if it has no end.
    pub effective_at_exclusive_end: Option<Local>,
    /// The law behind a limit on the rate.
    pub tags: RateTagsShown,
    /// What happens to the amounts of the instalments ahead.
    pub level_payment: LevelPaymentRule,
    /// Whether the interest that a backdated rate would have saved is given back.
    pub retroactive: bool,
}

/// The law behind a limit on the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RateTagsShown {
    /// The Servicemembers Civil Relief Act.
    pub scra: bool,
    /// The Military Lending Act.
    pub mla: bool,
}

/// A promotion.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TempPromoDetails {
    /// From when on the promotion counts.
    pub temp_promo_inclusive_start: Local,
    /// When the promotion ends.
    pub temp_promo_exclusive_end: Local,
    /// The yearly rate in percent; null if it does not change.
    pub interest_rate_percent: Option<PercentText>,
    /// The flat late fee; null if it does not change.
    pub late_fee_cents: Option<i64>,
    /// What happens to the amounts of the instalments ahead.
    pub level_payment: LevelPaymentRule,
}

/// A pause of interest.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct InterestPauseDetails {
    /// The first date without interest.
    #[schema(value_type = DateText)]
    pub start: DateText,
    /// The first date after the pause.
    #[schema(value_type = DateText)]
    pub end: DateText,
    /// What happens to the amounts of the instalments ahead.
    pub level_payment: LevelPaymentRule,
    /// Whether the interest that a backdated pause would have saved is given back.
    pub retroactive: bool,
}

/// Other due dates.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct DueDateDetails {
    /// The new due date.
    pub next_due_date: DateText,
    /// The earlier due date of the instalment; null if it is that of the first one ahead.
    pub from_due_date: Option<DateText>,
    /// For two instalments a month: the days of the month from then on; null if they stay.
    pub semi_monthly_days: Option<Vec<u8>>,
    /// What happens to the amounts of the instalments ahead.
    pub level_payment: LevelPaymentRule,
    /// A fee for the change.
    pub fee_cents: i64,
}

/// Skipped instalments.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SkipDetails {
    /// The due date of the first instalment that is skipped; null if it is that of the first one ahead.
    pub from_due_date: Option<DateText>,
    /// How many instalments are skipped.
    pub count: u32,
    /// Whether the loan ends later by as many cycles.
    pub extend_term: bool,
}

/// More instalments.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ExtensionDetails {
    /// How many instalments are added.
    pub count: u32,
    /// The due date of the first instalment that is recalculated; null if it is that of the first one ahead.
    pub from_due_date: Option<DateText>,
}

/// Deferred instalments.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct DeferralDetails {
    /// The instalments that are deferred.
    pub deferrals: Vec<DeferralRowShown>,
    /// Whether the deferred principal earns interest.
    pub interest_on_deferred: InterestOnDeferred,
}

/// A deferred instalment.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct DeferralRowShown {
    /// Its due date.
    pub due_date: DateText,
    /// The due date of the instalment that asks for it instead, or `MATURITY`, the last one.
    pub deferred_to: DeferredTo,
    /// Which part of it is deferred.
    pub balance: DeferredPart,
}

/// Past-due instalments spread over those ahead.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReAmortizationDetails {
    /// Which instalments ask for the interest of the past-due ones.
    pub interest: ArrearsRule,
}

/// New instalments.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReAgeDetails {
    /// The due date of the first new instalment.
    pub first_due_date: Option<DateText>,
    /// The number of new instalments.
    pub installments: u32,
    /// The interval between them; null if it stays.
    pub frequency: Option<IntervalText>,
    /// What happens to the interest that is owed.
    pub interest: ArrearsRule,
    /// What happens to the unpaid fees.
    pub fees: ArrearsRule,
    /// The amount of each new instalment; null if it is computed.
    pub payment_amount_cents: Option<i64>,
}

/// New instalments under other terms.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RestructureDetails {
    /// The number of new instalments.
    pub am_len: u32,
    /// The due date of the first new instalment; null if it is that of the first one ahead.
    pub first_due_date: Option<DateText>,
    /// The interval between them; null if it stays.
    pub frequency: Option<IntervalText>,
    /// What happens to the interest that is owed.
    pub interest: ArrearsRule,
    /// What happens to the unpaid fees.
    pub fees: ArrearsRule,
    /// The amount of each new instalment; null if it is computed.
    pub payment_amount_cents: Option<i64>,
    /// The yearly rate in percent from then on; null if it stays.
    pub interest_rate_percent: Option<PercentText>,
    /// How many of the new instalments are interest only.
    pub interest_only_cycles: u32,
    /// Principal that is forgiven.
    pub principal_forgiven_cents: i64,
}

/// Interest or fees that become principal.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct CapitalizationDetails {
    /// Which interest.
    pub interest: CapitalizedInterestRule,
    /// Which fees.
    pub fees: CapitalizedFees,
    /// What happens to the amounts of the instalments ahead.
    pub level_payment: LevelPaymentRule,
}

fn date(day: Option<Day>) -> Option<DateText> {
    day.map(DateText::known)
}

impl ChangeDetails {
    /// What a change changes. `effective_at` is when it takes effect.
    pub fn new(change_id: &str, change: &Change, effective_at: Time, zone: &Zone) -> ChangeDetails {
        match change {
            Change::Rate(rate) => ChangeDetails::of_rate(change_id, rate, effective_at, zone),
            Change::DueDate(change) => ChangeDetails::DueDate(DueDateDetails::of(change)),
            Change::Skip(skip) => ChangeDetails::Skip(SkipDetails {
                from_due_date: date(skip.from_due_date),
                count: skip.count,
                extend_term: skip.extend_term,
            }),
            Change::Extension(extension) => ChangeDetails::Extension(ExtensionDetails {
                count: extension.count,
                from_due_date: date(extension.from_due_date),
            }),
            Change::Deferral(deferral) => ChangeDetails::Deferral(DeferralDetails::of(deferral)),
            Change::Reamortization(change) => {
                ChangeDetails::ReAmortization(ReAmortizationDetails { interest: change.interest.into() })
            }
            Change::ReAge(re_age) => ChangeDetails::ReAge(ReAgeDetails::of(re_age)),
            Change::Restructure(restructure) => ChangeDetails::Restructure(RestructureDetails::of(restructure)),
            Change::Capitalization(change) => ChangeDetails::Capitalization(CapitalizationDetails {
                interest: change.interest.into(),
                fees: if change.fees { CapitalizedFees::All } else { CapitalizedFees::None },
                level_payment: change.level_payment.into(),
            }),
        }
    }

    fn of_rate(change_id: &str, change: &RateChange, effective_at: Time, zone: &Zone) -> ChangeDetails {
        let RateChange { kind, from, to, level_payment, retroactive } = change;
        let (level_payment, retroactive) = (LevelPaymentRule::from(*level_payment), *retroactive);
        let local = |time: Time| Local::new(time, zone);
        let start_of = |day: Day| local(DateOrTime::Date(day).at(zone));
        let rate = |rate, tag: Option<CapTag>| {
            ChangeDetails::InterestRate(InterestRateDetails {
                interest_rate_id: change_id.to_owned(),
                interest_rate: PercentText::known(rate),
                effective_at_inclusive_start: local(effective_at),
                effective_at_exclusive_end: to.map(start_of),
                tags: RateTagsShown { scra: tag == Some(CapTag::Scra), mla: tag == Some(CapTag::Mla) },
                level_payment,
                retroactive,
            })
        };
        match *kind {
            RateKind::Plain(plain) => rate(plain, None),
            RateKind::Cap { tag, rate: highest } => rate(highest, Some(tag)),
            RateKind::Pause => ChangeDetails::InterestPause(InterestPauseDetails {
                start: DateText::known(*from),
                end: DateText::known(to.unwrap_or(*from)),
                level_payment,
                retroactive,
            }),
            RateKind::Promo { rate, late_fee } => ChangeDetails::TempPromo(TempPromoDetails {
                temp_promo_inclusive_start: local(effective_at),
                temp_promo_exclusive_end: start_of(to.unwrap_or(*from)),
                interest_rate_percent: rate.map(PercentText::known),
                late_fee_cents: late_fee.map(|fee| fee.0),
                level_payment,
            }),
        }
    }
}

impl DueDateDetails {
    fn of(change: &DueDateChange) -> DueDateDetails {
        DueDateDetails {
            next_due_date: DateText::known(change.next_due_date),
            from_due_date: date(change.from_due_date),
            semi_monthly_days: change.semi_monthly_days.map(Vec::from),
            level_payment: change.level_payment.into(),
            fee_cents: change.fee.0,
        }
    }
}

impl DeferralDetails {
    fn of(deferral: &Deferral) -> DeferralDetails {
        let rows = deferral.rows.iter().map(|row| DeferralRowShown {
            due_date: DateText::known(row.due_date),
            deferred_to: DeferredTo::known(row.deferred_to),
            balance: row.balance.into(),
        });
        let interest_on_deferred = if deferral.accrues { InterestOnDeferred::Accrue } else { InterestOnDeferred::None };
        DeferralDetails { deferrals: rows.collect(), interest_on_deferred }
    }
}

impl ReAgeDetails {
    fn of(re_age: &ReAge) -> ReAgeDetails {
        ReAgeDetails {
            first_due_date: date(re_age.first_due_date),
            installments: re_age.instalments,
            frequency: re_age.frequency.map(IntervalText::known),
            interest: re_age.interest.into(),
            fees: re_age.fees.into(),
            payment_amount_cents: re_age.payment_amount.map(|amount| amount.0),
        }
    }
}

impl RestructureDetails {
    fn of(restructure: &Restructure) -> RestructureDetails {
        let shown = ReAgeDetails::of(&restructure.re_age);
        RestructureDetails {
            am_len: shown.installments,
            first_due_date: shown.first_due_date,
            frequency: shown.frequency,
            interest: shown.interest,
            fees: shown.fees,
            payment_amount_cents: shown.payment_amount_cents,
            interest_rate_percent: restructure.rate.map(PercentText::known),
            interest_only_cycles: restructure.interest_only,
            principal_forgiven_cents: restructure.principal_forgiven.0,
        }
    }
}

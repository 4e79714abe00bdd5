//! Changes to a running loan: its rate, its due dates, its instalments.
//!
//! A [`Change`] is an input like a payment: it has a name (its `change_id`), a place in the timeline, and may be held,
//! scheduled, backdated, withdrawn or cancelled. What it asks for stays as the caller gave it; what it does to the plan in
//! force is computed when it is folded.
//!
//! | change | effect |
//! |---|---|
//! | [`RateChange`] | another yearly rate, a limit on it, or a pause, from a date on or for a window of dates |
//! | [`DueDateChange`] | an instalment and those after it fall due on other dates |
//! | [`Skip`] | instalments are skipped; the loan ends later, or the rest is paid by the others |
//! | [`Extension`] | instalments are added at the end |
//! | [`Deferral`] | what an instalment asks for moves to a later one |
//! | [`Reamortization`] | arrears are spread over the instalments ahead |
//! | [`ReAge`], [`Restructure`] | new instalments replace the old ones; arrears end |
//! | [`Capitalization`] | interest or fees become principal |

use crate::calendar::{Day, Interval};
use crate::money::{Cents, Percent};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The most instalments that one change may skip or defer.
pub const MOST_ROWS_OF_A_CHANGE: u32 = 60;
/// The most instalments that an extension may add.
pub const MOST_EXTENSION_ROWS: u32 = 600;
/// The furthest that a due date may move, in days.
pub const LARGEST_DUE_DATE_MOVE_DAYS: i32 = 366;

/// A change to a running loan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Another rate.
    Rate(RateChange),
    /// Other due dates.
    DueDate(DueDateChange),
    /// Skipped instalments.
    Skip(Skip),
    /// More instalments.
    Extension(Extension),
    /// Deferred instalments.
    Deferral(Deferral),
    /// Arrears spread over the instalments ahead.
    Reamortization(Reamortization),
    /// New instalments.
    ReAge(ReAge),
    /// New instalments under other terms.
    Restructure(Restructure),
    /// Interest or fees become principal.
    Capitalization(Capitalization),
}

/// How a change affects the amounts of the instalments ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LevelPayment {
    /// They are recalculated.
    Recalculate,
    /// They stay; the last instalment takes the difference.
    Keep,
    /// Each asks less by the interest that a cap forgives. Only for caps with a [`CapTag`].
    Reduce,
}

/// Another yearly rate, or a limit on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateChange {
    /// What it is.
    pub kind: RateKind,
    /// Its first date.
    pub from: Day,
    /// The first date after it; `None` if it has no end.
    pub to: Option<Day>,
    /// How it affects the instalments ahead.
    pub level_payment: LevelPayment,
    /// Whether interest that a backdated change would have saved is given back.
    pub retroactive: bool,
}

/// The kinds of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RateKind {
    /// The rate of its dates, unless a plain rate with a later start covers them too.
    Plain(Percent),
    /// The rate of its dates is at most this.
    Cap {
        /// The law behind it.
        tag: CapTag,
        /// The highest rate.
        rate: Percent,
    },
    /// No interest is earned: a cap of 0.
    Pause,
    /// A promotion: a plain rate, another flat late fee for fee moments inside the window, or both.
    Promo {
        /// The rate, if it is another one.
        rate: Option<Percent>,
        /// The late fee, if it is another one.
        late_fee: Option<Cents>,
    },
}

/// The law that limits a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CapTag {
    /// The Servicemembers Civil Relief Act: 6 percent unless another rate is given.
    Scra,
    /// The Military Lending Act: 36 percent unless another rate is given.
    Mla,
}

impl CapTag {
    /// The highest rate that the law allows.
    pub const fn rate(self) -> Percent {
        match self {
            CapTag::Scra => Percent::from_millionths(6_000_000),
            CapTag::Mla => Percent::from_millionths(36_000_000),
        }
    }
}

/// An instalment and those after it fall due on other dates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueDateChange {
    /// The present due date of the instalment; `None` for the first one ahead.
    pub from_due_date: Option<Day>,
    /// Its new due date.
    pub next_due_date: Day,
    /// The days of the month from then on, for instalments twice a month; `None` if they stay.
    pub semi_monthly_days: Option<[u8; 2]>,
    /// Keep or recalculate.
    pub level_payment: LevelPayment,
    /// A fee for the change; may be zero.
    pub fee: Cents,
}

/// Instalments are skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The due date of the first skipped instalment; `None` for the first one ahead.
    pub from_due_date: Option<Day>,
    /// How many.
    pub count: u32,
    /// Whether the loan ends later. If not, the skipped instalments are taken out and the rest is recalculated.
    pub extend_term: bool,
}

/// Instalments are added at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// How many.
    pub count: u32,
    /// The due date of the first instalment that is recalculated; `None` for the first one ahead.
    pub from_due_date: Option<Day>,
}

/// What instalments ask for moves to later ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferral {
    /// The deferred instalments.
    pub rows: Vec<DeferredRow>,
    /// Whether the deferred principal goes on earning interest.
    pub accrues: bool,
}

/// One deferred instalment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredRow {
    /// Its due date.
    pub due_date: Day,
    /// The due date of the instalment that asks for it instead; `None` for the last one.
    pub deferred_to: Option<Day>,
    /// Which part of it moves.
    pub balance: DeferredBalance,
}

/// Which part of an instalment moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeferredBalance {
    /// Interest, principal and its fees.
    #[default]
    All,
    /// Its principal.
    Principal,
    /// Its interest.
    Interest,
    /// Its fees.
    Fee,
}

/// What happens to arrears of interest or to unpaid fees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrears {
    /// The first instalments ask for them.
    #[default]
    First,
    /// All instalments ask for an equal part.
    Spread,
    /// They are waived. Not for a re-amortization.
    Waive,
    /// They become principal. Not for a re-amortization.
    Capitalize,
}

/// Unpaid instalments behind are spread over those ahead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reamortization {
    /// Where their interest goes: [`Arrears::First`] or [`Arrears::Spread`].
    pub interest: Arrears,
}

/// New instalments replace all that are unpaid, and the account is no longer past due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReAge {
    /// The due date of the first new instalment. `None` (only in a restructure): that of the first one ahead, or one
    /// interval after the change.
    pub first_due_date: Option<Day>,
    /// How many new instalments.
    pub instalments: u32,
    /// The interval between them; `None` for the present one.
    pub frequency: Option<Interval>,
    /// What happens to the interest owed.
    pub interest: Arrears,
    /// What happens to the unpaid fees.
    pub fees: Arrears,
    /// The amount of each new instalment; `None` to compute it.
    pub payment_amount: Option<Cents>,
}

/// A re-age that may also change rate and principal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restructure {
    /// The new instalments.
    pub re_age: ReAge,
    /// The new rate; `None` if it stays.
    pub rate: Option<Percent>,
    /// This many of the new instalments are interest only.
    pub interest_only: u32,
    /// Principal that is forgiven; may be zero.
    pub principal_forgiven: Cents,
}

/// Interest or fees become principal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capitalization {
    /// Which interest.
    pub interest: CapitalizedInterest,
    /// Whether unpaid fees become principal, too.
    pub fees: bool,
    /// Keep or recalculate.
    pub level_payment: LevelPayment,
}

/// Which interest becomes principal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CapitalizedInterest {
    /// All that is owed, the open period's included.
    #[default]
    All,
    /// What is posted.
    Posted,
    /// None.
    None,
}

impl Change {
    /// The name in the API.
    pub const fn kind(&self) -> &'static str {
        match self {
            Change::Rate(RateChange { kind: RateKind::Pause, .. }) => "interest_pause",
            Change::Rate(RateChange { kind: RateKind::Promo { .. }, .. }) => "temp_promo",
            Change::Rate(_) => "interest_rate",
            Change::DueDate(_) => "due_date",
            Change::Skip(_) => "skip",
            Change::Extension(_) => "extension",
            Change::Deferral(_) => "payment_deferral",
            Change::Reamortization(_) => "re_amortization",
            Change::ReAge(_) => "re_age",
            Change::Restructure(_) => "restructure",
            Change::Capitalization(_) => "capitalization",
        }
    }

    /// Its order among inputs of the same instant.
    pub const fn class(&self) -> InputClass {
        match self {
            Change::Rate(_) => InputClass::Rate,
            _ => InputClass::Plan,
        }
    }
}

/// The order of inputs at the same instant: a new rate is known to a re-age, and both to a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum InputClass {
    /// The account's opening.
    Opening,
    /// Rates.
    Rate,
    /// Changes of the plan.
    Plan,
    /// All other inputs. Inputs posted late are all of this class: they keep their order of arrival.
    #[default]
    Other,
}

//! Changes to a running loan: its rates, its due dates, its instalments.
//!
//! Each change has a form. [`LoanChange`] is any of them; `resolve` turns it into the engine's change, for one account.

mod plan;
mod rates;
mod resolve;

pub use plan::{
    DeferralRow, DueDateChange, NewCapitalization, NewDeferral, NewExtension, NewReAge, NewReAmortization,
    NewRestructure, NewSkip,
};
pub use rates::{NewInterestPause, NewInterestRate, NewTempPromo, RateTags, ReplacedInterestRate};
pub use resolve::Resolved;

use super::fields::*;
use super::form;
use crate::audit::Act;
use serde::Serialize;

/// The largest number of instalments that one deferral names.
pub(crate) const MOST_DEFERRALS: usize = 60;

form! {
    /// Cancels a change.
    ChangeCancel {
        ;
        /// When it is cancelled. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

/// A change to a running loan, as its form requests it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum LoanChange {
    /// A rate, or a limit on it.
    InterestRate(NewInterestRate),
    /// A rate in place of an earlier one.
    ReplacedRate(ReplacedInterestRate),
    /// A promotion.
    TempPromo(NewTempPromo),
    /// A pause of interest.
    InterestPause(NewInterestPause),
    /// Other due dates.
    DueDate(DueDateChange),
    /// Skipped instalments.
    Skip(NewSkip),
    /// More instalments.
    Extension(NewExtension),
    /// Deferred instalments.
    Deferral(NewDeferral),
    /// Past-due instalments spread over those ahead.
    ReAmortization(NewReAmortization),
    /// New instalments.
    ReAge(NewReAge),
    /// New instalments under other terms.
    Restructure(NewRestructure),
    /// Interest or fees become principal.
    Capitalization(NewCapitalization),
}

/// Runs an expression with the form of any change.
macro_rules! each_form {
    ($change:expr, $form:ident => $value:expr) => {
        match $change {
            LoanChange::InterestRate($form) => $value,
            LoanChange::ReplacedRate($form) => $value,
            LoanChange::TempPromo($form) => $value,
            LoanChange::InterestPause($form) => $value,
            LoanChange::DueDate($form) => $value,
            LoanChange::Skip($form) => $value,
            LoanChange::Extension($form) => $value,
            LoanChange::Deferral($form) => $value,
            LoanChange::ReAmortization($form) => $value,
            LoanChange::ReAge($form) => $value,
            LoanChange::Restructure($form) => $value,
            LoanChange::Capitalization($form) => $value,
        }
    };
}

impl LoanChange {
    /// The id that the caller chose.
    pub fn change_id(&self) -> Option<&Id> {
        each_form!(self, form => form.change_id.as_ref())
    }

    /// When it takes effect, if the caller gave it.
    pub fn effective_at(&self) -> Option<&Moment> {
        each_form!(self, form => form.effective_at.as_ref())
    }

    /// The caller's own fields.
    pub fn external_fields(&self) -> Option<&[ExternalField]> {
        each_form!(self, form => form.external_fields.as_deref())
    }

    /// The rate that it takes the place of.
    pub fn replaces(&self) -> Option<&str> {
        match self {
            LoanChange::ReplacedRate(form) => Some(form.interest_rate_id.as_str()),
            _ => None,
        }
    }

    /// Adds the form to the audit entry of its request.
    pub(crate) fn in_audit<'a>(&self, act: Act<'a>) -> Act<'a> {
        each_form!(self, form => act.asked(form))
    }

    /// The name of the request in the audit trail.
    pub fn action(&self) -> &'static str {
        match self {
            LoanChange::InterestRate(_) => "create_interest_rate",
            LoanChange::ReplacedRate(_) => "replace_interest_rate",
            LoanChange::TempPromo(_) => "create_temp_promo",
            LoanChange::InterestPause(_) => "create_interest_pause",
            LoanChange::DueDate(_) => "change_due_date",
            LoanChange::Skip(_) => "skip_installments",
            LoanChange::Extension(_) => "extend_term",
            LoanChange::Deferral(_) => "defer_payments",
            LoanChange::ReAmortization(_) => "re_amortize",
            LoanChange::ReAge(_) => "re_age",
            LoanChange::Restructure(_) => "restructure",
            LoanChange::Capitalization(_) => "capitalize",
        }
    }
}

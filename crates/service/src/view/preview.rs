//! Previews: what a request would do.

use super::account::{Account, AccountOverview};
use super::line_item::LineItem;
use super::time::Local;
use crate::form::fields::{DateText, PercentText};
use daybook_engine::calendar::Day;
use daybook_engine::installment::schedule;
use daybook_engine::outcome::{ChangedRow, PlannedAmounts};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What a request would do. Nothing is stored.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Preview {
    /// Always true.
    pub preview: bool,
    /// The response that the request would get.
    #[schema(value_type = Object)]
    pub answer: Box<RawValue>,
    /// What the request would change.
    pub effects: Effects,
}

/// The response to a request, or to a preview of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum PreviewOr<T> {
    /// The response to the request.
    Done(T),
    /// The response to a preview.
    Preview(Box<Preview>),
}

/// What a request would change, as of the account clock. In migration mode, as of the release of the account's held
/// events.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Effects {
    /// The balances and status before; null for a new account.
    pub before: Option<AccountFigures>,
    /// The balances and status after.
    pub after: AccountFigures,
    /// The due dates whose instalment would change.
    pub rows: Vec<RowEffect>,
    /// The line items that would be created or replaced.
    #[schema(value_type = Vec<LineItem>)]
    pub line_items: Vec<LineItem<'static>>,
    /// The messages that would be written.
    pub messages: Vec<MessageEffect>,
}

/// The balances and status of an account.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AccountFigures {
    /// The moment that the figures are of; null while the account's creation is held.
    pub processed_through: Option<Local>,
    /// The status.
    pub account_overview: AccountOverview,
    /// Unpaid principal.
    pub principal_cents: i64,
    /// Posted unpaid interest.
    pub interest_balance_cents: i64,
    /// Unpaid fees.
    pub fees_balance_cents: i64,
    /// The total owed: principal, posted interest and fees.
    pub total_balance_cents: i64,
    /// The surplus: money received and not used for any debt.
    pub surplus_cents: i64,
    /// The payoff: all balances and the accrued interest.
    pub total_payoff_cents: i64,
    /// Unpaid interest and principal of the instalments past due, and unpaid fees and penalties that are past due.
    pub past_due_cents: i64,
    /// The unpaid fees and penalties in `past_due_cents`.
    pub past_due_fees_cents: i64,
    /// Days since the oldest unpaid due date.
    pub days_past_due: i32,
    /// The number of consecutive late instalments.
    pub consecutive_late_fees: u32,
    /// The amount due.
    pub min_pay_cents: i64,
    /// The due date of the open instalment; null if there is none.
    pub min_pay_due_at: Option<Local>,
    /// The due date of the last instalment.
    pub loan_end_date: Local,
    /// The yearly rate of the present date.
    pub interest_rate_percent: PercentText,
}

impl AccountFigures {
    /// The figures of an account.
    pub fn of(account: &Account<'_>) -> AccountFigures {
        let Account { summary, delinquency, min_pay_due_cents: due, .. } = account;
        AccountFigures {
            processed_through: account.processed_through,
            account_overview: account.account_overview,
            principal_cents: summary.principal_cents,
            interest_balance_cents: summary.interest_balance_cents,
            fees_balance_cents: summary.fees_balance_cents,
            total_balance_cents: summary.total_balance_cents,
            surplus_cents: summary.surplus_cents,
            total_payoff_cents: summary.total_payoff_cents,
            past_due_cents: delinquency.past_due_cents,
            past_due_fees_cents: delinquency.past_due_fees_cents,
            days_past_due: delinquency.days_past_due,
            consecutive_late_fees: delinquency.consecutive_late_fees,
            min_pay_cents: due.min_pay_cents,
            min_pay_due_at: due.min_pay_due_at,
            loan_end_date: account.account_product.product_lifecycle.loan_end_date,
            interest_rate_percent: summary.interest_rate_percent,
        }
    }
}

/// The instalment of a due date before and after.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RowEffect {
    /// The due date.
    pub due_date: DateText,
    /// The instalment that was due then; null if there was none.
    pub before: Option<RowAmounts>,
    /// The instalment that is due then; null if there is none.
    pub after: Option<RowAmounts>,
}

/// The amounts of an instalment.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RowAmounts {
    /// Its number, from 1.
    pub instalment: u32,
    /// The instalment: interest and principal.
    pub am_min_pay_cents: i64,
    /// The interest in it.
    pub am_interest_cents: i64,
    /// The principal in it.
    pub am_principal_cents: i64,
    /// The amount still to be paid, without fees; absent in a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding_cents: Option<i64>,
}

impl From<&schedule::ScheduleRow> for RowAmounts {
    fn from(row: &schedule::ScheduleRow) -> RowAmounts {
        RowAmounts {
            instalment: row.instalment,
            am_min_pay_cents: row.total().0,
            am_interest_cents: row.interest.0,
            am_principal_cents: row.principal.0,
            outstanding_cents: Some(row.outstanding.0),
        }
    }
}

impl From<&PlannedAmounts> for RowAmounts {
    fn from(row: &PlannedAmounts) -> RowAmounts {
        RowAmounts {
            instalment: row.instalment,
            am_min_pay_cents: (row.interest + row.principal).0,
            am_interest_cents: row.interest.0,
            am_principal_cents: row.principal.0,
            outstanding_cents: None,
        }
    }
}

impl From<&ChangedRow> for RowEffect {
    fn from(row: &ChangedRow) -> RowEffect {
        RowEffect {
            due_date: DateText::known(row.due_day),
            before: row.before.as_ref().map(RowAmounts::from),
            after: row.after.as_ref().map(RowAmounts::from),
        }
    }
}

impl RowEffect {
    /// The due dates whose instalment differs between two schedules.
    pub fn between(before: &[schedule::ScheduleRow], after: &[schedule::ScheduleRow]) -> Vec<RowEffect> {
        let mut days: BTreeMap<Day, (Option<RowAmounts>, Option<RowAmounts>)> = BTreeMap::new();
        for row in before {
            days.entry(row.due_day).or_default().0 = Some(row.into());
        }
        for row in after {
            days.entry(row.due_day).or_default().1 = Some(row.into());
        }
        let amounts = |row: &Option<RowAmounts>| row.clone().map(|row| RowAmounts { instalment: 0, ..row });
        let differ = days.into_iter().filter(|(_, (before, after))| amounts(before) != amounts(after));
        differ.map(|(day, (before, after))| RowEffect { due_date: DateText::known(day), before, after }).collect()
    }
}

/// A message that would be written.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct MessageEffect {
    /// The name of its event.
    pub event: String,
    /// When the event happens, by the account's clock.
    pub effective_at: Local,
    /// Whether it is sent at once. If not, it is sent when its moment comes.
    pub is_sent_at_once: bool,
}

//! Previews: what a request would do.

use super::account::{Account, AccountOverview};
use super::line_item::LineItem;
use super::schedule::ScheduleRow;
use super::time::Local;
use crate::form::fields::{DateText, PercentText};
use daybook_engine::installment::schedule;
use daybook_engine::terms::Terms;
use serde::Serialize;
use serde_json::value::RawValue;
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
    Preview(Preview),
}

/// What a request would change, as of the account clock. In migration mode, as of the release of the account's held
/// events.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Effects {
    /// The balances and status before; null for a new account.
    pub before: Option<AccountFigures>,
    /// The balances and status after.
    pub after: AccountFigures,
    /// The instalments whose date or amount would change.
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

/// An instalment before and after.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RowEffect {
    /// Its due date before; its due date after if it is new.
    pub due_date: DateText,
    /// The instalment before; null if it is new.
    pub before: Option<RowAmounts>,
    /// The instalment after; null if it no longer exists.
    pub after: Option<RowAmounts>,
}

/// The date and the amounts of an instalment.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RowAmounts {
    /// Its due date.
    pub due_date: DateText,
    /// The instalment: interest and principal.
    pub am_min_pay_cents: i64,
    /// The interest in it.
    pub am_interest_cents: i64,
    /// The principal in it.
    pub am_principal_cents: i64,
    /// The amount still to be paid, without fees.
    pub outstanding_cents: i64,
}

impl RowAmounts {
    fn of(row: &schedule::ScheduleRow, terms: &Terms) -> RowAmounts {
        let shown = ScheduleRow::new(terms, row);
        RowAmounts {
            due_date: DateText::known(row.due_day),
            am_min_pay_cents: shown.am_min_pay_cents,
            am_interest_cents: shown.am_interest_cents,
            am_principal_cents: shown.am_principal_cents,
            outstanding_cents: shown.outstanding_cents,
        }
    }
}

impl RowEffect {
    /// The instalments that differ between two schedules, by their numbers.
    pub fn between(terms: &Terms, before: &[schedule::ScheduleRow], after: &[schedule::ScheduleRow]) -> Vec<RowEffect> {
        let count = before.len().max(after.len());
        let effect = |index: usize| {
            let row = |rows: &[schedule::ScheduleRow]| rows.get(index).map(|row| RowAmounts::of(row, terms));
            let (before, after) = (row(before), row(after));
            let due_date = before.as_ref().or(after.as_ref())?.due_date.clone();
            (before != after).then_some(RowEffect { due_date, before, after })
        };
        (0..count).filter_map(effect).collect()
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

//! The content of messages about an account.

use crate::view;
use daybook_engine::item::LineItem;
use serde::Serialize;
use utoipa::ToSchema;

/// `data` of a message about an account or one of its line items.
///
/// A receiver who parses it and writes it again must get the same bytes, or the signature would not be theirs. So
/// everything in it is text, whole numbers, truth values and lists of those, in one order; only percentages have
/// decimal places, in a form that writers agree on ([`PercentText`](crate::form::fields::PercentText)).
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountEventData<'a, O> {
    /// The id of the event: unique, and the same each time the event is sent.
    pub(super) event_id: &'a str,
    /// When the event was recorded.
    pub(super) changed_at: view::time::Local,
    /// When the event happened, by the account's clock.
    pub(super) effective_at: view::time::Local,
    /// The account that the event is about.
    pub(super) account_id: &'a str,
    /// The number of the message among the messages about the account: 1, 2, 3, …
    #[schema(minimum = 1)]
    pub(super) account_sequence: i64,
    /// The number of the instalment that the event is about, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub(super) instalment: Option<u32>,
    /// Whether the instalment was paid when it fell due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) paid: Option<bool>,
    /// The status before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) previous_status: Option<view::AccountOverview>,
    /// The balances and line items that the recalculation changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recalculation: Option<Recalculated<'a>>,
    /// The change of the loan that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<ChangeOfLoan>,
    /// The due dates whose instalment changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<Vec<view::RowEffect>>,
    /// The part of the instalment that is missing although the instalment counts as paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shortfall_cents: Option<i64>,
    /// The account or the line item right after the event, as `GET` returns it.
    pub(super) object: O,
}

/// A change of a loan, with the account before and after it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ChangeOfLoan {
    /// Its kind, such as `skip`.
    pub kind: &'static str,
    /// Its id.
    pub change_id: String,
    /// `PROCESSED`, or `SCHEDULED` if the change takes effect later.
    pub processing_state: view::ProcessingState,
    /// Whether the change was cancelled; absent if it was not.
    #[serde(skip_serializing_if = "is_false")]
    pub cancelled: bool,
    /// The account before; null if it is scheduled.
    pub before: Option<view::AccountFigures>,
    /// The account after; null if it is scheduled.
    pub after: Option<view::AccountFigures>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// The balances and line items that a recalculation changed.
#[derive(Serialize, ToSchema)]
pub(crate) struct Recalculated<'a> {
    /// The balances before the recalculation.
    pub(super) before: view::Amounts,
    /// The balances after the recalculation.
    pub(super) after: view::Amounts,
    /// The line items that changed.
    pub(super) line_items: Vec<ItemDifference<'a>>,
}

/// A line item before and after.
#[derive(Serialize, ToSchema)]
pub(crate) struct ItemDifference<'a> {
    /// Its id.
    pub(super) line_item_id: String,
    /// Its type.
    pub(super) line_item_type: &'a str,
    /// The line item before the recalculation; null if it is new.
    pub(super) before: Option<ItemAmounts<'a>>,
    /// The line item after the recalculation.
    pub(super) after: ItemAmounts<'a>,
}

/// The amounts of a line item.
#[derive(Serialize, ToSchema)]
pub(crate) struct ItemAmounts<'a> {
    /// `VALID`, `PENDING`, `AUTHORIZED` or `INVALID`.
    pub(super) line_item_status: &'a str,
    /// The whole amount.
    pub(super) original_amount_cents: i64,
    /// For a debt: the unpaid part. For a payment: the part that went to no debt, as a negative amount.
    pub(super) balance_cents: i64,
    /// The principal in it.
    pub(super) principal_cents: i64,
    /// The interest in it.
    pub(super) interest_cents: i64,
    /// The fees in it.
    pub(super) fees_cents: i64,
}

impl<'a> ItemAmounts<'a> {
    pub(super) fn of(item: &LineItem) -> ItemAmounts<'a> {
        ItemAmounts {
            line_item_status: item.status.name(),
            original_amount_cents: item.amount.0,
            balance_cents: item.balance.0,
            principal_cents: item.principal.0,
            interest_cents: item.interest.0,
            fees_cents: item.fees.0,
        }
    }
}

/// Additional fields of `data`, by event.
#[derive(Default)]
pub(super) struct Further<'a> {
    pub instalment: Option<u32>,
    pub paid: Option<bool>,
    pub previous_status: Option<view::AccountOverview>,
    pub recalculation: Option<Recalculated<'a>>,
    pub change: Option<ChangeOfLoan>,
    pub rows: Option<Vec<view::RowEffect>>,
    pub shortfall_cents: Option<i64>,
}

//! Line items.

use super::time::Local;
use super::{ProductFacts, owned};
use crate::form::fields::ExternalField;
use daybook_engine::item::{self, Component, ItemId, ItemKind, ItemReason, ItemStatus, Name, Split};
use daybook_engine::money::Cents;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use utoipa::ToSchema;

/// The processing state of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProcessingState {
    /// Its product holds its events.
    Held,
    /// It is not due yet.
    Scheduled,
    /// It was processed.
    Processed,
    /// It could not be applied.
    Failed,
}

impl ProcessingState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            ProcessingState::Held => "HELD",
            ProcessingState::Scheduled => "SCHEDULED",
            ProcessingState::Processed => "PROCESSED",
            ProcessingState::Failed => "FAILED",
        }
    }
}

/// The data of a line item beyond what the engine has.
#[derive(Clone, Copy, Debug)]
pub struct ItemFacts<'a> {
    /// The account.
    pub account_id: &'a str,
    /// Its product.
    pub product: &'a ProductFacts,
    /// When it was recorded.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// Its processing state.
    pub processing_state: ProcessingState,
    /// The caller's external fields.
    pub external_fields: &'a [ExternalField],
}

/// A line item: an amount that increases (positive) or reduces (negative) what the borrower owes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LineItem<'a> {
    /// The account.
    pub account_id: Cow<'a, str>,
    /// Its id, unique within the account.
    #[schema(value_type = String)]
    pub line_item_id: DisplayText<ItemId>,
    /// The product.
    pub product_id: Cow<'a, str>,
    /// When it happened.
    pub effective_at: Local,
    /// When it takes effect; null while it has no effect.
    pub applied_at: Option<Local>,
    /// When it was recorded.
    pub created_at: Local,
    /// When it last changed.
    pub updated_at: Local,
    /// Its processing state.
    pub processing_state: ProcessingState,
    /// Its status, type and description.
    pub line_item_overview: LineItemOverview,
    /// Its amounts.
    pub line_item_summary: LineItemSummary,
    /// For a payment: the line items that it paid down. The splits add up to the part of the payment that went to
    /// debts.
    #[schema(value_type = Vec<Relationship>)]
    pub line_item_relationships: Relationships<'a>,
    /// For a payment that bounced: the line item of its reversal; otherwise null.
    #[schema(value_type = Option<String>)]
    pub reversed_by_line_item_id: Option<Name>,
    /// The caller's own fields, stored with it.
    #[schema(value_type = Vec<ExternalField>)]
    pub external_fields: Cow<'a, [ExternalField]>,
}

/// The status, type and description of a line item.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LineItemOverview {
    /// Its status: `VALID`, `PENDING`, `AUTHORIZED` or `INVALID`.
    pub line_item_status: &'static str,
    /// Its type.
    pub line_item_type: &'static str,
    /// A description of it.
    #[schema(value_type = String)]
    pub description: Description,
}

/// The amounts of a line item.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LineItemSummary {
    /// The whole amount.
    pub original_amount_cents: i64,
    /// For a debt: the unpaid part. For a payment: the part that went to no debt, as a negative amount.
    pub balance_cents: i64,
    /// The principal in the amount.
    pub principal_cents: i64,
    /// The interest in the amount.
    pub interest_cents: i64,
    /// The fees in the amount.
    pub fees_cents: i64,
}

/// A part of a payment and the line item it paid down.
#[derive(Debug, Serialize, ToSchema)]
pub struct Relationship<'a> {
    /// `PAYMENT_SPLIT`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The line item paid down.
    #[schema(value_type = String)]
    pub paid_down_line_item_id: DisplayText<&'a ItemId>,
    /// Its type.
    pub paid_down_line_item_type: &'static str,
    /// The amount.
    pub split_amount_cents: i64,
}

impl<'a> LineItem<'a> {
    /// The view of a line item.
    pub fn new(item: &'a item::LineItem, facts: &ItemFacts<'a>) -> LineItem<'a> {
        let local = |time: Time| Local::new(time, &facts.product.zone);
        let applied = facts.processing_state == ProcessingState::Processed;
        LineItem {
            account_id: facts.account_id.into(),
            line_item_id: DisplayText(item.id.clone()),
            product_id: facts.product.product_id.as_str().into(),
            effective_at: local(item.effective_at),
            applied_at: applied.then(|| local(item.applied_at)),
            created_at: local(facts.created_at),
            updated_at: local(facts.updated_at),
            processing_state: facts.processing_state,
            line_item_overview: LineItemOverview {
                line_item_status: item.status.name(),
                line_item_type: item.kind.name(),
                description: Description::of(item),
            },
            line_item_summary: LineItemSummary {
                original_amount_cents: item.amount.0,
                balance_cents: item.balance.0,
                principal_cents: item.principal.0,
                interest_cents: item.interest.0,
                fees_cents: item.fees.0,
            },
            line_item_relationships: Relationships(Cow::Borrowed(&item.splits)),
            reversed_by_line_item_id: item.reversed_by.clone(),
            external_fields: facts.external_fields.into(),
        }
    }

    /// The same view, with its own copy of everything it borrows.
    pub fn into_owned(self) -> LineItem<'static> {
        LineItem {
            account_id: owned(self.account_id),
            line_item_id: self.line_item_id,
            product_id: owned(self.product_id),
            effective_at: self.effective_at,
            applied_at: self.applied_at,
            created_at: self.created_at,
            updated_at: self.updated_at,
            processing_state: self.processing_state,
            line_item_overview: self.line_item_overview,
            line_item_summary: self.line_item_summary,
            line_item_relationships: Relationships(owned(self.line_item_relationships.0)),
            reversed_by_line_item_id: self.reversed_by_line_item_id,
            external_fields: owned(self.external_fields),
        }
    }
}

/// The line item of a held or scheduled input: it only has an amount so far. `None` for inputs that make no item.
pub fn waiting_item(entry: &Entry) -> Option<item::LineItem> {
    let (kind, amount, status) = match &entry.input {
        Input::Payment { amount, status, .. } => (ItemKind::Payment, -*amount, *status),
        Input::Reversal { .. } => (ItemKind::PaymentReversal, Cents::ZERO, ItemStatus::Valid),
        Input::Fee { amount, .. } => (ItemKind::ManualFee, *amount, ItemStatus::Valid),
        Input::Waiver { .. } => (ItemKind::FeeWaiver, Cents::ZERO, ItemStatus::Valid),
        Input::Credit { amount, .. } => (ItemKind::CreditOffset, *amount, ItemStatus::Valid),
        Input::Debit { amount, .. } => (ItemKind::DebitOffset, -*amount, ItemStatus::Valid),
        Input::Refund { amount } => (ItemKind::Refund, *amount, ItemStatus::Valid),
        Input::RefundReversal { .. } => (ItemKind::RefundReversal, Cents::ZERO, ItemStatus::Valid),
        Input::Open
        | Input::PaymentStatus { .. }
        | Input::Status(_)
        | Input::Notify(_)
        | Input::Change(_)
        | Input::CancelChange { .. } => return None,
    };
    Some(item::LineItem {
        id: ItemId::Input(entry.name.clone()),
        kind,
        status,
        effective_at: entry.effective_at,
        applied_at: entry.place.at,
        amount,
        balance: Cents::ZERO,
        principal: Cents::ZERO,
        interest: Cents::ZERO,
        fees: Cents::ZERO,
        splits: Vec::new(),
        reversed_by: None,
        reason: None,
    })
}

/// Serializes a value as the text of its `Display` implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplayText<T>(pub T);

impl<T: fmt::Display> Serialize for DisplayText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<T: fmt::Display> fmt::Display for DisplayText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The line items that a payment paid down, serialized without an intermediate list.
#[derive(Clone, Debug)]
pub struct Relationships<'a>(Cow<'a, [Split]>);

impl Relationships<'_> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The relationships, in order.
    pub fn iter(&self) -> impl Iterator<Item = Relationship<'_>> {
        self.0.iter().map(|split| Relationship {
            kind: "PAYMENT_SPLIT",
            paid_down_line_item_id: DisplayText(&split.item),
            paid_down_line_item_type: split.kind.name(),
            split_amount_cents: split.cents.0,
        })
    }
}

impl Serialize for Relationships<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for relationship in self.iter() {
            list.serialize_element(&relationship)?;
        }
        list.end()
    }
}

/// A description of a line item, in words.
#[derive(Clone, Debug)]
pub struct Description {
    kind: ItemKind,
    id: ItemId,
    reason: Option<ItemReason>,
}

impl Description {
    /// The description of a line item.
    pub fn of(item: &item::LineItem) -> Description {
        Description { kind: item.kind, id: item.id.clone(), reason: item.reason }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = self.reason {
            return f.write_str(reason.name());
        }
        let plain = match (self.kind, &self.id) {
            (_, ItemId::Interest { period, part: 0 }) => return write!(f, "Interest for period {period}"),
            (_, ItemId::Interest { period, part }) => return write!(f, "Interest for period {period}, part {part}"),
            (_, ItemId::LateFee { instalment }) => return write!(f, "Late fee for instalment {instalment}"),
            (ItemKind::Loan, _) => "Loan",
            (ItemKind::Interest, _) => "Interest",
            (ItemKind::LateFee, _) => "Late fee",
            (ItemKind::OriginationFee, _) => "Origination fee",
            (ItemKind::ManualFee, _) => "Fee",
            (ItemKind::ReturnCheckFee, _) => "Fee for a bounced payment",
            (ItemKind::Payment, _) => "Payment",
            (ItemKind::PaymentReversal, _) => "Payment reversal",
            (ItemKind::ReversalPart(Component::Principal), _) => "Principal owed again after a reversal",
            (ItemKind::ReversalPart(Component::Interest), _) => "Interest owed again after a reversal",
            (ItemKind::ReversalPart(Component::Fee), _) => "Fees owed again after a reversal",
            (ItemKind::CreditOffset, _) => "Credit offset",
            (ItemKind::DebitOffset, _) => "Debit offset",
            (ItemKind::FeeWaiver, _) => "Fee waiver",
            (ItemKind::ChargeOff, _) => "Charge-off",
            (ItemKind::SurplusApplied, _) => "Surplus applied",
            (ItemKind::Refund, _) => "Refund",
            (ItemKind::RefundReversal, _) => "Refund reversal",
        };
        f.write_str(plain)
    }
}

impl Serialize for Description {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

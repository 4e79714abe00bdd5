//! Line items.

use super::ProductFacts;
use super::time::Local;
use crate::form::fields::ExternalField;
use daybook_engine::item::{self, Component, ItemId, ItemKind, ItemStatus, Split};
use daybook_engine::money::Cents;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, Input};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::ToSchema;

/// Where an input stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProcessingState {
    /// Its product holds its events.
    Held,
    /// Its time has not come.
    Scheduled,
    /// It counts.
    Processed,
    /// It could not be applied.
    Failed,
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

/// A line item: an amount added to (positive) or taken from (negative) what the borrower owes.
#[derive(Debug, Serialize, ToSchema)]
pub struct LineItem<'a> {
    /// The account.
    pub account_id: &'a str,
    /// Its id, unique within the account.
    #[schema(value_type = String)]
    pub line_item_id: Shown<&'a ItemId>,
    /// The product.
    pub product_id: &'a str,
    /// When it happened.
    pub effective_at: Local<'a>,
    /// From when it counts; null while it does not.
    pub applied_at: Option<Local<'a>>,
    /// When it was recorded.
    pub created_at: Local<'a>,
    /// When it last changed.
    pub updated_at: Local<'a>,
    /// Where it stands.
    pub processing_state: ProcessingState,
    /// What it is.
    pub line_item_overview: LineItemOverview<'a>,
    /// Its amounts.
    pub line_item_summary: LineItemSummary,
    /// Of a payment: what it paid down. The parts add up to what debts took of it.
    #[schema(value_type = Vec<Relationship>)]
    pub line_item_relationships: Relationships<'a>,
    /// Of a payment that bounced: the line item of its reversal; otherwise null.
    #[schema(value_type = Option<String>)]
    pub reversed_by_line_item_id: Option<&'a str>,
    /// What the caller wants to remember with it.
    pub external_fields: &'a [ExternalField],
}

/// What a line item is.
#[derive(Debug, Serialize, ToSchema)]
pub struct LineItemOverview<'a> {
    /// Whether it counts: `VALID`, `PENDING`, `AUTHORIZED` or `INVALID`.
    pub line_item_status: &'static str,
    /// Its type.
    pub line_item_type: &'static str,
    /// What it is, in words.
    #[schema(value_type = String)]
    pub description: Description<'a>,
}

/// The amounts of a line item.
#[derive(Debug, Serialize, ToSchema)]
pub struct LineItemSummary {
    /// The whole amount.
    pub original_amount_cents: i64,
    /// Of a debt: what is still unpaid. Of a payment: what no debt took, negative.
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
    pub paid_down_line_item_id: Shown<&'a ItemId>,
    /// Its type.
    pub paid_down_line_item_type: &'static str,
    /// How much.
    pub split_amount_cents: i64,
}

impl<'a> LineItem<'a> {
    /// The view of a line item.
    pub fn new(item: &'a item::LineItem, facts: &ItemFacts<'a>) -> LineItem<'a> {
        let local = |time: Time| Local::new(time, &facts.product.zone);
        let applied = facts.processing_state == ProcessingState::Processed;
        LineItem {
            account_id: facts.account_id,
            line_item_id: Shown(&item.id),
            product_id: &facts.product.product_id,
            effective_at: local(item.effective_at),
            applied_at: applied.then(|| local(item.applied_at)),
            created_at: local(facts.created_at),
            updated_at: local(facts.updated_at),
            processing_state: facts.processing_state,
            line_item_overview: LineItemOverview {
                line_item_status: item.status.name(),
                line_item_type: item.kind.name(),
                description: Description(item),
            },
            line_item_summary: LineItemSummary {
                original_amount_cents: item.amount.0,
                balance_cents: item.balance.0,
                principal_cents: item.principal.0,
                interest_cents: item.interest.0,
                fees_cents: item.fees.0,
            },
            line_item_relationships: Relationships(&item.splits),
            reversed_by_line_item_id: item.reversed_by.as_deref(),
            external_fields: facts.external_fields,
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
        Input::Open | Input::PaymentStatus { .. } | Input::Status(_) | Input::Notify(_) => return None,
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
    })
}

/// Serializes a value as the text of its `Display` implementation.
#[derive(Clone, Copy, Debug)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The line items that a payment paid down, serialized without an intermediate list.
#[derive(Clone, Copy, Debug)]
pub struct Relationships<'a>(&'a [Split]);

impl Serialize for Relationships<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for split in self.0 {
            list.serialize_element(&Relationship {
                kind: "PAYMENT_SPLIT",
                paid_down_line_item_id: Shown(&split.item),
                paid_down_line_item_type: split.kind.name(),
                split_amount_cents: split.cents.0,
            })?;
        }
        list.end()
    }
}

/// A description of a line item, in words.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a>(pub &'a item::LineItem);

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = match (self.0.kind, &self.0.id) {
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
        };
        f.write_str(plain)
    }
}

impl Serialize for Description<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

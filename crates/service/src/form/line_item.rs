//! Line items: payments, reversals, fees, waivers, offsets.

use super::fields::*;
use super::form;
use daybook_engine::item::{Component, ItemStatus};
use daybook_engine::timeline::{FeeClass, Input};

form! {
    /// A payment that was received elsewhere; recording it moves no money.
    PaymentRecord {
        /// The id of the line item.
        line_item_id: Id,
        /// The amount, in cents; positive.
        original_amount_cents: Amount,
        ;
        /// The status of the payment. Default: `VALID`.
        line_item_status: PaymentStatus,
        /// When it was made. Default: the account clock.
        effective_at: Moment,
        /// The component that it pays first. Default: the product's order.
        allocation: Allocation,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Settles a payment that was pending or authorized.
    ChangeLineItem {
        /// The new status, which is final.
        line_item_status: NewItemStatus,
        ;
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
    }
}

form! {
    /// Reverses a payment that bounced.
    PaymentReversal {
        ;
        /// The id of the reversal's own line item; generated if absent.
        line_item_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// A fee that is charged manually.
    ManualFee {
        /// The amount, in cents; positive.
        #[serde(alias = "amount_cents")]
        original_amount_cents: Amount,
        ;
        /// The id of the line item; generated if absent.
        line_item_id: Id,
        /// Its class. Default: `FEE`.
        fee_class: FeeClassName,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Forgives the unpaid part of a fee.
    FeeWaiver {
        ;
        /// The id of the waiver's own line item; generated if absent.
        line_item_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Raises (credit offset) or lowers (debit offset) a balance manually.
    Offset {
        /// The amount, in cents; positive.
        #[serde(alias = "amount_cents")]
        original_amount_cents: Amount,
        ;
        /// The id of the line item; generated if absent.
        line_item_id: Id,
        /// The component of the balance to change. Default: `PRINCIPAL`.
        allocation: Allocation,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Pays surplus out to the borrower.
    NewRefund {
        /// The id of the line item.
        line_item_id: Id,
        /// The amount, in cents; positive, and at most the surplus.
        original_amount_cents: Amount,
        ;
        /// When it is paid out. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

form! {
    /// Reverses a refund that came back.
    RefundReversal {
        ;
        /// The id of the reversal's own line item; generated if absent.
        line_item_id: Id,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_ITEM_EXTERNAL_FIELDS>")]
        #[schema(max_items = 10)]
        external_fields: Vec<ExternalField>,
    }
}

impl PaymentRecord {
    /// The engine input it requests.
    pub fn input(&self) -> Input {
        Input::Payment {
            amount: self.original_amount_cents.get(),
            status: self.line_item_status.map_or(ItemStatus::Valid, ItemStatus::from),
            allocation: self.allocation.map(Component::from),
        }
    }
}

impl ChangeLineItem {
    /// Whether the payment becomes valid; otherwise it becomes invalid.
    pub fn makes_valid(&self) -> bool {
        self.line_item_status == NewItemStatus::Valid
    }
}

impl ManualFee {
    /// The engine input it requests.
    pub fn input(&self) -> Input {
        let class = self.fee_class.map_or(FeeClass::Fee, FeeClass::from);
        Input::Fee { amount: self.original_amount_cents.get(), class }
    }
}

impl Offset {
    fn component(&self) -> Component {
        self.allocation.map_or(Component::Principal, Component::from)
    }

    /// The engine input it requests as a credit offset.
    pub fn credit(&self) -> Input {
        Input::Credit { amount: self.original_amount_cents.get(), component: self.component() }
    }

    /// The engine input it requests as a debit offset.
    pub fn debit(&self) -> Input {
        Input::Debit { amount: self.original_amount_cents.get(), component: self.component() }
    }
}

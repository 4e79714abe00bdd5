//! Line items: every amount ever added to or subtracted from an account.

pub use crate::change_item::{ChangeItem, ItemReason};

use crate::money::Cents;
use crate::time::Time;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The name of an input and of its line item, given by the caller or by the service.
pub type Name = Arc<str>;

/// The id of a line item within its account: the input's name, or derived from the item itself, so that folding again
/// produces the same ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ItemId {
    /// The item of an input.
    Input(Name),
    /// The loan itself.
    Loan,
    /// The origination fee.
    OriginationFee,
    /// The interest of a period. Part 0 was posted at the period's end; parts 1, 2, ... were posted earlier, for a
    /// payment or because the account closed.
    Interest {
        /// The period, counted from 1.
        period: u32,
        /// Which posting of that period.
        part: u32,
    },
    /// The late fee of an instalment.
    LateFee {
        /// The instalment, counted from 1.
        instalment: u32,
    },
    /// The amount of one component that a reversal gave back.
    ReversalPart {
        /// The reversal's name.
        reversal: Name,
        /// The component.
        component: Component,
    },
    /// The fee for a payment that bounced.
    ReversalFee {
        /// The reversal's name.
        reversal: Name,
    },
    /// The note that the account was charged off.
    ChargeOff {
        /// Which charge-off, counted from 1: an account may be opened again.
        number: u32,
    },
    /// A use of surplus.
    Surplus {
        /// Which use of it, counted from 1.
        number: u32,
    },
    /// A small balance that was written off, or its reversal.
    WriteOff {
        /// Which of them, counted from 1.
        number: u32,
    },
    /// A debt that an account begins with if it is opened in the middle of its life.
    Opening(OpeningPart),
    /// The part of a refund that the surplus did not cover.
    RefundExcess {
        /// The refund's name.
        refund: Name,
    },
    /// A later late fee of an instalment, if the product has several.
    LateFeeTier {
        /// The instalment, counted from 1.
        instalment: u32,
        /// Which of its late fees, from 2.
        tier: u32,
    },
    /// An item of a change.
    OfChange {
        /// The change's name.
        change: Name,
        /// Which of its items.
        item: ChangeItem,
    },
}

/// The debts that an account begins with if it is opened in the middle of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OpeningPart {
    /// The principal.
    Loan,
    /// The interest of a past-due instalment.
    Interest {
        /// The instalment, counted from 1.
        instalment: u32,
    },
    /// Posted interest that no instalment has taken.
    Carried,
    /// The interest of the open period.
    Accrued,
}

impl ItemId {
    /// Parses the form that [`ItemId`]'s `Display` writes; any other text is the name of an input.
    pub fn parse(text: &str) -> ItemId {
        Self::parse_derived(text).unwrap_or_else(|| ItemId::Input(Arc::from(text)))
    }

    fn parse_derived(text: &str) -> Option<ItemId> {
        let rest = text.strip_prefix("dbk_")?;
        if let Some(numbers) = rest.strip_prefix("interest_") {
            let (period, part) = numbers.split_once('.').unwrap_or((numbers, "0"));
            return Some(ItemId::Interest { period: period.parse().ok()?, part: part.parse().ok()? });
        }
        if let Some(numbers) = rest.strip_prefix("late_fee_") {
            if let Some((number, tier)) = numbers.split_once('.') {
                return Some(ItemId::LateFeeTier { instalment: number.parse().ok()?, tier: tier.parse().ok()? });
            }
            return Some(ItemId::LateFee { instalment: numbers.parse().ok()? });
        }
        if let Some(number) = rest.strip_prefix("charge_off_") {
            return Some(ItemId::ChargeOff { number: number.parse().ok()? });
        }
        if let Some(number) = rest.strip_prefix("surplus_") {
            return Some(ItemId::Surplus { number: number.parse().ok()? });
        }
        if let Some(number) = rest.strip_prefix("write_off_") {
            return Some(ItemId::WriteOff { number: number.parse().ok()? });
        }
        if let Some(name) = rest.strip_prefix("refund_excess:") {
            return Some(ItemId::RefundExcess { refund: Arc::from(name) });
        }
        if let Some(name) = rest.strip_prefix("return_check_fee:") {
            return Some(ItemId::ReversalFee { reversal: Arc::from(name) });
        }
        if let Some((item, name)) = rest.split_once(':').and_then(|(item, name)| Some((ChangeItem::parse(item)?, name)))
        {
            return Some(ItemId::OfChange { change: Arc::from(name), item });
        }
        for component in [Component::Principal, Component::Interest, Component::Fee] {
            let prefix = rest.strip_prefix("reversed_").and_then(|rest| rest.strip_prefix(component.name()));
            if let Some(name) = prefix.and_then(|rest| rest.strip_prefix(':')) {
                return Some(ItemId::ReversalPart { reversal: Arc::from(name), component });
            }
        }
        if let Some(number) = rest.strip_prefix("opening_interest_") {
            return Some(ItemId::Opening(OpeningPart::Interest { instalment: number.parse().ok()? }));
        }
        match rest {
            "opening_loan" => Some(ItemId::Opening(OpeningPart::Loan)),
            "opening_carried_interest" => Some(ItemId::Opening(OpeningPart::Carried)),
            "opening_accrued_interest" => Some(ItemId::Opening(OpeningPart::Accrued)),
            "loan" => Some(ItemId::Loan),
            "orig_fee" => Some(ItemId::OriginationFee),
            _ => None,
        }
    }
}

/// The id in the API. Ids that the engine derives start with `dbk_`.
impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemId::Input(name) => f.write_str(name),
            ItemId::Loan => f.write_str("dbk_loan"),
            ItemId::OriginationFee => f.write_str("dbk_orig_fee"),
            ItemId::Interest { period, part: 0 } => write!(f, "dbk_interest_{period}"),
            ItemId::Interest { period, part } => write!(f, "dbk_interest_{period}.{part}"),
            ItemId::LateFee { instalment } => write!(f, "dbk_late_fee_{instalment}"),
            ItemId::LateFeeTier { instalment, tier } => write!(f, "dbk_late_fee_{instalment}.{tier}"),
            ItemId::ReversalPart { reversal, component } => write!(f, "dbk_reversed_{}:{reversal}", component.name()),
            ItemId::ReversalFee { reversal } => write!(f, "dbk_return_check_fee:{reversal}"),
            ItemId::ChargeOff { number } => write!(f, "dbk_charge_off_{number}"),
            ItemId::Surplus { number } => write!(f, "dbk_surplus_{number}"),
            ItemId::Opening(OpeningPart::Loan) => f.write_str("dbk_opening_loan"),
            ItemId::Opening(OpeningPart::Interest { instalment }) => write!(f, "dbk_opening_interest_{instalment}"),
            ItemId::Opening(OpeningPart::Carried) => f.write_str("dbk_opening_carried_interest"),
            ItemId::Opening(OpeningPart::Accrued) => f.write_str("dbk_opening_accrued_interest"),
            ItemId::WriteOff { number } => write!(f, "dbk_write_off_{number}"),
            ItemId::RefundExcess { refund } => write!(f, "dbk_refund_excess:{refund}"),
            ItemId::OfChange { change, item } => write!(f, "dbk_{item}:{change}"),
        }
    }
}

/// The part of the debt an amount belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Component {
    /// Part of the sum lent.
    Principal,
    /// Interest.
    Interest,
    /// A fee of either class.
    Fee,
}

impl Component {
    const fn name(self) -> &'static str {
        match self {
            Component::Principal => "principal",
            Component::Interest => "interest",
            Component::Fee => "fee",
        }
    }
}

/// Gives each value of an enum its name in the API, and lists all values. A value without a name does not compile.
macro_rules! names {
    ($enum:ident { $($variant:ident $(($component:ident))? = $name:literal,)* }) => {
        impl $enum {
            /// Every value.
            pub const ALL: &'static [$enum] = &[$($enum::$variant $((Component::$component))?,)*];

            /// The name in the API.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant $((Component::$component))? => $name,)* }
            }
        }
    };
}

/// The kind of a line item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ItemKind {
    /// The sum lent.
    Loan,
    /// Interest.
    Interest,
    /// A late fee.
    LateFee,
    /// The origination fee.
    OriginationFee,
    /// A fee that a person charged.
    ManualFee,
    /// The fee for a payment that bounced.
    ReturnCheckFee,
    /// A payment.
    Payment,
    /// A payment that bounced.
    PaymentReversal,
    /// The amount of one component that a reversal gave back.
    ReversalPart(Component),
    /// A person raised the balance.
    CreditOffset,
    /// A person lowered the balance.
    DebitOffset,
    /// The waiver of a fee.
    FeeWaiver,
    /// The note of a charge-off; it moves no money.
    ChargeOff,
    /// Surplus that paid a debt.
    SurplusApplied,
    /// Surplus that was paid out to the borrower.
    Refund,
    /// A refund that came back.
    RefundReversal,
}

names! {
    ItemKind {
        Loan = "LOAN",
        Interest = "INTEREST",
        LateFee = "LATE_FEE",
        OriginationFee = "ORIG_FEE",
        ManualFee = "MANUAL_FEE",
        ReturnCheckFee = "RETURN_CHECK_FEE",
        Payment = "PAYMENT",
        PaymentReversal = "PAYMENT_REVERSAL",
        ReversalPart(Principal) = "PAYMENT_REVERSAL_PRINCIPAL",
        ReversalPart(Interest) = "PAYMENT_REVERSAL_INTEREST",
        ReversalPart(Fee) = "PAYMENT_REVERSAL_FEE",
        CreditOffset = "CREDIT_OFFSET",
        DebitOffset = "DEBIT_OFFSET",
        FeeWaiver = "FEE_WAIVER",
        ChargeOff = "CHARGE_OFF",
        SurplusApplied = "SURPLUS_APPLIED",
        Refund = "REFUND",
        RefundReversal = "REFUND_REVERSAL",
    }
}

/// Whether and how an item counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ItemStatus {
    /// The item counts.
    #[default]
    Valid,
    /// The item counts, and may still be declined.
    Pending,
    /// The item does not count yet.
    Authorized,
    /// The item does not count.
    Invalid,
}

names! {
    ItemStatus {
        Valid = "VALID",
        Pending = "PENDING",
        Authorized = "AUTHORIZED",
        Invalid = "INVALID",
    }
}

/// A part of a payment, offset or waiver, and the item it paid down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Split {
    /// The item paid down.
    pub item: ItemId,
    /// Its kind.
    pub kind: ItemKind,
    /// The component it was owed as.
    pub component: Component,
    /// How much.
    pub cents: Cents,
}

/// An amount added to (positive) or subtracted from (negative) the borrower's debt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineItem {
    /// The item's id.
    pub id: ItemId,
    /// Its kind.
    pub kind: ItemKind,
    /// Whether it counts.
    pub status: ItemStatus,
    /// The time the caller stated, or the time of the moment that created the item.
    pub effective_at: Time,
    /// The time of its place in the timeline: the item counts from here on.
    pub applied_at: Time,
    /// The whole amount.
    pub amount: Cents,
    /// For a debt, the unpaid part. For a payment, the part that paid no debt, as a negative amount.
    pub balance: Cents,
    /// The principal in the amount.
    pub principal: Cents,
    /// The interest in the amount.
    pub interest: Cents,
    /// The fees in the amount.
    pub fees: Cents,
    /// For a payment, the items it paid down.
    pub splits: Vec<Split>,
    /// For a payment that bounced, its reversal.
    pub reversed_by: Option<Name>,
    /// For an offset that the engine made, the cause.
    pub reason: Option<ItemReason>,
}

impl LineItem {
    /// A valid item with an amount and no balance, components or splits.
    pub(crate) fn new(id: ItemId, kind: ItemKind, at: Time, amount: Cents) -> LineItem {
        LineItem {
            id,
            kind,
            status: ItemStatus::Valid,
            effective_at: at,
            applied_at: at,
            amount,
            balance: Cents::ZERO,
            principal: Cents::ZERO,
            interest: Cents::ZERO,
            fees: Cents::ZERO,
            splits: Vec::new(),
            reversed_by: None,
            reason: None,
        }
    }

    /// A debt of one component, wholly unpaid.
    pub(crate) fn debt(id: ItemId, kind: ItemKind, at: Time, amount: Cents, component: Component) -> LineItem {
        let mut item = LineItem::new(id, kind, at, amount);
        item.balance = amount;
        *item.component_mut(component) = amount;
        item
    }

    /// Applies a change.
    pub fn change(&mut self, change: &ItemChangeKind) {
        match change {
            ItemChangeKind::Balance(balance) => self.balance = *balance,
            ItemChangeKind::Status(ItemStatus::Invalid) => self.invalidate(),
            ItemChangeKind::Status(status) => self.status = *status,
            ItemChangeKind::ReversedBy(reversal) => self.reversed_by = Some(reversal.clone()),
        }
    }

    /// Makes the item invalid: it has no balance and no components, and paid nothing down.
    pub fn invalidate(&mut self) {
        self.status = ItemStatus::Invalid;
        (self.balance, self.principal, self.interest, self.fees) = Default::default();
        self.splits.clear();
    }

    pub(crate) fn component_mut(&mut self, component: Component) -> &mut Cents {
        match component {
            Component::Principal => &mut self.principal,
            Component::Interest => &mut self.interest,
            Component::Fee => &mut self.fees,
        }
    }
}

/// A change to an item that an earlier fold created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemChange {
    /// Which item.
    pub id: ItemId,
    /// What changed.
    pub change: ItemChangeKind,
}

/// A change to an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemChangeKind {
    /// The new unpaid balance.
    Balance(Cents),
    /// The new status. An item that becomes invalid loses its splits, components and balance.
    Status(ItemStatus),
    /// The payment bounced; this reversal gives it back.
    ReversedBy(Name),
}

//! The line items that a change makes, and the reasons of offsets that the engine makes.

use core::fmt;
use serde::{Deserialize, Serialize};

/// One of the line items of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ChangeItem {
    /// The interest that a backdated change would have saved.
    Retroactive,
    /// Principal that is forgiven.
    Forgiven,
    /// Interest that is waived or becomes principal.
    InterestOffset,
    /// Fees that become principal.
    FeeOffset,
    /// The principal that interest has become.
    CapitalizedInterest,
    /// The principal that fees have become.
    CapitalizedFees,
    /// A fee.
    Fee {
        /// Which, counted from 1.
        number: u32,
    },
    /// The waiver of a fee.
    Waiver {
        /// Which, counted from 1.
        number: u32,
    },
}

const NAMES: [(ChangeItem, &str); 6] = [
    (ChangeItem::Retroactive, "retro"),
    (ChangeItem::Forgiven, "forgiven"),
    (ChangeItem::InterestOffset, "offset_interest"),
    (ChangeItem::FeeOffset, "offset_fees"),
    (ChangeItem::CapitalizedInterest, "capitalized_interest"),
    (ChangeItem::CapitalizedFees, "capitalized_fees"),
];

impl ChangeItem {
    /// Reads the form that `Display` writes.
    pub(crate) fn parse(text: &str) -> Option<ChangeItem> {
        if let Some(number) = text.strip_prefix("fee_") {
            return Some(ChangeItem::Fee { number: number.parse().ok()? });
        }
        if let Some(number) = text.strip_prefix("waiver_") {
            return Some(ChangeItem::Waiver { number: number.parse().ok()? });
        }
        NAMES.iter().find(|(_, name)| *name == text).map(|(item, _)| *item)
    }
}

impl fmt::Display for ChangeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeItem::Fee { number } => write!(f, "fee_{number}"),
            ChangeItem::Waiver { number } => write!(f, "waiver_{number}"),
            item => f.write_str(NAMES.iter().find(|(named, _)| named == item).map_or("", |(_, name)| name)),
        }
    }
}

/// Why the engine made an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ItemReason {
    /// Interest that a backdated change of the rate would have saved.
    RetroactiveRate,
    /// Interest that was waived.
    InterestWaived,
    /// Interest or fees that became principal.
    Capitalized,
    /// Principal that was forgiven.
    PrincipalForgiven,
    /// A small balance that was written off.
    WriteOff,
    /// The part of a refund that exceeded the surplus.
    RefundExcess,
}

impl ItemReason {
    /// Every reason.
    pub const ALL: [ItemReason; 6] = [
        ItemReason::RetroactiveRate,
        ItemReason::InterestWaived,
        ItemReason::Capitalized,
        ItemReason::PrincipalForgiven,
        ItemReason::WriteOff,
        ItemReason::RefundExcess,
    ];

    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            ItemReason::RetroactiveRate => "RETROACTIVE_RATE",
            ItemReason::InterestWaived => "INTEREST_WAIVED",
            ItemReason::Capitalized => "CAPITALIZED",
            ItemReason::PrincipalForgiven => "PRINCIPAL_FORGIVEN",
            ItemReason::WriteOff => "WRITE_OFF",
            ItemReason::RefundExcess => "REFUND_EXCESS",
        }
    }
}

//! What a loan records for later: late fees, boarded balances, refunds, write-offs.

use super::loan::{Allocation, Loan};
use super::surplus_lots::Fed;
use crate::item::Name;
use crate::money::Cents;
use crate::time::Time;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a loan keeps of the balances that it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardedPast {
    /// The instalments that were judged before; [`BoardedPast::late_count`] includes them.
    pub judged: u32,
    /// Late instalments in a row.
    pub late_count: u32,
}

/// The next moment of a tier after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierMoment {
    /// The instalment it judges.
    pub row: u32,
    /// When.
    pub at: Time,
}

/// The late fees of a loan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFees {
    /// The next moments of the tiers after the first.
    pub tiers: Vec<TierMoment>,
    /// All late fees ever charged, less those waived.
    pub charged: Cents,
}

/// A refund, kept to reverse it and to undo the payments that it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refunded {
    pub name: Name,
    pub amount: Cents,
    /// The payments that it is from.
    pub fed_by: Vec<Fed>,
    pub reversed: bool,
}

/// The write-offs of a loan, kept to undo them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteOffs {
    pub done: Vec<WriteOff>,
}

/// A balance that was written off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WriteOff {
    /// The number of the fold's step, that of the payment before it.
    pub step: u64,
    pub amount: Cents,
    pub allocated: Allocation,
}

impl Loan {
    /// The oldest instalment that may still get a late fee.
    pub(super) fn oldest_fee_row(&self, first_tier: u32) -> u32 {
        self.late_fees.tiers.iter().map(|moment| moment.row).fold(first_tier, u32::min)
    }

    /// The next moment of a late fee: when, and of which tier, counted from 0. At the same instant the oldest
    /// instalment is first.
    pub(crate) fn next_fee_moment(&self) -> (Time, usize) {
        let first = (self.late_at, self.late_row, 0);
        let later = self.late_fees.tiers.iter().zip(1..).map(|(moment, tier)| (moment.at, moment.row, tier));
        let (at, _, tier) = later.fold(first, Ord::min);
        (at, tier)
    }
}

impl Loan {
    /// The refunded part of a step's surplus. The refunds no longer count as paid from it.
    pub(super) fn take_from_refunds(&mut self, step: u64) -> Cents {
        let refunds = self.past.iter_mut().flat_map(|past| past.surplus.refunds.iter_mut());
        let mut refunded = Cents::ZERO;
        for refund in refunds.filter(|refund| !refund.reversed) {
            refunded += refund.fed_by.iter().filter(|(fed, _)| *fed == step).map(|(_, cents)| *cents).sum();
            refund.fed_by.retain(|(fed, _)| *fed != step);
        }
        refunded
    }
}

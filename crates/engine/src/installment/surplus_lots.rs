//! The surplus of a loan by the payments that it is from, and its uses.

use super::loan::{Allocation, Loan};
use super::records::Refunded;
use crate::money::Cents;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Surplus left by one payment or offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lot {
    /// The number of the fold's step that applied the payment.
    step: u64,
    /// The unused part.
    pub(super) left: Cents,
}

/// The contribution of one payment or offset to a use of surplus: the step that applied it, and the amount.
pub(crate) type Fed = (u64, Cents);

/// The uses of surplus in order, kept to undo them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SurplusPast {
    uses: Vec<SurplusUse>,
    /// The refunds.
    pub refunds: Vec<Refunded>,
}

/// A use of surplus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SurplusUse {
    pub amount: Cents,
    pub allocated: Allocation,
    pub fed_by: Vec<Fed>,
    undone: bool,
}

impl SurplusPast {
    /// Records a use.
    pub fn remember(&mut self, amount: Cents, allocated: Allocation, fed_by: Vec<Fed>) {
        self.uses.push(SurplusUse { amount, allocated, fed_by, undone: false });
    }

    /// Renumbers the rows that surplus paid.
    pub fn renumber(&mut self, number: &impl Fn(u32) -> u32) {
        let shares = self.uses.iter_mut().flat_map(|used| used.allocated.shares.iter_mut());
        shares.for_each(|share| share.renumber(number));
    }

    /// Marks the newest use that took money of a step's payment as undone, and returns it.
    pub fn undo_newest_fed_by(&mut self, step: u64) -> Option<SurplusUse> {
        let is_its = |used: &&mut SurplusUse| !used.undone && used.fed_by.iter().any(|(fed, _)| *fed == step);
        let used = self.uses.iter_mut().rev().find(is_its)?;
        used.undone = true;
        Some(used.clone())
    }
}

impl Loan {
    /// Records surplus left by a step.
    pub(crate) fn keep_surplus(&mut self, step: u64, cents: Cents) {
        if cents.is_zero() {
            return;
        }
        let index = self.surplus_lots.partition_point(|lot| lot.step < step);
        match self.surplus_lots.get_mut(index).filter(|lot| lot.step == step) {
            Some(lot) => lot.left += cents,
            None => self.surplus_lots.insert(index, Lot { step, left: cents }),
        }
    }

    /// Takes money from the surplus, oldest first.
    pub(super) fn take_surplus(&mut self, cents: Cents) -> Vec<Fed> {
        let (mut left, mut fed_by) = (cents, Vec::new());
        for lot in &mut self.surplus_lots {
            let part = lot.left.min(left);
            lot.left -= part;
            left -= part;
            if part.is_positive() {
                fed_by.push((lot.step, part));
            }
        }
        assert!(left.is_zero(), "every cent of surplus is from a payment or an offset");
        self.surplus_lots.retain(|lot| lot.left.is_positive());
        fed_by
    }

    /// Removes the surplus of a payment that is undone.
    pub(super) fn drop_surplus(&mut self, step: u64) {
        self.surplus_lots.retain(|lot| lot.step != step);
    }
}

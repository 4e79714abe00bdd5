//! History that is needed only to undo payments and to show the past.

use super::loan::{Allocation, InstalmentRow, PaymentShare};
use super::row_amounts::Lowered;
use super::surplus_lots::SurplusPast;
use super::write_off::WriteOffs;
use crate::calendar::Day;
use crate::item::{ItemStatus, Name, Split};
use crate::money::Cents;
use alloc::vec::Vec;
use core::ops::Range;

/// An applied payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Its name.
    pub name: Name,
    /// How much; positive.
    pub amount: Cents,
    /// Its status.
    pub status: ItemStatus,
    /// Whether it bounced.
    pub reversed: bool,
    /// The number of the fold's step that applied it.
    pub step: u64,
    /// Its ranges in [`Past::shares`] and [`Past::paid_down`]: where its money went.
    shares: Range<u32>,
    paid_down: Range<u32>,
    lowered: Option<Lowered>,
}

/// History needed only to undo payments and to show the past. A state read from a snapshot has none of it; a fold from
/// the beginning rebuilds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// All interest after maturity ever posted: date and amount.
    pub tail: Vec<(Day, Cents)>,
    /// Posted and paid rows, from the first instalment on.
    pub rows: Vec<InstalmentRow>,
    /// Every applied payment, in order.
    pub payments: Vec<Applied>,
    /// Payments that are invalid and do not count.
    pub invalid: Vec<Name>,
    /// The uses of surplus, and the refunds.
    pub surplus: SurplusPast,
    /// The balances written off.
    pub write_offs: WriteOffs,
    /// Where the money of all payments went by row, one payment after the other.
    shares: Vec<PaymentShare>,
    /// The same by line item.
    paid_down: Vec<(Split, u64)>,
}

impl Past {
    /// Reserves capacity for this many inputs.
    pub fn make_room(&mut self, inputs: usize) {
        self.rows.reserve(inputs);
        self.payments.reserve(inputs);
        self.shares.reserve(2 * inputs);
        self.paid_down.reserve(2 * inputs);
    }

    /// Records a payment and where its money went. Empties `allocated`.
    pub fn remember(&mut self, name: Name, amount: Cents, status: ItemStatus, step: u64, allocated: &mut Allocation) {
        let (shares, paid_down) = (self.shares.len() as u32, self.paid_down.len() as u32);
        self.shares.append(&mut allocated.shares);
        self.paid_down.append(&mut allocated.paid_down);
        let shares = shares..self.shares.len() as u32;
        let paid_down = paid_down..self.paid_down.len() as u32;
        let lowered = allocated.lowered.take();
        self.payments.push(Applied { name, amount, status, reversed: false, step, shares, paid_down, lowered });
    }

    /// Where the money of a payment went.
    pub fn allocation_of(&self, payment: &Applied) -> Allocation {
        let within = |range: &Range<u32>| range.start as usize..range.end as usize;
        Allocation {
            shares: self.shares[within(&payment.shares)].to_vec(),
            paid_down: self.paid_down[within(&payment.paid_down)].to_vec(),
            lowered: payment.lowered.clone(),
        }
    }
}

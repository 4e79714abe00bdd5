//! Where the money of payments went, and other history that undoing them needs.

use super::earning::Earning;
use super::rates::Rates;
use super::row::InstalmentRow;
use super::row_amounts::Lowered;
use super::surplus_lots::SurplusPast;
use super::write_off::WriteOffs;
use crate::calendar::Day;
use crate::item::{Component, ItemId, ItemStatus, Name, Split};
use crate::money::Cents;
use crate::timeline::{FeeClass, TimelinePosition};
use alloc::vec::Vec;
use core::ops::Range;

/// The part of a payment that went to one row or fee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PaymentShare {
    /// To the interest of a row.
    Interest { row: u32, cents: Cents },
    /// To the flat interest of a row whose period had not begun, with its line item.
    PrepaidInterest { row: u32, cents: Cents, id: ItemId },
    /// To the principal of a row.
    Principal { row: u32, cents: Cents },
    /// To principal in addition to a row; later rows were lowered.
    Extra { row: u32, cents: Cents },
    /// To principal, from the end of the loan backwards.
    Tail { cents: Cents },
    /// To a fee.
    Fee { instalment: u32, class: FeeClass, cents: Cents, id: ItemId },
    /// To no debt: the payment exceeded the amount owed.
    Surplus { cents: Cents },
}

impl PaymentShare {
    /// Renumbers the row that it paid.
    pub fn renumber(&mut self, number: &impl Fn(u32) -> u32) {
        match self {
            PaymentShare::Interest { row, .. }
            | PaymentShare::PrepaidInterest { row, .. }
            | PaymentShare::Principal { row, .. }
            | PaymentShare::Extra { row, .. } => *row = number(*row),
            PaymentShare::Tail { .. } | PaymentShare::Fee { .. } | PaymentShare::Surplus { .. } => {}
        }
    }
}

/// Where the money of a payment went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// By row.
    pub shares: Vec<PaymentShare>,
    /// By line item, each with the order of the debt it paid down.
    pub paid_down: Vec<(Split, u64)>,
    /// The rows whose amount it lowered.
    pub lowered: Option<Lowered>,
}

impl Allocation {
    /// The part that went to one component.
    pub fn component(&self, component: Component) -> Cents {
        let part = |(split, _): &(Split, u64)| if split.component == component { split.cents } else { Cents::ZERO };
        self.paid_down.iter().map(part).sum()
    }

    /// The part that paid no debt.
    pub fn surplus(&self) -> Cents {
        let surplus =
            |share: &PaymentShare| if let PaymentShare::Surplus { cents } = share { *cents } else { Cents::ZERO };
        self.shares.iter().map(surplus).sum()
    }
}

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

/// Principal on which interest was counted, for the dates from one to another, the last excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accrual {
    pub from: Day,
    pub to: Day,
    pub principal: Cents,
    pub earning: Earning,
}

/// History needed only to undo payments and to show the past. A state read from a snapshot has none of it; a fold from
/// the beginning rebuilds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// The changes processed so far, with their places.
    pub changes: Vec<(Name, TimelinePosition)>,
    /// Changes that are folded as if they had never been made.
    pub cancelled: Vec<Name>,
    /// All rates ever in force.
    pub rates: Rates,
    /// The principal on which interest was counted.
    pub accruals: Vec<Accrual>,
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
        self.accruals.reserve(2 * inputs);
    }

    /// Renumbers the rows that earlier payments paid.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.shares.iter_mut().for_each(|share| share.renumber(&number));
        self.surplus.renumber(&number);
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

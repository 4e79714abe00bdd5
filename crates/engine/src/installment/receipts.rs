//! The payments received for an instalment, whichever debt they paid: they decide whether it is spared a late fee.
//!
//! The amount received for instalment k is the sum of the payments applied after the due moment of k-1 (for the first
//! instalment: all payments) and of earlier payments made partly in advance for k, less their parts that went to older
//! instalments. When the grace of an older instalment ends, it is decided whether parts that went to it are deducted:
//! always if it was paid or its grace has not ended; only under [`Pyramiding::FeesOnly`] if it was late; never if it
//! was spared, excused or stopped.
//!
//! Surplus of a payment that is used later is deducted in the same way. It does not make the payment count for more
//! instalments.
//!
//! The state keeps only the payments that can still count for an instalment whose grace has not ended.

use super::loan::{InstalmentRow, Loan, PaymentShare};
use super::surplus_lots::Fed;
use super::terms::Pyramiding;
use crate::money::Cents;
use crate::outcome::GraceResult;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A payment that may spare an instalment its late fee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The number of the fold's step that applied the payment.
    step: u64,
    /// The whole payment.
    amount: Cents,
    /// The last instalment whose period had begun.
    begun: u32,
    /// The last instalment the payment can count for.
    last: u32,
    /// The parts that went to instalments.
    parts: Vec<ReceiptPart>,
    /// The parts of its surplus that later went to instalments, one per instalment.
    used: Vec<ReceiptPart>,
}

/// The part of a payment that went to the interest and principal of an instalment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReceiptPart {
    instalment: u32,
    cents: Cents,
    /// Whether it is deducted from the amount received for later instalments.
    taken_off: bool,
}

impl Receipt {
    /// Money received before an account was boarded, since its last due date.
    pub(super) fn before_opening(amount: Cents, last: u32) -> Receipt {
        Receipt { step: 0, amount, begun: last, last, parts: Vec::new(), used: Vec::new() }
    }

    fn counts_for(&self, instalment: u32) -> bool {
        instalment <= self.begun || self.parts.iter().any(|part| part.instalment == instalment)
    }
}

impl PaymentShare {
    /// The instalment whose interest or principal it paid; `None` for other debts.
    fn instalment(&self) -> Option<u32> {
        match *self {
            PaymentShare::Interest { row, .. }
            | PaymentShare::PrepaidInterest { row, .. }
            | PaymentShare::Principal { row, .. } => Some(row),
            PaymentShare::Extra { .. }
            | PaymentShare::Tail { .. }
            | PaymentShare::Fee { .. }
            | PaymentShare::Surplus { .. } => None,
        }
    }

    fn cents(&self) -> Cents {
        match *self {
            PaymentShare::Interest { cents, .. }
            | PaymentShare::PrepaidInterest { cents, .. }
            | PaymentShare::Principal { cents, .. }
            | PaymentShare::Extra { cents, .. }
            | PaymentShare::Tail { cents }
            | PaymentShare::Fee { cents, .. }
            | PaymentShare::Surplus { cents } => cents,
        }
    }
}

/// Which payment's money went where when surplus was used: the oldest money pays the first share. Each entry holds the
/// step of the payment, the instalment paid, and the amount.
fn shared_out(fed_by: &[Fed], shares: &[PaymentShare]) -> Vec<(u64, u32, Cents)> {
    let mut all = Vec::new();
    let mut fed_by = fed_by.iter().copied();
    let mut money = fed_by.next();
    for share in shares {
        let mut wanted = share.cents();
        while let Some((step, left)) = money.filter(|_| wanted.is_positive()) {
            let part = left.min(wanted);
            wanted -= part;
            money = if left > part { Some((step, left - part)) } else { fed_by.next() };
            all.extend(share.instalment().map(|instalment| (step, instalment, part)));
        }
    }
    all
}

impl InstalmentRow {
    /// Whether money that went to this instalment is deducted from the amount received for later ones.
    fn is_taken_off(&self, pyramiding: Pyramiding) -> bool {
        match self.grace_result {
            None | Some(GraceResult::Paid) => true,
            Some(GraceResult::Late | GraceResult::Uncounted) => pyramiding == Pyramiding::FeesOnly,
            Some(GraceResult::Spared | GraceResult::Excused | GraceResult::Stopped) => false,
        }
    }
}

impl Loan {
    /// Records a payment and where it went, as long as it can count for an instalment whose grace has not ended.
    pub(crate) fn note_receipt(&mut self, step: u64, amount: Cents, shares: &[PaymentShare], pyramiding: Pyramiding) {
        let begun = self.current();
        let part = |share: &PaymentShare| {
            let instalment = share.instalment()?;
            Some(ReceiptPart { instalment, cents: share.cents(), taken_off: self.is_taken_off(instalment, pyramiding) })
        };
        let parts: Vec<ReceiptPart> = shares.iter().filter_map(part).collect();
        let last = parts.iter().map(|part| part.instalment).fold(begun, u32::max);
        if last >= self.oldest_fee_row(self.late_row) {
            self.receipts.push(Receipt { step, amount, begun, last, parts, used: Vec::new() });
        }
    }

    /// Whether money that goes to an instalment now is deducted from the amount received for later ones.
    fn is_taken_off(&self, instalment: u32, pyramiding: Pyramiding) -> bool {
        self.row(instalment).is_none_or(|row| row.is_taken_off(pyramiding))
    }

    /// Records where the surplus of payments went.
    pub(crate) fn note_use(&mut self, fed_by: &[Fed], shares: &[PaymentShare], pyramiding: Pyramiding) {
        for (step, instalment, cents) in shared_out(fed_by, shares) {
            let taken_off = self.is_taken_off(instalment, pyramiding);
            let Some(receipt) = self.receipts.iter_mut().find(|receipt| receipt.step == step) else { continue };
            match receipt.used.iter_mut().find(|part| part.instalment == instalment) {
                Some(part) => part.cents += cents,
                None => receipt.used.push(ReceiptPart { instalment, cents, taken_off }),
            }
        }
    }

    /// Removes a use of surplus that was undone.
    pub(crate) fn note_use_undone(&mut self, fed_by: &[Fed], shares: &[PaymentShare]) {
        for (step, instalment, cents) in shared_out(fed_by, shares) {
            let of_step = self.receipts.iter_mut().filter(|receipt| receipt.step == step);
            for part in of_step.flat_map(|receipt| receipt.used.iter_mut()) {
                if part.instalment == instalment {
                    part.cents -= cents;
                }
            }
        }
    }

    /// Renumbers the rows that payments paid.
    pub(crate) fn renumber_receipts(&mut self, paid: impl Fn(u32) -> u32, asks: impl Fn(u32) -> u32) {
        for receipt in &mut self.receipts {
            let parts = receipt.parts.iter_mut().chain(&mut receipt.used);
            parts.for_each(|part| part.instalment = paid(part.instalment));
            (receipt.begun, receipt.last) = (asks(receipt.begun), asks(receipt.last));
        }
    }

    /// Removes a payment that was undone.
    pub(crate) fn drop_receipt(&mut self, step: u64) {
        self.receipts.retain(|receipt| receipt.step != step);
    }

    /// The amount received for an instalment so far.
    pub(crate) fn received_for(&self, instalment: u32) -> Cents {
        let earlier = |receipt: &Receipt| -> Cents {
            let all = receipt.parts.iter().chain(&receipt.used);
            let parts = all.filter(|part| part.instalment < instalment && part.taken_off);
            parts.map(|part| part.cents).sum()
        };
        let receipts = self.receipts.iter().filter(|receipt| receipt.counts_for(instalment));
        receipts.map(|receipt| receipt.amount - earlier(receipt)).sum()
    }

    /// Drops payments that count only for instalments before this one.
    pub(super) fn drop_receipts_before(&mut self, instalment: u32) {
        self.receipts.retain(|receipt| receipt.last >= instalment);
    }

    /// The grace of an instalment ends: decides whether money that went to it counts for later ones, and drops payments
    /// that count for no later one.
    pub(crate) fn settle_receipts(&mut self, instalment: u32, grace_result: GraceResult, pyramiding: Pyramiding) {
        let taken_off =
            InstalmentRow { grace_result: Some(grace_result), ..InstalmentRow::default() }.is_taken_off(pyramiding);
        let oldest = self.oldest_fee_row(instalment + 1);
        self.drop_receipts_before(oldest);
        // A part is deducted until its instalment is found late, spared, excused or stopped.
        if !taken_off {
            let parts = self.receipts.iter_mut().flat_map(|receipt| receipt.parts.iter_mut().chain(&mut receipt.used));
            parts.filter(|part| part.instalment == instalment).for_each(|part| part.taken_off = false);
        }
    }
}

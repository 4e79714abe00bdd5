//! One row of a loan: what it asked for and what was paid into it.

use crate::money::Cents;
use crate::outcome::GraceResult;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The state of an instalment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalmentRow {
    /// This instalment's interest: posted, carried over to it, or paid before posting.
    pub interest: Cents,
    /// The paid part of it.
    pub interest_paid: Cents,
    /// This instalment's principal; known once its period is posted.
    pub principal: Cents,
    /// The paid part of it.
    pub principal_paid: Cents,
    /// The part of `principal_paid` that was paid earlier into the end of the loan.
    pub tail: Cents,
    /// Principal paid in addition to the instalment, which lowered the later ones.
    pub extra: Cents,
    /// Flat interest paid before the period began.
    pub prepaid_interest: Cents,
    /// The number of line items of that interest.
    pub prepaid_parts: u32,
    /// What was missing when the row counted as paid; it is no longer part of the row.
    pub shortfall: Cents,
    /// What was paid of it before the account was boarded; it is no longer part of the row.
    pub paid_before: Cents,
    /// Fees charged in its period.
    pub fees: Cents,
    /// The part of `interest` that was moved here from another row; the row asks for it in addition to its own amount.
    pub deferred_interest: Cents,
    /// Principal that was moved here from another row; the row asks for it in addition to its own amount.
    pub deferred_principal: Cents,
    /// The part of `deferred_principal` that earns no interest until the row falls due.
    pub interest_free: Cents,
    /// Whether it asks for nothing more: what was unpaid of it moved to other rows.
    pub retired: bool,
    /// Whether its period has ended and was posted.
    pub posted: bool,
    /// Whether it fell due while the account was closed, so that it is never late.
    pub excused: bool,
    /// Whether its grace ended while the status stopped late fees or the count; then it never counts as late.
    pub stopped: bool,
    /// The finding when its grace ended; `None` before, and if it was paid.
    pub grace_result: Option<GraceResult>,
    /// Whether it was paid when it fell due, by money not given back since; meaningful once posted.
    pub on_time: bool,
}

impl InstalmentRow {
    /// Clears `on_time` if the money for the row was given back.
    pub(crate) fn note_unpaid(&mut self) {
        self.on_time &= !self.posted || self.unpaid().is_zero();
    }

    /// The unpaid interest and principal of a posted row.
    pub fn unpaid(&self) -> Cents {
        self.unpaid_interest() + self.unpaid_principal()
    }

    /// The unpaid posted interest.
    pub fn unpaid_interest(&self) -> Cents {
        self.interest - self.interest_paid
    }

    /// The unpaid principal of a posted row.
    pub fn unpaid_principal(&self) -> Cents {
        self.principal - self.principal_paid
    }

    /// What other rows deferred to this one.
    pub(crate) fn deferred(&self) -> Cents {
        self.deferred_interest + self.deferred_principal
    }

    /// The amount the borrower had to pay: without principal already paid from the end.
    pub fn asked(&self) -> Cents {
        self.interest + self.principal + self.paid_before - self.tail
    }
}

/// Rows as they are stored: rows without entries are counted, not written.
pub(super) mod sparse {
    use super::*;

    pub fn serialize<S: Serializer>(rows: &VecDeque<InstalmentRow>, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut stored, mut skipped) = (Vec::<(u32, InstalmentRow)>::new(), 0);
        for row in rows {
            if *row == InstalmentRow::default() {
                skipped += 1;
            } else {
                stored.push((skipped, *row));
                skipped = 0;
            }
        }
        (stored, skipped).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VecDeque<InstalmentRow>, D::Error> {
        let (stored, last) = <(Vec<(u32, InstalmentRow)>, u32)>::deserialize(deserializer)?;
        let rows_after = |skipped: u32| core::iter::repeat_n(InstalmentRow::default(), skipped as usize);
        let mut rows = VecDeque::new();
        for (skipped, row) in stored {
            rows.extend(rows_after(skipped).chain([row]));
        }
        rows.extend(rows_after(last));
        Ok(rows)
    }
}

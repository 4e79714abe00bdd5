//! What each row of the plan asks for.
//!
//! An account starts with the amounts agreed in its terms. Payments beyond the instalments and changes rewrite future
//! rows. Consecutive rows with the same amount form one stretch, so the plan stays small regardless of the number of
//! rows.

use super::terms::Method;
use crate::money::Cents;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What a row asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// This total: interest is what accrues, principal the rest.
    Total(Cents),
    /// This principal; the interest of its period is added on top.
    Principal(Cents),
    /// Both are fixed.
    Kept {
        /// The principal.
        principal: Cents,
        /// The interest.
        interest: Cents,
    },
}

impl Ask {
    /// What a row of a method asks for; `interest` is its fixed interest.
    pub(crate) fn of(method: Method, amount: Cents, interest: Cents) -> Ask {
        match method {
            Method::Level => Ask::Total(amount),
            Method::EqualPrincipal => Ask::Principal(amount),
            Method::Flat | Method::Precomputed => Ask::Kept { principal: amount, interest },
        }
    }

    /// Its total, or its principal if interest is added on top.
    pub fn amount(self) -> Cents {
        match self {
            Ask::Total(amount) | Ask::Principal(amount) | Ask::Kept { principal: amount, .. } => amount,
        }
    }
}

/// Consecutive rows with the same amount, up to the next stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The first row.
    pub from: u32,
    /// What each row asks for.
    pub ask: Ask,
    /// The number of the rewriting that created it; 0 is the agreed plan.
    pub rewriting: u64,
}

/// The amount of each row. The last row is always the rest of the loan, regardless of the amount here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowAmounts {
    stretches: Vec<Stretch>,
    rewritings: u64,
}

/// Rows whose amount a payment lowered, and the amounts before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lowered {
    rewriting: u64,
    first: u32,
    before: Vec<Stretch>,
}

impl RowAmounts {
    /// The agreed amounts: each stretch with its first row.
    pub(crate) fn agreed(stretches: impl IntoIterator<Item = (u32, Ask)>) -> RowAmounts {
        let stretch = |(from, ask)| Stretch { from, ask, rewriting: 0 };
        RowAmounts { stretches: stretches.into_iter().map(stretch).collect(), rewritings: 0 }
    }

    /// The agreed amounts of rows that each have their own.
    pub(crate) fn of_rows(rows: impl IntoIterator<Item = (u32, Ask)>) -> RowAmounts {
        let mut stretches: Vec<(u32, Ask)> = Vec::new();
        for (row, ask) in rows {
            if stretches.last().is_none_or(|(_, last)| *last != ask) {
                stretches.push((row, ask));
            }
        }
        RowAmounts::agreed(stretches)
    }

    /// What a row asks for.
    pub fn of(&self, row: u32) -> Ask {
        let stretch = self.stretches.iter().rev().find(|stretch| stretch.from <= row);
        stretch.map_or(Ask::Principal(Cents::ZERO), |stretch| stretch.ask)
    }

    /// Rewrites the amount of the rows from `first` on, and returns the amounts before.
    pub(crate) fn rewrite(&mut self, first: u32, ask: Ask) -> Lowered {
        self.rewritings += 1;
        let before = self.cut(first);
        self.stretches.push(Stretch { from: first, ask, rewriting: self.rewritings });
        Lowered { rewriting: self.rewritings, first, before }
    }

    /// Sets the amount of a single row, as part of the latest rewriting.
    pub(crate) fn rewrite_one(&mut self, row: u32, ask: Ask) {
        self.set_one(row, ask, self.rewritings);
    }

    /// Sets the amount of a single row, as part of the rewriting that it belongs to: undoing that rewriting, or a later
    /// one, replaces it.
    pub(crate) fn replace_one(&mut self, row: u32, ask: Ask) {
        let rewriting = self.stretches.iter().rev().find(|stretch| stretch.from <= row);
        self.set_one(row, ask, rewriting.map_or(0, |stretch| stretch.rewriting));
    }

    fn set_one(&mut self, row: u32, ask: Ask, rewriting: u64) {
        let after = self.cut(row);
        self.stretches.push(Stretch { from: row, ask, rewriting });
        self.stretches.extend(tail_of(&after, row + 1));
    }

    /// Restores the earlier amounts of the rows from `first` on that this rewriting changed, unless a later rewriting
    /// changed them again. Returns the first row that was rewritten later, if there is one.
    pub(crate) fn restore(&mut self, lowered: &Lowered, first: u32) -> Option<u32> {
        let first = first.max(lowered.first);
        let later = self.cut(first);
        let rewritten = later.iter().position(|stretch| stretch.rewriting != lowered.rewriting);
        let rewritten = rewritten.map(|index| later[index].from);
        let until = rewritten.unwrap_or(u32::MAX);
        self.stretches.extend(tail_of(&lowered.before, first).filter(|stretch| stretch.from < until));
        if let Some(row) = rewritten {
            self.stretches.extend(tail_of(&later, row));
        }
        rewritten
    }

    /// Takes rows out; those after them move up.
    pub(crate) fn take_out(&mut self, row: u32, count: u32) {
        let off = self.cut(row);
        let after = tail_of(&off, row + count);
        self.stretches.extend(after.map(|stretch| Stretch { from: stretch.from - count, ..stretch }));
    }

    /// Removes the rows from `first` on from the plan and returns them.
    fn cut(&mut self, first: u32) -> Vec<Stretch> {
        let off = tail_of(&self.stretches, first).collect();
        self.stretches.retain(|stretch| stretch.from < first);
        off
    }
}

/// The stretches of the rows from `first` on.
fn tail_of(stretches: &[Stretch], first: u32) -> impl Iterator<Item = Stretch> + '_ {
    let index = stretches.partition_point(|stretch| stretch.from <= first).saturating_sub(1);
    stretches[index..].iter().map(move |stretch| Stretch { from: stretch.from.max(first), ..*stretch })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(asks: &RowAmounts) -> Vec<i64> {
        (1..=6).map(|row| asks.of(row).amount().0).collect()
    }

    #[test]
    fn what_was_lowered_is_given_back() {
        let mut asks = RowAmounts::agreed([(1, Ask::Total(Cents(9)))]);
        let first = asks.rewrite(2, Ask::Total(Cents(7)));
        let second = asks.rewrite(4, Ask::Total(Cents(5)));
        assert_eq!(levels(&asks), [9, 7, 7, 5, 5, 5]);
        let mut newest_first = asks.clone();
        assert_eq!(newest_first.restore(&second, 3), None);
        assert_eq!(levels(&newest_first), [9, 7, 7, 7, 7, 7]);
        assert_eq!(newest_first.restore(&first, 3), None);
        assert_eq!(levels(&newest_first), [9, 7, 9, 9, 9, 9], "row 2 is no longer ahead");
        assert_eq!(asks.restore(&first, 1), Some(4), "rows from 4 on were rewritten since");
        assert_eq!(levels(&asks), [9, 9, 9, 5, 5, 5]);
        asks.rewrite(4, Ask::Total(Cents(6)));
        assert_eq!(asks.restore(&second, 1), Some(4), "and again since");
    }

    #[test]
    fn one_row_may_ask_something_of_its_own() {
        let mut asks = RowAmounts::agreed([(1, Ask::Total(Cents(9)))]);
        let lowered = asks.rewrite(3, Ask::Total(Cents(7)));
        asks.rewrite_one(3, Ask::Total(Cents(8)));
        assert_eq!(levels(&asks), [9, 9, 8, 7, 7, 7]);
        assert_eq!(asks.restore(&lowered, 1), None);
        assert_eq!(levels(&asks), [9; 6]);
    }
}

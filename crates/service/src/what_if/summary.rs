//! The summary of a what-if: sums, the largest differences, and the accounts that could not be folded.

use super::compare::{AccountDifference, AccountResult};
use super::figures::{Amounts, Figures};
use serde::Serialize;
use std::sync::Arc;

/// How many of the largest differences are kept.
pub const MOST_DIFFERENCES: usize = 100;
/// How many of the accounts that could not be folded are kept; all are counted.
pub const MOST_FAILURES: usize = 1_000;

/// Sums over all compared accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// The amounts.
    #[serde(flatten)]
    pub amounts: Amounts,
    /// Accounts with an instalment that is past due.
    pub late_accounts: u64,
    /// Late fees that were charged.
    pub late_fees: u64,
    /// Closed accounts.
    pub closed_accounts: u64,
}

impl Totals {
    fn add(&mut self, figures: &Figures) {
        self.amounts.add(&figures.amounts);
        self.late_accounts += u64::from(figures.is_late());
        self.late_fees += u64::from(figures.late_fees);
        self.closed_accounts += u64::from(figures.status.is_closed());
    }
}

/// An account that could not be folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The account.
    pub account_id: Arc<str>,
    /// Why.
    pub reason: String,
}

/// The summary.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WhatIfSummary {
    /// Accounts that were compared.
    pub accounts: u64,
    /// Of these, accounts of which a figure differs.
    pub differing: u64,
    /// Accounts that do not meet the conditions.
    pub left_out: u64,
    /// Accounts that begin after the moment that is compared.
    pub not_begun: u64,
    /// Accounts that could not be folded.
    pub failed: u64,
    /// Compared accounts that keep values of their own where the policies differ.
    pub keep_own_values: u64,
    /// Compared accounts with an input that would no longer apply, such as the waiver of a fee that is not charged.
    pub inputs_not_applied: u64,
    /// Compared accounts whose last due date is later.
    pub maturity_later: u64,
    /// Compared accounts whose last due date is earlier.
    pub maturity_earlier: u64,
    /// The sums as they are.
    pub before: Totals,
    /// The sums as they would be.
    pub after: Totals,
    /// The differences of the amounts.
    pub difference: Amounts,
    /// The accounts that differ most, the largest difference first.
    pub largest: Vec<AccountDifference>,
    /// The first accounts that could not be folded.
    pub failures: Vec<Failure>,
}

impl WhatIfSummary {
    /// Adds the result for one account.
    pub(super) fn add(&mut self, result: &AccountResult) {
        match result {
            AccountResult::LeftOut => self.left_out += 1,
            AccountResult::NotBegun => self.not_begun += 1,
            AccountResult::Failed { account_id, reason } => {
                self.failed += 1;
                if self.failures.len() < MOST_FAILURES {
                    self.failures.push(Failure { account_id: account_id.clone(), reason: reason.clone() });
                }
            }
            AccountResult::Compared(difference) => self.add_difference(difference),
        }
    }

    fn add_difference(&mut self, account: &AccountDifference) {
        let (before, after) = (&account.before, &account.after);
        self.accounts += 1;
        self.before.add(before);
        self.after.add(after);
        self.difference.add(&account.amounts());
        self.keep_own_values += u64::from(account.keeps_own_values);
        self.inputs_not_applied += u64::from(account.not_applied_after > account.not_applied_before);
        self.maturity_later += u64::from(after.maturity > before.maturity);
        self.maturity_earlier += u64::from(after.maturity < before.maturity);
        if account.differs() {
            self.differing += 1;
            self.keep_if_large(account);
        }
    }

    /// Keeps the account among the largest differences. Of equal ones, the first by id stays.
    fn keep_if_large(&mut self, account: &AccountDifference) {
        let size = |account: &AccountDifference| account.amounts().largest();
        let own = size(account);
        let index = self.largest.partition_point(|other| size(other) >= own);
        if index < MOST_DIFFERENCES {
            self.largest.insert(index, account.clone());
            self.largest.truncate(MOST_DIFFERENCES);
        }
    }
}

//! The numbers of an account's records. Records are numbered 1, 2, 3, …; only a withdrawal leaves a gap, and the audit
//! trail states which records it removed.

use crate::Service;
use crate::problem::Problem;
use crate::withdrawals::{CHANGE_WITHDRAWAL, WITHDRAWAL, records_of};
use daybook_engine::time::Time;
use daybook_store::LoadedAccount;
use daybook_store::audit::AuditFilter;
use daybook_store::records::AccountKey;
use std::collections::BTreeSet;
use std::fmt;

/// The number of audit records read at once.
const STEP: usize = 1_000;

/// Consecutive numbers that no record has: the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap(i64, i64);

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 { write!(f, "{}", self.0) } else { write!(f, "{} to {}", self.0, self.1) }
    }
}

/// The gaps in an account's numbers, apart from those of known withdrawals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Missing {
    pub gaps: Vec<Gap>,
    /// Whether all withdrawals are known: then a record was lost.
    pub is_certain: bool,
}

/// The gaps among these numbers, which are in order, and up to the number that the next record gets.
fn gaps(numbers: impl Iterator<Item = i64>, next: i64) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut expected = 1;
    for number in numbers.chain([next]) {
        if number > expected {
            gaps.push(Gap(expected, number - 1));
        }
        expected = expected.max(number.saturating_add(1));
    }
    gaps
}

/// The parts of gaps that are not among these numbers.
fn without(gaps: &[Gap], numbers: &BTreeSet<i64>) -> Vec<Gap> {
    gaps.iter()
        .flat_map(|Gap(first, last)| {
            let within: Vec<i64> = numbers.range(first..=last).copied().collect();
            let begins = [*first].into_iter().chain(within.iter().map(|number| number + 1));
            let ends = within.iter().map(|number| number - 1).chain([*last]);
            begins.zip(ends).filter(|(begin, end)| begin <= end).map(|(begin, end)| Gap(begin, end)).collect::<Vec<_>>()
        })
        .collect()
}

impl Service {
    /// The numbers that are missing in an account's journal. The account was loaded before, so the audit trail has
    /// every withdrawal that left a gap.
    pub(super) async fn missing_numbers(&self, loaded: &LoadedAccount) -> Result<Missing, Problem> {
        let (row, inputs) = (&loaded.row, &loaded.inputs);
        let gaps = gaps(inputs.iter().map(|input| input.seq), row.now.next_seq);
        let Some(first) = inputs.first().filter(|_| !gaps.is_empty()) else { return Ok(Missing::default()) };
        let mut withdrawn = BTreeSet::new();
        let mut is_certain = self.trail_reaches_back_to(&row.key, first.recorded_at).await?;
        for action in [WITHDRAWAL, CHANGE_WITHDRAWAL] {
            let (account, action) = (row.key.account.to_string(), action.to_owned());
            let filter = AuditFilter { subject_id: Some(account), action: Some(action), ..AuditFilter::default() };
            let mut before = None;
            loop {
                let page = self.store.audit_records(row.key.org, &filter, before, STEP, STEP).await?;
                for audit in &page.records {
                    match records_of(&audit.record) {
                        Some(records) => withdrawn.extend(records),
                        // The withdrawal of a scheduled change is itself a record of the journal.
                        None if audit.record.action == CHANGE_WITHDRAWAL => {}
                        None => is_certain = false,
                    }
                }
                before = page.next;
                if before.is_none() {
                    break;
                }
            }
        }
        Ok(Missing { gaps: without(&gaps, &withdrawn), is_certain })
    }

    /// Whether the audit trail of an account's organization began before the account. An earlier build made
    /// withdrawals without a trail.
    async fn trail_reaches_back_to(&self, key: &AccountKey, opened_at: Time) -> Result<bool, Problem> {
        let first = self.store.audit_chain(key.org, 0, 1).await?;
        Ok(first.first().is_some_and(|first| first.record.at <= opened_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_at_every_place() {
        assert_eq!(gaps([1, 2, 3].into_iter(), 4), []);
        assert_eq!(gaps([1, 3, 4].into_iter(), 5), [Gap(2, 2)]);
        assert_eq!(gaps([3, 9].into_iter(), 12), [Gap(1, 2), Gap(4, 8), Gap(10, 11)]);
        assert_eq!(gaps([1, 2].into_iter(), i64::MAX), [Gap(3, i64::MAX - 1)]);
        assert_eq!(gaps([1, i64::MAX].into_iter(), 1), [Gap(2, i64::MAX - 1)]);
        // A number that is too low is a difference of its own.
        assert_eq!(gaps([1, 2, 3].into_iter(), 1), []);
    }

    #[test]
    fn withdrawn_numbers_are_no_gaps() {
        let all = [Gap(2, 6), Gap(8, 8)];
        let left = |numbers: &[i64]| without(&all, &numbers.iter().copied().collect());
        assert_eq!(left(&[]), all);
        assert_eq!(left(&[2, 6, 8]), [Gap(3, 5)]);
        assert_eq!(left(&[4, 7]), [Gap(2, 3), Gap(5, 6), Gap(8, 8)]);
        assert_eq!(left(&[2, 3, 4, 5, 6, 8]), []);
        assert_eq!((Gap(3, 5).to_string(), Gap(8, 8).to_string()), ("3 to 5".to_owned(), "8".to_owned()));
    }
}

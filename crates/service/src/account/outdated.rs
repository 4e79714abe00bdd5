//! Accounts that earlier rules wrote: they have to be folded again before they can be used, see [`crate::refold`].

use crate::problem::Problem;
use daybook_engine::snapshot;
use daybook_engine::terms::RULES_VERSION;
use daybook_store::records::AccountRow;

/// Whether an account was written by earlier rules or in an earlier format, so that it has to be folded again. A
/// version that never existed means damaged data, which is not handled here.
pub fn is_outdated(row: &AccountRow) -> bool {
    let is_old_state = row.now.state.first().is_some_and(|version| (1..snapshot::OLDEST).contains(version));
    is_old_state || (1..RULES_VERSION).contains(&rules_version(&row.terms))
}

/// The error for an account that could not be folded again.
pub fn not_refolded(row: &AccountRow) -> Problem {
    let account = &row.key.account;
    let message = match &row.now.failure {
        Some(failure) => format!("account \"{account}\" cannot be used: {failure}"),
        None => {
            format!("account \"{account}\" has not been recalculated under version {RULES_VERSION} of the rules yet")
        }
    };
    Problem::new("account_failed", message)
}

/// The version of the rules that wrote these terms: their first field.
pub fn rules_version(terms: &[u8]) -> u16 {
    postcard::take_from_bytes::<u16>(terms).map_or(0, |(version, _)| version)
}

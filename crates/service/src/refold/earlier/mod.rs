//! Reads data that earlier versions of the rules wrote: the terms of accounts, and their balances and status.
//!
//! No rule of an earlier version is kept. Terms are derived again: the account's own policy stays, and fields that the
//! earlier version did not have come from its product. Accounts of version 1 also take their product's order of
//! payments, because the default of version 1 was another one.

mod rules_1;
mod rules_2;

use super::balances_and_status::BalancesAndStatus;
use crate::account::outdated::rules_version;
use crate::catalog::ProductInfo;
use crate::policy::product_policy;
use crate::problem::Problem;
use daybook_engine::terms::{Opening, Policy, RULES_VERSION, Terms};
use daybook_store::records::AccountRow;

/// The prefix of the failure reason of an account that could not be folded again.
pub const FAILURE: &str = "It could not be recalculated under newer rules";
/// The prefix that earlier builds wrote.
const EARLIER_FAILURE: &str = "It could not be folded again by newer rules";

/// Whether this is the failure reason of an account that could not be folded again.
pub fn is_failure(reason: &str) -> bool {
    [FAILURE, EARLIER_FAILURE].iter().any(|prefix| reason.starts_with(prefix))
}

/// The terms of an account under the current rules.
pub fn terms(row: &AccountRow, product: &ProductInfo) -> Result<Terms, Problem> {
    let unreadable = |error| Problem::internal(format!("its terms cannot be read: {error}"));
    match rules_version(&row.terms) {
        RULES_VERSION => postcard::from_bytes(&row.terms).map_err(unreadable),
        2 => rules_2::terms(&row.terms, product).map_err(unreadable)?,
        1 => rules_1::terms(&row.terms, product).map_err(unreadable)?,
        version => Err(Problem::internal(format!("its terms are of version {version}, which is unknown"))),
    }
}

/// The balances and status of an account of an earlier version; `None` if it was never processed.
pub fn balances_and_status(row: &AccountRow) -> Option<BalancesAndStatus> {
    match (rules_version(&row.terms), row.now.state.split_first()?) {
        (1, (1, state)) => rules_1::balances_and_status(state, &row.terms),
        (2, (version, state)) => rules_2::balances_and_status(*version, state, &row.terms),
        _ => None,
    }
}

/// The policy of a product under the current rules.
fn policy_of(product: &ProductInfo) -> Result<Policy, Problem> {
    product_policy(&product.form, None).map_err(|broken| {
        let sentences: Vec<String> = broken.iter().map(|problem| problem.to_string()).collect();
        Problem::internal(format!("its product is not valid under the current rules: {}", sentences.join("; ")))
    })
}

/// The terms of an account under the current rules, from its policy.
fn agree(policy: &Policy, opening: Opening) -> Result<Terms, Problem> {
    Terms::new(policy, opening).map_err(|invalid| {
        let sentences: Vec<String> = invalid.iter().map(ToString::to_string).collect();
        Problem::internal(format!("its terms are not valid under the current rules: {}", sentences.join("; ")))
    })
}

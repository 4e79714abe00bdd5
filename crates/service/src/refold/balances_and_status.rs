//! The balances and status of an account that newer rules may change.

use crate::account::book::Book;
use serde::{Deserialize, Serialize};

/// The balances and status of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancesAndStatus {
    /// Its status.
    pub status: String,
    /// The reason for its status.
    pub substatus: Option<String>,
    /// Unpaid principal.
    pub principal_cents: i64,
    /// Posted interest that is unpaid.
    pub interest_cents: i64,
    /// Unpaid fees.
    pub fees_cents: i64,
    /// Surplus money kept for the borrower.
    pub surplus_cents: i64,
    /// The amount past due; `None` for a closed account.
    pub past_due_cents: Option<i64>,
}

impl BalancesAndStatus {
    /// The balances and status of a book as of where it is processed; `None` if it was never processed.
    pub fn of(book: &Book) -> Option<BalancesAndStatus> {
        let at = book.now.processed_through?;
        let balances = book.state.balances();
        let status = book.state.status;
        let reading = book.reading(&book.state, at).ok().filter(|_| !status.is_closed());
        Some(BalancesAndStatus {
            status: status.standing().name().to_owned(),
            substatus: status.reason().map(|reason| reason.name().to_owned()),
            principal_cents: balances.principal.0,
            interest_cents: balances.interest.0,
            fees_cents: balances.fees.0,
            surplus_cents: balances.surplus.0,
            past_due_cents: reading.map(|reading| reading.past_due.0),
        })
    }

    /// The status and its reason: `SUSPENDED/DELINQUENT`.
    pub fn status_pair(&self) -> String {
        self.substatus.as_ref().map_or_else(|| self.status.clone(), |reason| format!("{}/{reason}", self.status))
    }
}

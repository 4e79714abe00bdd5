//! How an account stands, as far as newer rules may move it.

use crate::account::book::Book;
use serde::{Deserialize, Serialize};

/// What an account owes, and its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Its status.
    pub status: String,
    /// Why it has it.
    pub substatus: Option<String>,
    /// Principal that is not paid.
    pub principal_cents: i64,
    /// Posted interest that is not paid.
    pub interest_cents: i64,
    /// Fees that are not paid.
    pub fees_cents: i64,
    /// Money that is held for the borrower.
    pub surplus_cents: i64,
    /// What is past due; `None` for a closed account.
    pub past_due_cents: Option<i64>,
}

impl Standing {
    /// How a book stands where it is processed; `None` if it never was.
    pub fn of(book: &Book) -> Option<Standing> {
        let at = book.now.processed_through?;
        let balances = book.state.balances();
        let status = book.state.status;
        let reading = book.reading(&book.state, at).ok().filter(|_| !status.is_closed());
        Some(Standing {
            status: status.standing().name().to_owned(),
            substatus: status.reason().map(|reason| reason.name().to_owned()),
            principal_cents: balances.principal.0,
            interest_cents: balances.interest.0,
            fees_cents: balances.fees.0,
            surplus_cents: balances.surplus.0,
            past_due_cents: reading.map(|reading| reading.past_due.0),
        })
    }

    /// The status and its reason in one: `SUSPENDED/DELINQUENT`.
    pub fn status_pair(&self) -> String {
        self.substatus.as_ref().map_or_else(|| self.status.clone(), |reason| format!("{}/{reason}", self.status))
    }
}

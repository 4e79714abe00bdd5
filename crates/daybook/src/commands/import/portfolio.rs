//! What the two files say, once they are found to be right.

use super::columns::Outcome;
use daybook_engine::time::Time;
use std::collections::{BTreeMap, HashMap};

/// Loans, their borrowers and their payments.
#[derive(Debug, Default)]
pub struct Portfolio {
    /// What the file of the loans is called.
    pub loans_file: String,
    /// What the file of the payments is called.
    pub payments_file: String,
    /// The loans, in their order in the file.
    pub loans: Vec<Loan>,
    /// The borrowers who are to be made.
    pub customers: Vec<Customer>,
    /// The payments: those of a loan together, in order of time.
    pub payments: Vec<Payment>,
    /// What may be expected of a loan.
    pub outcomes: Vec<Outcome>,
    /// Where a loan is, by its id.
    pub by_id: HashMap<Box<str>, u32>,
    /// Borrowers who are only named, with the line that does first: they must be on the server.
    pub references: BTreeMap<String, u64>,
    /// Whether accounts get those borrowers. A scratch database does not have them.
    pub keeps_references: bool,
    /// Whether a loan may have no borrower.
    pub allows_no_customer: bool,
}

/// A loan.
#[derive(Debug)]
pub struct Loan {
    /// The line that it is on.
    pub line: u64,
    /// Its id.
    pub account_id: Box<str>,
    /// When it was lent; nothing if the file does not say so rightly.
    pub start: Option<Time>,
    /// The body of the call that opens it.
    pub body: Box<str>,
    /// When the outcome is looked at; nothing: now.
    pub as_of: Option<Time>,
    /// What is expected: which outcome, and its value.
    pub expected: Vec<(u16, Expected)>,
}

/// What is expected of an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A number.
    Number(i64),
    /// A word.
    Word(Box<str>),
}

/// A borrower.
#[derive(Debug)]
pub struct Customer {
    /// The line that names them first.
    pub line: u64,
    /// Their id.
    pub customer_id: String,
    /// The body of the call that makes them.
    pub body: Box<str>,
}

/// A payment. There may be millions, so it is small.
#[derive(Debug)]
pub struct Payment {
    /// Which loan.
    pub loan: u32,
    /// The line that it is on.
    pub line: u64,
    /// Its id.
    pub id: Box<str>,
    /// Whether the id was made of what the row says.
    pub is_derived: bool,
    /// How much.
    pub cents: i64,
    /// When.
    pub at: Time,
    /// More fields of the call that records it, as JSON with a comma before each.
    pub more: Option<Box<str>>,
}

impl Portfolio {
    /// Ranges of payments that are each of whole loans and have about so many payments.
    pub fn payments_by_loans(&self, about: usize) -> Vec<std::ops::Range<usize>> {
        let mut ranges = Vec::new();
        let (mut start, mut end) = (0, 0);
        for of_loan in self.payments.chunk_by(|one, other| one.loan == other.loan) {
            if end > start && end - start + of_loan.len() > about {
                ranges.push(start..end);
                start = end;
            }
            end += of_loan.len();
        }
        if end > start {
            ranges.push(start..end);
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payments_of_a_loan_stay_together() {
        let payment = |loan| Payment {
            loan,
            line: 1,
            id: "p".into(),
            is_derived: false,
            cents: 1,
            at: Time::from_seconds(0),
            more: None,
        };
        let payments = [0, 0, 1, 1, 1, 2, 3, 3].map(payment).into_iter().collect();
        let portfolio = Portfolio { payments, ..Portfolio::default() };
        assert_eq!(portfolio.payments_by_loans(4), [0..2, 2..6, 6..8]);
        assert_eq!(portfolio.payments_by_loans(1), [0..2, 2..5, 5..6, 6..8]);
        assert_eq!(portfolio.payments_by_loans(100), std::slice::from_ref(&(0..8)));
        assert!(Portfolio::default().payments_by_loans(4).is_empty());
    }
}

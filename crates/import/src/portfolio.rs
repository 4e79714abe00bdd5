//! The content of the two files, once they are valid.

use crate::columns::ExpectedValue;
use daybook_engine::time::Time;
use std::collections::{BTreeMap, HashMap};

/// Loans, their borrowers and their payments.
#[derive(Debug, Default)]
pub struct Portfolio {
    /// The name of the loans file.
    pub loans_file: String,
    /// The name of the payments file.
    pub payments_file: String,
    /// The loans, in file order.
    pub loans: Vec<ImportedLoan>,
    /// The borrowers to create.
    pub customers: Vec<Customer>,
    /// The payments, grouped by loan and ordered by time.
    pub payments: Vec<Payment>,
    /// The values that the file expects.
    pub outcomes: Vec<ExpectedValue>,
    /// The index of a loan, by its id.
    pub by_id: HashMap<Box<str>, u32>,
    /// Ids of borrowers without details, with the first line that names them: they must exist on the server.
    pub references: BTreeMap<String, u64>,
}

/// A loan.
#[derive(Debug)]
pub struct ImportedLoan {
    /// Its line.
    pub line: u64,
    /// Its id.
    pub account_id: Box<str>,
    /// The date of disbursement; `None` if the file has no valid one.
    pub start: Option<Time>,
    /// The body of the call that opens it.
    pub body: Box<str>,
    /// The time of the comparison; `None` for now.
    pub as_of: Option<Time>,
    /// The expected values, each with the index of its outcome.
    pub expected: Vec<(u16, Expected)>,
}

/// An expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A number.
    Number(i64),
    /// A text.
    Word(Box<str>),
}

/// A borrower.
#[derive(Debug)]
pub struct Customer {
    /// The first line that names the borrower.
    pub line: u64,
    /// The borrower's id.
    pub customer_id: String,
    /// The body of the call that creates the borrower.
    pub body: Box<str>,
}

/// A payment. There may be millions, so it is compact.
#[derive(Debug)]
pub struct Payment {
    /// The index of the loan.
    pub loan: u32,
    /// Its line.
    pub line: u64,
    /// Its id.
    pub id: Box<str>,
    /// Whether the id was derived from the content of the row.
    pub is_derived: bool,
    /// The amount.
    pub cents: i64,
    /// The time.
    pub at: Time,
    /// More fields of the call, as JSON with a comma before each.
    pub more: Option<Box<str>>,
}

impl Portfolio {
    /// Ranges of about this many payments, without splitting a loan.
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

//! Compares the results with the expected values of the file, to the cent.
//!
//! Loans that are compared at the same time are fetched together as a list, page by page, if they are a large part of
//! the product's accounts, and one by one otherwise.

use crate::error::ImportError;
use crate::existing_records::ExistingRecords;
use crate::portfolio::{Expected, Portfolio};
use crate::product::ImportProduct;
use crate::server::{ImportServer, ServerAccount};
use daybook_client::Trouble;
use daybook_clock::Stopwatch;
use daybook_engine::time::Time;
use daybook_operations::Operation;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The list is used if it has at most this many times as many accounts as are compared.
const WORTH_A_LIST: u64 = 4;

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconciledDifference {
    /// The loan.
    pub loan: u32,
    /// The column.
    pub column: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: String,
    /// The actual value minus the expected one, for numbers.
    pub more_by: Option<i64>,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Reconciliation {
    /// The number of loans compared.
    pub compared: u64,
    /// The number of loans that differ.
    pub differing: u64,
    /// All differences, in file order.
    pub differences: Vec<ReconciledDifference>,
}

/// Compares all loans that have expected values.
pub fn compare(
    server: ImportServer<'_>,
    product: &ImportProduct,
    portfolio: &Portfolio,
    existing: ExistingRecords,
) -> Result<Reconciliation, ImportError> {
    let mut groups: BTreeMap<Option<Time>, Vec<u32>> = BTreeMap::new();
    for (index, loan) in (0..).zip(&portfolio.loans).filter(|(_, loan)| !loan.expected.is_empty()) {
        groups.entry(loan.as_of).or_default().push(index);
    }
    let compared: usize = groups.values().map(Vec::len).sum();
    let (progress, watch) = (server.observer.begin("comparing", compared as u64), Stopwatch::start());
    let found: Mutex<Vec<ReconciledDifference>> = Mutex::default();
    let record = |loan: u32, account: Option<&ServerAccount>| {
        let differences = differences(portfolio, loan, account);
        found.lock().unwrap_or_else(PoisonError::into_inner).extend(differences);
        progress.add(1);
    };
    for (as_of, group) in &groups {
        let accounts = portfolio.loans.len() as u64 + existing.others;
        if group.len() as u64 * WORTH_A_LIST >= accounts {
            by_list(server, product, portfolio, *as_of, group, &record)?;
        } else {
            server.at_once(group, |loan| {
                let request = Operation::GetAccount.request([&portfolio.loans[*loan as usize].account_id]);
                let request = request.with_some("effective_as_of", *as_of);
                match server.client.send(&request, "", &[]) {
                    Ok(bytes) => {
                        let account = serde_json::from_slice(&bytes).map_err(|error| {
                            ImportError::Failed(format!("the response to {request} cannot be read: {error}"))
                        })?;
                        record(*loan, Some(&account));
                        Ok(())
                    }
                    // The account was not open at that time.
                    Err(Trouble::Refused { status: 404 | 422, .. }) => {
                        record(*loan, None);
                        Ok(())
                    }
                    Err(other) => Err(other.into()),
                }
            })?;
        }
    }
    let mut differences = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    differences.sort_by_key(|difference| difference.loan);
    let differing = differences.chunk_by(|one, other| one.loan == other.loan).count() as u64;
    progress.end(&format!("{compared} loans in {:.1} s, {differing} differ", watch.elapsed().as_secs_f64()));
    Ok(Reconciliation { compared: compared as u64, differing, differences })
}

/// Compares from the list of the product's accounts.
fn by_list(
    server: ImportServer<'_>,
    product: &ImportProduct,
    portfolio: &Portfolio,
    as_of: Option<Time>,
    group: &[u32],
    record: &impl Fn(u32, Option<&ServerAccount>),
) -> Result<(), ImportError> {
    let mut is_left = vec![false; portfolio.loans.len()];
    group.iter().for_each(|loan| is_left[*loan as usize] = true);
    let request = Operation::ListAccounts.request([]).with("product_id", &product.id);
    server.pages(&request.with_some("effective_as_of", as_of), |accounts: Vec<ServerAccount>| {
        for account in &accounts {
            if let Some(loan) = portfolio.by_id.get(account.account_id.as_str())
                && std::mem::take(&mut is_left[*loan as usize])
            {
                record(*loan, Some(account));
            }
        }
        Ok(())
    })?;
    group.iter().filter(|loan| is_left[**loan as usize]).for_each(|loan| record(*loan, None));
    Ok(())
}

/// The differences of a loan. `None` means that the account was not open at that time.
fn differences(portfolio: &Portfolio, loan: u32, account: Option<&ServerAccount>) -> Vec<ReconciledDifference> {
    let expected = &portfolio.loans[loan as usize].expected;
    let differ = expected.iter().filter_map(|(number, expected)| {
        let outcome = portfolio.outcomes[usize::from(*number)];
        let got = account.map_or(&Value::Null, |account| match outcome.group {
            "summary" => &account.summary[outcome.field],
            "delinquency" => &account.delinquency[outcome.field],
            _ => &account.account_overview[outcome.field],
        });
        let more_by = match (expected, got) {
            (Expected::Number(expected), got) => match got.as_i64() {
                Some(got) if got == *expected => return None,
                got => got.map(|got| got - expected),
            },
            (Expected::Word(expected), got) if got.as_str() == Some(expected) => return None,
            _ => None,
        };
        Some(ReconciledDifference {
            loan,
            column: format!("expected_{}", outcome.name),
            expected: match expected {
                Expected::Number(number) => number.to_string(),
                Expected::Word(word) => word.to_string(),
            },
            got: match got {
                Value::Null => String::new(),
                Value::String(word) => word.clone(),
                other => other.to_string(),
            },
            more_by,
        })
    });
    differ.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::expected_value_of;
    use crate::portfolio::ImportedLoan;
    use serde_json::json;

    #[test]
    fn every_value_that_is_not_as_expected_is_found() {
        let columns = ["expected_principal_cents", "expected_status", "expected_substatus", "expected_days_past_due"];
        let outcomes = columns.iter().filter_map(|column| expected_value_of(column)).collect();
        let word = |text: &str| Expected::Word(text.into());
        let expected =
            vec![(0, Expected::Number(100)), (1, word("ACTIVE")), (2, word("DELINQUENT")), (3, Expected::Number(0))];
        let loan =
            ImportedLoan { line: 2, account_id: "a".into(), start: None, body: "".into(), as_of: None, expected };
        let portfolio = Portfolio { loans: vec![loan], outcomes, ..Portfolio::default() };
        let account = json!({
            "account_id": "a", "effective_at": "", "account_product": { "product_id": "p" },
            "account_overview": { "account_status": "ACTIVE", "account_status_subtype": null },
            "delinquency": { "days_past_due": 0 }, "summary": { "principal_cents": 97 },
        });
        let account: ServerAccount = serde_json::from_value(account).expect("an account");
        let found = differences(&portfolio, 0, Some(&account));
        let found: Vec<_> = found.iter().map(|one| (&*one.column, &*one.expected, &*one.got, one.more_by)).collect();
        let substatus = ("expected_substatus", "DELINQUENT", "", None);
        assert_eq!(found, [("expected_principal_cents", "100", "97", Some(-3)), substatus]);
        assert_eq!(differences(&portfolio, 0, None).len(), 4);
    }
}

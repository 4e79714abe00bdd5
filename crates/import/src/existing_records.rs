//! What exists on the server: an import uses it to continue, and to detect ids that are already used for other loans.
//!
//! The importer stores no state of its own. It queries the server, so an import can continue from another machine, or
//! after the server was restored from a backup.

use crate::check_report::{CheckReport, InvalidValue};
use crate::error::ImportError;
use crate::portfolio::Portfolio;
use crate::product::ImportProduct;
use crate::server::{ImportServer, ServerAccount, ServerLineItem};
use daybook_client::Trouble;
use daybook_engine::time::Time;
use daybook_operations::Operation;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// The records that exist on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExistingRecords {
    /// The number of loans of the file that exist.
    pub loans: usize,
    /// The number of other accounts of the product.
    pub others: u64,
    /// The number of those that have held events.
    pub others_held: u64,
}

/// Looks up the accounts of the file. A different loan under the same id is reported.
pub fn look(
    server: ImportServer<'_>,
    product: &ImportProduct,
    portfolio: &Portfolio,
    report: &mut CheckReport,
) -> Result<ExistingRecords, ImportError> {
    let mut existing = ExistingRecords::default();
    let progress = server.observer.begin("looking for accounts", portfolio.loans.len() as u64);
    server.pages(&Operation::ListAccounts.request([]), |accounts: Vec<ServerAccount>| {
        progress.add(accounts.len() as u64);
        for account in accounts {
            let Some(index) = portfolio.by_id.get(account.account_id.as_str()) else {
                if account.account_product.product_id == product.id {
                    existing.others += 1;
                    existing.others_held += u64::from(account.held_events > 0);
                }
                continue;
            };
            existing.loans += 1;
            let loan = &portfolio.loans[*index as usize];
            let mut taken = |column: &str, rule: String| {
                let (file, column, value) =
                    (portfolio.loans_file.clone(), column.to_owned(), loan.account_id.to_string());
                report.add(InvalidValue { file, line: loan.line, column, value, rule })
            };
            if account.account_product.product_id != product.id {
                let other = &account.account_product.product_id;
                taken("account_id", format!("is already the id of a loan of product {other} on the server"))?;
            } else if Time::parse(&account.effective_at) != loan.start {
                let begun = &account.effective_at;
                taken("account_id", format!("is already the id of another loan on the server, made at {begun}"))?;
            }
        }
        Ok(())
    })?;
    progress.clear();
    Ok(existing)
}

/// Whether every payment of every loan is on the server. All loans must be.
pub fn has_all_payments(server: ImportServer<'_>, portfolio: &Portfolio) -> Result<bool, ImportError> {
    let progress = server.observer.begin("looking for payments", portfolio.payments.len() as u64);
    let by_loan: Vec<_> = portfolio.payments.chunk_by(|one, other| one.loan == other.loan).collect();
    let is_missing = AtomicBool::new(false);
    server.at_once(&by_loan, |payments| {
        let Some(first) = payments.first().filter(|_| !is_missing.load(Ordering::Relaxed)) else { return Ok(()) };
        let account = &portfolio.loans[first.loan as usize].account_id;
        let mut left: HashSet<&str> = payments.iter().map(|payment| &*payment.id).collect();
        let request = Operation::ListLineItems.request([account]).with("line_item_type", "PAYMENT");
        server.pages(&request, |items: Vec<ServerLineItem>| {
            for item in &items {
                left.remove(item.line_item_id.as_str());
            }
            Ok(())
        })?;
        if !left.is_empty() {
            is_missing.store(true, Ordering::Relaxed);
        }
        progress.add(payments.len() as u64);
        Ok(())
    })?;
    progress.clear();
    Ok(!is_missing.into_inner())
}

/// Checks that borrowers named without details exist on the server.
pub fn check_references(
    server: ImportServer<'_>,
    portfolio: &Portfolio,
    report: &mut CheckReport,
) -> Result<(), ImportError> {
    let named: Vec<(&String, &u64)> = portfolio.references.iter().collect();
    let report = Mutex::new(report);
    server.at_once(&named, |(customer_id, line)| {
        match server.client.send(&Operation::GetCustomer.request([customer_id]), "", &[]) {
            Ok(_) => Ok(()),
            Err(Trouble::Refused { status: 404, .. }) => {
                report.lock().unwrap_or_else(PoisonError::into_inner).add(InvalidValue {
                    file: portfolio.loans_file.clone(),
                    line: **line,
                    column: "customer_id".to_owned(),
                    value: (*customer_id).clone(),
                    rule: "is not a customer on the server, and the row has no name to create one".to_owned(),
                })
            }
            Err(other) => Err(other.into()),
        }
    })
}

/// The migration state of a product.
#[derive(Debug, serde::Deserialize)]
pub struct MigrationState {
    /// `NORMAL`, `HOLDING` or `RELEASING`.
    pub state: String,
    /// Accounts to be released.
    pub accounts_total: u64,
    /// Accounts that are released.
    pub accounts_done: u64,
    /// Accounts that could not be processed.
    pub failed_accounts: Vec<FailedAccount>,
}

/// An account that could not be processed.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
pub struct FailedAccount {
    /// Its id.
    pub account_id: String,
    /// The reason.
    pub reason: String,
}

/// Fetches the migration state of a product.
pub fn mode_of(server: ImportServer<'_>, product: &ImportProduct) -> Result<MigrationState, ImportError> {
    server.get(&Operation::GetMigrationMode.request([&product.id]))
}

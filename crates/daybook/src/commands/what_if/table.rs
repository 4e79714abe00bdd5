//! The CSV file: a row for each compared account, and for each that could not be folded.

use crate::commands::Failure;
use csv::Writer;
use daybook_service::problem::Problem;
use daybook_service::what_if::{AMOUNTS, AccountDifference, AccountResult};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A file that is being written.
#[derive(Debug)]
pub struct AccountTable {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
}

impl AccountTable {
    /// Creates the file, with its header.
    pub fn create(path: &Path) -> Result<AccountTable, Failure> {
        let file = File::create(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        let mut table = AccountTable { path: path.to_owned(), writer: Writer::from_writer(BufWriter::new(file)) };
        table.write(&columns())?;
        Ok(table)
    }

    /// Adds an account, if it was compared or could not be folded.
    pub fn add(&mut self, result: &AccountResult) -> Result<(), Problem> {
        let row = match result {
            AccountResult::LeftOut | AccountResult::NotBegun => return Ok(()),
            AccountResult::Compared(difference) => compared(difference),
            AccountResult::Failed { account_id, reason } => {
                let mut row = vec![String::new(); columns().len()];
                row[0] = plain(account_id);
                if let Some(last) = row.last_mut() {
                    *last = plain(reason);
                }
                row
            }
        };
        self.write(&row)
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.writer.flush().map_err(|error| Failure::Failed(format!("{}: {error}", self.path.display())))
    }

    fn write(&mut self, row: &[String]) -> Result<(), Problem> {
        let failed = |error| Problem::internal(format!("{}: {error}", self.path.display()));
        self.writer.write_record(row).map_err(failed)
    }
}

fn columns() -> Vec<String> {
    let mut columns = vec!["account_id".to_owned()];
    for name in AMOUNTS {
        columns.extend(["before", "after", "difference"].map(|which| format!("{name}_{which}_cents")));
    }
    for name in ["days_past_due", "late_fees", "account_status", "maturity", "inputs_not_applied"] {
        columns.extend(["before", "after"].map(|which| format!("{name}_{which}")));
    }
    columns.extend(["keeps_own_values", "failure"].map(str::to_owned));
    columns
}

fn compared(account: &AccountDifference) -> Vec<String> {
    let (before, after) = (&account.before, &account.after);
    let mut row = vec![plain(&account.account_id)];
    let amounts = before.amounts.named().zip(after.amounts.named()).zip(account.amounts().named());
    for (((_, before), (_, after)), (_, difference)) in amounts {
        row.extend([before, after, difference].map(|cents| cents.to_string()));
    }
    row.extend([before, after].map(|figures| figures.days_past_due.to_string()));
    row.extend([before, after].map(|figures| figures.late_fees.to_string()));
    row.extend([before, after].map(|figures| figures.status.to_string()));
    row.extend([before, after].map(|figures| figures.maturity.to_string()));
    row.extend([account.not_applied_before, account.not_applied_after].map(|count| count.to_string()));
    row.extend([account.keeps_own_values.to_string(), String::new()]);
    row
}

/// A text that a spreadsheet would run as a formula gets a leading apostrophe.
fn plain(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() }
}

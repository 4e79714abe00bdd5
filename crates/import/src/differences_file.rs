//! Writes the differences that a comparison found to a CSV file, each with an explanation.

use crate::compare::{ReconciledDifference, Reconciliation};
use crate::error::ImportError;
use crate::explain;
use crate::portfolio::Portfolio;
use crate::server::ImportServer;
use daybook_operations::Operation;
use std::fmt;
use std::fs::OpenOptions;
use std::path::Path;

/// The most accounts whose timeline is written. If more differ, they share one cause.
const MOST_EXPLAINED: usize = 1_000;

/// Checks early whether the differences can be written, not after hours of loading. The existing content stays until
/// then.
pub fn must_be_writable(path: &Path) -> Result<(), ImportError> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| cannot_be_written(path, &error))
}

/// Writes every difference, with an explanation: the timeline of its account.
pub fn write(
    server: ImportServer<'_>,
    portfolio: &Portfolio,
    outcome: &Reconciliation,
    path: &Path,
) -> Result<(), ImportError> {
    let failed = |error: &dyn fmt::Display| cannot_be_written(path, error);
    let mut file = csv::Writer::from_path(path).map_err(|error| failed(&error))?;
    let head = ["account_id", "column", "expected", "got", "difference", "explanation"];
    file.write_record(head).map_err(|error| failed(&error))?;
    let progress = server.observer.begin("explaining", outcome.differing.min(MOST_EXPLAINED as u64));
    let by_loan = outcome.differences.chunk_by(|one, other| one.loan == other.loan);
    for (number, of_loan) in by_loan.enumerate() {
        let Some(first) = of_loan.first() else { continue };
        let loan = &portfolio.loans[first.loan as usize];
        let explanation = match number {
            ..MOST_EXPLAINED => explain::timeline(server.client, &loan.account_id, loan.as_of)?,
            _ => format!("see {}", Operation::ListAccountEvents.request([&loan.account_id])),
        };
        progress.add(1);
        for difference in of_loan {
            let more_by = difference.more_by.map(|by| by.to_string()).unwrap_or_default();
            let ReconciledDifference { column, expected, got, .. } = difference;
            file.write_record([&*loan.account_id, column, expected, got, &more_by, &explanation])?;
        }
    }
    progress.clear();
    file.flush().map_err(|error| failed(&error))
}

fn cannot_be_written(path: &Path, error: &dyn fmt::Display) -> ImportError {
    ImportError::Failed(format!("{} cannot be written: {error}", path.display()))
}

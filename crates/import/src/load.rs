//! Loads the files: turns migration mode on, sends customers, accounts and payments in bulk, turns it off, and waits
//! for the release.
//!
//! ```text
//! rows ─► calls of many lines, several at once ─► answers ─► refused rows
//! ```
//!
//! Every row has an id, so sending it again changes nothing. One caller sends the payments of a loan, in order. If the
//! server refuses a row, the import ends before anything is released.

use crate::check_report::{CheckReport, InvalidValue};
use crate::error::ImportError;
use crate::existing_records::{FailedAccount, MigrationState, mode_of};
use crate::observer::Task;
use crate::portfolio::Portfolio;
use crate::product::ImportProduct;
use crate::server::ImportServer;
use daybook_clock::Stopwatch;
use daybook_operations::Operation;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The largest body of a call, well below the server's limit.
const LARGEST_BODY: usize = 4 << 20;
/// The beginning of a successful response.
const GOOD: &[u8] = b"{\"status\":200,";
/// The pause between two checks of a release.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Loads a portfolio.
#[derive(Clone, Copy)]
pub struct Loader<'a> {
    /// The server.
    pub server: ImportServer<'a>,
    /// The product.
    pub product: &'a ImportProduct,
    /// The portfolio.
    pub portfolio: &'a Portfolio,
    /// The number of rows per call.
    pub rows_per_call: usize,
}

/// The purpose of sending rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    /// To load them. The server refuses them if migration mode is off.
    ToBeHeld,
    /// To compare them with the existing records of the same ids.
    ToCompare,
}

/// The type of rows.
#[derive(Clone, Copy, Debug)]
enum RowKind {
    Customers,
    Accounts,
    Payments,
}

impl Loader<'_> {
    fn set_migration_mode(&self, body: &Value) -> Result<(), ImportError> {
        self.server.client.call(&Operation::SetMigrationMode.request([&self.product.id]), Some(body))?;
        Ok(())
    }

    /// Turns migration mode on.
    pub fn hold(&self) -> Result<(), ImportError> {
        self.set_migration_mode(&json!({ "migration_mode": true }))
    }

    /// Loads everything. Refused rows are reported, and the rows that depend on them are not sent.
    pub fn load(&self, report: &mut CheckReport) -> Result<(), ImportError> {
        for kind in [RowKind::Customers, RowKind::Accounts, RowKind::Payments] {
            if report.count() == 0 {
                self.send_all(kind, Sent::ToBeHeld, report)?;
            }
        }
        Ok(())
    }

    /// Compares existing loans and payments with the files: the server refuses an id with different content and
    /// accepts identical content without a change. Borrowers are not compared, as their details may have changed.
    pub fn compare(&self, report: &mut CheckReport) -> Result<(), ImportError> {
        self.send_all(RowKind::Accounts, Sent::ToCompare, report)?;
        self.send_all(RowKind::Payments, Sent::ToCompare, report)
    }

    /// The rows of a type in ranges of one call each; the payments of a loan stay together.
    fn ranges(&self, kind: RowKind) -> Vec<Range<usize>> {
        let count = match kind {
            RowKind::Customers => self.portfolio.customers.len(),
            RowKind::Accounts => self.portfolio.loans.len(),
            RowKind::Payments => return self.portfolio.payments_by_loans(self.rows_per_call),
        };
        let starts = (0..count).step_by(self.rows_per_call);
        starts.map(|start| start..count.min(start + self.rows_per_call)).collect()
    }

    fn send_all(&self, kind: RowKind, sent: Sent, report: &mut CheckReport) -> Result<(), ImportError> {
        let ranges = self.ranges(kind);
        let total: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if total == 0 {
            return Ok(());
        }
        let what = match (sent, kind) {
            (_, RowKind::Customers) => "loading customers",
            (Sent::ToBeHeld, RowKind::Accounts) => "loading accounts",
            (Sent::ToBeHeld, RowKind::Payments) => "loading payments",
            (Sent::ToCompare, RowKind::Accounts) => "comparing loans",
            (Sent::ToCompare, RowKind::Payments) => "comparing payments",
        };
        let (progress, watch) = (self.server.observer.begin(what, total as u64), Stopwatch::start());
        let report = Mutex::new(report);
        self.server.at_once(&ranges, |range| self.send(kind, sent, range.clone(), &*progress, &report))?;
        progress.end(&format!("{total} in {:.1} s", watch.elapsed().as_secs_f64()));
        Ok(())
    }

    /// Sends some rows in as many calls as needed, one after the other.
    fn send(
        &self,
        kind: RowKind,
        sent: Sent,
        range: Range<usize>,
        progress: &dyn Task,
        report: &Mutex<&mut CheckReport>,
    ) -> Result<(), ImportError> {
        let bulk = Operation::Bulk.request([]);
        let bulk = match sent {
            Sent::ToBeHeld => bulk.with("held_by", &self.product.id),
            Sent::ToCompare => bulk,
        };
        let mut body = String::with_capacity(256 * range.len().min(self.rows_per_call));
        let mut first = range.start;
        for index in range.clone() {
            self.write(kind, index, &mut body);
            let count = index + 1 - first;
            if count < self.rows_per_call && body.len() < LARGEST_BODY && index + 1 < range.end {
                continue;
            }
            let answers = self.server.client.send(&bulk, "application/x-ndjson", body.as_bytes());
            let answers = answers.map_err(|trouble| match trouble.has_code("migration_mode") {
                true => self.mode_was_turned_off(),
                false => trouble.into(),
            })?;
            let lines: Vec<&[u8]> = answers.trim_ascii_end().split(|byte| *byte == b'\n').collect();
            if lines.len() != count {
                let rule = format!("the server returned {} responses to {count} calls", lines.len());
                return Err(ImportError::Failed(rule));
            }
            for (row, answer) in (first..).zip(lines).filter(|(_, answer)| !answer.starts_with(GOOD)) {
                let refused = self.refused(kind, row, answer)?;
                report.lock().unwrap_or_else(PoisonError::into_inner).add(refused)?;
            }
            progress.add(count as u64);
            body.clear();
            first = index + 1;
        }
        Ok(())
    }

    /// Writes the call of a row. Ids were checked: they need no quoting.
    fn write(&self, kind: RowKind, index: usize, out: &mut String) {
        let (request, body) = match kind {
            RowKind::Customers => {
                (Operation::CreateCustomer.request([]), Cow::Borrowed(&*self.portfolio.customers[index].body))
            }
            RowKind::Accounts => {
                (Operation::CreateAccount.request([]), Cow::Borrowed(&*self.portfolio.loans[index].body))
            }
            RowKind::Payments => {
                let payment = &self.portfolio.payments[index];
                let account = &self.portfolio.loans[payment.loan as usize].account_id;
                let (id, cents, at) = (&payment.id, payment.cents, payment.at);
                let more = payment.more.as_deref().unwrap_or_default();
                let body =
                    format!(r#"{{"line_item_id":"{id}","original_amount_cents":{cents},"effective_at":"{at}"{more}}}"#);
                (Operation::RecordPayment.request([account]), Cow::Owned(body))
            }
        };
        let (method, path) = (request.method(), request.target());
        let written = writeln!(out, r#"{{"method":"{method}","path":"{path}","body":{body}}}"#);
        // Writing to a string cannot fail.
        debug_assert!(written.is_ok());
    }

    /// A row that the server refused. An error of the server itself ends the import.
    fn refused(&self, kind: RowKind, row: usize, answer: &[u8]) -> Result<InvalidValue, ImportError> {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let (status, error) = (&answer["status"], &answer["body"]["error"]);
        let message = error["message"].as_str().unwrap_or("no reason was given");
        if error["code"] == "migration_mode" {
            return Err(self.mode_was_turned_off());
        }
        let is_refusal = |status: u64| (400..500).contains(&status) && status != 429 || status == 501;
        if !status.as_u64().is_some_and(is_refusal) {
            return Err(ImportError::Failed(format!(
                "the server could not process a row: {message}; run the import again"
            )));
        }
        let portfolio = self.portfolio;
        let (file, line, column, value) = match kind {
            RowKind::Customers => {
                let customer = &portfolio.customers[row];
                (&portfolio.loans_file, customer.line, "customer_id", customer.customer_id.clone())
            }
            RowKind::Accounts => {
                let loan = &portfolio.loans[row];
                (&portfolio.loans_file, loan.line, "account_id", loan.account_id.to_string())
            }
            RowKind::Payments => {
                let payment = &portfolio.payments[row];
                (&portfolio.payments_file, payment.line, "line_item_id", payment.id.to_string())
            }
        };
        let rule = format!("the server refused it: {message}");
        Ok(InvalidValue { file: file.clone(), line, column: column.to_owned(), value, rule })
    }

    /// Another user turned migration mode off. The server also refused the rows not loaded yet, so this can be
    /// repaired.
    fn mode_was_turned_off(&self) -> ImportError {
        ImportError::Failed(format!(
            "migration mode of {} was turned off during the import: the rows loaded so far are released, and the server \
             refused the rest. Run the same command again: it turns migration mode on again, loads the rest, and \
             corrects what was released too early",
            self.product.id
        ))
    }

    /// Turns migration mode off and waits until all held events are processed. Returns the accounts that failed.
    /// Webhooks about past events are sent only if `sends_history` is set.
    pub fn release(&self, sends_history: bool) -> Result<Vec<FailedAccount>, ImportError> {
        let history = if sends_history { "SEND" } else { "SUPPRESS" };
        let order = json!({ "migration_mode": false, "historical_webhooks": history });
        self.set_migration_mode(&order)?;
        self.wait().map(|mode| mode.failed_accounts)
    }

    /// Waits until a release is complete.
    pub fn wait(&self) -> Result<MigrationState, ImportError> {
        let mut mode = mode_of(self.server, self.product)?;
        let (progress, watch) = (self.server.observer.begin("releasing", mode.accounts_total), Stopwatch::start());
        while mode.state == "RELEASING" {
            self.server.observer.check()?;
            progress.is_of(mode.accounts_total);
            progress.is_at(mode.accounts_done);
            thread::sleep(BETWEEN_LOOKS);
            mode = mode_of(self.server, self.product)?;
        }
        let (done, total, seconds) = (mode.accounts_done, mode.accounts_total, watch.elapsed().as_secs_f64());
        progress.end(&format!("{done} of {total} accounts in {seconds:.1} s"));
        Ok(mode)
    }
}

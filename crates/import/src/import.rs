//! One import: continues what an earlier one began, loads, releases and compares.

use crate::check_report::CheckReport;
use crate::compare::{self, Reconciliation};
use crate::error::ImportError;
use crate::existing_records::{self, ExistingRecords, FailedAccount};
use crate::historical_webhooks;
use crate::load::Loader;
use crate::portfolio::Portfolio;
use crate::product::ImportProduct;
use crate::server::ImportServer;
use daybook_clock::Clock;

/// The choices of a user.
#[derive(Clone, Copy, Debug)]
pub struct ImportOptions {
    /// The number of rows per call.
    pub rows_per_call: usize,
    /// Whether webhooks about the past of the loans are sent.
    pub sends_history: bool,
    /// Whether held events of other accounts of the product are released too.
    pub releases_others: bool,
}

/// A portfolio, and the server that it is imported to.
#[derive(Clone, Copy)]
pub struct PortfolioImport<'a> {
    /// The server.
    pub server: ImportServer<'a>,
    /// The product, which exists on the server.
    pub product: &'a ImportProduct,
    /// The portfolio, whose rows are valid.
    pub portfolio: &'a Portfolio,
    /// The choices of the user.
    pub options: ImportOptions,
    /// The current time.
    pub clock: &'a dyn Clock,
}

/// The result of an import.
#[derive(Debug)]
pub struct ImportResult {
    /// Whether this import loaded something. If everything was there, it only compared.
    pub is_loaded_now: bool,
    /// The number of historical webhooks that are not sent.
    pub webhooks_withheld: u64,
    /// The accounts that the server could not process.
    pub failed: Vec<FailedAccount>,
    /// The comparison with the expected values.
    pub reconciliation: Reconciliation,
}

impl PortfolioImport<'_> {
    /// Loads what is not on the server yet, and compares the result. Rows that the server refuses are added to the
    /// report.
    pub fn run(&self, report: &mut CheckReport) -> Result<ImportResult, ImportError> {
        let (server, product, portfolio) = (self.server, self.product, self.portfolio);
        let loader = Loader { server, product, portfolio, rows_per_call: self.options.rows_per_call };
        let mut mode = existing_records::mode_of(server, product)?;
        if mode.state == "RELEASING" {
            server.observer.say("A release is already running: waiting for it to finish.");
            mode = loader.wait()?;
        }
        let existing = existing_records::look(server, product, portfolio, report)?;
        report.must_be_empty("nothing was loaded")?;
        if mode.state == "HOLDING" && existing.others_held > 0 && !self.options.releases_others {
            return Err(ImportError::OthersAreHeld {
                product_id: product.id.clone(),
                accounts: existing.others_held,
                loans_file: portfolio.loans_file.clone(),
            });
        }
        let is_there = mode.state == "NORMAL" && self.is_there(existing)?;
        let failed = match (is_there, mode.failed_accounts.is_empty()) {
            (true, true) => Vec::new(),
            // Accounts that could not be processed are tried again.
            (true, false) => loader.release(self.options.sends_history)?,
            (false, _) => self.load(&loader, &mode.state, existing, report)?,
        };
        if is_there {
            server.observer.say("All rows are already loaded; the import only compares them.");
            loader.compare(report)?;
            report.must_be_empty("the server has different data for these ids; the import changed nothing")?;
        }
        let reconciliation = compare::compare(server, product, portfolio, existing)?;
        let webhooks_withheld = match is_there || self.options.sends_history {
            true => 0,
            false => historical_webhooks::count(product, portfolio, self.clock.now()),
        };
        Ok(ImportResult { is_loaded_now: !is_there, webhooks_withheld, failed, reconciliation })
    }

    /// Whether everything is already loaded.
    fn is_there(&self, existing: ExistingRecords) -> Result<bool, ImportError> {
        let all_loans = !self.portfolio.loans.is_empty() && existing.loans == self.portfolio.loans.len();
        Ok(all_loans && existing_records::has_all_payments(self.server, self.portfolio)?)
    }

    fn load(
        &self,
        loader: &Loader<'_>,
        state: &str,
        existing: ExistingRecords,
        report: &mut CheckReport,
    ) -> Result<Vec<FailedAccount>, ImportError> {
        let observer = self.server.observer;
        if state == "HOLDING" {
            observer.say("Migration mode is already on: continuing an earlier import.");
        } else if existing.loans > 0 {
            observer.say(&format!("Loans already on the server: {}. Loading the rest.", existing.loans));
        }
        if existing.others > 0 {
            let others = existing.others;
            observer.say(&format!(
                "Other accounts of the product: {others}. Their events are held until the import is done."
            ));
        }
        loader.hold()?;
        loader.load(report)?;
        report.must_be_empty(
            "migration mode stays on and nothing is released; correct the rows and run the import again",
        )?;
        loader.release(self.options.sends_history)
    }
}

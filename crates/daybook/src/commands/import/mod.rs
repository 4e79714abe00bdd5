//! `daybook import`: loads a portfolio from two files in migration mode and compares the result with the expected
//! values.
//!
//! ```text
//! loans.csv ────┐                        refused rows ─► report
//! payments.csv ─┴► check ─► portfolio ─► look ─► hold ─► load ─► release ─► compare ─► differences.csv
//!                                          └── everything is there already ───┘
//! ```
//!
//! | module | purpose |
//! |---|---|
//! | [`columns`] | the columns of the files |
//! | [`quotes`] | finds quotes that violate RFC 4180 |
//! | [`history`] | counts the webhooks that the history of the loans would cause |
//! | [`sheet`], [`loans`], [`payments`] | read the files and check every row |
//! | [`report`] | the errors, by file, line and column |
//! | [`product`], [`portfolio`] | the content of the files, and the product |
//! | [`existing_records`] | what exists on the server |
//! | [`load`] | migration mode, the calls, the release |
//! | [`reconcile`], [`explain`] | the comparison, and the explanation of a balance |
//! | [`scratch`] | a server for a dry run |
//! | [`wire`] | paged lists, concurrent calls |
//!
//! Nothing is sent until both files are valid. After a crash, the same command continues: every row has an id, existing
//! rows are not changed, and nothing is released before everything is loaded.

mod columns;
mod existing_records;
mod explain;
mod history;
mod load;
mod loans;
mod payments;
mod portfolio;
mod product;
mod quotes;
mod reconcile;
mod report;
mod scratch;
mod sheet;
mod wire;

use super::files::must_not_be;
use super::remote::ServerConnection;
use super::{Failure, interrupt, prepare, print, say};
use crate::cli::ImportArgs;
use daybook_client::Client;
use daybook_clock::{Clock, System};
use daybook_operations::Operation;
use existing_records::{ExistingRecords, FailedAccount};
use load::Loader;
use portfolio::Portfolio;
use product::ImportProduct;
use reconcile::Reconciliation;
use report::Report;
use scratch::Scratch;
use serde_json::json;
use sheet::Sheet;
use std::path::Path;

/// Checks the files, loads them and compares the result.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    if args.columns {
        return print(&columns::describe());
    }
    let (Some(loans), Some(payments)) = (&args.loans, &args.payments) else {
        return Err(Failure::Failed("two files are required: the loans and the payments".to_owned()));
    };
    let inputs = [loans.as_path(), payments.as_path()];
    must_not_be(&args.differences, "--differences", &inputs)?;
    for file in args.report.iter() {
        must_not_be(file, "--report", &inputs)?;
    }
    reconcile::must_be_writable(&args.differences)?;
    interrupt::listen();
    let connection = if args.dry_run && args.product_file.is_some() {
        prepare(&args.remote.flags)?;
        None
    } else {
        Some(ServerConnection::open(&args.remote)?)
    };
    let server = connection.as_ref().map(|connection| &connection.client);
    let product = product(args, server)?;
    let mut report = Report::new(args.report.as_deref())?;
    let portfolio = check(args, &product, loans, payments, &mut report)?;
    report.must_be_empty(args.json, "nothing was loaded")?;
    if let Some(server) = server {
        existing_records::check_references(server, &portfolio, args.connections, &mut report)?;
        if args.dry_run {
            // The scratch database cannot show that an id is already used on the real server.
            existing_records::look(server, &product, &portfolio, &mut report)?;
        }
        report.must_be_empty(args.json, "nothing was loaded")?;
    }
    let scratch = if args.dry_run { Some(Scratch::start(&product)?) } else { None };
    let client = match (&scratch, server) {
        (Some(scratch), _) => &scratch.client,
        (None, Some(server)) => server,
        (None, None) => return Err(Failure::Failed("there is no server to import to".to_owned())),
    };
    if scratch.is_none() && args.product_file.is_some() {
        client.call(&Operation::CreateProduct.request([]), Some(&product.body))?;
    }
    let imported = Import { args, client, product: &product, portfolio: &portfolio }.run(&mut report)?;
    imported.tell(args, &portfolio)
}

fn product(args: &ImportArgs, server: Option<&Client>) -> Result<ImportProduct, Failure> {
    match (&args.product_file, &args.product, server) {
        (Some(file), _, _) => ImportProduct::of_file(file),
        (None, Some(id), Some(server)) if args.dry_run => {
            ImportProduct::of_server(server, id).map(ImportProduct::made_anew)
        }
        (None, Some(id), Some(server)) => ImportProduct::of_server(server, id),
        _ => Err(Failure::Failed("--product: is required".to_owned())),
    }
}

/// Reads and checks both files.
fn check(
    args: &ImportArgs,
    product: &ImportProduct,
    loans: &Path,
    payments: &Path,
    report: &mut Report,
) -> Result<Portfolio, Failure> {
    let (loans, payments) = (Sheet::open(loans)?, Sheet::open(payments)?);
    let now = System.now();
    let mut portfolio = Portfolio {
        keeps_references: !args.dry_run,
        allows_no_customer: args.allow_no_customer,
        ..Portfolio::default()
    };
    let is_readable = loans::read(loans, product, now, &mut portfolio, report)?;
    if report.count() == 0 && portfolio.loans.is_empty() {
        // Without loans, every payment would be rejected: report the cause once.
        return Err(Failure::Failed(format!(
            "{} has no rows below its header: nothing was loaded",
            portfolio.loans_file
        )));
    }
    if is_readable {
        payments::read(payments, product, now, &mut portfolio, report)?;
    }
    if report.count() == 0 && portfolio.payments.is_empty() && !args.allow_no_payments {
        return Err(Failure::Failed(format!(
            "{} has no rows below its header: nothing was loaded. If no loan was ever paid, use --allow-no-payments",
            portfolio.payments_file
        )));
    }
    Ok(portfolio)
}

struct Import<'a> {
    args: &'a ImportArgs,
    client: &'a Client,
    product: &'a ImportProduct,
    portfolio: &'a Portfolio,
}

/// The result of an import.
struct Imported {
    is_loaded_now: bool,
    /// The number of historical webhooks that are not sent.
    withheld: u64,
    failed: Vec<FailedAccount>,
    outcome: Reconciliation,
}

impl Import<'_> {
    fn run(&self, report: &mut Report) -> Result<Imported, Failure> {
        let args = self.args;
        let loader = Loader {
            client: self.client,
            product: self.product,
            portfolio: self.portfolio,
            rows_per_call: args.rows_per_call as usize,
            callers: args.connections,
        };
        let mut mode = existing_records::mode_of(self.client, self.product)?;
        if mode.state == "RELEASING" {
            say("A release is already running: waiting for it to finish.\n");
            mode = loader.wait()?;
        }
        let existing = existing_records::look(self.client, self.product, self.portfolio, report)?;
        report.must_be_empty(args.json, "nothing was loaded")?;
        let others = existing.others_held;
        if mode.state == "HOLDING" && others > 0 && !args.release_others {
            let others = accounts(others);
            return Err(Failure::Failed(format!(
                "{} is already in migration mode, and holds events of {others} that {} does not have: another import may \
                 be running, or was interrupted. Finish that import first, or use --release-others to release them \
                 together with these",
                self.product.id, self.portfolio.loans_file
            )));
        }
        let is_there = mode.state == "NORMAL" && self.is_there(existing)?;
        let failed = match (is_there, mode.failed_accounts.is_empty()) {
            (true, true) => Vec::new(),
            // Accounts that could not be processed are tried again.
            (true, false) => loader.release(args.send_historical_webhooks)?,
            (false, _) => self.load(&loader, &mode.state, existing, report)?,
        };
        if is_there {
            say("Everything is already loaded: only comparing.\n");
            loader.compare(report)?;
            report
                .must_be_empty(args.json, "the server has different data for these ids; the import changed nothing")?;
        }
        let outcome = reconcile::compare(self.client, self.product, self.portfolio, existing, args.connections)?;
        reconcile::write(self.client, self.portfolio, &outcome, &args.differences)?;
        let withheld = if is_there || args.send_historical_webhooks {
            0
        } else {
            history::webhooks(self.product, self.portfolio, System.now())
        };
        Ok(Imported { is_loaded_now: !is_there, withheld, failed, outcome })
    }

    /// Whether everything is already loaded.
    fn is_there(&self, existing: ExistingRecords) -> Result<bool, Failure> {
        let all_loans = !self.portfolio.loans.is_empty() && existing.loans == self.portfolio.loans.len();
        Ok(all_loans && existing_records::has_all_payments(self.client, self.portfolio, self.args.connections)?)
    }

    fn load(
        &self,
        loader: &Loader<'_>,
        state: &str,
        existing: ExistingRecords,
        report: &mut Report,
    ) -> Result<Vec<FailedAccount>, Failure> {
        if state == "HOLDING" {
            say("Migration mode is already on: continuing an earlier import.\n");
        } else if existing.loans > 0 {
            say(&format!("Loans already on the server: {}. Loading the rest.\n", existing.loans));
        }
        if existing.others > 0 {
            let others = existing.others;
            say(&format!("Other accounts of the product: {others}. Their events are held until the import is done.\n"));
        }
        loader.hold()?;
        loader.load(report)?;
        let ending = "migration mode stays on and nothing is released; correct the rows and run the import again";
        report.must_be_empty(self.args.json, ending)?;
        loader.release(self.args.send_historical_webhooks)
    }
}

/// A number of accounts in words.
fn accounts(count: u64) -> String {
    if count == 1 { "1 account".to_owned() } else { format!("{count} accounts") }
}

impl Imported {
    /// Prints the result. Fails if there are differences or failed accounts.
    fn tell(&self, args: &ImportArgs, portfolio: &Portfolio) -> Result<(), Failure> {
        let (loans, payments) = (portfolio.loans.len() as u64, portfolio.payments.len());
        let Reconciliation { compared, differing, .. } = self.outcome;
        let agreeing = compared - differing;
        let file = args.differences.display();
        print(&if args.json {
            let told = json!({
                "dry_run": args.dry_run, "loaded_now": self.is_loaded_now, "loans": loans, "payments": payments,
                "compared": compared, "agreeing": agreeing, "differing": differing,
                "differences": self.outcome.differences.len(), "differences_file": file.to_string(),
                "failed_accounts": self.failed, "webhooks_withheld": self.withheld,
            });
            format!("{told:#}\n")
        } else {
            let mut text =
                format!("loans     {loans}\npayments  {payments}\nagree     {agreeing}\ndiffer    {differing}\n");
            if compared < loans {
                text.push_str(&format!("unknown   {} (no expected values)\n", loans - compared));
            }
            if self.withheld > 0 {
                let why = "about the past of these loans; --send-historical-webhooks sends them";
                text.push_str(&format!("withheld  {} webhooks {why}\n", self.withheld));
            }
            for FailedAccount { account_id, reason } in &self.failed {
                text.push_str(&format!("failed    {account_id}: {reason}\n"));
            }
            text
        })?;
        if !self.failed.is_empty() {
            let count = accounts(self.failed.len() as u64);
            return Err(Failure::Failed(format!("{count} could not be processed; the next import tries again")));
        }
        if differing > 0 {
            let expects = &portfolio.loans_file;
            let sentence = format!(
                "{differing} of {compared} loans differ from the expected values in {expects}: {file} explains why"
            );
            return Err(Failure::Failed(sentence));
        }
        Ok(())
    }
}

//! `daybook import`: the command line of [`daybook_import`], which reads, checks, loads and compares.
//!
//! | module | purpose |
//! |---|---|
//! | [`scratch`] | a server for a dry run |
//! | [`watching`] | progress bars, messages and interrupts |

mod scratch;
mod watching;

use super::files::must_not_be;
use super::remote::ServerConnection;
use super::table::table;
use super::{Failure, interrupt, prepare, print};
use crate::cli::ImportArgs;
use daybook_client::{Client, Trouble};
use daybook_clock::{Clock, System};
use daybook_import::check::{CheckOptions, PortfolioCheck};
use daybook_import::check_report::CheckReport;
use daybook_import::compare::Reconciliation;
use daybook_import::existing_records::{self, FailedAccount};
use daybook_import::import::{ImportOptions, ImportResult, PortfolioImport};
use daybook_import::portfolio::Portfolio;
use daybook_import::product::ImportProduct;
use daybook_import::server::ImportServer;
use daybook_import::{ImportError, accounts_in_words, columns, differences_file};
use daybook_operations::Operation;
use scratch::Scratch;
use serde_json::json;
use std::path::Path;
use watching::OnTerminal;

/// Checks the files, loads them and compares the result.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    if args.columns {
        return print(&format!("{}\n{}", table(&columns::describe()), columns::NOTES));
    }
    let (Some(loans), Some(payments)) = (&args.loans, &args.payments) else {
        return Err(Failure::Failed("two files are required: the loans and the payments".to_owned()));
    };
    let inputs = [loans.as_path(), payments.as_path()];
    must_not_be(&args.differences, "--differences", &inputs)?;
    for file in args.report.iter() {
        must_not_be(file, "--report", &inputs)?;
    }
    differences_file::must_be_writable(&args.differences).map_err(|error| of_flag("--differences", error))?;
    interrupt::listen();
    let connection = if args.dry_run && args.product_file.is_some() {
        prepare(&args.remote.flags)?;
        None
    } else {
        Some(ServerConnection::open(&args.remote)?)
    };
    let server = connection.as_ref().map(|connection| &connection.client);
    let product = product(args, server)?;
    let mut report = CheckReport::new(args.report.as_deref()).map_err(|error| of_flag("--report", error))?;
    let run = ImportRun { args, product: &product, server };
    match run.check_and_import(loans, payments, &mut report) {
        Err(Failure::Import(ImportError::InvalidValues { count, consequence })) => {
            print(&if args.json { format!("{:#}\n", report.as_json()) } else { report.as_text(more_are_in(args)) })?;
            Err(ImportError::InvalidValues { count, consequence }.into())
        }
        ended => ended,
    }
}

/// Where the errors are that are not shown.
fn more_are_in(args: &ImportArgs) -> &'static str {
    if args.report.is_some() { "the file of --report lists all" } else { "--report FILE lists all" }
}

/// An error about the file that a flag names.
fn of_flag(flag: &str, error: ImportError) -> Failure {
    match error {
        ImportError::Failed(sentence) => Failure::Failed(format!("{flag}: {sentence}")),
        other => other.into(),
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Failure {
        match error {
            ImportError::NoPayments { .. } => {
                Failure::Failed(format!("{error}. If no loan was ever paid, use --allow-no-payments"))
            }
            ImportError::OthersAreHeld { .. } => {
                Failure::Failed(format!("{error}, or use --release-others to release them together with these"))
            }
            ImportError::Output(error) => Failure::Output(error),
            other => Failure::Import(other),
        }
    }
}

fn product(args: &ImportArgs, server: Option<&Client>) -> Result<ImportProduct, Failure> {
    let of_server = |server: &Client, id: &str| {
        ImportProduct::of_server(server, id).map_err(|error| match error {
            ImportError::Server(Trouble::Refused { status: 404, .. }) => Failure::Failed(format!(
                "there is no product {id}: create it with {}, or name its file with --product-file",
                Operation::CreateProduct
            )),
            other => other.into(),
        })
    };
    match (&args.product_file, &args.product, server) {
        (Some(file), _, _) => ImportProduct::of_file(file).map_err(|error| of_flag("--product-file", error)),
        (None, Some(id), Some(server)) if args.dry_run => of_server(server, id).map(ImportProduct::made_anew),
        (None, Some(id), Some(server)) => of_server(server, id),
        _ => Err(Failure::Failed("--product: is required".to_owned())),
    }
}

/// One run of the command.
struct ImportRun<'a> {
    args: &'a ImportArgs,
    product: &'a ImportProduct,
    /// The server of the command line; a dry run may have none.
    server: Option<&'a Client>,
}

impl ImportRun<'_> {
    fn check_and_import(&self, loans: &Path, payments: &Path, report: &mut CheckReport) -> Result<(), Failure> {
        let (args, product) = (self.args, self.product);
        let options = CheckOptions {
            allows_no_customer: args.allow_no_customer,
            allows_no_payments: args.allow_no_payments,
            keeps_references: !args.dry_run,
        };
        let check = PortfolioCheck { product, now: System.now(), options, observer: &OnTerminal };
        let portfolio = check.run(loans, payments, report)?;
        report.must_be_empty("nothing was loaded")?;
        if let Some(client) = self.server {
            let server = self.at(client);
            existing_records::check_references(server, &portfolio, report)?;
            if args.dry_run {
                // The scratch database cannot show that an id is already used on the real server.
                existing_records::look(server, product, &portfolio, report)?;
            }
            report.must_be_empty("nothing was loaded")?;
        }
        let scratch = if args.dry_run { Some(Scratch::start(product)?) } else { None };
        let client = match (&scratch, self.server) {
            (Some(scratch), _) => &scratch.client,
            (None, Some(client)) => client,
            (None, None) => return Err(Failure::Failed("there is no server to import to".to_owned())),
        };
        if scratch.is_none() && args.product_file.is_some() {
            client.call(&Operation::CreateProduct.request([]), Some(&product.body))?;
        }
        let server = self.at(client);
        let options = ImportOptions {
            rows_per_call: args.rows_per_call as usize,
            sends_history: args.send_historical_webhooks,
            releases_others: args.release_others,
        };
        let import = PortfolioImport { server, product, portfolio: &portfolio, options, clock: &System };
        let result = import.run(report)?;
        differences_file::write(server, &portfolio, &result.reconciliation, &args.differences)
            .map_err(|error| of_flag("--differences", error))?;
        tell(args, &portfolio, &result)
    }

    fn at<'b>(&self, client: &'b Client) -> ImportServer<'b> {
        ImportServer { client, connections: self.args.connections, observer: &OnTerminal }
    }
}

/// Prints the result. Fails if there are differences or failed accounts.
fn tell(args: &ImportArgs, portfolio: &Portfolio, result: &ImportResult) -> Result<(), Failure> {
    let (loans, payments) = (portfolio.loans.len() as u64, portfolio.payments.len());
    let Reconciliation { compared, differing, .. } = result.reconciliation;
    let agreeing = compared - differing;
    let file = args.differences.display();
    print(&if args.json {
        let told = json!({
            "dry_run": args.dry_run, "loaded_now": result.is_loaded_now, "loans": loans, "payments": payments,
            "compared": compared, "agreeing": agreeing, "differing": differing,
            "differences": result.reconciliation.differences.len(), "differences_file": file.to_string(),
            "failed_accounts": result.failed, "webhooks_withheld": result.webhooks_withheld,
        });
        format!("{told:#}\n")
    } else {
        let mut text =
            format!("loans     {loans}\npayments  {payments}\nagree     {agreeing}\ndiffer    {differing}\n");
        if compared < loans {
            text.push_str(&format!("unknown   {} (no expected values)\n", loans - compared));
        }
        if result.webhooks_withheld > 0 {
            let why = "about the past of these loans; --send-historical-webhooks sends them";
            text.push_str(&format!("withheld  {} webhooks {why}\n", result.webhooks_withheld));
        }
        for FailedAccount { account_id, reason } in &result.failed {
            text.push_str(&format!("failed    {account_id}: {reason}\n"));
        }
        text
    })?;
    if !result.failed.is_empty() {
        let count = accounts_in_words(result.failed.len() as u64);
        return Err(Failure::Failed(format!("{count} could not be processed; the next import retries them")));
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

//! `daybook import` and `daybook demo-data`: loading a portfolio from files, and sample files.

use super::RemoteArgs;
use clap::Args;
use std::path::PathBuf;

/// `daybook import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The CSV file of the loans, one row each
    #[arg(value_name = "LOANS", required_unless_present = "columns")]
    pub loans: Option<PathBuf>,
    /// The CSV file of their payments, one row each
    #[arg(value_name = "PAYMENTS", required_unless_present = "columns")]
    pub payments: Option<PathBuf>,
    /// The product of the loans
    #[arg(long, value_name = "ID", required_unless_present_any = ["columns", "product_file"])]
    pub product: Option<String>,
    /// A file with the body of POST /products; the product is created if it does not exist
    #[arg(long, value_name = "FILE", conflicts_with = "product")]
    pub product_file: Option<PathBuf>,
    /// Try the whole import in a temporary database; nothing changes on the server
    #[arg(long)]
    pub dry_run: bool,
    /// Send the webhooks of the past events of the loans, one for each event [default: do not send them]
    #[arg(long, conflicts_with = "suppress_webhooks")]
    pub send_historical_webhooks: bool,
    /// Withhold the webhooks for past events; this is the default
    #[arg(long, hide = true)]
    pub suppress_webhooks: bool,
    /// Load loans without a borrower: rows with neither a name nor a customer_id
    #[arg(long)]
    pub allow_no_customer: bool,
    /// Load the loans even if the payments file has no rows
    #[arg(long)]
    pub allow_no_payments: bool,
    /// Release the held events of all accounts of the product, also of accounts that are not in the file [default: if
    /// there are such accounts, release nothing]
    #[arg(long)]
    pub release_others: bool,
    /// Write all differences to this file, as CSV
    #[arg(long, value_name = "FILE", default_value = "differences.csv")]
    pub differences: PathBuf,
    /// Write all invalid rows to this file, as CSV
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Only print what the columns mean
    #[arg(long)]
    pub columns: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The number of rows in one request
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub rows_per_call: u64,
    /// The number of requests at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=32))]
    pub connections: u64,
    /// Which server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `daybook demo-data`
#[derive(Args, Debug)]
pub struct DemoDataArgs {
    /// The number of loans
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub loans: u64,
    /// About how many payments each loan has: it began this many months ago, with about one payment a month
    #[arg(long, value_name = "COUNT", default_value_t = 24, value_parser = clap::value_parser!(u64).range(2..=35))]
    pub payments: u64,
    /// The seed of the generated values; the same seed gives the same files
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// The number of loans with a wrong expected principal; wrong.txt lists them
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub wrong: u64,
    /// The number of invalid rows; broken.txt lists them
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub broken: u64,
    /// The date of the expected balances [default: today]
    #[arg(long, value_name = "DATE")]
    pub as_of: Option<String>,
    /// The product's id
    #[arg(long, value_name = "ID", default_value = "auto-36")]
    pub product: String,
    /// The folder to write to; it is created if it does not exist
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}

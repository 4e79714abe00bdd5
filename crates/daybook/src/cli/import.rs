//! `daybook import` and `daybook demo-data`: loading a portfolio from files, and sample files.

use super::RemoteArgs;
use clap::Args;
use std::path::PathBuf;

/// `daybook import`
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The loans, a row for each
    #[arg(value_name = "LOANS", required_unless_present = "columns")]
    pub loans: Option<PathBuf>,
    /// Their payments, a row for each
    #[arg(value_name = "PAYMENTS", required_unless_present = "columns")]
    pub payments: Option<PathBuf>,
    /// The product that the loans are of
    #[arg(long, value_name = "ID", required_unless_present_any = ["columns", "product_file"])]
    pub product: Option<String>,
    /// The product as the body of POST /products, in a file: it is made if it is not there
    #[arg(long, value_name = "FILE", conflicts_with = "product")]
    pub product_file: Option<PathBuf>,
    /// Do it all in a scratch database, and leave the server untouched
    #[arg(long)]
    pub dry_run: bool,
    /// Send the webhooks of the past too, one for everything that ever happened to the loans [default: they are withheld]
    #[arg(long, conflicts_with = "suppress_webhooks")]
    pub send_historical_webhooks: bool,
    /// Withhold the webhooks of the past, which is the default
    #[arg(long, hide = true)]
    pub suppress_webhooks: bool,
    /// Load loans whose row has neither a name nor a customer_id, without a borrower
    #[arg(long)]
    pub allow_no_customer: bool,
    /// Load the loans although the file of the payments has no rows
    #[arg(long)]
    pub allow_no_payments: bool,
    /// Release other accounts of the product too, though they are held and not in the file
    #[arg(long)]
    pub release_others: bool,
    /// Write every difference here
    #[arg(long, value_name = "FILE", default_value = "differences.csv")]
    pub differences: PathBuf,
    /// Write every broken row here, as CSV
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print what the columns mean, and do nothing else
    #[arg(long)]
    pub columns: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How many rows are sent in one call
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub rows_per_call: u64,
    /// How many calls are made at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=32))]
    pub connections: u64,
    /// Which server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `daybook demo-data`
#[derive(Args, Debug)]
pub struct DemoDataArgs {
    /// How many loans
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub loans: u64,
    /// How many months each loan is old: about as many payments
    #[arg(long, value_name = "COUNT", default_value_t = 24, value_parser = clap::value_parser!(u64).range(2..=35))]
    pub payments: u64,
    /// The same seed makes the same files
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// How many loans expect a wrong principal; they are listed in wrong.txt
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub wrong: u64,
    /// How many rows are broken; they are listed in broken.txt
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub broken: u64,
    /// The date that the expected balances are of [default: today]
    #[arg(long, value_name = "DATE")]
    pub as_of: Option<String>,
    /// What the product is called
    #[arg(long, value_name = "ID", default_value = "auto-36")]
    pub product: String,
    /// The folder to write to; it is made if it is not there
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}

//! `daybook bench`: the benchmarks and their sizes.

mod all;
mod more;

pub use all::{BenchAllArgs, BenchDatabases};
pub use more::{
    BenchAccountArgs, BenchDueArgs, BenchEngineArgs, BenchImportArgs, BenchNeighborArgs, BenchReadArgs, BenchStartArgs,
    BenchWhatIfArgs,
};

use clap::{Args, Subcommand};

/// `daybook bench …`
#[derive(Args, Debug)]
pub struct BenchCommand {
    /// What to measure.
    #[command(subcommand)]
    pub command: BenchAction,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum BenchAction {
    /// Run every benchmark several times, and write the page with the results
    #[command(after_help = "\
Examples:
  daybook bench all --quick --to results        tiny sizes: to see whether everything works
  daybook bench all --postgres postgres://daybook@localhost:5432
  daybook bench all --only webhooks --runs 3
  daybook bench all --render                    write the page again, from the results in performance.json

Writes performance.md, performance.json and performance/*.svg to the folder --to. Explanations of missed aims are taken
from performance/notes.md in that folder. A full run takes hours. Use a release build on an idle machine.")]
    All(BenchAllArgs),
    /// Measure a release: load accounts in migration mode, then release their held events
    #[command(after_help = "Examples:\n  daybook bench release --accounts 100000 --events 12 --json")]
    Release(BenchReleaseArgs),
    /// Measure payments: callers record them at the same time, each waiting for the response before the next
    #[command(after_help = "Examples:\n  daybook bench payments --accounts 10000 --callers 64 --seconds 30")]
    Payments(BenchPaymentsArgs),
    /// Measure webhooks: send messages that are already recorded to receivers on this machine
    #[command(
        after_help = "Examples:\n  daybook bench webhooks --messages 500000\n  daybook bench webhooks --urls 1 --json"
    )]
    Webhooks(BenchWebhooksArgs),
    /// Measure the engine: compute accounts from their events, in memory
    #[command(after_help = "Examples:\n  daybook bench engine\n  daybook bench engine --batches 20 --json")]
    Engine(BenchEngineArgs),
    /// Measure a start: how long a server takes to be ready, on an empty database and after `kill -9`
    #[command(after_help = "Examples:\n  daybook bench start --accounts 100000\n  daybook bench start --json")]
    Start(BenchStartArgs),
    /// Measure a read: one account over HTTP, on its first day and after 700 days
    #[command(after_help = "Examples:\n  daybook bench read --calls 5000")]
    Read(BenchReadArgs),
    /// Measure due work: process the accounts that are due among many that are not
    #[command(after_help = "\
Examples:
  daybook bench due --idle 1000000
  daybook bench due --idle 50000 --json

On PostgreSQL, the benchmark creates a second database on the same server, and drops it.")]
    Due(BenchDueArgs),
    /// Measure an import: load a portfolio from files into a new server
    #[command(after_help = "\
Examples:
  daybook bench import --loans 50000
  daybook bench import --loans 1000 --send-historical-webhooks --json")]
    Import(BenchImportArgs),
    /// Measure a long account: read and verify one account with very many payments
    #[command(after_help = "Examples:\n  daybook bench account --payments 50000")]
    Account(BenchAccountArgs),
    /// Measure a neighbor: record payments of one organization while another one opens many old loans
    #[command(after_help = "Examples:\n  daybook bench neighbor --loans 1000")]
    Neighbor(BenchNeighborArgs),
    /// Measure the console: load every page with a large portfolio
    #[command(after_help = "Examples:\n  daybook bench console --accounts 100000")]
    Console(BenchConsoleArgs),
    /// Measure test cases: run them from files, in memory
    #[command(after_help = "Examples:\n  daybook bench cases --files 1000\n  daybook bench cases --files 1000 --json")]
    Cases(BenchCasesArgs),
    /// Measure a what-if: compare every account of a portfolio under another policy
    #[command(after_help = "\
Examples:
  daybook bench what-if --accounts 250000
  daybook bench what-if --accounts 10000 --database postgres://daybook@localhost/empty --json")]
    WhatIf(BenchWhatIfArgs),
    /// Show how many bytes each table and index of a database takes, in total and per payment
    #[command(after_help = "Examples:\n  daybook bench storage --database sqlite:daybook.db")]
    Storage(BenchStorageArgs),
    /// The receiver of the webhooks, as a separate process
    #[command(hide = true)]
    WebhookReceiver,
    /// A bare client that sends the same requests, as a separate process
    #[command(hide = true)]
    WebhookClient(BenchWebhookClientArgs),
}

/// Where and how to measure.
#[derive(Args, Debug)]
pub struct BenchTarget {
    /// Measure this database instead of a scratch SQLite file; it must be empty
    #[arg(long, value_name = "DATABASE")]
    pub database: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `daybook bench release`
#[derive(Args, Debug)]
pub struct BenchReleaseArgs {
    /// The number of accounts to load
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub accounts: u64,
    /// The number of payments of each account
    #[arg(long, value_name = "COUNT", default_value_t = 12)]
    pub events: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench payments`
#[derive(Args, Debug)]
pub struct BenchPaymentsArgs {
    /// The number of accounts
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub accounts: u64,
    /// The number of callers that make requests at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    pub callers: u64,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
    /// The age of the accounts in months, with a payment in each month
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=35))]
    pub months: u64,
    /// Also measure without the audit trail, in alternating rounds, and compare
    #[arg(long)]
    pub compare_audit: bool,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench console`
#[derive(Args, Debug)]
pub struct BenchConsoleArgs {
    /// The number of accounts
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..))]
    pub accounts: u64,
    /// The number of payments of each account
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u64).range(2..))]
    pub payments: u64,
    /// How many times each page is loaded
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub times: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench webhooks`
#[derive(Args, Debug)]
pub struct BenchWebhooksArgs {
    /// The number of deliveries, to all URLs together
    #[arg(long, value_name = "COUNT", default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(100..))]
    pub messages: u64,
    /// Measure only deliveries to this many URLs, which all respond [default: measure deliveries to one URL, to ten
    /// URLs, and to ten URLs of which one never responds; then measure how long a message takes to arrive, with and
    /// without a URL that never responds]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub urls: Option<u64>,
    /// The number of consecutive messages about the same account
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub in_a_row: u64,
    /// How long to measure the time that a message takes to arrive
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    pub seconds: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench storage`
#[derive(Args, Debug)]
pub struct BenchStorageArgs {
    /// The database to measure; nothing is changed in it
    #[arg(long, value_name = "DATABASE")]
    pub database: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `daybook bench cases`
#[derive(Args, Debug)]
pub struct BenchCasesArgs {
    /// The number of files
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub files: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `daybook bench webhook-client`; the request's lines after the first come on stdin.
#[derive(Args, Debug)]
pub struct BenchWebhookClientArgs {
    /// Where the receiver listens
    #[arg(long)]
    pub receiver: std::net::SocketAddr,
    /// How many requests are sent
    #[arg(long)]
    pub requests: u64,
    /// To how many URLs
    #[arg(long)]
    pub urls: u64,
    /// Over how many connections to each
    #[arg(long)]
    pub connections: u64,
}

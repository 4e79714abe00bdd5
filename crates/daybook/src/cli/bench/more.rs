//! The sizes of the benchmarks that start a server, or measure one part of it.

use super::BenchTarget;
use clap::Args;

/// `daybook bench engine`
#[derive(Args, Debug)]
pub struct BenchEngineArgs {
    /// The number of batches; the result is their median
    #[arg(long, value_name = "COUNT", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub batches: u64,
    /// How long each batch takes
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch_ms: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `daybook bench start`
#[derive(Args, Debug)]
pub struct BenchStartArgs {
    /// The number of accounts when the server is killed
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub accounts: u64,
    /// How long after its start the memory of an idle server is read
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub idle_seconds: u64,
    /// How long payments are recorded before the server is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    pub load_seconds: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench read`
#[derive(Args, Debug)]
pub struct BenchReadArgs {
    /// How often each account is read
    #[arg(long, value_name = "COUNT", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub calls: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench what-if`
#[derive(Args, Debug)]
pub struct BenchWhatIfArgs {
    /// The number of accounts
    #[arg(long, value_name = "COUNT", default_value_t = 250_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub accounts: u64,
    /// The number of monthly payments of each account
    #[arg(long, value_name = "COUNT", default_value_t = 24, value_parser = clap::value_parser!(u64).range(0..=36))]
    pub payments: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench due`
#[derive(Args, Debug)]
pub struct BenchDueArgs {
    /// The number of accounts that are not due
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub idle: u64,
    /// The number of accounts that are not due in the database to compare with
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub few: u64,
    /// The number of accounts that are due each month
    #[arg(long, value_name = "COUNT", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub due: u64,
    /// The number of months
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=12))]
    pub months: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench import`
#[derive(Args, Debug)]
pub struct BenchImportArgs {
    /// The number of loans
    #[arg(long, value_name = "COUNT", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub loans: u64,
    /// The age of each loan in months; it has about as many payments
    #[arg(long, value_name = "COUNT", default_value_t = 24, value_parser = clap::value_parser!(u64).range(2..=35))]
    pub payments: u64,
    /// Also write the webhooks for the past events of the loans
    #[arg(long)]
    pub send_historical_webhooks: bool,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench account`
#[derive(Args, Debug)]
pub struct BenchAccountArgs {
    /// The number of payments; an account with half of them is verified too, to compare with
    #[arg(long, value_name = "COUNT", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(2..))]
    pub payments: u64,
    /// How often the first page of events is read
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub calls: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench neighbor`
#[derive(Args, Debug)]
pub struct BenchNeighborArgs {
    /// The number of loans that one call opens; they began in 1996 and have 360 monthly instalments
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub loans: u64,
    /// The number of payments before that call, to compare with
    #[arg(long, value_name = "COUNT", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pub payments: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

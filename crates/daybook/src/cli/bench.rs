//! `daybook bench`: what can be measured, and how much of it.

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
    /// Release a held portfolio
    #[command(after_help = "Examples:\n  daybook bench release --accounts 100000 --events 12 --json")]
    Release(BenchReleaseArgs),
    /// Record payments, each answered before the next of its caller
    #[command(after_help = "Examples:\n  daybook bench payments --accounts 10000 --callers 64 --seconds 30")]
    Payments(BenchPaymentsArgs),
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
    /// How many accounts are loaded
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub accounts: u64,
    /// How many payments each has
    #[arg(long, value_name = "COUNT", default_value_t = 12)]
    pub events: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

/// `daybook bench payments`
#[derive(Args, Debug)]
pub struct BenchPaymentsArgs {
    /// How many accounts there are
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub accounts: u64,
    /// How many callers call at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    pub callers: u64,
    /// For how long
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
    /// Where and how.
    #[command(flatten)]
    pub target: BenchTarget,
}

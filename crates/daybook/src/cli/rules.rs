//! `daybook verify`, `daybook migrate`, `daybook rules-report`

use super::CommonFlags;
use clap::{Args, ValueEnum};

/// `daybook verify`
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Correct the stored values that differ from the recalculated ones, and list the corrections
    #[arg(long)]
    pub fix: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// `daybook migrate`
#[derive(Args, Debug)]
pub struct MigrateArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// `daybook rules-report`
#[derive(Args, Debug)]
pub struct RulesReportArgs {
    /// The output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A table for people
    Text,
    /// Comma-separated values, amounts in cents
    Csv,
    /// One JSON document, amounts in cents
    Json,
}

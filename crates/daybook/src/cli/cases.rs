//! `daybook test` and `daybook case …`: test cases as files.

use super::RemoteArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `daybook test`
#[derive(Args, Debug)]
pub struct TestArgs {
    /// Files, or folders whose .toml files are run [default: the folder scenarios, or the built-in
    /// cases if there is no such folder]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only cases whose file name or title contains this text
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also write a JUnit report to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the actual results into the files as the expected ones; review them afterwards
    #[arg(long, conflicts_with_all = ["url", "server", "watch"])]
    pub record: bool,
    /// Run again whenever a file changes, until Ctrl+C
    #[arg(long)]
    pub watch: bool,
    /// Run the cases on the server that uses this machine's database; --url names another server
    #[arg(long)]
    pub server: bool,
    /// The server, with --url or --server.
    #[command(flatten)]
    pub remote: RemoteArgs,
}

/// `daybook case …`
#[derive(Args, Debug)]
pub struct CaseCommand {
    /// What to do with a case.
    #[command(subcommand)]
    pub command: CaseAction,
}

/// What to do with a case.
#[derive(Debug, Subcommand)]
pub enum CaseAction {
    /// Turn a real account's history into a test case
    #[command(after_help = "\
Examples:
  daybook case from-account loan-1
  daybook case from-account loan-1 --to scenarios/loan-1.toml
  daybook case from-account loan-1 --database postgres://daybook@db/daybook --org \"Prairie Lending\"

The expected results are the current ones of the account: review the case before you rely on it. Customers and external
fields are left out.")]
    FromAccount(Box<CaseFromAccountArgs>),
}

/// `daybook case from-account`
#[derive(Args, Debug)]
pub struct CaseFromAccountArgs {
    /// The account's id
    pub account_id: String,
    /// The file to write; it must not exist yet [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// The organization's name; not needed while there is only one
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// The settings.
    #[command(flatten)]
    pub flags: super::CommonFlags,
}

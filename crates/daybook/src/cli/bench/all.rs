//! `daybook bench all`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `daybook bench all`
#[derive(Args, Debug)]
pub struct BenchAllArgs {
    /// How often each benchmark runs
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub runs: u64,
    /// Use tiny sizes: this shows whether everything works, not how fast it is
    #[arg(long)]
    pub quick: bool,
    /// Run only this benchmark, and replace its earlier results in performance.json; repeatable
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// The databases to measure [default: both with --postgres, otherwise sqlite]
    #[arg(long, value_enum, value_name = "DATABASE")]
    pub database: Option<BenchDatabases>,
    /// A PostgreSQL server on which the benchmarks may create databases, and drop them
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// The folder to write to
    #[arg(long, value_name = "FOLDER", default_value = "docs/operating")]
    pub to: PathBuf,
    /// The commit that is measured [default: what git says in the working folder]
    #[arg(long, value_name = "COMMIT")]
    pub commit: Option<String>,
    /// Run nothing: write the page and the plots again, from the results in performance.json
    #[arg(long)]
    pub render: bool,
}

/// Which databases are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchDatabases {
    /// SQLite only
    Sqlite,
    /// PostgreSQL only
    Postgres,
    /// Both
    Both,
}

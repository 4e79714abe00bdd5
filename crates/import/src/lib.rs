//! Imports a portfolio: reads loans and payments from files, loads them into a server in migration mode, and compares
//! the result with the expected values, to the cent.
//!
//! ```text
//! loans.csv ────┐                        invalid values ─► CheckReport
//! payments.csv ─┴► check ─► Portfolio ─► look ─► hold ─► load ─► release ─► compare ─► Reconciliation ─► differences.csv
//!                                          └── everything is there already ───┘
//! ```
//!
//! A [`PortfolioCheck`](check::PortfolioCheck) reads the files into a [`Portfolio`](portfolio::Portfolio): loans,
//! borrowers, payments and expected values, each row as the body of the call that creates it. Values that break a rule
//! go to a [`CheckReport`](check_report::CheckReport) with file, line and column. A
//! [`PortfolioImport`](import::PortfolioImport) sends the portfolio to an [`ImportServer`](server::ImportServer) over
//! HTTP and returns an [`ImportResult`](import::ImportResult), whose [`Reconciliation`](compare::Reconciliation) lists
//! the values that differ.
//!
//! | to | module |
//! |---|---|
//! | know the columns of the files | [`columns`] |
//! | read a file, find quotes that violate RFC 4180 | [`csv_file`], [`csv_quotes`] |
//! | check the rows of loans and payments | [`check`] |
//! | collect the invalid values | [`check_report`] |
//! | hold the content of the files, and the product | [`portfolio`], [`product`] |
//! | run one import from its beginning to its end | [`import`] |
//! | call the server: paged lists, concurrent calls | [`server`] |
//! | find out what the server has already | [`existing_records`] |
//! | turn migration mode on, send the rows, release | [`load`] |
//! | count the webhooks that are not sent | [`historical_webhooks`] |
//! | compare each loan with its expected values | [`compare`] |
//! | write the differences, and explain a balance | [`differences_file`], [`explain`] |
//! | show progress, and interrupt an import | [`observer`] |
//!
//! Nothing is sent until both files are valid. After a crash, the same import continues: every row has an id, existing
//! rows are not changed, and nothing is released before everything is loaded.
//!
//! The crate prints nothing and reads no command line. Rows are checked with the service's own forms and rules, so that
//! the server accepts every row that passes.

pub mod check;
pub mod check_report;
pub mod columns;
pub mod compare;
mod csv_file;
mod csv_quotes;
pub mod differences_file;
mod error;
pub mod existing_records;
mod explain;
mod historical_webhooks;
pub mod import;
mod load;
pub mod observer;
pub mod portfolio;
pub mod product;
pub mod server;

pub use error::{ImportError, accounts_in_words};

//! A portfolio in a folder, and the command that imports it.

use crate::common::api_client::ApiClient;
use crate::common::installation::{Installation, SECRET};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// The product of the portfolios.
pub const PRODUCT: &str = "auto-36";
/// The number of loans, and their age in months.
pub const LOANS: u64 = 60;
const MONTHS: u64 = 6;

/// The result of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON of an import that must have found no differences.
    pub fn good(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.json()
    }
}

fn command(installation: &Installation, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daybook"));
    command.env_clear().current_dir(installation.folder()).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for a started command.
pub fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("what is said is text");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The output of a command up to the first line that contains these words.
pub fn first_line_with(child: &mut Child, words: &str) -> String {
    let stderr = child.stderr.as_mut().expect("it is read from here");
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains(words) {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&said)));
        said.extend(byte);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// Runs a command to its end.
pub fn run(installation: &Installation, args: &[&str]) -> Ended {
    let output = command(installation, args).output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("what is said is text");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The arguments of an import of the portfolio to the server at a URL.
fn import_args<'a>(url: &'a str, key: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let files = ["p/loans.csv", "p/payments.csv"];
    let always = ["import", "--url", url, "--key", key, "--json"];
    always.into_iter().chain(files).chain(more.iter().copied()).collect()
}

/// Imports the portfolio.
pub fn import(installation: &Installation, url: &str, more: &[&str]) -> Ended {
    run(installation, &import_args(url, &format!("tests:{SECRET}"), more))
}

/// Starts an import of the portfolio.
pub fn start_import(installation: &Installation, url: &str, more: &[&str]) -> Child {
    command(installation, &import_args(url, &format!("tests:{SECRET}"), more)).spawn().expect("the command starts")
}

/// Generates a portfolio in the folder `p`.
pub fn make_portfolio(installation: &Installation, more: &[&str]) {
    let (loans, months) = (LOANS.to_string(), MONTHS.to_string());
    let always = ["demo-data", "--loans", &loans, "--payments", &months, "--as-of", "2026-01-31", "--to", "p"];
    let args: Vec<&str> = always.into_iter().chain(more.iter().copied()).collect();
    let made = run(installation, &args);
    assert_eq!(made.code, Some(0), "{made:?}");
}

/// Writes a small portfolio.
pub fn write_portfolio(installation: &Installation, loans: &str, payments: &str) {
    let folder = installation.folder().join("p");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("loans.csv"), loans).expect("a file");
    fs::write(folder.join("payments.csv"), payments).expect("a file");
}

/// Creates the product of the portfolio.
pub fn make_product(installation: &Installation, client: &ApiClient) {
    let body = fs::read_to_string(installation.folder().join("p/product.json")).expect("the product is there");
    client.post("/products", &serde_json::from_str(&body).expect("the product is JSON")).good();
}

/// The rows of a file, without its header.
pub fn rows(installation: &Installation, file: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(installation.folder().join(file)).expect("the file is there");
    let row = |record: csv::StringRecord| record.iter().map(str::to_owned).collect();
    reader.records().map(|record| row(record.expect("a row"))).collect()
}

/// The lines of a file.
pub fn lines(installation: &Installation, file: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(installation.folder().join(file)).expect("the file is there");
    text.lines().map(str::to_owned).collect()
}

/// The numbers of accounts, customers and payments on the server.
pub fn counts(client: &ApiClient) -> [usize; 3] {
    let accounts = client.all("/accounts");
    let payments = accounts.iter().map(|account| {
        let id = account["account_id"].as_str().expect("an id");
        client.all(&format!("/accounts/{id}/line_items?line_item_type=PAYMENT")).len()
    });
    [accounts.len(), client.all("/customers").len(), payments.sum()]
}

//! `daybook bench all` with tiny sizes: every benchmark runs, and every row of the page has a figure. Nothing here
//! depends on how fast anything is.
#![cfg(test)]

use daybook_testkit::postgres;
use daybook_testkit::server::Daybook;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A part of a row for each aim of the design.
const ROWS: [&str; 14] = [
    "release of 100,000 accounts",
    "cost of a payment in a release of 1,000,000 payments",
    "payments, 64 callers",
    "deliveries to one URL",
    "delay of a message to the nine other URLs",
    "read a loan of 24 months on day 700",
    "process a due account among 1,000,000 idle ones",
    "database for each payment of an import",
    "50,000 loans with 1.2 million payments",
    "while another organization opens 1,000 loans",
    "first page of the events of 50,000 payments",
    "server, idle",
    "start on an empty database",
    "start after `kill -9`",
];

fn run(folder: &Path, args: &[&str]) {
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder);
    let all = ["bench", "all", "--quick", "--runs", "1", "--to", "results", "--commit", "abc1234"];
    let output = daybook.run(&[&all, args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn check(folder: &Path, database: &str) {
    let results = folder.join("results");
    let page = fs::read_to_string(results.join("performance.md")).expect("a page");
    let (_, table) = page.split_once(&format!("\n## {database}\n")).expect("a table");
    let (table, _) = table.split_once("\n## ").expect("it ends");
    assert!(!table.contains("not measured"), "{table}");
    for row in ROWS {
        assert!(table.contains(row), "{row} is not in {table}");
    }
    assert!(page.contains("abc1234") && page.contains("fold a loan of 360 months with 360 payments"), "{page}");
    let raw = fs::read_to_string(results.join("performance.json")).expect("the results");
    let raw: Value = serde_json::from_str(&raw).expect("JSON");
    let failed: Vec<_> = raw["runs"].as_array().expect("runs").iter().filter(|run| !run["failure"].is_null()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    for plot in ["throughput.svg", "age.svg", "bytes.svg"] {
        let svg = fs::read_to_string(results.join("performance").join(plot)).expect("a plot");
        assert!(svg.starts_with("<svg") && svg.contains(database), "{plot}: {svg}");
        assert!(page.contains(&format!("](performance/{plot})")), "{plot}");
    }
    let left: Vec<_> =
        fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("a file").file_name()).collect();
    assert_eq!(left, ["results"], "the scratch folders are deleted");
}

#[test]
fn every_row_is_measured_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &["--database", "sqlite"]);
    check(folder.path(), "SQLite");

    // The page can be written again from the results, with notes.
    let results = folder.path().join("results");
    let page = fs::read_to_string(results.join("performance.md")).expect("a page");
    fs::write(results.join("performance/notes.md"), "## Earlier runs\n\nOn another machine.\n").expect("notes");
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path());
    daybook.stdout_of(&["bench", "all", "--render", "--to", "results"]);
    let again = fs::read_to_string(results.join("performance.md")).expect("a page");
    assert_eq!(again.replace("\n## Earlier runs\n\nOn another machine.\n", ""), page);
}

#[test]
fn every_row_is_measured_on_postgres() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = postgres::Server::shared().database();
    run(folder.path(), &["--database", "postgres", "--postgres", &address]);
    check(folder.path(), "PostgreSQL");
}

#[test]
fn wrong_flags_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path());
    for (args, reason) in [
        (["--only", "nothing"], "--only: nothing is not one of engine"),
        (["--database", "postgres"], "--postgres: is required"),
    ] {
        let (code, stderr) = daybook.failure_of(&[&["bench", "all"][..], &args].concat());
        assert!(code == 1 && stderr.contains(reason), "{stderr}");
    }
}

//! The page and the plots that are written from fixed results.

use super::evaluation::MeasuredRow;
use super::page::page;
use super::plots::plots;
use super::results::{Database, Results};
use super::rows::ROWS;
use serde_json::{Value, json};

/// Results of two runs.
fn results() -> Results {
    let run = |job: &str, database: Value, run: u64, figures: Value| {
        json!({
            "job": job, "database": database, "run": run, "command": format!("daybook bench {job}"), "commit": "abc1234",
            "day": "2026-11-19", "load_before": 0.5, "seconds": 12.5, "figures": figures, "failure": null,
        })
    };
    let release = |payments: u64, seconds: f64| {
        json!({
            "payments": payments, "release_seconds": seconds, "limit_seconds": 20.0,
            "us_per_payment": seconds * 1e6 / payments as f64, "payments_per_second": payments as f64 / seconds,
            "limit_per_second": payments as f64 / 20.0, "peak_memory_mib": 300,
        })
    };
    let stored = json!({
        "payments": 10, "bytes_per_payment": 1_500.0, "seconds": 50.0, "server_peak_mib": 250.5,
        "parts": { "messages": 9_000, "line_items": 4_000, "inputs": 2_000 },
    });
    let mut failed = run("start", json!("sqlite"), 1, Value::Null);
    failed["failure"] = json!("the server does not start: a|b");
    let runs = json!([
        run("release-small", json!("sqlite"), 1, release(10_000, 0.2)),
        run("release-large", json!("sqlite"), 1, release(1_000_000, 24.0)),
        run("release-small", json!("sqlite"), 2, release(10_000, 0.25)),
        run("release-large", json!("sqlite"), 2, release(1_000_000, 26.0)),
        run(
            "payments",
            json!("sqlite"),
            1,
            json!({ "payments_per_second": 7_000.0, "limit_per_second": 70_000.0, "p99_ms": 19.0 })
        ),
        run("payments-12-months", json!("sqlite"), 1, json!({ "months": 12, "us_per_payment": 140.0 })),
        run("import-webhooks", json!("sqlite"), 1, stored),
        run("engine", Value::Null, 1, json!({ "fold_24_us": 16.0, "backdated_24_us": 40.0 })),
        failed,
    ]);
    let machine = json!({
        "cores": 2, "processor": "Some CPU", "memory_gib": 23.4, "file_system": "ext4", "kernel": "Linux 6.1",
        "postgres": null, "build": "release",
    });
    serde_json::from_value(json!({ "machine": machine, "quick": false, "runs": runs })).expect("results")
}

const NOTES: &str =
    "# Notes\n\n## payments\n\nOne writer.\n\n## release\n\nNot shown: the aim is met.\n\n## Earlier\n\nText.\n";

#[test]
fn a_row_has_the_aim_the_spread_the_limit_and_the_ratio() {
    let page = page(&results(), NOTES, &plots(&results()));
    let expected = [
        "| release of 100,000 accounts with 10 payments each | < 30 s, ratio ≥ 0.60 | 25.0 s | 24.0 to 26.0 | 20.0 s | \
         0.80 (0.77 to 0.83) | yes |",
        "| payments, 64 callers, 10,000 accounts at random | ≥ 15,000/s | 7,000/s | 7,000 | 70,000/s | 0.10 | **no** |",
        "| time of a payment, p99 | < 20 ms | 19.0 ms | 19.0 | – | – | yes |",
        "| replay of one backdated payment, 24 months | ratio ≤ 1.00 times | 40.0 µs | 40.0 | 16.0 µs | 2.50 times | \
         **no** |",
        "| start on an empty database | < 300 ms | not measured | – | – | – | – |",
        "| server, idle | < 40 MiB | not measured | – | – | – | – |",
        "| processor | Some CPU |",
        "| load in the minute before a run, that of the run before included | 0.50 (median), at most 0.50 |",
        "| runs of each benchmark | 2 |",
        "| start | SQLite | 1 | the server does not start: a/b |",
        "| `engine` | `daybook bench engine` | 12.5 s |",
        "## PostgreSQL\n\nNot measured.\n",
        "### Payments over HTTP\n\nOne writer.\n",
        "### The engine alone\n\nThe reason is not known yet.\n",
        "## Earlier\n\nText.\n",
        "![Throughput by portfolio size](performance/throughput.svg)\n\nPayments released per second",
    ];
    for expected in expected {
        assert!(page.contains(expected), "{expected}\n\nis not in\n\n{page}");
    }
    assert!(!page.contains("Not shown") && !page.contains("age.svg)\n\n!["), "{page}");
}

#[test]
fn the_results_are_the_same_after_writing_and_reading() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("performance.json");
    results().write(&path).expect("written");
    let again = Results::read(&path).expect("read");
    assert_eq!(page(&again, NOTES, &[]), page(&results(), NOTES, &[]));
    let text = std::fs::read_to_string(&path).expect("text");
    assert_eq!(text.lines().count(), results().runs.len() + 6, "a line for each run: {text}");
}

#[test]
fn growth_compares_the_cost_of_a_payment_in_the_same_run() {
    let rows = MeasuredRow::all(&results(), Some(Database::Sqlite));
    let row = rows.iter().find(|row| row.row.target == "growth").expect("a row");
    let ratio = row.ratio.expect("a ratio");
    // 24 µs to 20 µs, and 26 µs to 25 µs.
    assert_eq!((ratio.largest, ratio.smallest, row.is_met()), (1.2, 1.04, Some(true)));
}

#[test]
fn a_page_says_why_its_figures_mean_nothing() {
    let warnings = ["The sizes of these runs were tiny", "This was not a release build"];
    let mut results = results();
    assert_eq!(warnings.map(|warning| page(&results, "", &[]).contains(warning)), [false, false]);
    results.quick = true;
    assert_eq!(warnings.map(|warning| page(&results, "", &[]).contains(warning)), [true, false]);
    results.machine.build = "debug".to_owned();
    assert_eq!(warnings.map(|warning| page(&results, "", &[]).contains(warning)), [true, true]);
}

#[test]
fn a_page_has_every_row_of_each_database_that_was_measured() {
    let mut both = results();
    let mut postgres = both.runs[0].clone();
    postgres.database = Some(Database::Postgres);
    both.runs.push(postgres);
    let page = page(&both, "", &[]);
    for row in &ROWS {
        let begin = format!("| {} | ", row.what);
        // The rows of the tables, and one in the list of limits.
        let tables = if row.has_database { 2 } else { 1 };
        assert_eq!(page.matches(&begin).count(), tables + 1, "{}", row.what);
    }
    // The aims of the databases differ.
    assert!(page.contains("| < 60 s, ratio ≥ 0.60 |") && page.contains("| ≥ 5,000/s |"), "{page}");
}

#[test]
fn the_plots_show_the_figures() {
    let plots = plots(&results());
    let find = |file: &str| plots.iter().find(|plot| plot.file == file).map(|plot| plot.svg.as_str()).expect("a plot");
    let throughput = find("throughput.svg");
    assert!(throughput.contains(">payments in the release<") && throughput.contains(">SQLite, limit<"), "{throughput}");
    assert_eq!(throughput.matches("<circle").count(), 4, "two sizes, each with its limit: {throughput}");
    let age = find("age.svg");
    assert_eq!(age.matches("<circle").count(), 1, "{age}");
    let bytes = find("bytes.svg");
    assert!(
        bytes.contains(">messages<") && bytes.contains(">line_items<") && !bytes.contains(">all others<"),
        "{bytes}"
    );
    assert_eq!(bytes.matches("<rect").count(), 4, "the background and three bars: {bytes}");
}

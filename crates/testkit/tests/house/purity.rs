//! The engine's dependencies, direct and transitive.

use super::{assert_none, output_of};

/// Crates that bring time, randomness, threads, I/O or logging.
const FORBIDDEN_CRATES: &[&str] = &[
    "async-std",
    "chrono",
    "daybook-clock",
    "fastrand",
    "getrandom",
    "hyper",
    "log",
    "postgres",
    "rand",
    "reqwest",
    "rusqlite",
    "smol",
    "sqlx",
    "time",
    "tokio",
    "tokio-postgres",
    "tracing",
    "ureq",
    "uuid",
];

/// Features that let jiff read the clock, the machine's zone or its zone files.
const FORBIDDEN_JIFF_FEATURES: &[&str] =
    &["default", "js", "logging", "std", "tz-system", "tzdb-bundle-platform", "tzdb-concatenated", "tzdb-zoneinfo"];

/// Offences in lines of `name features,with,commas`, one per crate.
fn impurities(tree: &str) -> Vec<String> {
    let mut offences = Vec::new();
    for line in tree.lines() {
        let (name, features) = line.split_once(' ').unwrap_or((line, ""));
        if FORBIDDEN_CRATES.contains(&name) {
            offences.push(format!("the engine depends on `{name}`"));
        }
        if name == "jiff" {
            let forbidden = features.split(',').filter(|feature| FORBIDDEN_JIFF_FEATURES.contains(feature));
            offences.extend(forbidden.map(|feature| format!("the engine's jiff has the feature `{feature}`")));
        }
    }
    offences
}

/// `cargo tree` prints `{p}` as `name v1.2.3 (where) (proc-macro)`, then our separator and the features.
fn name_and_features(line: &str) -> String {
    let (package, features) = line.split_once('|').unwrap_or((line, ""));
    let name = package.split(' ').next().unwrap_or_default();
    format!("{name} {features}")
}

#[test]
fn a_crate_that_does_io_is_refused() {
    assert_eq!(impurities("serde alloc,derive\ntokio rt"), ["the engine depends on `tokio`"]);
}

#[test]
fn a_jiff_that_can_read_the_clock_is_refused() {
    assert_eq!(impurities("jiff alloc,tz-fat"), [""; 0]);
    assert_eq!(impurities("jiff alloc,std"), ["the engine's jiff has the feature `std`"]);
    assert_eq!(impurities("jiff tz-system,tzdb-zoneinfo").len(), 2);
}

#[test]
fn the_engine_is_pure_all_the_way_down() {
    // `--edges normal` also excludes dev-dependencies from feature resolution, so these are the features that the
    // engine itself requires, not those unified with the tests'.
    let args = ["tree", "--package", "daybook-engine", "--edges", "normal", "--prefix", "none"];
    let args = [&args[..], &["--format", "{p}|{f}", "--no-dedupe", "--locked", "--offline"]].concat();
    let tree = output_of(env!("CARGO"), &args).expect("cargo tree runs");
    let mut crates: Vec<String> = tree.lines().map(name_and_features).collect();
    crates.sort();
    crates.dedup();
    assert!(crates.iter().any(|line| line.starts_with("daybook-engine ")), "no engine in:\n{tree}");
    assert!(crates.iter().any(|line| line.starts_with("jiff ")), "no jiff in:\n{tree}");
    assert_none(&impurities(&crates.join("\n")));
}

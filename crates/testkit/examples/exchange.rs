//! Reads cases from standard input, one JSON object per line, and writes their results.

#![allow(clippy::expect_used, reason = "a broken pipe ends it")]

use std::io::{BufRead, Write};

fn main() {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input can be read");
        let result = match serde_json::from_str(&line) {
            Ok(case) => daybook_testkit::exchange::run(&case),
            Err(error) => serde_json::json!({ "error": error.to_string() }),
        };
        writeln!(out, "{result}").expect("standard output can be written");
    }
}

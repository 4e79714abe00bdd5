//! The errors in the files: file, line, column, value, and the rule that the value breaks.
//!
//! All errors are counted, the first hundred are printed, and all are written to a file if one is named, so that a
//! million invalid rows do not exhaust the memory.

use super::sheet::written;
use crate::commands::{Failure, print};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;

/// The number of errors printed.
const SHOWN: usize = 100;
/// The longest part of a value printed.
const LONGEST_VALUE: usize = 60;

/// A value that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column.
    pub column: String,
    /// The value.
    pub value: String,
    /// The rule, as a sentence about the value.
    pub rule: String,
}

/// All errors.
#[derive(Debug)]
pub struct Report {
    shown: Vec<Broken>,
    count: u64,
    all: Option<csv::Writer<File>>,
}

impl Report {
    /// An empty report. All errors are also written to the file, if one is named.
    pub fn new(file: Option<&Path>) -> Result<Report, Failure> {
        let make = |path: &Path| {
            let file = File::create(path)
                .map_err(|error| Failure::Failed(format!("--report: {} cannot be created: {error}", path.display())))?;
            let mut all = csv::Writer::from_writer(file);
            all.write_record(["file", "line", "column", "value", "rule"]).map_err(written)?;
            Ok::<_, Failure>(all)
        };
        Ok(Report { shown: Vec::new(), count: 0, all: file.map(make).transpose()? })
    }

    /// Adds an error.
    pub fn add(&mut self, broken: Broken) -> Result<(), Failure> {
        self.count += 1;
        if let Some(all) = &mut self.all {
            let Broken { file, line, column, value, rule } = &broken;
            all.write_record([file, &line.to_string(), column, value, rule]).map_err(written)?;
        }
        if self.shown.len() < SHOWN {
            self.shown.push(broken);
        }
        Ok(())
    }

    /// The number of errors.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// If there are errors, prints them and fails with a sentence that ends with `ending`.
    pub fn must_be_empty(&mut self, json: bool, ending: &str) -> Result<(), Failure> {
        if let Some(all) = &mut self.all {
            all.flush().map_err(Failure::Output)?;
        }
        if self.count == 0 {
            return Ok(());
        }
        self.shown.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        print(&if json { format!("{:#}\n", self.as_json()) } else { self.as_text() })?;
        let values = if self.count == 1 { "value is invalid" } else { "values are invalid" };
        Err(Failure::Failed(format!("{} {values}: {ending}", self.count)))
    }

    fn as_json(&self) -> Value {
        let shown = self.shown.iter().map(|Broken { file, line, column, value, rule }| {
            json!({ "file": file, "line": line, "column": column, "value": value, "rule": rule })
        });
        json!({ "broken": self.count, "shown": shown.collect::<Vec<_>>() })
    }

    fn as_text(&self) -> String {
        let line = |broken: &Broken| {
            let value: String = broken.value.chars().take(LONGEST_VALUE).collect();
            let cut = if value.len() < broken.value.len() { "…" } else { "" };
            let Broken { file, line, column, rule, .. } = broken;
            match value.is_empty() {
                true => format!("{file}:{line} {column}: {rule}\n"),
                false => format!("{file}:{line} {column} {value:?}{cut}: {rule}\n"),
            }
        };
        let mut text: String = self.shown.iter().map(line).collect();
        let more = self.count - self.shown.len() as u64;
        if more > 0 {
            let hint = if self.all.is_some() { "the file of --report lists all" } else { "--report FILE lists all" };
            text.push_str(&format!("and {more} more; {hint}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_are_shown_and_all_are_counted() {
        let mut report = Report::new(None).expect("no file is made");
        for line in (2..=151).rev() {
            let value = if line == 3 { String::new() } else { "x".repeat(line as usize) };
            let column = "effective_at".to_owned();
            let rule = "must be a date".to_owned();
            report.add(Broken { file: "loans.csv".to_owned(), line, column, value, rule }).expect("it is added");
        }
        let text = report.as_text();
        assert_eq!(text.lines().count(), 101);
        assert!(text.ends_with("and 50 more; --report FILE lists all\n"), "{text}");
        let cut = format!("loans.csv:151 effective_at {:?}…: must be a date\n", "x".repeat(60));
        assert!(text.starts_with(&cut), "{text}");
        assert_eq!(report.as_json()["broken"], 150);
        assert_eq!(report.count(), 150);
    }
}

//! The errors in the files: file, line, column, value, and the rule that the value breaks.
//!
//! All errors are counted, the first hundred are kept to be shown, and all are written to a file if one is named, so
//! that a million invalid rows do not exhaust the memory.

use crate::error::ImportError;
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;

/// The number of errors shown.
const SHOWN: usize = 100;
/// The longest part of a value shown.
const LONGEST_VALUE: usize = 60;

/// A value that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidValue {
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

/// All invalid values of an import.
#[derive(Debug)]
pub struct CheckReport {
    shown: Vec<InvalidValue>,
    count: u64,
    all: Option<csv::Writer<File>>,
}

impl CheckReport {
    /// An empty report. All errors are also written to the file, if one is named.
    pub fn new(file: Option<&Path>) -> Result<CheckReport, ImportError> {
        let make = |path: &Path| {
            let file = File::create(path)
                .map_err(|error| ImportError::Failed(format!("{} cannot be created: {error}", path.display())))?;
            let mut all = csv::Writer::from_writer(file);
            all.write_record(["file", "line", "column", "value", "rule"])?;
            Ok::<_, ImportError>(all)
        };
        Ok(CheckReport { shown: Vec::new(), count: 0, all: file.map(make).transpose()? })
    }

    /// Adds an error.
    pub fn add(&mut self, invalid: InvalidValue) -> Result<(), ImportError> {
        self.count += 1;
        if let Some(all) = &mut self.all {
            let InvalidValue { file, line, column, value, rule } = &invalid;
            all.write_record([file, &line.to_string(), column, value, rule])?;
        }
        if self.shown.len() < SHOWN {
            self.shown.push(invalid);
        }
        Ok(())
    }

    /// The number of errors.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Fails if there are errors. `consequence` says what they mean for the import.
    pub fn must_be_empty(&mut self, consequence: &'static str) -> Result<(), ImportError> {
        if let Some(all) = &mut self.all {
            all.flush().map_err(ImportError::Output)?;
        }
        self.shown.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        match self.count {
            0 => Ok(()),
            count => Err(ImportError::InvalidValues { count, consequence }),
        }
    }

    /// The number of errors, and the first of them.
    pub fn as_json(&self) -> Value {
        let shown = self.shown.iter().map(|InvalidValue { file, line, column, value, rule }| {
            json!({ "file": file, "line": line, "column": column, "value": value, "rule": rule })
        });
        json!({ "broken": self.count, "shown": shown.collect::<Vec<_>>() })
    }

    /// The first errors, one line each. If there are more, the last line counts them and ends with `where_all_are`.
    pub fn as_text(&self, where_all_are: &str) -> String {
        let line = |invalid: &InvalidValue| {
            let value: String = invalid.value.chars().take(LONGEST_VALUE).collect();
            let cut = if value.len() < invalid.value.len() { "…" } else { "" };
            let InvalidValue { file, line, column, rule, .. } = invalid;
            match value.is_empty() {
                true => format!("{file}:{line} {column}: {rule}\n"),
                false => format!("{file}:{line} {column} {value:?}{cut}: {rule}\n"),
            }
        };
        let mut text: String = self.shown.iter().map(line).collect();
        let more = self.count - self.shown.len() as u64;
        if more > 0 {
            text.push_str(&format!("and {more} more; {where_all_are}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_are_shown_and_all_are_counted() {
        let mut report = CheckReport::new(None).expect("no file is made");
        for line in (2..=151).rev() {
            let value = if line == 3 { String::new() } else { "x".repeat(line as usize) };
            let column = "effective_at".to_owned();
            let rule = "must be a date".to_owned();
            report.add(InvalidValue { file: "loans.csv".to_owned(), line, column, value, rule }).expect("it is added");
        }
        let text = report.as_text("a file lists all");
        assert_eq!(text.lines().count(), 101);
        assert!(text.ends_with("and 50 more; a file lists all\n"), "{text}");
        let cut = format!("loans.csv:151 effective_at {:?}…: must be a date\n", "x".repeat(60));
        assert!(text.starts_with(&cut), "{text}");
        assert_eq!(report.as_json()["broken"], 150);
        assert_eq!(report.count(), 150);
    }
}

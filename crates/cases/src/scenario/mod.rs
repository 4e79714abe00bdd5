//! Test cases as files: what happened to one loan, and the expected results.
//!
//! A file has a product, optionally a customer, an account, events in any order, and expectations. `read` parses TOML
//! into a [`Scenario`]; every part keeps its line number, so that errors can point at the line. Bodies (`[product]`,
//! `[customer]`, `[account]`, an event's table) are the request bodies of the API, as JSON, and are validated there.
//! All other keys are validated here, and an unknown key is refused. This module runs nothing.
//!
//! `table` reads tables with their positions, `events` and `expect` are the two halves of a file.

mod events;
mod expect;
mod read;
mod table;

pub use events::{CaseEventKind, Event, EventInput};
pub use expect::{AccountAt, Expect, ExpectedLineItem, ExpectedRow, Field, LineItemCount, Webhook};
pub use read::{parse, read_file, read_folder};

use daybook_engine::time::Time;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A test case.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file it was read from.
    pub file: PathBuf,
    /// The case's title.
    pub title: String,
    /// How its events are processed.
    pub mode: ProcessingMode,
    /// The body of `POST /products`.
    pub product: Value,
    /// The body of `POST /customers`, if the case has one.
    pub customer: Option<Value>,
    /// The body of `POST /accounts`, without the product's id.
    pub account: Value,
    /// When the account takes effect.
    pub account_effective_at: CaseMoment,
    /// The events, in the order in which they are recorded.
    pub events: Vec<Event>,
    /// The expectations.
    pub expect: Expect,
    /// Where its parts begin.
    pub lines: Lines,
}

/// The lines at which the parts of a case begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Of `[product]`.
    pub product: PartLines,
    /// Of `[customer]`; all 0 if there is none.
    pub customer: PartLines,
    /// Of `[account]`.
    pub account: PartLines,
}

/// The line numbers of a part whose fields the API validates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartLines {
    /// Where it begins.
    pub whole: usize,
    /// The line of each field, by its path as in error messages: `a.b[0].c`.
    pub fields: BTreeMap<String, usize>,
}

impl PartLines {
    /// The line of a field, or of the nearest enclosing field that exists, or of the whole part.
    pub fn of(&self, field: &str) -> usize {
        let ends = field.match_indices(['.', '[']).map(|(end, _)| end);
        let paths = std::iter::once(field).chain(ends.collect::<Vec<_>>().into_iter().rev().map(|end| &field[..end]));
        paths.into_iter().find_map(|path| self.fields.get(path)).copied().unwrap_or(self.whole)
    }
}

impl Scenario {
    /// The id of an existing product, if the case refers to one instead of describing it.
    pub fn existing_product(&self) -> Option<&str> {
        let fields = self.product.as_object()?;
        if fields.len() == 1 { fields.get("product_id")?.as_str() } else { None }
    }

    /// When the case ends: its last event or roll. An event recorded before its effective time may lie beyond the end.
    pub fn ends_at(&self) -> &CaseMoment {
        let recorded = self.events.iter().map(Event::comes_in_at);
        recorded.chain([&self.account_effective_at]).max_by_key(|at| at.time).unwrap_or(&self.account_effective_at)
    }
}

/// How a case's events are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessingMode {
    /// All are loaded while the product is in migration mode, and then released.
    Migration,
    /// Each is processed when it happens.
    Live,
}

/// A point in time, with its original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseMoment {
    /// As written: `2025-01-15T00:00:00-05:00`.
    pub text: String,
    /// As parsed.
    pub time: Time,
}

/// Why a file is not a valid test case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1; 0 if the file could not be read at all.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file.display(), self.message),
            line => write!(f, "{}:{line}:{}: {}", self.file.display(), self.column, self.message),
        }
    }
}

impl std::error::Error for ScenarioError {}

#[cfg(test)]
mod tests;

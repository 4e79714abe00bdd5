//! The outcome of a case, readable by its author, programmer or not.

use crate::scenario::Scenario;
use std::fmt;
use std::path::PathBuf;

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseOutcome {
    /// The file it was read from.
    pub file: PathBuf,
    /// The case's title.
    pub title: String,
    /// Whether everything was as expected.
    pub passed: bool,
    /// The differences, in the order of the file.
    pub differences: Vec<CaseDifference>,
    /// What happened to the account, in order; only if there are differences.
    pub timeline: Vec<TimelineStep>,
    /// Why the case was skipped; `None` if it was run. A skipped case has not passed.
    pub skipped: Option<String>,
    /// Remarks for the reader: what was not compared, and why.
    pub notes: Vec<String>,
}

/// A result that differs from its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseDifference {
    /// What differs, in words.
    pub what: String,
    /// What the case expects.
    pub expected: String,
    /// The actual result.
    pub got: String,
    /// The line of the file with the expectation.
    pub line: usize,
}

/// An event in the account's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineStep {
    /// When, in local time of the product's zone.
    pub effective_at: String,
    /// What happened, in a sentence.
    pub what: String,
    /// The balance after it, with its components; empty if the event has not happened.
    pub balance_after: String,
}

impl CaseOutcome {
    /// The outcome of a case: passed, if nothing differs.
    pub(crate) fn new(case: &Scenario, differences: Vec<CaseDifference>, timeline: Vec<TimelineStep>) -> CaseOutcome {
        let (file, title) = (case.file.clone(), case.title.clone());
        let passed = differences.is_empty();
        CaseOutcome { file, title, passed, differences, timeline, skipped: None, notes: Vec::new() }
    }

    /// The outcome of a case that cannot be run faithfully.
    pub(crate) fn skipped(case: &Scenario, why: String) -> CaseOutcome {
        CaseOutcome { passed: false, skipped: Some(why), ..CaseOutcome::new(case, Vec::new(), Vec::new()) }
    }

    /// `passed`, `FAILED` or `SKIPPED`.
    pub fn verdict(&self) -> &'static str {
        match (self.passed, &self.skipped) {
            (true, _) => "passed",
            (false, None) => "FAILED",
            (false, Some(_)) => "SKIPPED",
        }
    }
}

impl fmt::Display for CaseDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: expected {}, got {}", self.line, self.what, self.expected, self.got)
    }
}

impl fmt::Display for TimelineStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.effective_at, self.what)?;
        match self.balance_after.as_str() {
            "" => Ok(()),
            balance => write!(f, "  Balance after: {balance}."),
        }
    }
}

/// A line for a case that passed; for one that failed, what differs and the timeline.
impl fmt::Display for CaseOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {} ({})", self.verdict(), self.title, self.file.display())?;
        for note in self.skipped.iter().chain(&self.notes) {
            write!(f, "\n  {note}")?;
        }
        for difference in &self.differences {
            write!(f, "\n  {difference}")?;
        }
        if !self.timeline.is_empty() {
            f.write_str("\n  What happened:")?;
        }
        for step in &self.timeline {
            write!(f, "\n    {step}")?;
        }
        Ok(())
    }
}

//! What came of a case, told so that whoever wrote it understands, programmer or not.

use crate::scenario::Scenario;
use std::fmt;
use std::path::PathBuf;

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The file it was read from.
    pub file: PathBuf,
    /// What it is about.
    pub title: String,
    /// Whether everything was as expected.
    pub passed: bool,
    /// What was not, in the order of the file.
    pub differences: Vec<Difference>,
    /// What happened to the account, in order; only where something differs.
    pub timeline: Vec<Step>,
    /// Why it was not run, if it was not. Then it has not passed.
    pub skipped: Option<String>,
    /// What whoever reads it should know: something that was not compared, and why.
    pub notes: Vec<String>,
}

/// Something that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is about, in words.
    pub what: String,
    /// What the case expects.
    pub expected: String,
    /// What came of it.
    pub got: String,
    /// The line of the file that expects it.
    pub line: usize,
}

/// Something that happened to the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, on the clocks of the product's zone.
    pub effective_at: String,
    /// What, in a sentence.
    pub what: String,
    /// What was owed after it, and of what it consists; empty where it has not happened.
    pub balance_after: String,
}

impl Outcome {
    /// The outcome of a case: passed, if nothing differs.
    pub(crate) fn new(case: &Scenario, differences: Vec<Difference>, timeline: Vec<Step>) -> Outcome {
        let (file, title) = (case.file.clone(), case.title.clone());
        let passed = differences.is_empty();
        Outcome { file, title, passed, differences, timeline, skipped: None, notes: Vec::new() }
    }

    /// The outcome of a case that cannot be run faithfully.
    pub(crate) fn skipped(case: &Scenario, why: String) -> Outcome {
        Outcome { passed: false, skipped: Some(why), ..Outcome::new(case, Vec::new(), Vec::new()) }
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

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: expected {}, got {}", self.line, self.what, self.expected, self.got)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.effective_at, self.what)?;
        match self.balance_after.as_str() {
            "" => Ok(()),
            balance => write!(f, "  Owed after it: {balance}."),
        }
    }
}

/// A line for a case that passed; for one that failed, what differs and the timeline.
impl fmt::Display for Outcome {
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

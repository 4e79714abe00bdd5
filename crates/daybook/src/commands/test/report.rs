//! The results of cases, as text and as JSON.

use super::super::table::table;
use daybook_cases::{CaseOutcome, ScenarioError};
use serde_json::{Value, json};
use std::fmt::Write;

/// The results of all cases.
#[derive(Debug, Default)]
pub struct Report {
    /// Where they ran: in memory, or the URL of a server.
    pub ran_on: String,
    /// Each case.
    pub outcomes: Vec<CaseOutcome>,
    /// Files that are not cases.
    pub broken: Vec<ScenarioError>,
}

impl Report {
    fn count(&self, verdict: &str) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.verdict() == verdict).count()
    }

    /// The number of failed cases and of files that are not cases.
    pub fn bad(&self) -> usize {
        self.count("FAILED") + self.broken.len()
    }

    /// The number of skipped cases.
    pub fn skipped(&self) -> usize {
        self.count("SKIPPED")
    }

    /// The number of passed cases.
    pub fn passed(&self) -> usize {
        self.count("passed")
    }

    /// One line with the totals.
    pub fn summary(&self) -> String {
        let all = self.outcomes.len() + self.broken.len();
        let mut parts = vec![format!("{} passed", self.passed())];
        let others =
            [(self.count("FAILED"), "FAILED"), (self.broken.len(), "BROKEN"), (self.count("SKIPPED"), "SKIPPED")];
        parts.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
        format!("{all} {}: {}", if all == 1 { "case" } else { "cases" }, parts.join(", "))
    }

    /// A line for each case, the differences of failed cases, and the summary.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for outcome in &self.outcomes {
            text.push_str(&told(outcome));
        }
        for error in &self.broken {
            text.push_str(&format!("BROKEN   {error}\n"));
        }
        text.push_str(&format!("\n{}\n", self.summary()));
        text
    }

    /// The report as one JSON document.
    pub fn json(&self) -> Value {
        let outcome = |outcome: &CaseOutcome| {
            let difference = |difference: &daybook_cases::CaseDifference| {
                json!({ "line": difference.line, "what": difference.what, "expected": difference.expected,
                        "got": difference.got })
            };
            let step = |step: &daybook_cases::TimelineStep| {
                json!({ "effective_at": step.effective_at, "what": step.what,
                        "balance_after": step.balance_after })
            };
            json!({
                "file": outcome.file.to_string_lossy(), "title": outcome.title,
                "verdict": outcome.verdict().to_lowercase(),
                "differences": outcome.differences.iter().map(difference).collect::<Vec<_>>(),
                "timeline": outcome.timeline.iter().map(step).collect::<Vec<_>>(),
                "skipped_because": outcome.skipped, "notes": outcome.notes,
            })
        };
        let broken = |error: &ScenarioError| {
            json!({ "file": error.file.to_string_lossy(), "line": error.line, "column": error.column,
                    "message": error.message })
        };
        json!({
            "ran_on": self.ran_on,
            "passed": self.count("passed"), "failed": self.count("FAILED"), "skipped": self.count("SKIPPED"),
            "broken": self.broken.len(),
            "cases": self.outcomes.iter().map(outcome).collect::<Vec<_>>(),
            "broken_files": self.broken.iter().map(broken).collect::<Vec<_>>(),
        })
    }
}

/// A case: its line, and its notes.
fn told(outcome: &CaseOutcome) -> String {
    let mut text = format!("{:7}  {}  {}\n", outcome.verdict(), outcome.file.display(), outcome.title);
    for note in outcome.skipped.iter().chain(&outcome.notes) {
        text.push_str(&format!("         {note}\n"));
    }
    text.push_str(&details(outcome));
    text
}

/// The differences and the events.
pub fn details(outcome: &CaseOutcome) -> String {
    let mut text = String::new();
    if !outcome.differences.is_empty() {
        let mut rows = vec![["where", "what", "expected", "got"].map(str::to_owned)];
        rows.extend(outcome.differences.iter().map(|difference| {
            let place = format!("{}:{}", outcome.file.display(), difference.line);
            [place, one_line(&difference.what), one_line(&difference.expected), one_line(&difference.got)]
        }));
        text.push_str(&indented(&table(&rows)));
    }
    if !outcome.timeline.is_empty() {
        text.push_str("\n    What happened:\n");
        let mut rows = vec![["when", "what", "balance after"].map(str::to_owned)];
        rows.extend(
            outcome
                .timeline
                .iter()
                .map(|step| [clock(&step.effective_at), one_line(&step.what), one_line(&step.balance_after)]),
        );
        text.push_str(&indented(&table(&rows)));
    }
    if !text.is_empty() {
        text.insert(0, '\n');
        text.push('\n');
    }
    text
}

fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "    {line}");
    }
    out
}

fn one_line(text: &str) -> String {
    text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A time with its date, local time and offset separated by blanks.
fn clock(moment: &str) -> String {
    match (moment.get(..10), moment.get(11..19), moment.get(19..)) {
        (Some(day), Some(time), Some(offset)) => format!("{day} {time} {offset}"),
        _ => moment.to_owned(),
    }
}

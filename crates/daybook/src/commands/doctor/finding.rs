//! The results of checks, and how they are printed.

use crate::commands::table::table;
use serde_json::{Value, json};

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    Warn,
    Fail,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        }
    }
}

/// The result of a check.
#[derive(Debug)]
pub(super) struct Finding {
    pub check: &'static str,
    pub verdict: Verdict,
    pub sentence: String,
}

impl Finding {
    pub fn new(check: &'static str, verdict: Verdict, sentence: impl Into<String>) -> Finding {
        Finding { check, verdict, sentence: sentence.into() }
    }

    pub fn ok(check: &'static str, sentence: impl Into<String>) -> Finding {
        Finding::new(check, Verdict::Ok, sentence)
    }

    pub fn warn(check: &'static str, sentence: impl Into<String>) -> Finding {
        Finding::new(check, Verdict::Warn, sentence)
    }

    pub fn fail(check: &'static str, sentence: impl Into<String>) -> Finding {
        Finding::new(check, Verdict::Fail, sentence)
    }
}

pub(super) fn as_table(findings: &[Finding]) -> String {
    let mut rows = vec![["check", "verdict", "found"].map(str::to_owned)];
    rows.extend(findings.iter().map(|Finding { check, verdict, sentence }| {
        [(*check).to_owned(), verdict.name().to_owned(), sentence.clone()]
    }));
    table(&rows)
}

pub(super) fn as_json(findings: &[Finding]) -> String {
    let object = |Finding { check, verdict, sentence }: &Finding| json!({ "check": check, "verdict": verdict.name(), "found": sentence });
    let array: Value = findings.iter().map(object).collect();
    format!("{array:#}\n")
}

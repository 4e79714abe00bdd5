//! Cases by name, and changes to them.

use daybook_cases::{CaseOutcome, Scenario, builtin, parse, run};
use std::path::Path;

/// The folder of the built-in cases.
pub const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

/// Parses a case.
#[track_caller]
pub fn case(file: &str, text: &str) -> Scenario {
    parse(Path::new(file), text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The text of a built-in case.
pub fn text_of(file: &str) -> &'static str {
    builtin().iter().find(|(name, _)| *name == file).expect("the program has it").1
}

/// A built-in case after a change, and its outcome.
pub async fn changed(file: &str, change: &str, to: &str) -> (String, CaseOutcome) {
    let text = text_of(file);
    assert!(text.contains(change), "nothing to change: {change}");
    let text = text.replacen(change, to, 1);
    let outcome = run(&case(file, &text)).await;
    (text, outcome)
}

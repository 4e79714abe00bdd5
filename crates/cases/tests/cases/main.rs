//! Runs and records test cases through the real service, in memory.

#![cfg(test)]

mod judging;
mod many;
mod oracle;
mod recording;
mod support;

use daybook_cases::{read_folder, run_all};
use std::path::Path;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_of_the_folder_passes() {
    let cases = read_folder(Path::new(support::SCENARIOS)).expect("every file is a case");
    assert!(cases.len() >= 40, "{} cases", cases.len());
    let outcomes = run_all(&cases, 2).await;
    let failed: Vec<String> =
        outcomes.iter().filter(|outcome| !outcome.passed).map(|outcome| outcome.to_string()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(outcomes.iter().all(|outcome| outcome.differences.is_empty() && outcome.timeline.is_empty()));
}

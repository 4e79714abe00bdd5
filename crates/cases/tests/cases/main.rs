//! Test cases, run and written: through the real service, in memory.

#![cfg(test)]

mod judging;
mod many;
mod recording;
mod support;

use daybook_cases::{builtin, run};
use support::case;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_of_the_program_passes() {
    for (file, text) in builtin() {
        let outcome = run(&case(file, text)).await;
        assert!(outcome.passed, "{outcome}");
        assert_eq!((outcome.differences.len(), outcome.timeline.len()), (0, 0));
    }
}

//! Many cases at the same time.

use crate::support::case;
use daybook_cases::{Scenario, builtin, run_all, run_all_telling};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcomes_come_in_the_order_of_the_cases() {
    // Several worlds play, and one of the cases is wrong.
    let mut cases: Vec<Scenario> = Vec::new();
    for round in 0..15 {
        for (file, text) in builtin().iter().take(10) {
            let mut one = case(file, text);
            one.title = format!("{round} {file}");
            cases.push(one);
        }
    }
    let (file, text) = builtin()[6];
    cases[77] = case(file, &text.replace("= 5200\n", "= 5201\n"));
    let mut told = 0;
    let outcomes = run_all_telling(&cases, 2, |_| told += 1).await;
    assert_eq!((outcomes.len(), told), (cases.len(), cases.len()));
    for (index, (outcome, case)) in outcomes.iter().zip(&cases).enumerate() {
        assert_eq!(outcome.title, case.title);
        assert_eq!(outcome.passed, index != 77, "{outcome}");
    }
    assert_eq!(outcomes[77].differences.len(), 2, "{}", outcomes[77]);
}

#[tokio::test]
async fn no_cases_and_no_threads_are_no_trouble() {
    assert_eq!(run_all(&[], 0).await, []);
    let (file, text) = builtin()[0];
    assert!(run_all(&[case(file, text)], 0).await[0].passed);
}

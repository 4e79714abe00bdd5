//! Runs cases: the real service plays a case, and the results are compared with its expectations.
//!
//! | module | what it does |
//! |---|---|
//! | `in_memory_server` | service, store, dispatcher and receiver, in memory |
//! | `inbox` | the receiver, which checks signatures |
//! | `play` | plays the case's events, in its mode |
//! | `find` | fetches the results |

mod find;
mod in_memory_server;
pub(crate) mod inbox;
pub(crate) mod play;

pub(crate) use find::line_items;
pub(crate) use in_memory_server::{json_of_view, text_of};

use crate::describe;
use crate::findings::{Findings, ResultsToFetch};
use crate::outcome::{CaseDifference, CaseOutcome};
use crate::scenario::Scenario;
use daybook_service::problem::Problem;
use in_memory_server::InMemoryServer;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Runs a case in its own server.
pub async fn run(case: &Scenario) -> CaseOutcome {
    run_finding(case).await.0
}

/// Runs a case in its own server, and returns all results; `None` if it could not be played to its end.
pub async fn run_finding(case: &Scenario) -> (CaseOutcome, Option<Findings>) {
    let mut server = None;
    let outcome = run_in(&mut server, case, ResultsToFetch::ALL).await;
    if let Some(server) = server {
        server.close().await;
    }
    outcome
}

/// Runs cases, `threads` at a time, and returns their outcomes in the order of the cases.
pub async fn run_all(cases: &[Scenario], threads: usize) -> Vec<CaseOutcome> {
    run_all_telling(cases, threads, |_| {}).await
}

/// Runs cases, `threads` at a time; calls `tell` for each as it finishes, and returns all in the order of the cases.
pub async fn run_all_telling(
    cases: &[Scenario],
    threads: usize,
    mut tell: impl FnMut(&CaseOutcome),
) -> Vec<CaseOutcome> {
    let all: Arc<[Scenario]> = Arc::from(cases);
    let next = Arc::new(AtomicUsize::new(0));
    let (done, mut outcomes_done) = mpsc::unbounded_channel();
    let mut players = JoinSet::new();
    for _ in 0..threads.clamp(1, cases.len().max(1)) {
        players.spawn(play_some(all.clone(), next.clone(), done.clone()));
    }
    drop(done);
    let mut outcomes: Vec<Option<CaseOutcome>> = vec![None; cases.len()];
    while let Some((index, outcome)) = outcomes_done.recv().await {
        tell(&outcome);
        outcomes[index] = Some(outcome);
    }
    // A player that panicked loses its current case; the others play the remaining cases.
    while players.join_next().await.is_some() {}
    let lost = |case| failed(case, &Problem::internal("the case could not be run to its end"));
    outcomes.into_iter().zip(cases).map(|(outcome, case)| outcome.unwrap_or_else(|| lost(case))).collect()
}

/// Plays cases that no other player has taken, one after the other.
async fn play_some(cases: Arc<[Scenario]>, next: Arc<AtomicUsize>, done: mpsc::UnboundedSender<(usize, CaseOutcome)>) {
    let mut server = None;
    while let Some((index, case)) = take(&cases, &next) {
        let (outcome, _) = run_in(&mut server, case, ResultsToFetch::by(case)).await;
        if done.send((index, outcome)).is_err() {
            break;
        }
    }
    if let Some(server) = server {
        server.close().await;
    }
}

fn take<'a>(cases: &'a [Scenario], next: &AtomicUsize) -> Option<(usize, &'a Scenario)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

/// Plays a case in the given server, or in a new one if there is none or it is worn.
async fn run_in(
    server: &mut Option<InMemoryServer>,
    case: &Scenario,
    wanted: ResultsToFetch,
) -> (CaseOutcome, Option<Findings>) {
    if let Some(worn) = server.take_if(|server| server.is_worn()) {
        worn.close().await;
    }
    let played = match server {
        Some(server) => server.play(case, wanted).await,
        None => match InMemoryServer::open().await {
            Ok(opened) => server.insert(opened).play(case, wanted).await,
            Err(problem) => Err(problem),
        },
    };
    match played {
        Ok(outcome) => outcome,
        Err(problem) => {
            // The server may be inconsistent: discard it.
            if let Some(broken) = server.take() {
                broken.close().await;
            }
            (failed(case, &problem), None)
        }
    }
}

/// The outcome of a case that could not be played.
fn failed(case: &Scenario, problem: &Problem) -> CaseOutcome {
    let difference = CaseDifference {
        what: "running the case".to_owned(),
        expected: "no error".to_owned(),
        got: describe::problem(problem),
        line: case.lines.account.whole,
    };
    CaseOutcome::new(case, vec![difference], Vec::new())
}

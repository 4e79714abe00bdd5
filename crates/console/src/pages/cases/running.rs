//! Runs cases, isolated from the server's other work, and shows their results.
//!
//! Each run has its own thread and runtime, so it cannot keep the server from answering requests. The number of runs is
//! limited, and a run that takes too long is abandoned.

use super::{HERE, read, text_of};
use crate::Console;
use crate::display::Count;
use crate::guard::Visitor;
use crate::page::{PageError, PageFrame, PageResult, Section};
use askama::Template;
use axum::extract::{Path, State};
use daybook_cases::{CaseOutcome, Scenario, builtin, run_all};
use daybook_service::problem::Problem;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The most runs at the same time.
const AT_ONCE: usize = 2;
/// The most runs that are running or queued.
const MOST_WAITING: usize = 16;
/// The time limit of a run.
const LONGEST: Duration = Duration::from_secs(60);

static PLAYERS: Semaphore = Semaphore::const_new(AT_ONCE);
static PLACES: Semaphore = Semaphore::const_new(MOST_WAITING);

/// Runs cases and returns their results, in order.
pub async fn play(cases: Vec<Scenario>) -> Result<Vec<CaseOutcome>, PageError> {
    let full = || Problem::new("rate_limited", "too many test cases are running; try again in a moment");
    let broken = |what: String| Problem::internal(format!("a test case could not be run: {what}"));
    let place = PLACES.try_acquire().map_err(|_| full())?;
    let player = PLAYERS.acquire().await.map_err(|_| full())?;
    let played = tokio::task::spawn_blocking(move || {
        let _held = (place, player);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let outcome = runtime.block_on(async { tokio::time::timeout(LONGEST, run_all(&cases, 1)).await });
        runtime.shutdown_background();
        std::io::Result::Ok(outcome.ok())
    });
    let outcomes = played.await.map_err(|error| broken(error.to_string()))?;
    let outcomes = outcomes.map_err(|error| broken(error.to_string()))?;
    let too_long = || {
        let message = format!("the test case was stopped after {} seconds", LONGEST.as_secs());
        PageError::new(Problem::invalid("", message))
    };
    outcomes.ok_or_else(too_long)
}

#[derive(Template)]
#[template(path = "cases/outcomes.html")]
struct OutcomesPage {
    page: PageFrame,
    outcomes: Vec<CaseOutcome>,
    /// The page that the run was started from: its path and name.
    back: (String, String),
    /// The text of the case, if the user typed it.
    text: String,
}

impl OutcomesPage {
    fn failed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| !outcome.passed).count()
    }

    fn verdict(&self) -> String {
        let all = self.outcomes.len() as u64;
        match self.failed() as u64 {
            0 => format!("{} passed", Count(all).of("case", "cases")),
            failed => format!("{} of {} failed", Count(failed), Count(all).of("case", "cases")),
        }
    }
}

/// Shows the results of cases.
pub(super) fn tell(visitor: &Visitor, outcomes: Vec<CaseOutcome>, back: (String, String), text: &str) -> PageResult {
    let mut shown =
        OutcomesPage { page: PageFrame::new("", Section::Cases, visitor), outcomes, back, text: text.to_owned() };
    shown.page.title = shown.verdict();
    crate::page::show(&shown)
}

/// Runs every built-in case.
pub async fn run_every(State(_): State<Console>, visitor: Visitor) -> PageResult {
    let cases = builtin().iter().map(|(file, text)| read(file, text)).collect::<Result<Vec<_>, _>>()?;
    let back = (HERE.to_owned(), "Test cases".to_owned());
    tell(&visitor, play(cases).await?, back, "")
}

/// Runs one built-in case.
pub async fn run_one(State(_): State<Console>, visitor: Visitor, Path(file): Path<String>) -> PageResult {
    let case = read(&file, text_of(&file)?)?;
    let back = (format!("{HERE}/{file}"), case.title.clone());
    tell(&visitor, play(vec![case]).await?, back, "")
}

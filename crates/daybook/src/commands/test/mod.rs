//! `daybook test`: runs test cases, in memory or against a server, and reports the differences.
//!
//! | module | purpose |
//! |---|---|
//! | `gather` | finds and reads the cases |
//! | `recording` | writes the results of cases into their files |
//! | `report` | reports results as text and as JSON |
//! | `junit` | reports results to a CI system |
//!
//! A file that is not a case does not stop the others.

mod gather;
mod junit;
mod recording;
mod report;

use super::files::must_not_be;
use super::progress::Progress;
use super::remote::ServerConnection;
use super::{Failure, print, say, wait_for};
use crate::cli::TestArgs;
use daybook_cases::remote::{self, News};
use daybook_cases::{CaseOutcome, run_all_telling};
use gather::{Gathered, gather, picture};
use report::Report;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The interval between checks for changed files.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);
/// The place of a run without a server, for the report.
const IN_MEMORY: &str = "in memory";

/// Runs cases, once or whenever they change.
pub fn run(args: &TestArgs) -> Result<(), Failure> {
    key_must_have_a_server(args, std::env::var("DAYBOOK_KEY").ok().as_deref())?;
    if args.watch { wait_for(watch(args)) } else { wait_for(once(args)) }
}

/// A key on the command line requires a server: otherwise the cases would run in memory and pass there. A key in the
/// environment may be for other commands.
fn key_must_have_a_server(args: &TestArgs, of_environment: Option<&str>) -> Result<(), Failure> {
    let is_typed = args.remote.key.is_some() && args.remote.key.as_deref() != of_environment;
    if is_typed && args.remote.url.is_none() && !args.server {
        let why = "--key: needs a server: name one with --url, or use --server for the one on this machine";
        return Err(Failure::Senseless(why.to_owned()));
    }
    if args.remote.key.is_some() && args.remote.url.is_none() && !args.server {
        say("DAYBOOK_KEY is not used: the cases run in memory. Use --url or --server to run them on a server.\n");
    }
    Ok(())
}

/// Runs the named cases and reports the results. Fails if a case fails.
async fn once(args: &TestArgs) -> Result<(), Failure> {
    let gathered = gather(&args.paths, args.filter.as_deref())?;
    if gathered.are_builtin {
        say("There is no folder scenarios here: running the built-in cases.\n");
    }
    if let Some(file) = &args.junit {
        let cases: Vec<&Path> = gathered.cases.iter().map(|case| case.file.as_path()).collect();
        must_not_be(file, "--junit", &cases)?;
    }
    let report = play(args, gathered).await?;
    if let Some(file) = &args.junit {
        let kept = fs::write(file, junit::junit(&report));
        kept.map_err(|error| Failure::Failed(format!("--junit: {} cannot be written: {error}", file.display())))?;
    }
    print(&if args.json { format!("{:#}\n", report.json()) } else { report.text() })?;
    match report.bad() {
        0 if report.passed() == 0 && report.skipped() > 0 => Err(Failure::Failed("no case could be run".to_owned())),
        0 => Ok(()),
        bad => {
            let all = report.outcomes.len() + report.broken.len();
            Err(Failure::Failed(format!("{bad} of {all} test cases failed")))
        }
    }
}

async fn play(args: &TestArgs, gathered: Gathered) -> Result<Report, Failure> {
    let mut report = Report { ran_on: IN_MEMORY.to_owned(), ..Report::default() };
    if args.record {
        (report.outcomes, report.broken) = recording::run(&gathered).await?;
    } else if args.server || args.remote.url.is_some() {
        (report.ran_on, report.outcomes) = tokio::task::block_in_place(|| on_server(args, &gathered))?;
    } else {
        report.outcomes = in_memory(&gathered).await;
    }
    report.broken.extend(gathered.broken);
    Ok(report)
}

async fn in_memory(gathered: &Gathered) -> Vec<CaseOutcome> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let progress = Progress::begin("cases", gathered.cases.len() as u64);
    let outcomes = run_all_telling(&gathered.cases, threads, |outcome| {
        progress.add(1);
        announce(&progress, outcome);
    });
    let outcomes = outcomes.await;
    progress.clear();
    outcomes
}

/// Prints failed cases immediately on a terminal; the report at the end has all cases.
fn announce(progress: &Progress, outcome: &CaseOutcome) {
    if progress.is_shown() && !outcome.passed {
        progress.say(&format!("{:7}  {}", outcome.verdict(), outcome.file.display()));
    }
}

fn on_server(args: &TestArgs, gathered: &Gathered) -> Result<(String, Vec<CaseOutcome>), Failure> {
    let connection = ServerConnection::open(&args.remote)?;
    let url = connection.client.url().to_owned();
    say(&format!("Running against {url}.\n"));
    let progress = Progress::begin("cases", gathered.cases.len() as u64);
    let stop = Arc::new(AtomicBool::new(false));
    let hears = stop.clone();
    let listening = tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            hears.store(true, Ordering::Relaxed);
        }
    });
    let waits = "a server sends them in batches, by default once a minute";
    let outcomes = remote::run_all(&connection.client, &gathered.cases, &stop, |news| match news {
        News::Played => progress.add(1),
        News::Waiting(messages) => progress.say(&format!("Waiting for {messages} webhook messages: {waits}.")),
    });
    progress.clear();
    listening.abort();
    let outcomes = outcomes?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Failed("stopped; the subscriptions of the run are removed".to_owned()));
    }
    Ok((url, outcomes))
}

/// Runs the cases again whenever a file changes, until Ctrl+C; the last run determines the result.
async fn watch(args: &TestArgs) -> Result<(), Failure> {
    let enough = tokio::signal::ctrl_c();
    tokio::pin!(enough);
    let mut last = Ok(());
    let mut is_first = true;
    loop {
        let seen = picture(&args.paths);
        tokio::select! {
            ended = once(args) => last = ended,
            _ = &mut enough => return last,
        }
        if let Err(failure) = &last {
            // A file may be missing for a moment while it is saved, but arguments that are invalid at the start stay
            // invalid.
            if is_first && failure.exit_code() == 2 {
                return last;
            }
            say(&format!("daybook: {failure}\n"));
        }
        is_first = false;
        say("Watching for changes. Press Ctrl+C to stop.\n");
        while picture(&args.paths) == seen {
            tokio::select! {
                () = tokio::time::sleep(BETWEEN_LOOKS) => {}
                _ = &mut enough => return last,
            }
        }
    }
}

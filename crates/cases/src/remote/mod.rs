//! Runs cases against a running server, through its API alone.
//!
//! ```text
//! case ─► mapping: ids of its own, moments moved ─► play: product, customer, account, events ─► find ─► judge
//!                                                        messages ─► receiver ───────────────────┘
//! ```
//!
//! A *migration* case is loaded as a lender loads an account: turn migration mode on, create customer, account and
//! events, turn migration mode off, and wait for the release. Later effects between the case's end and today are
//! ignored: everything is read as of the end, and only messages effective by then are counted.
//!
//! A *live* case must go through its past event by event, but a server runs in the present. In a TEST organization,
//! accounts can be rolled into the future, and every 28 years the calendar repeats: the same days of the week, the same
//! leap years. So the case is played 28 years later (see `case_mapping`), the account's clock is rolled from event to
//! event, and the results are shifted back. If accounts cannot be rolled, a case in which nothing was recorded late is
//! loaded like a migration, with the same results. Cases that cannot be played faithfully are skipped.
//!
//! | module | what it does |
//! |---|---|
//! | `case_mapping` | maps a case to the server's ids and times, and back |
//! | `play` | the API calls |
//! | `find` | fetches the results |
//! | `receiver` | receives webhook messages and checks their signatures |
//! | `mail` | subscribes the receiver, waits for messages, and counts them |

mod case_mapping;
mod find;
mod mail;
mod play;
mod receiver;

use crate::outcome::CaseOutcome;
use crate::run::play::Refused;
use crate::scenario::{ProcessingMode, Scenario};
use daybook_client::{Client, Trouble};
use daybook_operations::Operation;
use daybook_service::ids::random_bytes;
use find::PlayedCase;
use mail::Mail;
use play::{Rolling, Stop};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How many cases are played concurrently.
const AT_ONCE: usize = 8;

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// One more case has been played.
    Played,
    /// This many messages are missing, and it takes a while.
    Waiting(usize),
}

/// Runs cases against a server, and returns their outcomes in the order of the cases.
///
/// A problem with one case is that case's outcome; `Err` means that no case could be run. Once `stop` is set, no
/// further case begins, waiting ends, and the run's subscription is removed.
pub fn run_all(
    client: &Client,
    cases: &[Scenario],
    stop: &AtomicBool,
    mut tell: impl FnMut(News) + Send,
) -> Result<Vec<CaseOutcome>, Trouble> {
    let rolling = rolling(client)?;
    let mail = Mail::open(client, cases)?;
    let found = find_all(client, cases, &rolling, stop, &mut tell);
    mail.wait(&found, stop, |missing| tell(News::Waiting(missing)));
    let outcomes = cases.iter().zip(found).map(|(case, found)| outcome(case, found, &mail)).collect();
    mail.close(client);
    Ok(outcomes)
}

/// Checks whether accounts can be rolled here. The check itself rolls no account.
fn rolling(client: &Client) -> Result<Rolling, Trouble> {
    let no_such_account = json!({ "account_id": "no-account", "effective_at": "2025-01-01T00:00:00Z" });
    match client.call(&Operation::RollAccount.request([]), Some(&no_such_account)) {
        Err(Trouble::Refused { status: 403, message, .. }) => Ok(Rolling::No(message)),
        Err(Trouble::Refused { .. }) | Ok(_) => Ok(Rolling::Yes),
        Err(trouble) => Err(trouble),
    }
}

/// Plays every case and fetches its results.
fn find_all(
    client: &Client,
    cases: &[Scenario],
    rolling: &Rolling,
    stop: &AtomicBool,
    tell: &mut (impl FnMut(News) + Send),
) -> Vec<Result<PlayedCase, Stop>> {
    let run = run_id();
    let next = AtomicUsize::new(0);
    let done = Mutex::new((tell, Vec::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return };
            let found = match stop.load(Ordering::Relaxed) {
                true => Err(Stop::Skipped("the run was stopped before this case began".to_owned())),
                false => play::play(client, case, rolling, stop, &format!("{run}-{}", index + 1)),
            };
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            (done.0)(News::Played);
            done.1.push((index, found));
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(cases.len()) {
            scope.spawn(work);
        }
    });
    let (_, mut found) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, found)| found).collect()
}

/// A random id that distinguishes the cases of this run from those of other runs.
fn run_id() -> String {
    let letters =
        random_bytes::<8>().map(|byte| char::from(b"0123456789abcdefghjkmnpqrstvwxyz"[usize::from(byte % 32)]));
    letters.iter().collect()
}

fn outcome(case: &Scenario, found: Result<PlayedCase, Stop>, mail: &Mail) -> CaseOutcome {
    let found = match found {
        Ok(found) => found,
        Err(Stop::Skipped(why)) => return CaseOutcome::skipped(case, why),
        Err(Stop::Refused(refused, timeline)) => return CaseOutcome::new(case, vec![refused.difference()], timeline),
        Err(Stop::Trouble(why)) => {
            let what = "running the case".to_owned();
            let refused = Refused { line: case.lines.account.whole, what, why };
            let mut difference = refused.difference();
            difference.expected = "no error".to_owned();
            return CaseOutcome::new(case, vec![difference], Vec::new());
        }
    };
    found.outcome(case, mail)
}

/// Whether a case is loaded in migration mode and released, instead of being played event by event.
fn is_loaded(case: &Scenario, rolling: &Rolling) -> bool {
    case.mode == ProcessingMode::Migration || matches!(rolling, Rolling::No(_))
}

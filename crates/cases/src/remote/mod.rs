//! Running cases against a running server, by its API alone.
//!
//! ```text
//! case ─► guise: ids of its own, moments moved ─► play: product, customer, account, events ─► find ─► judge
//!                                                        messages ─► receiver ───────────────────┘
//! ```
//!
//! A *migration* case is loaded as a lender loads one: migration mode on, customer, account, events, migration mode off,
//! and the release is waited for. What happens to the account between the case's end and today is left out: everything
//! is read as of the end, and of the messages only those count that are effective by then.
//!
//! A *live* case needs the past to be lived, event by event, and a server lives in the present. But in a TEST
//! organization accounts can be rolled into the future, and every 28 years the calendar repeats itself: the same days of
//! the week, the same leap years. So the case is played 28 years later (see `guise`), the account's clock is rolled from
//! event to event, and what comes out is moved back. Where accounts cannot be rolled, a case in which nothing was
//! recorded late is loaded like a migration, which comes to the same. What cannot be played faithfully is skipped.
//!
//! | module | what it does |
//! |---|---|
//! | `guise` | a case as the server sees it, and the way back |
//! | `play` | the calls |
//! | `find` | fetches what came of it |
//! | `receiver` | takes webhook messages and checks their signatures |
//! | `mail` | subscribes the receiver, waits for messages, and counts them |

mod find;
mod guise;
mod mail;
mod play;
mod receiver;

use crate::outcome::Outcome;
use crate::run::play::Refused;
use crate::scenario::{Mode, Scenario};
use daybook_client::{Client, Trouble};
use daybook_service::ids::random_bytes;
use find::Found;
use mail::Mail;
use play::{Rolling, Stop};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How many cases are played at once.
const AT_ONCE: usize = 8;

/// How a run is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// One more case has been played.
    Played,
    /// So many messages are on their way, and it takes a while.
    Waiting(usize),
}

/// Runs cases against a server, and gives their outcomes in the order of the cases.
///
/// What is wrong with a case is its outcome; trouble is what keeps all of them from being run. Once `stop` is set no
/// other case is begun, nothing is waited for any more, and what was made for the run is removed.
pub fn run_all(
    client: &Client,
    cases: &[Scenario],
    stop: &AtomicBool,
    mut tell: impl FnMut(News) + Send,
) -> Result<Vec<Outcome>, Trouble> {
    let rolling = rolling(client)?;
    let mail = Mail::open(client, cases)?;
    let found = find_all(client, cases, &rolling, stop, &mut tell);
    mail.wait(&found, stop, |missing| tell(News::Waiting(missing)));
    let outcomes = cases.iter().zip(found).map(|(case, found)| outcome(case, found, &mail)).collect();
    mail.close(client);
    Ok(outcomes)
}

/// Whether accounts can be rolled here. Nothing is rolled by asking.
fn rolling(client: &Client) -> Result<Rolling, Trouble> {
    let nobody = json!({ "account_id": "no-account", "effective_at": "2025-01-01T00:00:00Z" });
    match client.patch("/admin/roll/account", &nobody) {
        Err(Trouble::Refused { status: 403, message, .. }) => Ok(Rolling::No(message)),
        Err(Trouble::Refused { .. }) | Ok(_) => Ok(Rolling::Yes),
        Err(trouble) => Err(trouble),
    }
}

/// Plays every case and fetches what came of it.
fn find_all(
    client: &Client,
    cases: &[Scenario],
    rolling: &Rolling,
    stop: &AtomicBool,
    tell: &mut (impl FnMut(News) + Send),
) -> Vec<Result<Found, Stop>> {
    let run = run_id();
    let next = AtomicUsize::new(0);
    let done = Mutex::new((tell, Vec::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return };
            let found = match stop.load(Ordering::Relaxed) {
                true => Err(Stop::Skipped("the run was stopped before".to_owned())),
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

/// What tells the cases of this run from those of any other.
fn run_id() -> String {
    let letters =
        random_bytes::<8>().map(|byte| char::from(b"0123456789abcdefghjkmnpqrstvwxyz"[usize::from(byte % 32)]));
    letters.iter().collect()
}

fn outcome(case: &Scenario, found: Result<Found, Stop>, mail: &Mail) -> Outcome {
    let found = match found {
        Ok(found) => found,
        Err(Stop::Skipped(why)) => return Outcome::skipped(case, why),
        Err(Stop::Refused(refused, timeline)) => return Outcome::new(case, vec![refused.difference()], timeline),
        Err(Stop::Trouble(why)) => {
            let what = "running the case".to_owned();
            let refused = Refused { line: case.lines.account.whole, what, why };
            let mut difference = refused.difference();
            difference.expected = "that it can be run".to_owned();
            return Outcome::new(case, vec![difference], Vec::new());
        }
    };
    found.outcome(case, mail)
}

/// Whether a case's events are held and released, or happen one after the other.
fn is_loaded(case: &Scenario, rolling: &Rolling) -> bool {
    case.mode == Mode::Migration || matches!(rolling, Rolling::No(_))
}

//! The one door through which accounts change.
//!
//! ```text
//! callers ──► lane ─► load ─► fold ─► commit ─► answer
//! timers  ──►   │     (whatever queued while the last commit ran is one batch)
//! release ──►   │
//! ```
//!
//! An account belongs to a *lane*, by its id. A lane takes all that is waiting as one batch (callers first, then timers
//! and releases), loads all accounts of the batch in one go, works on each [`Book`](crate::account::book::Book) in
//! memory with no transaction open, writes everything in one transaction and answers everybody. So one flush to disk
//! serves many callers, and one payment, a due date, a release of a million events and a roll differ only in what they
//! put into the batch.
//!
//! The store writes an account only if it is still the version that was loaded; else the account is loaded and worked on
//! again. So nothing is done twice, whichever lane or node does it.
//!
//! | file | what is there |
//! |---|---|
//! | `job` | what can be asked of an account, and what is answered |
//! | `lane` | the loop: batch, load, fold, commit, answer |
//! | `work` | doing jobs to a book |
//! | `timekeeper` | finds accounts that are due, ends releases |

pub mod job;
pub mod lane;
pub mod timekeeper;
pub mod work;

use crate::access::Access;
use crate::catalog::Catalog;
use crate::clockwatch;
use crate::metrics::Metrics;
use crate::problem::Problem;
use bytes::Bytes;
use daybook_clock::Clock;
use daybook_store::Store;
use daybook_store::records::AccountKey;
use daybook_webhooks::dispatcher::Nudge;
use job::{Job, Repeat, Work};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// How many jobs may wait for a lane before callers have to wait to put theirs.
const QUEUE: usize = 4_096;

/// What all lanes share.
#[derive(Debug)]
pub struct Shared {
    /// The database.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Products and organizations.
    pub catalog: Arc<Catalog>,
    /// Who calls.
    pub access: Arc<Access>,
    /// Figures.
    pub metrics: Arc<Metrics>,
    /// Notified when something is announced.
    pub nudge: Nudge,
}

/// The door.
#[derive(Clone, Debug)]
pub struct Processor {
    lanes: Arc<[Lane]>,
    shared: Arc<Shared>,
}

/// The ends of a lane where jobs are put.
#[derive(Clone, Debug)]
struct Lane {
    callers: mpsc::Sender<Job>,
    background: mpsc::Sender<Job>,
}

impl Processor {
    /// Opens the door. The lanes run until the processor is dropped and what was put is done.
    pub fn start(shared: Arc<Shared>) -> Processor {
        let lanes = (0..shared.store.writers().max(1)).map(|_| {
            let (callers, from_callers) = mpsc::channel(QUEUE);
            let (background, from_background) = mpsc::channel(QUEUE);
            tokio::spawn(lane::run(shared.clone(), from_callers, from_background));
            Lane { callers, background }
        });
        let lanes = lanes.collect();
        Processor { lanes, shared }
    }

    /// Asks something of an account and waits for the answer.
    pub async fn ask(
        &self,
        key: AccountKey,
        work: Work,
        repeat: Option<Repeat>,
        only_held: bool,
    ) -> Result<Bytes, Problem> {
        clockwatch::trusted(&*self.shared.clock)?;
        let (reply, answer) = oneshot::channel();
        let lane = self.lane(&key);
        let job = Job { key, work, repeat, only_held, reply };
        self.shared.metrics.queued.add(1);
        let sent = lane.callers.send(job).await;
        let answer = match sent {
            Ok(()) => answer.await.map_err(|_| stopping()),
            Err(_) => Err(stopping()),
        };
        self.shared.metrics.queued.sub(1);
        answer?
    }

    /// Has accounts brought up to their clocks; waits until all are done. Gives the first problem, if there was one.
    pub async fn settle(&self, due: Vec<AccountKey>, whole: bool) -> Result<(), Problem> {
        let mut answers = Vec::with_capacity(due.len());
        for key in due {
            let (reply, answer) = oneshot::channel();
            let lane = self.lane(&key);
            let job = Job { key, work: Work::Settle { whole }, repeat: None, only_held: false, reply };
            lane.background.send(job).await.map_err(|_| stopping())?;
            answers.push(answer);
        }
        let mut result = Ok(());
        for answer in answers {
            if let Err(problem) = answer.await.map_err(|_| stopping()).and_then(|answer| answer) {
                result = Err(problem);
            }
        }
        result
    }

    fn lane(&self, key: &AccountKey) -> &Lane {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        &self.lanes[hasher.finish() as usize % self.lanes.len()]
    }
}

fn stopping() -> Problem {
    Problem::unavailable("the server is stopping")
}

//! The one door through which accounts change.
//!
//! ```text
//! callers ──► queue ─► load ─► fold ─► commit ─► answer
//! timers  ──►   │      (whatever queued while the last commit ran is one batch)
//! release ──►   │
//! ```
//!
//! An account belongs to a *lane*, by its id. A lane takes what is waiting as a batch, loads all accounts of the batch in
//! one go, works on each [`Book`](crate::account::book::Book) in memory with no transaction open, writes everything in one
//! transaction and answers all callers. So one flush to disk serves many callers, and one payment, a due date, a release
//! of a million events and a roll differ only in what they put into the batch.
//!
//! No caller waits for another's long work: organizations take turns, long work has batches of its own, bounded by their
//! cost and not by their count, and an account with very much to do is folded and written a slice at a time ([`queue`],
//! [`lane`]).
//!
//! The store writes an account only if it is still the version that was loaded; else the account is loaded and worked on
//! again. So nothing is done twice, whichever lane or node does it.
//!
//! | file | what is there |
//! |---|---|
//! | `job` | what can be asked of an account, and what is answered |
//! | `queue` | what waits, and whose turn it is |
//! | `lane` | the loops: batch, load, commit |
//! | `folding` | working on the accounts of a batch |
//! | `work` | doing a job to a book |
//! | `answering` | what callers are told |
//! | `timekeeper` | finds accounts that are due, ends releases |

mod answering;
mod folding;
pub mod job;
mod lane;
pub mod queue;
pub mod timekeeper;
pub mod work;

use crate::access::Access;
use crate::catalog::Catalog;
use crate::clockwatch;
use crate::lock::lock;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::superseded::Superseded;
use bytes::Bytes;
use daybook_clock::Clock;
use daybook_store::Store;
use daybook_store::audit::NewAuditRecord;
use daybook_store::records::{AccountKey, OrgId};
use daybook_webhooks::dispatcher::Nudge;
use job::{Job, Place, Repeat, Timer, Timers, Work};
use queue::Queue;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// How many calls of one organization may wait before further ones have to wait to be put.
const MOST_WAITING: usize = 2_048;
/// How long timers wait for what they had put. What takes longer goes on, and they look for what else is due.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long they wait when all that is due is under way.
const BEFORE_LOOKING_AGAIN: Duration = Duration::from_millis(100);

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
    /// Who may fold off the threads that serve, as many at a time as there are processors.
    pub folding: Arc<Semaphore>,
    /// Whether a newer build has changed the tables.
    pub(crate) superseded: Arc<Superseded>,
}

impl Shared {
    /// Runs long work off the threads that serve callers; a few of those at a time.
    pub async fn off_the_threads_that_serve<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.folding.clone().acquire_owned().await.map_err(|_| stopping())?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        working.await.map_err(|_| stopping())
    }
}

/// Turns for long work: one for each processor.
pub fn turns() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, NonZero::get)))
}

/// The door.
#[derive(Clone, Debug)]
pub struct Processor {
    lanes: Arc<Lanes>,
    shared: Arc<Shared>,
    /// What each organization may have waiting.
    rooms: Arc<Mutex<HashMap<OrgId, Arc<Semaphore>>>>,
    timers: Timers,
}

/// Where jobs are put, a queue for each lane. When it is dropped, the lanes end once all is done.
#[derive(Debug)]
struct Lanes(Box<[Arc<Queue>]>);

impl Drop for Lanes {
    fn drop(&mut self) {
        self.0.iter().for_each(|queue| queue.close());
    }
}

impl Processor {
    /// Opens the door. The lanes run until the processor is dropped and what was put is done.
    pub fn start(shared: Arc<Shared>) -> Processor {
        let lanes = (0..shared.store.writers().max(1)).map(|_| {
            let queue = Arc::new(Queue::default());
            tokio::spawn(lane::run_short(shared.clone(), queue.clone()));
            tokio::spawn(lane::run_long(shared.clone(), queue.clone()));
            queue
        });
        let lanes = Arc::new(Lanes(lanes.collect()));
        Processor { lanes, shared, rooms: Arc::default(), timers: Timers::default() }
    }

    /// Asks something of an account and waits for the answer.
    pub async fn ask(
        &self,
        key: AccountKey,
        work: Work,
        repeat: Option<Repeat>,
        only_held: bool,
        record: Option<NewAuditRecord>,
    ) -> Result<Bytes, Problem> {
        self.shared.superseded.check()?;
        clockwatch::trusted(&*self.shared.clock)?;
        let place = self.room_of(key.org).acquire_owned().await.map_err(|_| stopping())?;
        let (reply, answer) = oneshot::channel();
        self.shared.metrics.queued.add(1);
        self.queue(&key).put(Job { key, work, repeat, only_held, record, reply, place: Some(Place::Call(place)) });
        let answer = answer.await.map_err(|_| stopping());
        self.shared.metrics.queued.sub(1);
        answer?
    }

    /// Has accounts brought up to their clocks; waits until all are done, or for a while. Gives the first problem, if there
    /// was one.
    pub async fn settle(&self, due: Vec<(AccountKey, u64)>, whole: bool) -> Result<(), Problem> {
        let mut answers = Vec::with_capacity(due.len());
        for (key, cost) in due {
            // One that was put before and is not done is under way.
            let Some(timer) = Timer::of(&key, &self.timers) else { continue };
            let (reply, answer) = oneshot::channel();
            let (work, place) = (Work::Settle { whole, cost }, Some(Place::Timer(timer)));
            self.queue(&key).put(Job { key, work, repeat: None, only_held: false, record: None, reply, place });
            answers.push(answer);
        }
        if answers.is_empty() {
            tokio::time::sleep(BEFORE_LOOKING_AGAIN).await;
        }
        let mut result: Result<(), Problem> = Ok(());
        let waiting = async {
            for answer in answers {
                if let Err(problem) = answer.await.map_err(|_| stopping()).and_then(|answer| answer) {
                    result = Err(problem);
                }
            }
        };
        let _ = tokio::time::timeout(PATIENCE, waiting).await;
        result
    }

    fn room_of(&self, org: OrgId) -> Arc<Semaphore> {
        lock(&self.rooms).entry(org).or_insert_with(|| Arc::new(Semaphore::new(MOST_WAITING))).clone()
    }

    fn queue(&self, key: &AccountKey) -> &Queue {
        let lanes = &self.lanes.0;
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        &lanes[hasher.finish() as usize % lanes.len()]
    }
}

fn stopping() -> Problem {
    Problem::unavailable("the server is stopping")
}

//! The processor: the one place through which accounts change.
//!
//! ```text
//! callers ──► queue ─► load ─► fold ─► commit ─► answer
//! timers  ──►   │      (all jobs queued during the last commit form one batch)
//! release ──►   │
//! ```
//!
//! An account belongs to a *lane*, by its id. A lane takes all waiting jobs as a batch, loads their accounts in one
//! query, works on each [`Book`](crate::account::book::Book) in memory with no transaction open, writes everything in
//! one transaction and answers all callers. So one flush to disk serves many callers. A payment, a due date, a release
//! of a million events and a roll differ only in what they add to the batch.
//!
//! No caller waits for another's long work: organizations take turns, long work has its own batches, limited by cost
//! and not by count, and an account with very much work is folded and written one slice at a time ([`queue`],
//! [`lane`]).
//!
//! The store writes an account only if its version is still the one that was loaded; otherwise the account is loaded
//! and worked on again. So nothing is done twice, whichever lane or node does it.
//!
//! | file | contents |
//! |---|---|
//! | `job` | the jobs that can be requested of an account |
//! | `queue` | waiting jobs, and the order of organizations |
//! | `lane` | the loops: batch, load, commit |
//! | `folding` | working on the accounts of a batch |
//! | `work` | applying a job to a book |
//! | `answering` | responses to callers |
//! | `timekeeper` | finds due accounts, ends releases |

mod answering;
mod folding;
pub mod job;
mod lane;
pub mod queue;
pub mod timekeeper;
pub mod work;

use crate::access::Access;
use crate::boxed;
use crate::catalog::Catalog;
use crate::clockwatch;
use crate::lock::lock;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::secrets::Secrets;
use crate::superseded::Superseded;
use bytes::Bytes;
use daybook_clock::Clock;
use daybook_store::Store;
use daybook_store::audit::NewAuditRecord;
use daybook_store::records::{AccountKey, OrgId};
use daybook_webhooks::dispatcher::Nudge;
use job::{IdempotencyKey, Job, QueuePlace, Timer, Timers, Work};
use queue::Queue;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// How many requests of one organization may be queued. Further ones wait before they enter the queue.
const MOST_WAITING: usize = 2_048;
/// How long timers wait for the accounts they queued. Slower accounts continue while timers look for other due
/// accounts.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long timers wait if all due accounts are already queued.
const BEFORE_LOOKING_AGAIN: Duration = Duration::from_millis(100);

/// The state that all lanes share.
#[derive(Debug)]
pub struct Shared {
    /// The database.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The cache of products and organizations.
    pub catalog: Arc<Catalog>,
    /// Authentication of callers.
    pub access: Arc<Access>,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Notified when messages are written.
    pub nudge: Nudge,
    /// Limits long folds outside the threads that serve requests to one per processor.
    pub folding: Arc<Semaphore>,
    /// Makes the digests of audit records.
    pub(crate) secrets: Secrets,
    /// Whether a newer build has changed the tables.
    pub(crate) superseded: Arc<Superseded>,
}

impl Shared {
    /// Runs long work outside the threads that serve requests, a limited number at a time.
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

/// Permits for long work: one for each processor.
pub fn turns() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, NonZero::get)))
}

/// Runs jobs on accounts.
#[derive(Clone, Debug)]
pub struct Processor {
    lanes: Arc<Lanes>,
    shared: Arc<Shared>,
    /// Limits the queued requests of each organization.
    queue_limits: Arc<Mutex<HashMap<OrgId, Arc<Semaphore>>>>,
    timers: Timers,
}

/// The queues, one for each lane. When it is dropped, the lanes end once all jobs are done.
#[derive(Debug)]
struct Lanes(Box<[Arc<Queue>]>);

impl Drop for Lanes {
    fn drop(&mut self) {
        self.0.iter().for_each(|queue| queue.close());
    }
}

impl Processor {
    /// Starts the lanes. They run until the processor is dropped and all queued jobs are done.
    pub fn start(shared: Arc<Shared>) -> Processor {
        let lanes = (0..shared.store.writers().max(1)).map(|_| {
            let queue = Arc::new(Queue::default());
            tokio::spawn(lane::run_short(shared.clone(), queue.clone()));
            tokio::spawn(lane::run_long(shared.clone(), queue.clone()));
            queue
        });
        let lanes = Arc::new(Lanes(lanes.collect()));
        Processor { lanes, shared, queue_limits: Arc::default(), timers: Timers::default() }
    }

    /// Runs a job on an account and waits for the response.
    #[boxed]
    pub async fn ask(
        &self,
        key: AccountKey,
        work: Work,
        idempotency_key: Option<IdempotencyKey>,
        only_held: bool,
        record: Option<NewAuditRecord>,
    ) -> Result<Bytes, Problem> {
        self.shared.superseded.check()?;
        clockwatch::trusted(&*self.shared.clock)?;
        let place = self.queue_limit_of(key.org).acquire_owned().await.map_err(|_| stopping())?;
        let (reply, answer) = oneshot::channel();
        self.shared.metrics.queued.add(1);
        let place = Some(QueuePlace::Call(place));
        self.queue(&key).put(Job { key, work, idempotency_key, only_held, record, reply, place });
        let answer = answer.await.map_err(|_| stopping());
        self.shared.metrics.queued.sub(1);
        answer?
    }

    /// Processes accounts up to their clocks. Waits until all are done or the patience runs out. Returns an error if
    /// one failed.
    pub async fn settle(&self, due: Vec<(AccountKey, u64)>, whole: bool) -> Result<(), Problem> {
        let mut answers = Vec::with_capacity(due.len());
        for (key, cost) in due {
            // An account that was queued before and is not done is in progress.
            let Some(timer) = Timer::of(&key, &self.timers) else { continue };
            let (reply, answer) = oneshot::channel();
            let (work, place) = (Work::Settle { whole, cost }, Some(QueuePlace::Timer(timer)));
            let job = Job { key, work, idempotency_key: None, only_held: false, record: None, reply, place };
            self.queue(&job.key).put(job);
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

    fn queue_limit_of(&self, org: OrgId) -> Arc<Semaphore> {
        lock(&self.queue_limits).entry(org).or_insert_with(|| Arc::new(Semaphore::new(MOST_WAITING))).clone()
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

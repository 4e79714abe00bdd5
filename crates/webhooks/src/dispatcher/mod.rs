//! The dispatcher: delivers messages of the log to subscribed URLs.
//!
//! ```text
//!             lease (which subscriptions are mine)
//! store ────► dispatcher ──order──► worker, one for each URL ──► receiver
//!             heads (how far the log goes)      │
//!   ▲                                           │
//!   └────────────── deliveries ─────────────────┘
//! ```
//!
//! Messages are sent in batches: at each tick of the interval, everything in the log at that time. Urgent messages (a
//! roll with its webhooks, a test event) do not wait for the tick; with an interval of 0, no message does. Retries have
//! their own schedule.
//!
//! Each URL has its own [`worker`], so no URL waits for another. On PostgreSQL one node at a time holds a subscription,
//! by a lease that a dead node loses, and each node has its share of them. The dispatcher holds nothing that a crash
//! could lose: the progress of a subscription is its row in the store.
//!
//! | module | what it does |
//! |---|---|
//! | [`worker`] | sends to one URL |
//! | [`pace`] | limits how fast messages are sent to a URL |
//! | [`probing`] | tries one message of a URL that was paused by errors |
//! | [`watching`] | looks for overdue retries |
//! | [`stopping`] | stops, and records all responses received by then |

mod ledger;
mod metrics;
mod pace;
mod probing;
mod queue;
mod stopping;
mod watching;
mod window;
mod worker;

pub use metrics::{DeliveryMetrics, URL_LABELS};

use crate::policy::RetrySchedule;
use crate::sender::Sender;
use crate::signature::SigningKey;
use async_trait::async_trait;
use daybook_clock::Clock;
use daybook_engine::time::Time;
use daybook_store::error::StoreError;
use daybook_store::outbox::{Leased, Outbox, Pause, Subscription, SubscriptionId};
use daybook_store::records::{MessageRow, OrgId};
use probing::Probe;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use worker::Worker;

/// How long a lease on a subscription lasts.
const LEASE_MICROS: i64 = 15_000_000;
/// How often leases are renewed and free subscriptions are looked for.
const LEASE_EVERY_MICROS: i64 = 3_000_000;
/// How many free subscriptions are taken at once: other nodes need some too.
const LEASE_STEP: usize = 64;
/// How often the log is checked without a notification.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The shortest time between two checks.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(2);
/// How often expired rows are removed.
const TIDY_EVERY_MICROS: i64 = 10_000_000;
/// The most rows removed in one step.
const STEP_ROWS: usize = 1_000;

/// How messages are sent.
#[derive(Clone, Debug)]
pub struct DispatcherSettings {
    /// How long messages are collected before they are sent; 0 sends them at once.
    pub batch_interval: Duration,
    /// The first retry after a failure; the whole schedule scales with it.
    pub retry_first: Duration,
    /// After how many failed messages in a row a URL is paused.
    pub pause_after: u32,
    /// How long dead letters are kept.
    pub dead_letter_retention: Duration,
    /// How long messages are kept.
    pub message_retention: Duration,
    /// How long the record of attempts is kept.
    pub attempt_retention: Duration,
    /// The most messages in flight to one URL.
    pub most_in_flight: usize,
}

impl Default for DispatcherSettings {
    fn default() -> DispatcherSettings {
        const DAY: u64 = 86_400;
        DispatcherSettings {
            batch_interval: Duration::from_secs(60),
            retry_first: Duration::from_secs(60),
            pause_after: 10,
            dead_letter_retention: Duration::from_secs(5 * DAY),
            message_retention: Duration::from_secs(30 * DAY),
            attempt_retention: Duration::from_secs(7 * DAY),
            most_in_flight: 64,
        }
    }
}

/// What the dispatcher needs from the rest of the program.
#[async_trait]
pub trait DispatcherSupport: Send + Sync + std::fmt::Debug {
    /// The keys that sign an organization's deliveries: the current one first, then the previous one while it is still
    /// valid.
    async fn keys(&self, org: OrgId) -> Result<Vec<SigningKey>, String>;

    /// The message to publish when a URL is paused.
    async fn paused(&self, subscription: &Subscription, pause: &Pause) -> Result<MessageRow, String>;
}

/// What all workers share.
#[derive(Debug)]
pub(crate) struct WorkerContext {
    outbox: Arc<dyn Outbox>,
    clock: Arc<dyn Clock>,
    support: Arc<dyn DispatcherSupport>,
    sender: Sender,
    settings: DispatcherSettings,
    schedule: RetrySchedule,
    token: String,
    metrics: DeliveryMetrics,
    stopping: AtomicBool,
    /// True when messages in flight are no longer waited for.
    hurry: watch::Sender<bool>,
}

/// Becomes true when messages in flight are no longer waited for.
type Hurry = watch::Receiver<bool>;

impl WorkerContext {
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// An order to a worker.
struct WorkerOrder {
    /// The subscription as it is now; `None` if the worker is to stop sending for it.
    subscription: Option<Subscription>,
    /// The position up to which the log is to be sent.
    through: i64,
    /// When the lease on the subscription ends.
    lease_until: Time,
    /// Gets the number of attempts made, once nothing is left to do for now.
    done: Option<oneshot::Sender<usize>>,
}

/// Notifies the dispatcher that there is something to do.
#[derive(Clone, Debug, Default)]
pub struct Nudge(Arc<Nudged>);

#[derive(Debug, Default)]
struct Nudged {
    notify: Notify,
    changed: AtomicBool,
    /// Whether messages wait for a batch: then a notification for each is not needed.
    in_batches: AtomicBool,
    /// Whether sending and the removal of expired rows are suspended.
    muted: AtomicBool,
}

impl Nudge {
    /// Subscriptions changed, or a message is urgent.
    pub fn changed(&self) {
        self.0.changed.store(true, Ordering::Release);
        self.0.notify.notify_one();
    }

    /// Messages were published.
    pub fn announced(&self) {
        if !self.0.in_batches.load(Ordering::Relaxed) {
            self.0.notify.notify_one();
        }
    }

    /// Suspends sending (messages in flight still arrive), or resumes it.
    pub fn mute(&self, is_muted: bool) {
        self.0.muted.store(is_muted, Ordering::Release);
        self.changed();
    }

    /// Whether sending is suspended.
    pub fn is_muted(&self) -> bool {
        self.0.muted.load(Ordering::Acquire)
    }

    /// Waits until there is something to do.
    pub async fn notified(&self) {
        self.0.notify.notified().await;
    }
}

/// Delivers messages. Cloning is cheap; all clones share one state.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    shared: Arc<WorkerContext>,
    registry: Arc<Mutex<WorkerRegistry>>,
    nudge: Nudge,
}

/// The dispatcher's workers and what they work on.
#[derive(Debug)]
struct WorkerRegistry {
    workers: HashMap<SubscriptionId, WorkerHandle>,
    /// Messages of paused URLs that are being tried.
    probes: HashMap<SubscriptionId, Probe>,
    rows: Vec<Subscription>,
    /// The position up to which each organization's log is to be sent.
    released: HashMap<OrgId, i64>,
    /// The number of the last tick.
    tick: i64,
    lease_until: Time,
    leased_at: Option<Time>,
}

/// The dispatcher's handle to a worker.
#[derive(Debug)]
struct WorkerHandle {
    orders: mpsc::UnboundedSender<WorkerOrder>,
    /// Makes it look for due retries.
    look: Arc<Notify>,
    /// Sending to its URL is on hold until this moment because it answered 429: microseconds.
    held_until: Arc<AtomicI64>,
    task: JoinHandle<()>,
    /// Its last order: version, through, lease.
    told: (i64, i64, Time),
}

impl Dispatcher {
    /// A dispatcher that does nothing yet: see [`Dispatcher::run`] and [`Dispatcher::settle`]. The token identifies
    /// this node and must be new with every start.
    pub fn new(
        outbox: Arc<dyn Outbox>,
        clock: Arc<dyn Clock>,
        support: Arc<dyn DispatcherSupport>,
        sender: Sender,
        settings: DispatcherSettings,
        token: String,
        nudge: Nudge,
    ) -> Dispatcher {
        nudge.0.in_batches.store(!settings.batch_interval.is_zero(), Ordering::Relaxed);
        let schedule = RetrySchedule::starting_with(settings.retry_first);
        let tick = tick_at(clock.now(), settings.batch_interval);
        let (metrics, stopping, hurry) =
            (DeliveryMetrics::default(), AtomicBool::new(false), watch::Sender::new(false));
        let shared =
            WorkerContext { outbox, clock, support, sender, settings, schedule, token, metrics, stopping, hurry };
        let registry = WorkerRegistry {
            workers: HashMap::new(),
            probes: HashMap::new(),
            rows: Vec::new(),
            released: HashMap::new(),
            tick,
            lease_until: Time::from_micros(i64::MIN),
            leased_at: None,
        };
        Dispatcher { shared: Arc::new(shared), registry: Arc::new(Mutex::new(registry)), nudge }
    }

    /// How messages are sent.
    pub fn settings(&self) -> &DispatcherSettings {
        &self.shared.settings
    }

    /// Metrics about deliveries.
    pub fn metrics(&self) -> &DeliveryMetrics {
        &self.shared.metrics
    }

    /// Sends until `stop` is true; then waits for messages in flight.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        // In parallel: removing expired rows waits for its turn to write, and neither sending nor stopping may wait
        // with it.
        let sending = async {
            self.keep_sending(stop.clone()).await;
            self.stop().await;
        };
        tokio::join!(sending, self.keep_tidy(stop.clone()));
    }

    async fn keep_sending(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let changed = self.nudge.0.changed.swap(false, Ordering::Acquire);
            if let Err(error) = self.pass(changed, None).await {
                tracing::warn!(%error, "webhooks wait because the dispatcher cannot read the database");
            }
            tokio::time::sleep(LOOK_AT_MOST_EVERY).await;
            tokio::select! {
                () = tokio::time::sleep(self.until_next_look()) => {}
                () = self.nudge.notified() => {}
                _ = stop.changed() => {}
            }
        }
    }

    async fn keep_tidy(&self, mut stop: watch::Receiver<bool>) {
        let mut tidied_at: Option<Time> = None;
        let mut watch = watching::LastLogged::default();
        while !*stop.borrow() {
            let now = self.shared.clock.now();
            if !self.nudge.is_muted() && tidied_at.is_none_or(|at| now >= at.plus_micros(TIDY_EVERY_MICROS)) {
                tidied_at = Some(now);
                if let Err(error) = self.tidy().await {
                    tracing::warn!(%error, "expired webhook records could not be removed; the next cleanup retries");
                }
                if let Err(error) = self.watch(now, &mut watch).await {
                    tracing::warn!(%error, "the check for overdue retries failed; the next one follows");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                told = stop.changed() => if told.is_err() { return },
            }
        }
    }

    /// Sends everything that is due by the clock now, and waits until it is recorded. For manual clocks. Returns how
    /// many attempts were made.
    pub async fn settle(&self) -> Result<usize, StoreError> {
        let mut all = 0;
        loop {
            let mut done = Vec::new();
            self.pass(true, Some(&mut done)).await?;
            let mut attempts = 0;
            let mut has_ended = false;
            for done in done {
                match done.await {
                    Ok(made) => attempts += made,
                    // A worker that ended may leave work for the next one.
                    Err(_) => has_ended = true,
                }
            }
            all += attempts;
            if attempts == 0 && !has_ended {
                return Ok(all);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Removes rows that have expired by the clock now, unless it is muted. [`Dispatcher::run`] does this
    /// automatically.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        if self.nudge.is_muted() {
            return Ok(());
        }
        let DispatcherSettings { dead_letter_retention, message_retention, attempt_retention, .. } =
            &self.shared.settings;
        let now = self.shared.clock.now();
        let before = |kept: &Duration| now.plus_micros(-i64::try_from(kept.as_micros()).unwrap_or(i64::MAX / 2));
        let outbox = &self.shared.outbox;
        while outbox.expire_dead_letters(before(dead_letter_retention), STEP_ROWS).await? >= STEP_ROWS as u64 {}
        while outbox.expire_attempts(before(attempt_retention), STEP_ROWS).await? >= STEP_ROWS as u64 {}
        while outbox.expire_messages(before(message_retention), STEP_ROWS).await? >= STEP_ROWS as u64 {}
        Ok(())
    }

    fn until_next_look(&self) -> Duration {
        let interval = i64::try_from(self.shared.settings.batch_interval.as_micros()).unwrap_or(i64::MAX);
        if interval == 0 {
            return LOOK_EVERY;
        }
        let left = interval - self.shared.clock.now().micros().rem_euclid(interval);
        Duration::from_micros(left.unsigned_abs()).min(LOOK_EVERY)
    }

    /// Checks subscriptions and the log, and gives orders to workers.
    async fn pass(
        &self,
        changed: bool,
        mut done: Option<&mut Vec<oneshot::Receiver<usize>>>,
    ) -> Result<(), StoreError> {
        let now = self.shared.clock.now();
        let mut registry = self.registry.lock().await;
        if self.shared.is_stopping() {
            return Ok(());
        }
        // A worker that ended on its own was paused, or lost its lease: its subscription must be read again.
        let hired = registry.workers.len();
        registry.workers.retain(|_, hand| !hand.task.is_finished());
        let has_ended = registry.workers.len() < hired;
        if self.nudge.is_muted() {
            registry.dismiss(&self.shared, now, &mut done);
            return Ok(());
        }
        if changed || has_ended || registry.leased_at.is_none_or(|at| now >= at.plus_micros(LEASE_EVERY_MICROS)) {
            self.lease(&mut registry, now).await?;
            self.probe(&mut registry, now, &mut done).await?;
        }
        if registry.rows.is_empty() && registry.workers.is_empty() {
            registry.tick = tick_at(now, self.shared.settings.batch_interval);
            return Ok(());
        }
        let tick = tick_at(now, self.shared.settings.batch_interval);
        let at_once = self.shared.settings.batch_interval.is_zero();
        for head in self.shared.outbox.heads().await? {
            let to = if at_once || tick > registry.tick { head.head } else { head.hurried };
            let released = registry.released.entry(head.org).or_insert(to);
            *released = (*released).max(to);
        }
        registry.tick = tick;
        registry.give_orders(&self.shared, &mut done);
        Ok(())
    }
}

impl Dispatcher {
    /// Renews leases and takes this node's share. Surplus subscriptions are released when their worker has ended.
    async fn lease(&self, registry: &mut WorkerRegistry, now: Time) -> Result<(), StoreError> {
        let until = now.plus_micros(LEASE_MICROS);
        let Leased { held, share } = self.shared.outbox.lease(&self.shared.token, now, until, LEASE_STEP).await?;
        registry.rows = held;
        let surplus = registry.rows.split_off(share.min(registry.rows.len()));
        let idle: Vec<SubscriptionId> =
            surplus.iter().map(|row| row.id).filter(|id| !registry.workers.contains_key(id)).collect();
        if !idle.is_empty() {
            self.shared.outbox.give_back(&self.shared.token, &idle).await?;
        }
        (registry.lease_until, registry.leased_at) = (until, Some(now));
        Ok(())
    }
}

impl WorkerRegistry {
    /// Makes every worker end; the leases expire, and are renewed when this node sends again.
    fn dismiss(
        &mut self,
        shared: &Arc<WorkerContext>,
        now: Time,
        done: &mut Option<&mut Vec<oneshot::Receiver<usize>>>,
    ) {
        self.rows.clear();
        self.leased_at = None;
        self.tick = tick_at(now, shared.settings.batch_interval);
        self.give_orders(shared, done);
    }

    fn give_orders(&mut self, shared: &Arc<WorkerContext>, done: &mut Option<&mut Vec<oneshot::Receiver<usize>>>) {
        let mut mine: Vec<SubscriptionId> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            mine.push(row.id);
            let through = self.released.get(&row.org).copied().unwrap_or(0);
            let news = (row.version, through, self.lease_until);
            let hand = self.workers.entry(row.id).or_insert_with(|| hire(shared, row));
            if hand.told != news || done.is_some() {
                hand.told = news;
                hand.tell(Some(row.clone()), through, self.lease_until, done);
            }
        }
        for (_, hand) in self.workers.iter_mut().filter(|(id, _)| !mine.contains(id)) {
            hand.tell(None, 0, self.lease_until, done);
        }
    }
}

impl WorkerHandle {
    fn tell(
        &self,
        subscription: Option<Subscription>,
        through: i64,
        lease_until: Time,
        done: &mut Option<&mut Vec<oneshot::Receiver<usize>>>,
    ) {
        let waiter = done.as_mut().map(|done| {
            let (waiter, wait) = oneshot::channel();
            done.push(wait);
            waiter
        });
        // If the worker has ended, its finished task shows that.
        let _ = self.orders.send(WorkerOrder { subscription, through, lease_until, done: waiter });
    }
}

fn hire(shared: &Arc<WorkerContext>, row: &Subscription) -> WorkerHandle {
    let (orders, taken) = mpsc::unbounded_channel();
    let look = Arc::new(Notify::new());
    let worker = Worker::new(shared.clone(), row.clone(), taken, look.clone());
    let told = (i64::MIN, i64::MIN, Time::from_micros(i64::MIN));
    let held_until = worker.held_until.clone();
    WorkerHandle { orders, look, held_until, task: tokio::spawn(worker.run()), told }
}

/// The number of the last tick before a moment.
fn tick_at(now: Time, interval: Duration) -> i64 {
    match i64::try_from(interval.as_micros()) {
        Ok(0) | Err(_) => 0,
        Ok(micros) => now.micros().div_euclid(micros),
    }
}

//! A worker sends to one URL.
//!
//! ```text
//! store ─► reading ─► queue ─► in flight ─► ledger ─► recording ─► store
//!          (failures   (of an   (as many     (results  (in one transaction,
//!           due, ranges account  as the URL   so far)   with the cursor)
//!           replayed,   one at   has earned)
//!           the log)    a time)
//! ```
//!
//! Reading, sending and recording run concurrently, in one task. The [`Pace`] limits how fast messages are sent: one
//! message at a time at first and after a failure, more with every success, up to the URL's own limit. So a failing URL
//! gets one message at a time, and a dead one uses one socket.
//!
//! When the subscription is paused, by a response or by a caller, the worker waits for messages in flight; a success
//! among them revokes a pause by failures. Unsent messages before the last one that was sent become single dead
//! letters, so that the cursor shows exactly what was not sent.

mod reading;
mod recording;
mod retries;
pub(super) mod sending;

use super::ledger::Ledger;
use super::pace::{Allowed, Pace};
use super::queue::Queue;
use super::window::Window;
use super::{Hurry, WorkerContext, WorkerOrder};
use crate::sender::{ConnectionPool, Reply};
use crate::signature::StandardKey;
use daybook_engine::time::Time;
use daybook_store::error::StoreError;
use daybook_store::outbox::{Failure, Outgoing, Range, Recorded, Subscription, TO_EVERYBODY};
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use retries::Retries;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};

/// The most messages between the first unfinished one and the last one that was read.
const LONGEST_WINDOW: usize = 4_096;
/// This many results are recorded at once, or as many as there are after [`RECORD_AFTER`].
const RECORD_AT: usize = 1_000;
const RECORD_AFTER: Duration = Duration::from_millis(20);
/// With this many unrecorded results, nothing more is sent: after a crash, only these and messages in flight are sent
/// twice.
const MOST_UNRECORDED: usize = 4_000;
/// A cursor that only skipped messages excluded by a filter is recorded when it has moved this far.
const FAR: i64 = 1_000;
/// How long a worker waits when the store is unavailable.
const STORE_AWAY: Duration = Duration::from_millis(500);
/// The longest sleep between two checks of the clock.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// A message to be sent.
struct QueuedMessage {
    source: MessageSource,
    message: Outgoing,
}

/// Where a message was read.
enum MessageSource {
    Log,
    Range(i64),
    Failures(Box<Failure>),
}

/// The result of a read.
enum ReadBatch {
    Failures(Vec<(Failure, Outgoing)>, Option<Time>),
    Ranges(Vec<Range>),
    Range(Vec<Outgoing>),
    Log(Vec<Outgoing>, i64),
}

struct FinishedAttempt {
    item: QueuedMessage,
    began_at: Time,
    /// How many messages were in flight with it.
    under_way: usize,
    reply: Reply,
}

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type ReadResult = (Result<ReadBatch, StoreError>, Option<Vec<StandardKey>>);

/// Why a worker ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WorkerExit {
    /// The subscription is paused because of its URL's responses.
    Pausing(&'static str),
    /// A caller paused it or removed it.
    PausedOrRemoved,
    /// The server stops, or another node has taken over the subscription: only results are recorded.
    Stopping,
}

/// Sends to one URL.
pub(super) struct Worker {
    shared: Arc<WorkerContext>,
    subscription: Subscription,
    orders: mpsc::UnboundedReceiver<WorkerOrder>,
    look: Arc<Notify>,
    pool: Arc<ConnectionPool>,
    keys: Arc<Vec<StandardKey>>,
    queue: Queue<QueuedMessage>,
    in_flight: FuturesUnordered<Task<FinishedAttempt>>,
    /// The position and the event of each message in flight.
    sent: HashMap<i64, String>,
    pace: Pace,
    /// Sending to the URL is on hold until this moment because it answered 429; read by the watch: microseconds.
    pub(super) held_until: Arc<AtomicI64>,
    ledger: Ledger,
    /// The log after the cursor.
    log: Window,
    /// The position up to which the log is to be sent now.
    through: i64,
    lease_until: Time,
    /// A range that is being replayed.
    range: Option<(Range, Window)>,
    /// Whether to look for ranges, and for failures, to send again.
    look_for_ranges: bool,
    look_for_failures: bool,
    retries: Retries,
    /// Failures that are being retried and not recorded yet.
    retrying: HashSet<i64>,
    /// Messages in flight that a new filter excludes: they are not retried.
    unwanted: HashSet<i64>,
    /// Whether the read in progress began before the filter was narrowed.
    reads_by_old_filter: bool,
    /// Becomes true when messages in flight are no longer waited for.
    hurry: Hurry,
    range_turn: bool,
    reading: Option<Task<ReadResult>>,
    recording: Option<Task<Result<Recorded, StoreError>>>,
    recorded_retries: Vec<i64>,
    recorded_range_to: i64,
    /// Expires when results have waited long enough to be recorded.
    record_timer: Option<Pin<Box<tokio::time::Sleep>>>,
    /// The first deliveries after a start may have been sent, and have failed, before it.
    overlap: usize,
    /// The counts that the store last returned: consecutive errors, and the number of the series.
    known_counts: (i64, i64),
    /// Whether a caller changed the subscription since it was last recorded. A new filter does not apply to what the
    /// old one skipped, so the cursor has to be recorded.
    is_changed: bool,
    leaving: Option<WorkerExit>,
    /// Whether it was ordered to end, even if it was leaving already.
    is_told: bool,
    attempts_made: usize,
    waiters: Vec<oneshot::Sender<usize>>,
}

impl Worker {
    pub(super) fn new(
        shared: Arc<WorkerContext>,
        subscription: Subscription,
        orders: mpsc::UnboundedReceiver<WorkerOrder>,
        look: Arc<Notify>,
    ) -> Worker {
        let pool = Arc::new(shared.sender.pool_of(subscription.org, &subscription.url));
        let now = shared.clock.now();
        let mut pace = Pace::new(allowed(&shared, &subscription));
        let held_until = subscription.held_until.filter(|until| *until > now);
        if let Some(until) = held_until {
            pace.go_on_holding(now, until);
        }
        Worker {
            pool,
            keys: Arc::default(),
            queue: Queue::new(),
            in_flight: FuturesUnordered::new(),
            sent: HashMap::new(),
            pace,
            held_until: Arc::new(AtomicI64::new(held_until.map_or(i64::MIN, Time::micros))),
            ledger: Ledger::of(&subscription),
            log: Window::after(subscription.cursor, subscription.ahead.clone()),
            unwanted: HashSet::new(),
            reads_by_old_filter: false,
            hurry: shared.hurry.subscribe(),
            through: subscription.cursor,
            lease_until: Time::from_micros(i64::MIN),
            range: None,
            look_for_ranges: true,
            look_for_failures: true,
            retries: Retries::default(),
            retrying: HashSet::new(),
            range_turn: false,
            reading: None,
            recording: None,
            recorded_retries: Vec::new(),
            recorded_range_to: 0,
            record_timer: None,
            overlap: 2 * LONGEST_WINDOW,
            known_counts: (subscription.consecutive_errors, subscription.streak),
            is_changed: false,
            leaving: None,
            is_told: false,
            attempts_made: 0,
            waiters: Vec::new(),
            shared,
            subscription,
            orders,
            look,
        }
    }

    /// Sends until the subscription is paused, removed or held by another node, or until the dispatcher drops its
    /// orders.
    pub(super) async fn run(mut self) {
        loop {
            self.take_orders();
            self.read_on();
            self.launch();
            if self.is_idle() {
                if self.leaving.is_some() {
                    return self.leave().await;
                }
                if self.has_to_record() {
                    self.begin_recording();
                } else {
                    self.answer_waiters();
                }
            } else if self.ledger.len() >= RECORD_AT {
                self.begin_recording();
            }
            if !self.wait().await {
                return;
            }
        }
    }

    /// Waits for the next event and handles it; returns false if the worker is to end at once.
    async fn wait(&mut self) -> bool {
        let sleep = self.until_next();
        if self.ledger.len() > 0 && self.record_timer.is_none() {
            self.record_timer = Some(Box::pin(tokio::time::sleep(RECORD_AFTER)));
        }
        tokio::select! {
            Some(done) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                self.finish(done);
                while let Some(Some(done)) = self.in_flight.next().now_or_never() {
                    self.finish(done);
                }
            }
            (page, keys) = poll(&mut self.reading), if self.reading.is_some() => {
                self.reading = None;
                self.take_page(page, keys).await;
                self.narrow_old_page();
            }
            recorded = poll(&mut self.recording), if self.recording.is_some() => {
                self.recording = None;
                return self.take_recorded(recorded).await;
            }
            () = poll(&mut self.record_timer), if self.record_timer.is_some() && self.recording.is_none() => {
                self.begin_recording();
            }
            () = told_to_hurry(&mut self.hurry), if self.leaving.is_some() && !self.in_flight.is_empty() => {
                self.abandon();
            }
            order = self.orders.recv(), if self.leaving.is_none() => match order {
                Some(order) => self.take_order(order),
                None => self.leaving = Some(WorkerExit::Stopping),
            },
            () = self.look.notified() => self.look_for_failures = true,
            () = tokio::time::sleep(sleep) => {
                self.pool.sweep();
                self.look_for_failures |= self.retries.is_due(self.shared.clock.now());
            }
        }
        true
    }

    /// Whether there is something to record although the worker is otherwise idle.
    fn has_to_record(&self) -> bool {
        let ahead = self.log.finished_through() - self.subscription.cursor;
        self.ledger.len() > 0 || self.range_is_done() || ahead > if self.is_changed { 0 } else { FAR }
    }

    fn range_is_done(&self) -> bool {
        self.range.as_ref().is_some_and(|(range, window)| window.finished_through() >= range.last)
    }

    fn is_idle(&self) -> bool {
        let nothing_under_way = self.in_flight.is_empty() && self.reading.is_none() && self.recording.is_none();
        nothing_under_way && (self.leaving.is_some() || self.queue.len() == 0 || self.is_held())
    }

    /// Whether messages wait that must not be sent to the URL yet.
    fn is_held(&self) -> bool {
        self.queue.len() > 0 && self.pace.is_waiting(self.shared.clock.now())
    }

    /// The end of the hold after a 429, if there is one.
    fn held(&self) -> Option<Time> {
        let until = Time::from_micros(self.held_until.load(Ordering::Relaxed));
        (until > self.shared.clock.now()).then_some(until)
    }

    /// How long until a retry is due or the pace allows the next message.
    fn until_next(&self) -> Duration {
        let now = self.shared.clock.now();
        let paced = self.pace.next_at(now).filter(|_| self.queue.len() > 0);
        let Some(at) = self.retries.next().into_iter().chain(paced).min() else { return LONGEST_SLEEP };
        let micros = at.micros().saturating_sub(now.micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0)).clamp(Duration::from_millis(1), LONGEST_SLEEP)
    }

    // --- Orders --------------------------------------------------------------------------------------------------

    fn take_orders(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            self.take_order(order);
        }
    }

    fn take_order(&mut self, order: WorkerOrder) {
        self.waiters.extend(order.done);
        let Some(row) = order.subscription else {
            self.is_told = true;
            self.leaving.get_or_insert(WorkerExit::PausedOrRemoved);
            return;
        };
        self.through = self.through.max(order.through);
        self.lease_until = order.lease_until;
        self.look_for_failures |= self.retries.is_due(self.shared.clock.now());
        self.change(row);
    }

    /// Applies a caller's changes to the subscription: a new filter, or messages to send again.
    fn change(&mut self, row: Subscription) {
        if row.version == self.subscription.version {
            return;
        }
        let counts = (row.consecutive_errors, row.streak);
        if row.cursor > self.log.finished_through() || counts != self.known_counts {
            // It was paused and resumed in between: messages not sent by then are dead letters now, and the next worker
            // starts where the store says.
            self.leaving.get_or_insert(WorkerExit::Stopping);
            return;
        }
        let cursor = self.subscription.cursor;
        let is_filter_new = row.filter != self.subscription.filter;
        self.subscription = Subscription { cursor, ..row };
        self.pace.allow(allowed(&self.shared, &self.subscription));
        if self.subscription.held_until.is_none() {
            // A caller has lifted the hold, if there was one.
            self.pace.lift();
            self.held_until.store(i64::MIN, Ordering::Relaxed);
        }
        self.is_changed = true;
        self.look_for_failures = true;
        self.look_for_ranges = true;
        if let Some(filter) = self.subscription.filter.clone().filter(|_| is_filter_new) {
            self.narrow(&filter);
            self.reads_by_old_filter = self.reading.is_some();
        }
    }

    /// A page whose read began before the filter was narrowed is narrowed when it arrives.
    fn narrow_old_page(&mut self) {
        if !std::mem::take(&mut self.reads_by_old_filter) {
            return;
        }
        if let Some(filter) = self.subscription.filter.clone() {
            self.narrow(&filter);
        }
    }

    /// Queued messages that the filter excludes are not sent, and those in flight are not retried.
    fn narrow(&mut self, filter: &[String]) {
        let is_wanted = |event: &String| event == TO_EVERYBODY || filter.contains(event);
        let left_out = self.queue.take_out(|item| item.message.account.clone(), |item| is_wanted(&item.message.event));
        for QueuedMessage { source, message } in left_out {
            match source {
                MessageSource::Log => self.log.finish(message.position),
                MessageSource::Range(_) => self.finish_in_range(message.position),
                // The store has removed it.
                MessageSource::Failures(_) => drop(self.retrying.remove(&message.position)),
            }
        }
        if let Some((range, _)) = &mut self.range {
            let kept = range.filter.take().map(|events| events.into_iter().filter(|event| is_wanted(event)).collect());
            range.filter = Some(kept.unwrap_or_else(|| filter.to_vec()));
        }
        self.unwanted.extend(self.sent.iter().filter(|(_, event)| !is_wanted(event)).map(|(position, _)| *position));
    }

    fn finish_in_range(&mut self, position: i64) {
        if let Some((_, window)) = &mut self.range {
            window.finish(position);
        }
    }

    /// Stops waiting for messages in flight: the next worker sends them again.
    fn abandon(&mut self) {
        let left = std::mem::take(&mut self.in_flight).len() as u64;
        self.shared.metrics.in_flight.sub(left);
        tracing::info!(
            webhook_uuid = %self.subscription.uuid, messages = left,
            "a webhook URL did not respond before the shutdown; its messages are sent again"
        );
    }

    fn answer_waiters(&mut self) {
        let has_more = self.look_for_ranges || self.look_for_failures || self.log.read_to() < self.through;
        // Attempts that no caller waited for count for the next caller.
        if self.waiters.is_empty() || (has_more && !self.is_held()) {
            return;
        }
        for waiter in self.waiters.drain(..) {
            // The caller may have given up.
            let _ = waiter.send(self.attempts_made);
        }
        self.attempts_made = 0;
    }
}

/// The limits of the general settings and of a subscription.
fn allowed(shared: &WorkerContext, subscription: &Subscription) -> Allowed {
    let own = subscription.max_in_flight.map_or(usize::MAX, |most| most as usize);
    Allowed { at_once: shared.settings.most_in_flight.min(own).max(1), per_second: subscription.max_per_second }
}

/// Waits until messages in flight are no longer waited for.
async fn told_to_hurry(hurry: &mut Hurry) {
    // The sender is dropped only when everything is.
    let _ = hurry.wait_for(|is_so| *is_so).await;
}

/// Waits for a task; for ever if there is none.
async fn poll<F: Future + Unpin>(task: &mut Option<F>) -> F::Output {
    match task {
        Some(task) => task.await,
        None => std::future::pending().await,
    }
}

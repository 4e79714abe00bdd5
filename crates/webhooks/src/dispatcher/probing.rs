//! Probes of paused URLs: one of its dead letters is sent to it from time to time, and when it accepts one, it is
//! resumed.
//!
//! Only a URL that was paused by errors is probed. The time of the next probe is in its row in the store, so it is also
//! probed after a restart, or by another node.

use super::worker::sending::{UNAUTHORIZED, judge, post, reason, said};
use super::{Dispatcher, WorkerContext, WorkerRegistry};
use crate::policy::Verdict;
use daybook_engine::time::Time;
use daybook_store::error::StoreError;
use daybook_store::outbox::{
    DeadLetter, DeliveryAttempt, DeliveryFilter, Failure, Fate, Outgoing, Pause, Probed, Recorded, Subscription,
    SubscriptionFilter,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long the lease on a paused subscription lasts: longer than one attempt.
const CLAIM_MICROS: i64 = 60_000_000;
/// How many URLs are probed at once.
const MOST: usize = 64;
/// Among this many dead letters, the one with the fewest attempts is tried, so that a single bad message does not block
/// the others.
const CANDIDATES: usize = 16;
/// How long to wait when the store is unavailable.
const STORE_AWAY: Duration = Duration::from_millis(500);

/// A message of a paused URL that is being tried.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) task: JoinHandle<()>,
    /// Accepts callers that want to know whether a message was tried.
    waiters: mpsc::UnboundedSender<oneshot::Sender<usize>>,
    /// Whether it was tried and recorded: the URL may be probed again even if the task has not quite ended.
    has_tried: Arc<AtomicBool>,
}

impl Probe {
    fn has_ended(&self) -> bool {
        self.has_tried.load(Ordering::Acquire) || self.task.is_finished()
    }
}

impl Dispatcher {
    /// Tries one message of each paused URL whose probe is due.
    pub(super) async fn probe(
        &self,
        registry: &mut WorkerRegistry,
        now: Time,
        done: &mut Option<&mut Vec<oneshot::Receiver<usize>>>,
    ) -> Result<(), StoreError> {
        registry.probes.retain(|_, probe| !probe.has_ended());
        let until = now.plus_micros(CLAIM_MICROS);
        for subscription in self.shared.outbox.claim_probes(&self.shared.token, now, until, MOST).await? {
            let id = subscription.id;
            let (waiter, wait) = oneshot::channel();
            if let Some(done) = done {
                done.push(wait);
            }
            if let Some(under_way) = registry.probes.get(&id) {
                // A probe that has just ended drops the waiter, which makes the caller check again.
                let _ = under_way.waiters.send(waiter);
                continue;
            }
            let (waiters, mut waiting) = mpsc::unbounded_channel();
            let _ = waiters.send(waiter);
            let (shared, nudge, has_tried) = (self.shared.clone(), self.nudge.clone(), Arc::<AtomicBool>::default());
            let tells = has_tried.clone();
            let probe = async move {
                let tried = tokio::select! {
                    tried = try_one(&shared, &subscription) => tried,
                    () = stopped(&shared) => Ok(false),
                };
                let tried = tried.unwrap_or_else(|error| {
                    let webhook_uuid = &subscription.uuid;
                    tracing::warn!(%error, %webhook_uuid, "a paused webhook URL could not be probed");
                    false
                });
                tells.store(true, Ordering::Release);
                nudge.changed();
                waiting.close();
                while let Ok(waiter) = waiting.try_recv() {
                    // A waiting caller may have given up.
                    let _ = waiter.send(usize::from(tried));
                }
            };
            registry.probes.insert(id, Probe { task: tokio::spawn(probe), waiters, has_tried });
        }
        Ok(())
    }
}

async fn stopped(shared: &WorkerContext) {
    // The other half of the channel is in the same struct.
    let _ = shared.hurry.subscribe().wait_for(|is_so| *is_so).await;
}

/// Tries one message; returns whether there was one.
async fn try_one(shared: &Arc<WorkerContext>, of: &Subscription) -> Result<bool, StoreError> {
    let Some(pause) = &of.paused else { return Ok(false) };
    let Some((letter, message)) = waiting(shared, of).await? else { return Ok(false) };
    let keys = shared.support.keys(of.org).await.map_err(StoreError::Unavailable)?;
    let keys: Vec<_> = keys.iter().map(|key| key.standard()).collect();
    let began_at = shared.clock.now();
    let reply = post(&shared.sender.pool_of(of.org, &of.url), &keys, &message, began_at).await;
    let ended_at = shared.clock.now();
    let verdict = judge(&reply, None, ended_at, &shared.schedule);
    shared.metrics.note_probe(of.org, &of.uuid, verdict);
    let is_taken = verdict == Verdict::Delivered;
    let attempts = letter.attempts + 1;
    let failed = (!is_taken).then(|| Failure {
        position: message.position,
        attempts,
        first_failed_at: Some(ended_at),
        fate: Fate::Dead(letter.dead_at),
        reason: reason(&reply),
        status: reply.status,
        streak: of.streak,
    });
    let lets_nobody_in = verdict == (Verdict::Dead { pauses: true });
    let probed = Probed {
        org: of.org,
        subscription: of.id,
        token: shared.token.clone(),
        paused_at: pause.at,
        attempt: DeliveryAttempt {
            position: message.position,
            number: attempts,
            at: began_at,
            latency_us: i64::try_from(reply.latency.as_micros()).unwrap_or(i64::MAX),
            status: reply.status,
            error: failed.as_ref().map(|failure| failure.reason.clone()),
            response: said(&reply),
            next_at: None,
        },
        failed,
        reason: lets_nobody_in.then(|| UNAUTHORIZED.to_owned()),
        probe_at: if lets_nobody_in { None } else { next(shared, pause, ended_at) },
    };
    record(shared, &probed).await?;
    if is_taken {
        tracing::info!(webhook_uuid = %of.uuid, "a paused webhook URL accepts messages again");
    }
    Ok(true)
}

fn next(shared: &WorkerContext, pause: &Pause, now: Time) -> Option<Time> {
    shared.schedule.next_probe(pause.at, now)
}

/// The dead letter to try, with its message.
async fn waiting(shared: &WorkerContext, of: &Subscription) -> Result<Option<(DeadLetter, Outgoing)>, StoreError> {
    let filter = DeliveryFilter { subscription: Some(of.id), ..DeliveryFilter::default() };
    let letters = shared.outbox.dead_letters(of.org, &filter, shared.clock.now(), None, CANDIDATES).await?;
    let Some(letter) = letters.into_iter().min_by_key(|letter| (letter.attempts, letter.about.position)) else {
        return Ok(None);
    };
    let (reader, position) = (SubscriptionFilter { filter: None, ..of.subscription_filter() }, letter.about.position);
    let message = shared.outbox.feed(reader, position - 1, position, 1).await?.pop();
    Ok(message.map(|message| (letter, message)))
}

async fn record(shared: &WorkerContext, probed: &Probed) -> Result<Recorded, StoreError> {
    loop {
        match shared.outbox.record_probe(probed).await {
            Err(reason) if reason.is_unavailable() && !shared.is_stopping() => {
                tracing::warn!(%reason, "a delivery could not be recorded; recording is retried");
                tokio::time::sleep(STORE_AWAY).await;
            }
            recorded => return recorded,
        }
    }
}

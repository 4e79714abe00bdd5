//! Sends messages, and decides what the responses mean.

use super::{FinishedAttempt, MOST_UNRECORDED, MessageSource, QueuedMessage, Worker, WorkerExit};
use crate::dispatcher::ledger::{AttemptResult, Weight};
use crate::dispatcher::pace::USUAL_HOLD;
use crate::envelope;
use crate::policy::{self, ReceiverResponse, Verdict};
use crate::sender::{ConnectionPool, Fault, Post, Reply, RetryAfter};
use crate::signature::StandardKey;
use daybook_engine::time::Time;
use daybook_store::outbox::{Failure, Outgoing};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Why a URL is paused, by its name in the API.
pub(in crate::dispatcher) const UNAUTHORIZED: &str = "UNAUTHORIZED";
pub(in crate::dispatcher) const CONSECUTIVE_ERRORS: &str = "CONSECUTIVE_ERRORS";

impl Worker {
    pub(super) fn launch(&mut self) {
        let now = self.shared.clock.now();
        if self.leaving.is_some() || self.queue.len() == 0 || now >= self.lease_until {
            return;
        }
        while self.ledger.len() + self.in_flight.len() < MOST_UNRECORDED
            && self.pace.may_send(now, self.in_flight.len())
        {
            let Some(item) = self.queue.take() else { break };
            self.pace.sent(now, self.in_flight.len() + 1);
            self.send(item);
        }
    }

    pub(super) fn send(&mut self, item: QueuedMessage) {
        let (pool, keys) = (self.pool.clone(), self.keys.clone());
        let (began_at, under_way) = (self.shared.clock.now(), self.in_flight.len() + 1);
        self.shared.metrics.in_flight.add(1);
        self.sent.insert(item.message.position, item.message.event.clone());
        self.in_flight.push(Box::pin(async move {
            let reply = post(&pool, &keys, &item.message, began_at).await;
            FinishedAttempt { item, began_at, under_way, reply }
        }));
    }

    /// Records the result of an attempt.
    pub(super) fn finish(&mut self, FinishedAttempt { item, began_at, under_way, reply }: FinishedAttempt) {
        let now = self.shared.clock.now();
        let QueuedMessage { source, message } = item;
        self.queue.done(message.account.as_ref());
        self.attempts_made += 1;
        self.sent.remove(&message.position);
        match &source {
            MessageSource::Log => self.log.finish(message.position),
            MessageSource::Range(id) => {
                if let Some((_, window)) = self.range.as_mut().filter(|(range, _)| range.id == *id) {
                    window.finish(message.position);
                }
            }
            MessageSource::Failures(_) => {}
        }
        let before = match source {
            MessageSource::Failures(failure) => Some(*failure),
            MessageSource::Log | MessageSource::Range(_) => None,
        };
        let mut verdict = judge(&reply, before.as_ref(), now, &self.shared.schedule);
        self.shared.metrics.note(verdict);
        self.shared.metrics.note_url(self.subscription.org, &self.subscription.uuid, verdict);
        let weight = weigh(&reply);
        match weight {
            _ if verdict == Verdict::Delivered => self.pace.taken(now, began_at, under_way),
            Weight::Throttled => verdict = self.hold(&reply, now, under_way, verdict),
            Weight::Unreachable => self.pace.unreachable(now),
            Weight::Failed => self.pace.failed(),
            Weight::NotSent => {}
        }
        let may_have_failed = self.overlap > 0;
        self.overlap = self.overlap.saturating_sub(1);
        let outcome = AttemptResult {
            position: message.position,
            before,
            began_at,
            ended_at: now,
            latency_us: i64::try_from(reply.latency.as_micros()).unwrap_or(i64::MAX),
            status: reply.status,
            reason: if verdict == Verdict::Delivered { String::new() } else { reason(&reply) },
            response: said(&reply),
            verdict,
            weight,
        };
        self.ledger.note(outcome, may_have_failed);
        if self.unwanted.remove(&message.position) && verdict != Verdict::Delivered {
            self.ledger.drop_failure(message.position);
        }
        if verdict == (Verdict::Dead { pauses: true }) {
            self.leaving = Some(WorkerExit::Pausing(UNAUTHORIZED));
        } else if self.ledger.consecutive_errors() >= i64::from(self.shared.settings.pause_after) {
            self.leaving.get_or_insert(WorkerExit::Pausing(CONSECUTIVE_ERRORS));
        } else if self.leaving == Some(WorkerExit::Pausing(CONSECUTIVE_ERRORS)) {
            // A success of a message that was in flight: the URL accepts messages after all.
            self.leaving = self.is_told.then_some(WorkerExit::PausedOrRemoved);
        }
    }

    /// Pauses sending to a URL that answered 429, for as long as it requested, but not beyond the last retry of a
    /// message. The refused message is retried at the end of the hold, if that is later than its own next retry.
    fn hold(&mut self, reply: &Reply, now: Time, under_way: usize, verdict: Verdict) -> Verdict {
        let usual = now.plus_micros(i64::try_from(USUAL_HOLD.as_micros()).unwrap_or(i64::MAX));
        let latest = self.shared.schedule.last(now);
        let until = wanted_after(reply, now).map_or(usual, |at| at.clamp(now, latest));
        let held_until = self.pace.refused(now, under_way, until);
        self.held_until.store(held_until.micros(), Ordering::Relaxed);
        match verdict {
            Verdict::Retry(at) => Verdict::Retry(at.max(held_until)),
            Verdict::Delivered | Verdict::Dead { .. } => verdict,
        }
    }
}

/// Sends a message once.
pub(in crate::dispatcher) async fn post(
    pool: &ConnectionPool,
    keys: &[StandardKey],
    message: &Outgoing,
    began_at: Time,
) -> Reply {
    if message.data.is_empty() {
        return Reply::without_answer(Fault::Damaged, Duration::ZERO);
    }
    let body = envelope::body(&message.event, &message.data, &message.signature);
    let timestamp_s = began_at.seconds();
    let signatures: Vec<String> = keys.iter().map(|key| key.sign(&message.event_id, timestamp_s, &body)).collect();
    pool.post(Post { id: &message.event_id, timestamp_s, signature: signatures.join(" "), body }).await
}

/// How a response counts towards a pause.
fn weigh(reply: &Reply) -> Weight {
    match (reply.status, &reply.fault) {
        (Some(429), _) => Weight::Throttled,
        (None, Some(Fault::Refused | Fault::Unreachable(_) | Fault::NameNotFound(_) | Fault::Tls(_))) => {
            Weight::Unreachable
        }
        (None, Some(Fault::Damaged)) => Weight::NotSent,
        _ => Weight::Failed,
    }
}

/// The moment that a receiver requested with `Retry-After`.
fn wanted_after(reply: &Reply, now: Time) -> Option<Time> {
    reply.retry_after.map(|wanted| match wanted {
        RetryAfter::Seconds(seconds) => {
            now.plus_micros(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000).min(i64::MAX / 4))
        }
        RetryAfter::At(seconds) => Time::from_micros(seconds.saturating_mul(1_000_000)),
    })
}

pub(in crate::dispatcher) fn judge(
    reply: &Reply,
    before: Option<&Failure>,
    now: Time,
    schedule: &policy::RetrySchedule,
) -> Verdict {
    let answer = match (reply.status, &reply.fault) {
        (Some(status), _) => ReceiverResponse::Status(status),
        (None, Some(Fault::OnlyInformational)) => ReceiverResponse::OnlyInformational,
        // Another attempt would fail in the same way.
        (None, Some(Fault::Damaged)) => ReceiverResponse::NotAsked,
        (None, _) => ReceiverResponse::Nothing,
    };
    let first_failed_at = before.and_then(|before| before.first_failed_at);
    policy::decide(answer, first_failed_at, now, wanted_after(reply, now), schedule)
}

/// What happened, as a sentence.
pub(in crate::dispatcher) fn reason(reply: &Reply) -> String {
    match (reply.status, &reply.fault) {
        (Some(status @ 200..=299), _) => format!("answered {status}: only 200 and 202 count as delivered"),
        (Some(status @ 300..=399), _) => format!("answered {status}: redirects are not followed"),
        (Some(401), _) => "answered 401: the receiver refused access".to_owned(),
        (Some(status), _) => format!("answered {status}"),
        (None, Some(fault)) => fault.to_string(),
        (None, None) => "no response".to_owned(),
    }
}

/// The beginning of a response body, as text.
pub(in crate::dispatcher) fn said(reply: &Reply) -> Option<String> {
    let text = String::from_utf8_lossy(&reply.body_start).replace('\0', "\u{fffd}");
    (!text.is_empty()).then_some(text)
}

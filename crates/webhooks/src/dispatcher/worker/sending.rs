//! Sending, and judging what came back.

use super::{Done, Item, Leaving, MOST_UNRECORDED, Source, Worker};
use crate::dispatcher::ledger::Outcome;
use crate::envelope;
use crate::policy::{self, Answer, Verdict};
use crate::sender::{Fault, Post, Reply, RetryAfter};
use daybook_engine::time::Time;
use daybook_store::outbox::Failure;

impl Worker {
    pub(super) fn launch(&mut self) {
        if self.leaving.is_some() || self.queue.len() == 0 || self.shared.clock.now() >= self.lease_until {
            return;
        }
        while self.in_flight.len() < self.allowed && self.ledger.len() + self.in_flight.len() < MOST_UNRECORDED {
            let Some(item) = self.queue.take() else { break };
            self.send(item);
        }
    }

    pub(super) fn send(&mut self, item: Item) {
        let (door, keys) = (self.door.clone(), self.keys.clone());
        let began_at = self.shared.clock.now();
        self.shared.figures.in_flight.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.in_flight.push(Box::pin(async move {
            let message = &item.message;
            let body = envelope::body(&message.event, &message.data, &message.signature);
            let timestamp_s = began_at.seconds();
            let signatures: Vec<String> =
                keys.iter().map(|key| key.sign(&message.event_id, timestamp_s, &body)).collect();
            let signature = signatures.join(" ");
            let reply = door.post(Post { id: &message.event_id, timestamp_s, signature, body }).await;
            Done { item, began_at, reply }
        }));
    }

    /// Notes what came of an attempt.
    pub(super) fn finish(&mut self, Done { item, began_at, reply }: Done) {
        let now = self.shared.clock.now();
        let Item { source, message } = item;
        self.queue.done(message.account.as_ref());
        self.attempts_made += 1;
        match &source {
            Source::Log => self.log.finish(message.position),
            Source::Range(id) => {
                if let Some((_, window)) = self.range.as_mut().filter(|(range, _)| range.id == *id) {
                    window.finish(message.position);
                }
            }
            Source::Failures(_) => {}
        }
        let before = match source {
            Source::Failures(failure) => Some(*failure),
            Source::Log | Source::Range(_) => None,
        };
        let verdict = judge(&reply, before.as_ref(), now, &self.shared.schedule);
        self.shared.figures.note(verdict);
        if verdict == Verdict::Delivered {
            self.allowed = (self.allowed * 2).min(self.shared.settings.most_in_flight);
        } else {
            self.allowed = 1;
        }
        if let Verdict::Retry(at) = verdict {
            self.next_retry = Some(self.next_retry.map_or(at, |next| next.min(at)));
        }
        let may_have_failed = self.overlap > 0;
        self.overlap = self.overlap.saturating_sub(1);
        let outcome = Outcome {
            position: message.position,
            before,
            began_at,
            ended_at: now,
            latency_us: i64::try_from(reply.latency.as_micros()).unwrap_or(i64::MAX),
            status: reply.status,
            reason: if verdict == Verdict::Delivered { String::new() } else { reason(&reply) },
            response: said(&reply),
            verdict,
        };
        self.ledger.note(outcome, may_have_failed);
        if verdict == (Verdict::Dead { pauses: true }) {
            self.leaving = Some(Leaving::Pausing("UNAUTHORIZED"));
        } else if self.ledger.consecutive_errors() >= i64::from(self.shared.settings.pause_after) {
            self.leaving.get_or_insert(Leaving::Pausing("CONSECUTIVE_ERRORS"));
        }
    }
}

fn judge(reply: &Reply, before: Option<&Failure>, now: Time, schedule: &policy::Schedule) -> Verdict {
    let answer = match (reply.status, &reply.fault) {
        (Some(status), _) => Answer::Status(status),
        (None, Some(Fault::OnlyInformational)) => Answer::OnlyInformational,
        (None, _) => Answer::Nothing,
    };
    let not_before = reply.retry_after.map(|wanted| match wanted {
        RetryAfter::Seconds(seconds) => {
            now.plus_micros(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000).min(i64::MAX / 4))
        }
        RetryAfter::At(seconds) => Time::from_micros(seconds.saturating_mul(1_000_000)),
    });
    policy::decide(answer, before.and_then(|before| before.first_failed_at), now, not_before, schedule)
}

/// What happened, as a sentence.
fn reason(reply: &Reply) -> String {
    match (reply.status, &reply.fault) {
        (Some(status @ 200..=299), _) => format!("answered {status}: only 200 and 202 count as delivered"),
        (Some(status @ 300..=399), _) => format!("answered {status}: redirects are not followed"),
        (Some(401), _) => "answered 401: the URL does not let us in".to_owned(),
        (Some(status), _) => format!("answered {status}"),
        (None, Some(fault)) => fault.to_string(),
        (None, None) => "no answer".to_owned(),
    }
}

/// The beginning of what a receiver said, as text.
fn said(reply: &Reply) -> Option<String> {
    let text = String::from_utf8_lossy(&reply.body_start).replace('\0', "\u{fffd}");
    (!text.is_empty()).then_some(text)
}

//! Results that are not recorded yet, and a subscription's failure counts.

use crate::policy::Verdict;
use daybook_engine::time::Time;
use daybook_store::outbox::{Deliveries, DeliveryAttempt, Failure, Fate, Subscription};
use std::collections::BTreeMap;

/// Results to be recorded in the store.
#[derive(Debug)]
pub(super) struct Ledger {
    attempts: Vec<DeliveryAttempt>,
    failed: BTreeMap<i64, Failure>,
    recovered: Vec<i64>,
    last_success_at: Option<Time>,
    /// The number of different messages that failed since the last success.
    consecutive_errors: i64,
    streak: i64,
    /// When a failure to connect was last counted.
    unreachable_at: Option<Time>,
    /// The filter when results were last taken: some results may belong to it, even if it was changed since then.
    filter: Option<Vec<String>>,
}

/// The result of one attempt.
#[derive(Debug)]
pub(super) struct AttemptResult {
    /// The message's position.
    pub position: i64,
    /// The earlier failure, if there was one.
    pub before: Option<Failure>,
    /// When the attempt began.
    pub began_at: Time,
    /// When it ended.
    pub ended_at: Time,
    /// How long it took, in microseconds.
    pub latency_us: i64,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// What happened, as a sentence.
    pub reason: String,
    /// The beginning of the response body, if the receiver did not accept the message.
    pub response: Option<String>,
    /// What happens to the message.
    pub verdict: Verdict,
    /// How a failure counts towards a pause.
    pub weight: Weight,
}

/// How a failure counts towards a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// As one failure.
    Failed,
    /// As one failure together with all others of the same second.
    Unreachable,
    /// Not at all: the URL requested a delay.
    Throttled,
    /// Not at all: nothing was sent.
    NotSent,
}

/// Failures to connect within this time count as one.
const ONE_FAILURE_MICROS: i64 = 1_000_000;
/// The series number of a failure that was not counted.
const NOT_COUNTED: i64 = -1;

impl Ledger {
    /// An empty ledger that continues the counts of a subscription.
    pub(super) fn of(subscription: &Subscription) -> Ledger {
        Ledger {
            attempts: Vec::new(),
            failed: BTreeMap::new(),
            recovered: Vec::new(),
            last_success_at: None,
            consecutive_errors: subscription.consecutive_errors,
            streak: subscription.streak,
            unreachable_at: None,
            filter: subscription.filter.clone(),
        }
    }

    /// How many results there are.
    pub(super) fn len(&self) -> usize {
        self.attempts.len()
    }

    /// The number of different messages that failed since the last success.
    pub(super) fn consecutive_errors(&self) -> i64 {
        self.consecutive_errors
    }

    /// Adds the result of an attempt. `may_have_failed`: whether the message may have a failure that is not known here.
    pub(super) fn note(&mut self, outcome: AttemptResult, may_have_failed: bool) {
        let AttemptResult {
            position,
            before,
            began_at,
            ended_at,
            latency_us,
            status,
            reason,
            response,
            verdict,
            weight,
        } = outcome;
        let number = before.as_ref().map_or(0, |before| before.attempts) + 1;
        let fate = match verdict {
            Verdict::Delivered => None,
            Verdict::Retry(at) => Some(Fate::Retry(at)),
            Verdict::Dead { .. } => Some(Fate::Dead(ended_at)),
        };
        let next_at = if let Some(Fate::Retry(at)) = fate { Some(at) } else { None };
        let error = fate.is_some().then(|| reason.clone());
        let at = began_at;
        self.attempts.push(DeliveryAttempt { position, number, at, latency_us, status, error, response, next_at });
        let Some(fate) = fate else {
            self.last_success_at = self.last_success_at.max(Some(ended_at));
            if self.consecutive_errors > 0 {
                self.consecutive_errors = 0;
                self.streak += 1;
            }
            if before.is_some() || may_have_failed {
                self.recovered.push(position);
            }
            return;
        };
        let streak = self.count(before.as_ref(), ended_at, weight);
        let first_failed_at = before.and_then(|before| before.first_failed_at).or(Some(ended_at));
        self.failed
            .insert(position, Failure { position, attempts: number, first_failed_at, fate, reason, status, streak });
    }

    /// Counts a failure, unless it is counted already; returns the series in which the message is counted.
    fn count(&mut self, before: Option<&Failure>, now: Time, weight: Weight) -> i64 {
        let counted = before.map_or(NOT_COUNTED, |before| before.streak);
        let is_same_second = |at: Time| (0..ONE_FAILURE_MICROS).contains(&(now.micros() - at.micros()));
        match weight {
            _ if counted == self.streak => return counted,
            Weight::Throttled | Weight::NotSent => return counted,
            Weight::Unreachable if self.unreachable_at.is_some_and(is_same_second) => return counted,
            Weight::Unreachable => self.unreachable_at = Some(now),
            Weight::Failed => {}
        }
        self.consecutive_errors += 1;
        self.streak
    }

    /// Marks a failed message as not to be retried after all.
    pub(super) fn drop_failure(&mut self, position: i64) {
        self.failed.remove(&position);
        self.recovered.push(position);
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.position == position) {
            attempt.next_at = None;
        }
    }

    /// Adds a message that is dead without having been tried.
    pub(super) fn note_untried(&mut self, position: i64, now: Time, reason: &str) {
        let failure = Failure {
            position,
            attempts: 0,
            first_failed_at: None,
            fate: Fate::Dead(now),
            reason: reason.to_owned(),
            status: None,
            streak: self.streak,
        };
        self.failed.entry(position).or_insert(failure);
    }

    /// Takes all results to record them.
    pub(super) fn take(&mut self, subscription: &Subscription, token: &str) -> Deliveries {
        Deliveries {
            org: subscription.org,
            subscription: subscription.id,
            token: token.to_owned(),
            version: subscription.version,
            cursor: subscription.cursor,
            ahead: subscription.ahead.clone(),
            filter: std::mem::replace(&mut self.filter, subscription.filter.clone()),
            ranges: Vec::new(),
            attempts: std::mem::take(&mut self.attempts),
            failed: std::mem::take(&mut self.failed).into_values().collect(),
            recovered: std::mem::take(&mut self.recovered),
            last_success_at: self.last_success_at.take(),
            consecutive_errors: self.consecutive_errors,
            streak: self.streak,
            held_until: None,
            pause: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_store::outbox::OutOfOrder;

    fn at(seconds: i64) -> Time {
        Time::from_seconds(seconds)
    }

    fn subscription() -> Subscription {
        Subscription {
            org: 1,
            id: 1,
            uuid: "u".to_owned(),
            url: "https://example.com".to_owned(),
            filter: None,
            paused: None,
            consecutive_errors: 0,
            streak: 0,
            created_at: at(0),
            last_success_at: None,
            cursor: 0,
            version: 1,
            from_console: false,
            max_per_second: None,
            max_in_flight: None,
            held_until: None,
            ahead: OutOfOrder::default(),
        }
    }

    fn outcome(position: i64, before: Option<Failure>, verdict: Verdict) -> AttemptResult {
        let status = Some(if verdict == Verdict::Delivered { 200 } else { 500 });
        let (began_at, ended_at) = (at(10), at(11));
        AttemptResult {
            position,
            before,
            began_at,
            ended_at,
            latency_us: 5,
            status,
            reason: "r".into(),
            response: None,
            verdict,
            weight: Weight::Failed,
        }
    }

    #[test]
    fn a_message_counts_once_however_often_it_fails_and_a_success_ends_the_count() {
        let mut ledger = Ledger::of(&subscription());
        let retry = Verdict::Retry(at(70));
        ledger.note(outcome(1, None, retry), false);
        let first = ledger.take(&subscription(), "t");
        assert_eq!((first.consecutive_errors, first.failed[0].attempts), (1, 1));
        let before = first.failed[0].clone();
        assert_eq!(before.first_failed_at, Some(at(11)));
        ledger.note(outcome(1, Some(before.clone()), retry), false);
        ledger.note(outcome(2, None, Verdict::Dead { pauses: false }), false);
        assert_eq!(ledger.consecutive_errors(), 2);
        ledger.note(outcome(3, None, Verdict::Delivered), false);
        assert_eq!(ledger.consecutive_errors(), 0);
        ledger.note(outcome(1, Some(before.clone()), retry), false);
        assert_eq!(ledger.consecutive_errors(), 1, "after a success it counts again");
        let second = ledger.take(&subscription(), "t");
        assert_eq!((second.streak, second.attempts.len(), second.failed.len()), (1, 4, 2));
        assert_eq!(second.last_success_at, Some(at(11)));
        ledger.note(outcome(1, Some(second.failed[0].clone()), Verdict::Delivered), false);
        let third = ledger.take(&subscription(), "t");
        assert_eq!((third.recovered, third.failed.len()), (vec![1], 0));
    }

    #[test]
    fn throttling_counts_towards_no_pause_and_a_burst_of_refused_connections_is_one_failure() {
        let mut ledger = Ledger::of(&subscription());
        let failed = |position, weight, seconds| AttemptResult {
            weight,
            ended_at: at(seconds),
            ..outcome(position, None, Verdict::Retry(at(70)))
        };
        for position in 1..=30 {
            ledger.note(failed(position, Weight::Throttled, 11), false);
        }
        assert_eq!(ledger.consecutive_errors(), 0);
        for (position, seconds, expected) in [(31, 11, 1), (32, 11, 1), (33, 11, 1), (34, 12, 2), (35, 12, 2)] {
            ledger.note(failed(position, Weight::Unreachable, seconds), false);
            assert_eq!(ledger.consecutive_errors(), expected, "{position}");
        }
        let noted = ledger.take(&subscription(), "t");
        let counted = |position: i64| noted.failed[position as usize - 1].streak;
        assert_eq!((counted(1), counted(31), counted(32)), (NOT_COUNTED, 0, NOT_COUNTED));
        // A failure that was not counted counts if it fails in another way.
        ledger.note(outcome(1, Some(noted.failed[0].clone()), Verdict::Retry(at(90))), false);
        assert_eq!(ledger.consecutive_errors(), 3);
    }

    /// Results of messages that were sent under the previous filter are recorded with that filter, so that the store
    /// checks whether they are still wanted.
    #[test]
    fn results_have_the_filter_that_held_when_the_last_ones_were_taken() {
        let narrowed = Subscription { filter: Some(vec!["account_closed".to_owned()]), ..subscription() };
        let mut ledger = Ledger::of(&subscription());
        ledger.note(outcome(1, None, Verdict::Retry(at(70))), false);
        assert_eq!(ledger.take(&narrowed, "t").filter, None);
        assert_eq!(ledger.take(&narrowed, "t").filter, narrowed.filter);
    }
}

//! When the next retry is due: what the store returned, and what was recorded since it was queried.
//!
//! The store's result is as of the moment of the query. A failure that is recorded while the result is on its way is
//! not in it, so retries recorded since then are kept separately and never overwritten by the result.

use daybook_engine::time::Time;
use daybook_store::outbox::{Deliveries, Fate};

/// The moment of the next retry.
#[derive(Debug, Default)]
pub(super) struct Retries {
    /// The earliest that is known to be in the store.
    next: Option<Time>,
    /// The earliest of those that were recorded since the store was last queried.
    since_asked: Option<Time>,
    /// The earliest of those that are being recorded.
    recording: Option<Time>,
}

impl Retries {
    /// The next retry that the store knows of.
    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }

    /// Whether one is due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.next.is_some_and(|at| at <= now)
    }

    /// These results are being recorded.
    pub(super) fn record(&mut self, deliveries: &Deliveries) {
        let at = |fate: Fate| if let Fate::Retry(at) = fate { Some(at) } else { None };
        self.recording = deliveries.failed.iter().filter_map(|failure| at(failure.fate)).min();
    }

    /// The results that were being recorded are in the store.
    pub(super) fn recorded(&mut self) {
        let at = self.recording.take();
        self.next = earlier(self.next, at);
        self.since_asked = earlier(self.since_asked, at);
    }

    /// The store is being queried.
    pub(super) fn ask(&mut self) {
        self.since_asked = None;
    }

    /// The result of the query: the next retry in the store, unless some are due. Those are being sent, and the store
    /// is queried again when they are recorded.
    pub(super) fn answered(&mut self, next: Option<Time>) {
        self.next = earlier(next, self.since_asked);
    }
}

fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_store::outbox::Failure;

    fn at(seconds: i64) -> Time {
        Time::from_seconds(seconds)
    }

    fn failed(fates: &[Fate]) -> Deliveries {
        let failure = |(position, fate): (usize, &Fate)| Failure {
            position: position as i64,
            attempts: 1,
            first_failed_at: None,
            fate: *fate,
            reason: String::new(),
            status: None,
            streak: 0,
        };
        Deliveries { failed: fates.iter().enumerate().map(failure).collect(), ..Deliveries::default() }
    }

    #[test]
    fn what_is_recorded_while_the_store_answers_is_not_overwritten() {
        let mut retries = Retries::default();
        retries.ask();
        retries.record(&failed(&[Fate::Retry(at(90)), Fate::Retry(at(60)), Fate::Dead(at(1))]));
        assert_eq!(retries.next(), None, "it is not in the store yet");
        retries.recorded();
        assert_eq!(retries.next(), Some(at(60)));
        retries.answered(None);
        assert_eq!(retries.next(), Some(at(60)), "the store was asked before it was recorded");
        assert!(retries.is_due(at(60)) && !retries.is_due(at(59)));
        retries.ask();
        retries.answered(Some(at(90)));
        assert_eq!(retries.next(), Some(at(90)), "the store was asked after it was recorded");
    }

    #[test]
    fn what_is_still_being_recorded_counts_when_it_is_in_the_store() {
        let mut retries = Retries::default();
        retries.record(&failed(&[Fate::Retry(at(60))]));
        retries.ask();
        retries.answered(None);
        assert_eq!(retries.next(), None);
        retries.recorded();
        assert_eq!(retries.next(), Some(at(60)));
        retries.record(&failed(&[]));
        retries.recorded();
        assert_eq!(retries.next(), Some(at(60)));
    }
}

//! Slices: an account with very much to process is folded in several transactions.
//!
//! Each slice ends between two instants and advances `processed_through`, so the account is consistent after each one.
//! Between two slices, the first fold or release of an account is *under way*: its records are still held, but those up
//! to `processed_through` are folded ([`Book::is_under_way`]). The next request to the account first continues that
//! work.

use super::book::{Book, Halt, Rolled};
use super::journal::{JournalEntry, Record};
use daybook_engine::item::Name;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use std::collections::HashMap;

/// How much of an account is folded in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// At most this many steps.
    pub steps: u64,
    /// At most this many bytes of messages.
    pub bytes: usize,
}

/// From a payment until its status is decided: includes the start, excludes the end.
type Span = (Time, Time);

/// Measures how full a slice is.
pub(super) struct Meter {
    slice: Slice,
    /// No slice ends within these spans.
    unsettled: Vec<Span>,
    /// The last step's time.
    pub at: Time,
    /// Bytes of messages so far.
    pub bytes: usize,
}

impl Meter {
    pub(super) fn new(slice: Slice, unsettled: Vec<Span>) -> Meter {
        Meter { slice, unsettled, at: Time::BEGINNING, bytes: 0 }
    }

    pub(super) fn is_full(&self, steps: u64) -> bool {
        (steps >= self.slice.steps || self.bytes >= self.slice.bytes) && !self.is_unsettled()
    }

    /// Whether a payment is folded and the decision about its status is not.
    fn is_unsettled(&self) -> bool {
        let begun = self.unsettled.partition_point(|(from, _)| *from <= self.at);
        // The spans do not overlap, so only the last one that has begun can be open.
        self.unsettled[..begun].last().is_some_and(|(_, until)| self.at < *until)
    }
}

impl Book {
    /// [`Book::settle`], limited to one slice if there is one. Returns whether nothing is left to do.
    pub fn settle_some(&mut self, now: Time, slice: Option<Slice>) -> Result<bool, Halt> {
        self.slice = slice;
        let settled = self.settle(now);
        self.slice = None;
        settled.map(|_| slice.is_none() || !self.is_behind(now))
    }

    /// [`Book::roll`], limited to one slice: the clock may move less far than requested.
    pub fn roll_some(&mut self, to: Time, webhooks: bool, now: Time, slice: Slice) -> Result<Rolled, Halt> {
        self.slice = Some(slice);
        let rolled = self.roll(to, webhooks, now);
        self.slice = None;
        rolled
    }

    /// Whether anything is left to process up to the account clock.
    fn is_behind(&self, now: Time) -> bool {
        if self.is_under_way() {
            return true;
        }
        let is_let_go = !self.product.mode.holding && self.now.held_events == 0;
        is_let_go && self.now.processed_through.is_some_and(|through| through < self.clock(now))
    }

    /// Whether its first fold or release has begun and is not finished.
    pub fn is_under_way(&self) -> bool {
        self.now.settled_seq == 0 && self.now.processed_through.is_some()
    }

    /// A first fold folds a payment with the status that later inputs give it. So no slice may end after such a payment
    /// and before the input that decides its status. Returns these spans in order; they do not overlap.
    pub(super) fn unsettled(&self) -> Vec<Span> {
        let revision = |record: &'_ JournalEntry| match &record.record {
            Record::Input(Input::Reversal { payment } | Input::PaymentStatus { payment, .. }) => {
                Some((payment.clone(), record.place.at))
            }
            _ => None,
        };
        let held = self.journal.iter().filter(|record| self.is_held(record));
        let revisions: Vec<(Name, Time)> = held.filter_map(revision).collect();
        if revisions.is_empty() {
            return Vec::new();
        }
        let places: HashMap<&str, Time> =
            self.journal.iter().map(|record| (&*record.row.name, record.place.at)).collect();
        let span = |(payment, until): &(Name, Time)| places.get(&**payment).map(|from| (*from, *until));
        joined(revisions.iter().filter_map(span).collect())
    }
}

/// Sorts spans and merges those that touch.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for (from, until) in spans {
        match joined.last_mut() {
            Some((_, last)) if from <= *last => *last = until.max(*last),
            _ => joined.push((from, until)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Time {
        Time::from_micros(second * 1_000_000)
    }

    #[test]
    fn a_slice_ends_before_a_payment_or_after_what_becomes_of_it() {
        let spans = vec![(at(50), at(60)), (at(10), at(20)), (at(15), at(30)), (at(5), at(6))];
        let mut meter = Meter::new(Slice { steps: 1, bytes: 1 }, joined(spans));
        assert_eq!(meter.unsettled, [(at(5), at(6)), (at(10), at(30)), (at(50), at(60))]);
        for (second, may_end) in [(4, true), (5, false), (6, true), (10, false), (29, false), (30, true), (59, false)] {
            meter.at = at(second);
            assert_eq!(meter.is_full(1), may_end, "at {second}");
        }
    }
}

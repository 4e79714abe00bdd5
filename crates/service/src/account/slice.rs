//! Slices: an account with very much to work through is folded in several transactions.
//!
//! Each slice ends between two instants and moves `processed_through` on, so what is written after it is right by itself.
//! The first fold of an account, or its release, is *under way* between two slices: its records are held still, and those
//! up to `processed_through` are folded ([`Book::is_under_way`]). Whatever is asked of it next goes on with that first.

use super::book::{Book, Halt, Rolled};
use super::journal::{Journal, Record};
use daybook_engine::item::Name;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use std::collections::HashMap;

/// How much of an account is folded in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// So many steps.
    pub steps: u64,
    /// Or so many bytes of messages.
    pub bytes: usize,
}

/// From a payment until something becomes of it: the beginning is part of it, the end is not.
type Span = (Time, Time);

/// How full a slice is.
pub(super) struct Meter {
    slice: Slice,
    /// No slice ends within these.
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

    /// Whether a payment is folded by now, and what becomes of it is not.
    fn is_unsettled(&self) -> bool {
        let begun = self.unsettled.partition_point(|(from, _)| *from <= self.at);
        // None reaches into another, so the last that has begun is the only one that can be open.
        self.unsettled[..begun].last().is_some_and(|(_, until)| self.at < *until)
    }
}

impl Book {
    /// [`Book::settle`], but no more than a slice of it; gives whether nothing is left to do.
    pub fn settle_some(&mut self, now: Time, slice: Slice) -> Result<bool, Halt> {
        self.slice = Some(slice);
        let settled = self.settle(now);
        self.slice = None;
        settled.map(|_| !self.is_behind(now))
    }

    /// [`Book::roll`], but no more than a slice of it: then the clock is moved less far.
    pub fn roll_some(&mut self, to: Time, webhooks: bool, now: Time, slice: Slice) -> Result<Rolled, Halt> {
        self.slice = Some(slice);
        let rolled = self.roll(to, webhooks, now);
        self.slice = None;
        rolled
    }

    /// Whether something is left to do before the account stands at its clock.
    fn is_behind(&self, now: Time) -> bool {
        if self.is_under_way() {
            return true;
        }
        let is_let_go = !self.product.mode.holding && self.now.held_events == 0;
        is_let_go && self.now.processed_through.is_some_and(|through| through < self.clock(now))
    }

    /// Whether its first fold, or its release, has begun and is not done.
    pub fn is_under_way(&self) -> bool {
        self.now.settled_seq == 0 && self.now.processed_through.is_some()
    }

    /// A first fold folds a payment as what becomes of it later. So no slice ends where such a payment is folded and what
    /// becomes of it is not: within these spans, in order, none of which reaches into another.
    pub(super) fn unsettled(&self) -> Vec<Span> {
        let revision = |record: &'_ Journal| match &record.record {
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
        let places: HashMap<&str, Time> = self.journal.iter().map(|record| (&*record.name, record.place.at)).collect();
        let span = |(payment, until): &(Name, Time)| places.get(&**payment).map(|from| (*from, *until));
        joined(revisions.iter().filter_map(span).collect())
    }
}

/// Spans in order, those that touch made one.
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

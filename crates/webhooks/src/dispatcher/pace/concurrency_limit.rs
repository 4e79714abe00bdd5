//! Limits how many messages are in flight at once.

use super::SECOND;
use daybook_engine::time::Time;
use std::collections::VecDeque;

/// The limit after the first success.
const AFTER_FIRST: usize = 4;
/// A learnt limit is tested again after this many times the length of the hold that a refusal costs.
const TRY_AFTER: i64 = 20;
/// The longest time between two tests, in the same unit.
const TRY_AFTER_MOST: i64 = 640;

/// For this many accepted messages, the time in flight is kept.
const MOST_KEPT: usize = 256;

/// The limit on messages in flight.
#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    /// How many may be in flight now.
    most: usize,
    /// The limit that was learnt.
    limit: Option<LearntLimit>,
    /// The most that were in flight since the last hold, and the most with which one was accepted.
    peak: usize,
    taken_with: usize,
    /// When the last accepted messages were sent and answered.
    taken: VecDeque<(Time, Time)>,
    /// The most that were in flight when a message was sent that was then refused.
    refused_with: usize,
}

#[derive(Clone, Copy, Debug)]
struct LearntLimit {
    at_once: usize,
    /// The limit before more were tried.
    held: Option<usize>,
    /// When more are tried, and how many more.
    try_at: Time,
    step: usize,
    /// How long until then, after a refusal.
    wait: i64,
}

impl Default for ConcurrencyLimit {
    fn default() -> ConcurrencyLimit {
        ConcurrencyLimit { most: 1, limit: None, peak: 0, taken_with: 0, taken: VecDeque::new(), refused_with: 0 }
    }
}

impl ConcurrencyLimit {
    pub(super) fn most(&self) -> usize {
        self.most
    }

    pub(super) fn sent(&mut self, under_way: usize) {
        self.peak = self.peak.max(under_way);
    }

    pub(super) fn taken(&mut self, now: Time, sent_at: Time, under_way: usize) {
        self.taken.push_back((sent_at, now));
        if self.taken.len() > MOST_KEPT {
            self.taken.pop_front();
        }
        self.taken_with = self.taken_with.max(under_way);
        let grown = if self.most == 1 { AFTER_FIRST } else { self.most.saturating_add(1) };
        let Some(limit) = &mut self.limit else {
            self.most = grown;
            return;
        };
        if now >= limit.try_at && under_way >= limit.at_once {
            limit.held = Some(limit.at_once);
            limit.at_once += limit.step;
            limit.step *= 2;
            limit.try_at = now.plus_micros(SECOND);
        }
        self.most = grown.min(limit.at_once).max(1);
    }

    pub(super) fn failed(&mut self) {
        self.most = 1;
    }

    /// A message was refused that was sent when this many were in flight.
    pub(super) fn refused(&mut self, under_way: usize) {
        self.refused_with = self.refused_with.max(under_way);
    }

    /// Whether about as many were in flight recently as the URL ever accepted. How many the URL had at once is known
    /// only roughly: messages arrive in another order, and some messages or responses are still in transit.
    pub(super) fn is_near_high(&self) -> bool {
        self.peak > 1 && self.peak * 10 >= self.taken_with * 8
    }

    /// Whether no limit was learnt yet, or more messages were tried than the limit, or more than had been accepted
    /// until then.
    pub(super) fn is_new(&self) -> bool {
        let Some(limit) = self.limit else { return true };
        self.refused_with > self.taken_with.max(1) || limit.held.is_some_and(|held| self.peak > held)
    }

    /// Learns the limit from the accepted and refused messages.
    pub(super) fn learn(&mut self, now: Time, hold: i64) {
        let seen = self.taken_together().min(self.peak.saturating_sub(1)).max(1);
        // The limit that held before more were tried applies again.
        let held = self.limit.and_then(|limit| limit.held).filter(|held| self.refused_with > *held);
        let at_once = held.unwrap_or(seen);
        let before = self.limit.map_or(TRY_AFTER / 4, |limit| limit.wait / hold.max(1));
        let is_confirmed = self.limit.is_none_or(|limit| limit.at_once.abs_diff(at_once) <= 1 + at_once / 8);
        let lengths = if is_confirmed { before.saturating_mul(4) } else { TRY_AFTER };
        let wait = lengths.clamp(TRY_AFTER, TRY_AFTER_MOST).saturating_mul(hold);
        self.limit = Some(LearntLimit { at_once, held: None, try_at: now.plus_micros(wait), step: 1, wait });
        self.most = at_once;
    }

    /// The most that were in flight at once and were all accepted.
    fn taken_together(&self) -> usize {
        let with = |moment: Time| self.taken.iter().filter(|(sent, ended)| *sent <= moment && moment < *ended).count();
        self.taken.iter().map(|(sent, _)| with(*sent)).max().unwrap_or(0)
    }

    /// Discards the counts from before a hold.
    pub(super) fn forget(&mut self) {
        (self.peak, self.refused_with) = (0, 0);
        self.taken.clear();
        self.taken_with = self.taken_with.min(self.limit.map_or(usize::MAX, |limit| limit.at_once));
    }
}

//! Limits how many messages are sent per second.
//!
//! A rate is stored as the gap between two messages. It is learnt from what the URL accepted before it refused: within
//! a second, or within the length of the hold it then requested, if that is longer.

use super::SECOND;
use daybook_engine::time::Time;
use std::collections::VecDeque;

/// A message that is late by this much or less does not delay the ones after it: they are sent sooner, but never more
/// in a second than the rate allows. The second value is for a URL that refused messages that were sent sooner.
const SLACK: i64 = 100_000;
const LITTLE_SLACK: i64 = 10_000;
/// How often that must have happened.
const TOO_OFTEN: u32 = 3;
/// A setting of n per second applies to any period of this length, because some messages arrive faster than others.
const SETTING_OVER: i64 = SECOND + SECOND / 50;
/// After how long a learnt rate is raised for the first time, and the longest interval between raises.
const RAISE_AFTER: i64 = 2 * SECOND;
const RAISE_AFTER_MOST: i64 = 600 * SECOND;
/// The most send times of recently accepted messages that are kept.
const MOST_KEPT: usize = 10_000;
/// By how many per cent a rate is raised: ever more, while the URL accepts it.
const RAISES: [i64; 7] = [1, 2, 4, 8, 16, 32, 50];
/// Two gaps are close together if they differ by this fraction.
const NARROW: i64 = 20;

/// The limit on messages per second.
#[derive(Debug, Default)]
pub(super) struct Rate {
    learnt: Option<Learnt>,
    /// When the last message was sent, and when the next may be sent by the learnt rate or the setting.
    next: Option<(Time, Time)>,
    /// When the last messages were sent, as many as are allowed in a second.
    sent: VecDeque<Time>,
    /// Whether the last message was sent sooner after the previous one than the rate allows, and how often the URL
    /// refused that.
    went_sooner: bool,
    refused_sooner: u32,
    /// When the last accepted messages were sent.
    taken: VecDeque<Time>,
    /// The most that were accepted in a second, as far as known: reduced a little with every refusal.
    best: usize,
    /// How many were accepted in the second before the last refusal.
    before_refusal: usize,
    /// How often in a row the URL refused a rate that had not been raised.
    misses: u32,
}

#[derive(Clone, Copy, Debug)]
struct Learnt {
    gap: i64,
    /// The gap with which the URL accepted everything for a while.
    good: Option<i64>,
    /// The gap that was too small: the next one tried lies between the two.
    refused: Option<i64>,
    /// When it is raised next, by which step, and the interval between raises.
    raise_at: Time,
    step: usize,
    wait: i64,
    /// How many were accepted since it was last raised.
    taken: i64,
}

impl Rate {
    /// When the next message may be sent; `None` if at once.
    pub(super) fn next_at(&self, now: Time, setting: Option<u32>) -> Option<Time> {
        // A clock that went back does not stop a URL.
        let paced = self.next.filter(|(last, _)| *last <= now && self.gap(setting).is_some()).map(|(_, next)| next);
        let full = |most: usize, over: i64| {
            let first = *self.sent.get(self.sent.len().checked_sub(most)?)?;
            Some(first.plus_micros(over)).filter(|_| first <= now)
        };
        let by_setting = setting.and_then(|most| full(most as usize, SETTING_OVER));
        let by_rate = self.most_learnt().and_then(|(most, over)| full(most, over));
        paced.into_iter().chain(by_setting).chain(by_rate).max()
    }

    /// How many may be sent in a second or slightly longer by the learnt rate, and the length of that period.
    fn most_learnt(&self) -> Option<(usize, i64)> {
        let gap = self.learnt?.gap;
        let most = (SECOND / gap).saturating_add(1);
        let kept = usize::try_from(most).ok().filter(|most| *most <= MOST_KEPT)?;
        Some((kept, most.saturating_mul(gap)))
    }

    fn gap(&self, setting: Option<u32>) -> Option<i64> {
        let set = setting.map(|most| SECOND / i64::from(most.max(1)));
        self.learnt.map(|learnt| learnt.gap).into_iter().chain(set).max()
    }

    pub(super) fn sent(&mut self, now: Time, setting: Option<u32>) {
        let learnt = self.most_learnt().map(|(most, _)| most);
        let most = setting.map(|most| most as usize).into_iter().chain(learnt).max();
        self.sent.push_back(now);
        while self.sent.len() > most.unwrap_or(0) {
            self.sent.pop_front();
        }
        let slack = if self.refused_sooner >= TOO_OFTEN { LITTLE_SLACK } else { SLACK };
        let planned = self.next.map(|(_, next)| next).filter(|next| *next <= now);
        let from = planned.map_or(now, |next| next.max(now.plus_micros(-slack)));
        let since_last = self.next.map(|(last, _)| now.micros() - last.micros());
        self.went_sooner = since_last.zip(self.gap(setting)).is_some_and(|(since, gap)| since + LITTLE_SLACK < gap);
        self.next = self.gap(setting).map(|gap| (now, from.plus_micros(gap)));
    }

    pub(super) fn taken(&mut self, now: Time, sent_at: Time) {
        self.taken.push_back(sent_at);
        if self.taken.len() > MOST_KEPT {
            self.taken.pop_front();
        }
        self.best = self.best.max(self.taken_since(sent_at.plus_micros(-SECOND)));
        let Some(learnt) = &mut self.learnt else { return };
        learnt.taken += 1;
        if now < learnt.raise_at {
            return;
        }
        // A rate that was not used does not show that a higher one would work.
        let was_used = learnt.taken.saturating_mul(learnt.gap) >= learnt.wait.min(RAISE_AFTER) / 2;
        if was_used {
            learnt.good = Some(learnt.gap);
            if let Some(refused) = learnt.refused {
                learnt.gap = i64::midpoint(learnt.gap, refused);
            } else {
                learnt.gap = (learnt.gap * 100 / (100 + RAISES[learnt.step])).max(1);
                learnt.step = (learnt.step + 1).min(RAISES.len() - 1);
            }
        }
        learnt.taken = 0;
        learnt.raise_at = now.plus_micros(learnt.wait);
    }

    /// How many accepted messages were sent after a moment.
    fn taken_since(&self, first: Time) -> usize {
        // They are kept in the order of their responses, which is nearly the order in which they were sent.
        self.taken.len() - self.taken.partition_point(|sent_at| *sent_at <= first)
    }

    /// Whether the URL, which refused at a moment, accepted far fewer in the second before than in its best second.
    pub(super) fn is_far_below_best(&self, refused_at: Time) -> bool {
        self.taken_since(refused_at.plus_micros(-SECOND)) * 10 < self.best * 8
    }

    /// Discards the counts from before a hold.
    pub(super) fn forget(&mut self, refused_at: Time) {
        self.before_refusal = self.taken_since(refused_at.plus_micros(-SECOND));
        self.taken.clear();
        self.best = self.best * 9 / 10;
    }

    /// Learns the rate from what was accepted until the URL refused at a moment and requested a hold of this length.
    pub(super) fn learn(&mut self, now: Time, refused_at: Time, hold: i64) {
        // A hold of about a second is a hold of one second that slightly later refusals made longer.
        let span = if hold < SECOND * 3 / 2 { SECOND } else { hold };
        let first = refused_at.plus_micros(-span);
        let taken = self.taken.iter().filter(|sent_at| **sent_at >= first).count();
        if taken == 0 && self.learnt.is_none() {
            return;
        }
        let taken = i64::try_from(taken).unwrap_or(i64::MAX).max(1);
        // A little below the limit.
        let seen = (span / taken).saturating_mul(102) / 100;
        let lately = self.taken_since(refused_at.plus_micros(-SECOND));
        let is_a_miss = self.learnt.is_some_and(|learnt| learnt.good.is_none());
        let (gap, wait, refused) = match self.learnt {
            // As many as before the last refusal: that is what the URL accepts.
            None if lately > 4 && lately.abs_diff(self.before_refusal) <= lately / NARROW as usize => {
                (seen, 4 * RAISE_AFTER, None)
            }
            None => (seen, RAISE_AFTER, None),
            // As close as possible: it is tested again from here, more rarely.
            Some(Learnt { good: Some(good), gap, wait, .. }) if good - gap <= good / NARROW => {
                (good.saturating_mul(101) / 100, wait.saturating_mul(4).min(RAISE_AFTER_MOST), None)
            }
            Some(Learnt { good: Some(good), gap, .. }) => (good, RAISE_AFTER, Some(gap)),
            // Refused at a rate that held before: a little less. Refused repeatedly: much less.
            Some(Learnt { gap, wait, .. }) if self.misses == 0 => {
                (gap.saturating_mul(102) / 100, wait.max(4 * RAISE_AFTER), None)
            }
            Some(Learnt { gap, .. }) => (seen.max(gap.saturating_mul(110) / 100), RAISE_AFTER, None),
        };
        let fewer = self.most_learnt().is_some_and(|(most, _)| (lately + 1) * 10 < most * 9);
        self.refused_sooner = self.refused_sooner.saturating_add(u32::from(self.went_sooner && fewer));
        self.misses = if is_a_miss { self.misses.saturating_add(1) } else { 0 };
        let gap = gap.max(1);
        let raise_at = now.plus_micros(wait);
        self.learnt = Some(Learnt { gap, good: None, refused, raise_at, step: 0, wait, taken: 0 });
        self.next = None;
    }
}

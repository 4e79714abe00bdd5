//! How many messages may go in a second.
//!
//! A rate is kept as the gap between two messages. It is learnt from what the URL took in the time before it refused: in
//! a second, or in as long as it then wanted to be left alone, if that is longer.

use super::SECOND;
use daybook_engine::time::Time;
use std::collections::VecDeque;

/// A message that goes late by this much or less does not delay the ones after it.
const SLACK: i64 = 20_000;
/// A setting of so many a second holds for any time of this length: messages may be faster than others on their way.
const SETTING_OVER: i64 = SECOND + SECOND / 50;
/// After how long a rate that was learnt is raised for the first time, and the longest it may take.
const RAISE_AFTER: i64 = 2 * SECOND;
const RAISE_AFTER_MOST: i64 = 600 * SECOND;
/// The most moments that are kept: of what was taken lately.
const MOST_KEPT: usize = 10_000;
/// By how many per cent a rate is raised: ever more, while the URL takes it.
const RAISES: [i64; 7] = [1, 2, 4, 8, 16, 32, 50];

/// How many a second.
#[derive(Debug, Default)]
pub(super) struct Rate {
    learnt: Option<Learnt>,
    /// When the last one went, and when the next may go by what was learnt, or by the setting.
    next: Option<(Time, Time)>,
    /// When the last ones went, as many as the setting allows in a second.
    sent: VecDeque<Time>,
    /// When the last ones that were taken had gone.
    taken: VecDeque<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Learnt {
    gap: i64,
    /// The gap with which the URL took everything for a while.
    good: Option<i64>,
    /// When it is raised next, by which step, and how long that takes.
    raise_at: Time,
    step: usize,
    wait: i64,
    /// How many were taken since it was last raised.
    taken: i64,
}

impl Rate {
    /// When the next may go; nothing if at once.
    pub(super) fn next_at(&self, now: Time, setting: Option<u32>) -> Option<Time> {
        // A clock that went back does not stop a URL.
        let paced = self.next.filter(|(last, _)| *last <= now && self.gap(setting).is_some()).map(|(_, next)| next);
        let full = setting.and_then(|most| self.sent.get(self.sent.len().checked_sub(most as usize)?)).copied();
        let full = full.filter(|first| *first <= now).map(|first| first.plus_micros(SETTING_OVER));
        paced.into_iter().chain(full).max()
    }

    fn gap(&self, setting: Option<u32>) -> Option<i64> {
        let set = setting.map(|most| SECOND / i64::from(most.max(1)));
        self.learnt.map(|learnt| learnt.gap).into_iter().chain(set).max()
    }

    pub(super) fn sent(&mut self, now: Time, setting: Option<u32>) {
        if let Some(most) = setting {
            self.sent.push_back(now);
            while self.sent.len() > most as usize {
                self.sent.pop_front();
            }
        } else {
            self.sent.clear();
        }
        let planned = self.next.map(|(_, next)| next).filter(|next| *next <= now);
        let from = planned.map_or(now, |next| next.max(now.plus_micros(-SLACK)));
        self.next = self.gap(setting).map(|gap| (now, from.plus_micros(gap)));
    }

    pub(super) fn taken(&mut self, now: Time, sent_at: Time) {
        self.taken.push_back(sent_at);
        if self.taken.len() > MOST_KEPT {
            self.taken.pop_front();
        }
        let Some(learnt) = &mut self.learnt else { return };
        learnt.taken += 1;
        if now < learnt.raise_at {
            return;
        }
        // A rate that was not used says nothing about a higher one.
        let was_used = learnt.taken.saturating_mul(learnt.gap) >= learnt.wait.min(RAISE_AFTER) / 2;
        if was_used {
            learnt.good = Some(learnt.gap);
            learnt.gap = (learnt.gap * 100 / (100 + RAISES[learnt.step])).max(1);
            learnt.step = (learnt.step + 1).min(RAISES.len() - 1);
        }
        learnt.taken = 0;
        learnt.raise_at = now.plus_micros(learnt.wait);
    }

    /// Learns the rate from what was taken until the URL refused at a moment, to be left alone for some time.
    pub(super) fn learn(&mut self, now: Time, refused_at: Time, hold: i64) {
        let span = hold.max(SECOND);
        let first = refused_at.plus_micros(-span);
        let taken = self.taken.iter().filter(|sent_at| **sent_at >= first).count();
        self.taken.clear();
        if taken == 0 && self.learnt.is_none() {
            return;
        }
        let taken = i64::try_from(taken).unwrap_or(i64::MAX).max(1);
        // A little less than the limit.
        let seen = (span / taken).saturating_mul(102) / 100;
        let (gap, wait) = match self.learnt {
            None => (seen, RAISE_AFTER),
            Some(Learnt { good: Some(good), wait, .. }) => {
                (good.saturating_mul(101) / 100, wait.saturating_mul(4).min(RAISE_AFTER_MOST))
            }
            Some(Learnt { gap, .. }) => (seen.max(gap.saturating_mul(110) / 100), RAISE_AFTER),
        };
        let gap = gap.max(1);
        self.learnt = Some(Learnt { gap, good: None, raise_at: now.plus_micros(wait), step: 0, wait, taken: 0 });
        self.next = None;
    }
}

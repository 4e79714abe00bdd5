//! How fast messages are sent to a URL: how many at once, how many per second, and when none at all.
//!
//! At first, nothing is known of a URL. One message is sent, then more at once with every success, until the URL
//! answers 429 or fails. After a failure, one message is sent at a time again. After a 429, nothing is sent until the
//! moment that the URL requested, and its limit is inferred from what it accepted:
//!
//! | the URL refused | then its limit is |
//! |---|---|
//! | more at once than it had accepted until then | the number at once: see [`concurrency_limit`] |
//! | about as many at once as it had accepted before, but far fewer in that second | the number at once |
//! | anything else | the number per second: see [`rate`] |
//!
//! A learnt limit is tested again from time to time, ever more rarely while it stays the same, because each test may
//! cost a refusal. All times come from the caller's clock.

mod concurrency_limit;
mod rate;

use concurrency_limit::ConcurrencyLimit;
use daybook_engine::time::Time;
use rate::Rate;
use std::time::Duration;

const SECOND: i64 = 1_000_000;
/// How long sending pauses after a refusal without `Retry-After`, and after a failure to connect.
pub(super) const USUAL_HOLD: Duration = Duration::from_secs(1);
/// The longest time that is added if a URL refuses everything.
const MOST_ADDED: i64 = 60 * SECOND;

/// The limits in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// The most messages at once.
    pub at_once: usize,
    /// The most messages per second, if limited.
    pub per_second: Option<u32>,
}

/// How fast messages are sent to a URL.
#[derive(Debug)]
pub(super) struct Pace {
    allowed: Allowed,
    concurrency: ConcurrencyLimit,
    rate: Rate,
    hold: Option<Hold>,
    /// How often in a row the URL refused without accepting anything in between.
    only_refused: u32,
    /// Whether anything was accepted since the last hold.
    took_something: bool,
}

/// A time in which nothing is sent.
#[derive(Clone, Copy, Debug)]
struct Hold {
    since: Time,
    until: Time,
    /// Caused by a 429: a limit is learnt at its end.
    refused: bool,
}

impl Pace {
    /// The pace for a URL of which nothing is known.
    pub(super) fn new(allowed: Allowed) -> Pace {
        Pace {
            allowed,
            concurrency: ConcurrencyLimit::default(),
            rate: Rate::default(),
            hold: None,
            only_refused: 0,
            took_something: false,
        }
    }

    /// Applies changed settings.
    pub(super) fn allow(&mut self, allowed: Allowed) {
        self.allowed = allowed;
    }

    /// Whether a message may be sent now, with this many in flight.
    pub(super) fn may_send(&mut self, now: Time, under_way: usize) -> bool {
        self.end_hold(now);
        self.hold.is_none()
            && under_way < self.concurrency.most().min(self.allowed.at_once)
            && self.rate.next_at(now, self.allowed.per_second).is_none_or(|at| at <= now)
    }

    /// When the next message may be sent if it may not be sent now, unless it waits for a response.
    pub(super) fn next_at(&self, now: Time) -> Option<Time> {
        let held = self.hold.map(|hold| hold.until);
        held.into_iter().chain(self.rate.next_at(now, self.allowed.per_second)).max()
    }

    /// Whether nothing may be sent now, regardless of responses.
    pub(super) fn is_waiting(&self, now: Time) -> bool {
        self.next_at(now).is_some_and(|at| at > now)
    }

    /// A message is sent; including it, this many are in flight.
    pub(super) fn sent(&mut self, now: Time, under_way: usize) {
        self.concurrency.sent(under_way);
        self.rate.sent(now, self.allowed.per_second);
    }

    /// The URL accepted a message that was sent at a moment, when this many were in flight.
    pub(super) fn taken(&mut self, now: Time, sent_at: Time, under_way: usize) {
        self.took_something = true;
        self.only_refused = 0;
        self.rate.taken(now, sent_at);
        self.concurrency.taken(now, sent_at, under_way);
    }

    /// The URL failed, other than by a 429.
    pub(super) fn failed(&mut self) {
        self.concurrency.failed();
    }

    /// The URL could not be connected to: sending pauses briefly.
    pub(super) fn unreachable(&mut self, now: Time) {
        self.concurrency.failed();
        self.hold_until(now, now.plus_micros(micros(USUAL_HOLD)), false);
    }

    /// The URL answered 429 to a message that was sent when this many were in flight, and requested a delay until a
    /// moment. Returns the moment until which sending is on hold.
    pub(super) fn refused(&mut self, now: Time, under_way: usize, until: Time) -> Time {
        if self.hold.is_none_or(|hold| !hold.refused) {
            // The first refusal of those that were in flight together.
            if !self.took_something {
                self.only_refused = self.only_refused.saturating_add(1);
            }
            self.took_something = false;
        }
        self.concurrency.refused(under_way);
        let asked = (until.micros() - now.micros()).max(micros(USUAL_HOLD));
        let doublings = self.only_refused.saturating_sub(1).min(6);
        let added = (asked << doublings).min(asked.max(MOST_ADDED)) - asked;
        self.hold_until(now, now.plus_micros(asked + added), true)
    }

    /// Continues a hold that the URL requested before this worker started.
    pub(super) fn go_on_holding(&mut self, now: Time, until: Time) {
        self.hold_until(now, until, false);
    }

    /// A person wants messages sent although the URL requested a delay.
    pub(super) fn lift(&mut self) {
        if let Some(hold) = self.hold.take().filter(|hold| hold.refused) {
            self.rate.forget(hold.since);
            self.concurrency.forget();
        }
        self.only_refused = 0;
    }

    /// Returns the moment until which the URL is on hold.
    fn hold_until(&mut self, now: Time, until: Time, refused: bool) -> Time {
        let before = self.hold;
        let until = before.map_or(until, |hold| hold.until.max(until));
        self.hold = Some(Hold {
            since: before.map_or(now, |hold| hold.since),
            until,
            refused: refused || before.is_some_and(|hold| hold.refused),
        });
        until
    }

    /// At the end of a hold, learns from what happened before it. A clock that went back ends a hold too.
    fn end_hold(&mut self, now: Time) {
        let Some(Hold { since, until, refused }) = self.hold else { return };
        if now < until && now >= since {
            return;
        }
        self.hold = None;
        if refused {
            let length = until.micros() - since.micros();
            let too_many_at_once =
                self.concurrency.is_near_high() && (self.concurrency.is_new() || self.rate.is_far_below_best(since));
            if too_many_at_once {
                self.concurrency.learn(now, length);
            } else {
                self.rate.learn(now, since, length);
            }
            self.rate.forget(since);
            self.concurrency.forget();
        }
    }
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;

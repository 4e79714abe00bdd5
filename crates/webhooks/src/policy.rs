//! The delivery policy: what happens to a message after an attempt, and when it is retried. Pure.
//!
//! | the receiver responds with | the message |
//! |---|---|
//! | 200, 202 | is delivered |
//! | 429, 5XX, no response | is retried 1, 3, 7, 15, … 1440 minutes after its first failure, then is dead |
//! | 401 | is dead, and the subscription is paused |
//! | anything else, including only 1XX | is dead |
//! | is not asked, because the stored message is damaged | is dead |
//!
//! A `Retry-After` header can delay a retry, at most until the following step. A step that has already passed, because
//! no sender was running, is skipped: the next one counts.

use daybook_engine::time::Time;
use std::time::Duration;

/// When a message is retried after its first failure, in multiples of the first wait.
const STEPS: [i64; 11] = [1, 3, 7, 15, 31, 63, 127, 255, 511, 1_023, 1_440];

/// The first and the last possible probe of a paused URL: 5 minutes and 5 days, in the same unit.
const PROBE_FIRST: i64 = 5;
const PROBE_LAST: i64 = 5 * 1_440;

/// The response of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverResponse {
    /// A final status.
    Status(u16),
    /// Only 1XX responses.
    OnlyInformational,
    /// No response: no connection, a timeout, or unreadable data.
    Nothing,
    /// None: nothing was sent, because the stored message is damaged.
    NotAsked,
}

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It arrived.
    Delivered,
    /// It is retried at this moment.
    Retry(Time),
    /// It is dead.
    Dead {
        /// Whether the subscription is paused as well, regardless of earlier failures.
        pauses: bool,
    },
}

/// When messages are retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySchedule {
    first_micros: i64,
}

impl RetrySchedule {
    /// The schedule whose first retry is this long after the first failure; the other steps scale with it.
    pub fn starting_with(first: Duration) -> RetrySchedule {
        RetrySchedule { first_micros: i64::try_from(first.as_micros()).unwrap_or(i64::MAX / STEPS[10]).max(1) }
    }

    /// The last retry of a message that first fails at a moment.
    pub fn last(&self, first_failed_at: Time) -> Time {
        first_failed_at.plus_micros(STEPS[STEPS.len() - 1].saturating_mul(self.first_micros))
    }

    /// The next probe of a URL that is paused since a moment: first after 5 times the first wait (5 minutes by
    /// default), then after twice as long each time, for 5 days by default.
    pub fn next_probe(&self, paused_at: Time, now: Time) -> Option<Time> {
        let moment = |lengths: i64| paused_at.plus_micros(lengths.saturating_mul(self.first_micros));
        let lengths = std::iter::successors(Some(PROBE_FIRST), |last| Some(last * 2 + PROBE_FIRST));
        let mut to_come = lengths.take_while(|lengths| *lengths <= PROBE_LAST).map(moment);
        to_come.find(|moment| *moment > now)
    }

    /// The next retry, if there is one: the first step still to come, or later if the receiver requests it, at most
    /// until the step after it.
    fn next(&self, first_failed_at: Time, now: Time, not_before: Option<Time>) -> Option<Time> {
        let moment = |step: &i64| first_failed_at.plus_micros(step.saturating_mul(self.first_micros));
        let mut to_come = STEPS.iter().map(moment).skip_while(|moment| *moment <= now);
        let next = to_come.next()?;
        let latest = to_come.next().unwrap_or(next);
        Some(not_before.map_or(next, |wanted| wanted.clamp(next, latest)))
    }
}

/// Decides what happens to a message that got this response at `now`. `first_failed_at` is `None` if it never failed
/// before; `not_before` is the moment that the receiver requested with `Retry-After`.
pub fn decide(
    answer: ReceiverResponse,
    first_failed_at: Option<Time>,
    now: Time,
    not_before: Option<Time>,
    schedule: &RetrySchedule,
) -> Verdict {
    match answer {
        ReceiverResponse::Status(200 | 202) => Verdict::Delivered,
        ReceiverResponse::Status(429 | 500..=599) | ReceiverResponse::Nothing => {
            match schedule.next(first_failed_at.unwrap_or(now), now, not_before) {
                Some(at) => Verdict::Retry(at),
                None => Verdict::Dead { pauses: false },
            }
        }
        ReceiverResponse::Status(401) => Verdict::Dead { pauses: true },
        ReceiverResponse::Status(_) | ReceiverResponse::OnlyInformational | ReceiverResponse::NotAsked => {
            Verdict::Dead { pauses: false }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn minutes(minutes: i64) -> Time {
        Time::from_seconds(1_000_000).plus_micros(minutes * MINUTE)
    }

    fn schedule() -> RetrySchedule {
        RetrySchedule::starting_with(Duration::from_secs(60))
    }

    fn first(answer: ReceiverResponse) -> Verdict {
        decide(answer, None, minutes(0), None, &schedule())
    }

    /// The table in the API documentation, row by row.
    #[test]
    fn every_answer_ends_where_the_table_says() {
        let dead = Verdict::Dead { pauses: false };
        for status in [200, 202] {
            assert_eq!(first(ReceiverResponse::Status(status)), Verdict::Delivered, "{status}");
        }
        for status in [429, 500, 502, 503, 504, 599] {
            assert_eq!(first(ReceiverResponse::Status(status)), Verdict::Retry(minutes(1)), "{status}");
        }
        assert_eq!(first(ReceiverResponse::Nothing), Verdict::Retry(minutes(1)));
        assert_eq!(first(ReceiverResponse::NotAsked), dead);
        for status in [100, 101, 103, 199, 201, 203, 204, 206, 300, 301, 302, 307, 308, 399] {
            assert_eq!(first(ReceiverResponse::Status(status)), dead, "{status}");
        }
        for status in [400, 402, 403, 404, 405, 408, 409, 410, 418, 422, 428, 430, 451, 499, 600, 999] {
            assert_eq!(first(ReceiverResponse::Status(status)), dead, "{status}");
        }
        assert_eq!(first(ReceiverResponse::OnlyInformational), dead);
        assert_eq!(first(ReceiverResponse::Status(401)), Verdict::Dead { pauses: true });
    }

    #[test]
    fn retries_double_and_end_a_day_after_the_first_failure() {
        let mut now = minutes(0);
        let mut failed = None;
        let mut tried = Vec::new();
        loop {
            let verdict = decide(ReceiverResponse::Status(500), failed, now, None, &schedule());
            failed = failed.or(Some(now));
            match verdict {
                Verdict::Retry(at) => now = at,
                verdict => {
                    assert_eq!(verdict, Verdict::Dead { pauses: false });
                    break;
                }
            }
            tried.push((now.micros() - minutes(0).micros()) / MINUTE);
        }
        assert_eq!(tried, [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1440]);
    }

    #[test]
    fn a_retry_that_takes_its_time_does_not_shift_the_others() {
        let late = minutes(3).plus_micros(15_000_000);
        assert_eq!(
            decide(ReceiverResponse::Nothing, Some(minutes(0)), late, None, &schedule()),
            Verdict::Retry(minutes(7))
        );
    }

    #[test]
    fn moments_that_have_gone_by_are_skipped() {
        let verdict = |now| decide(ReceiverResponse::Nothing, Some(minutes(0)), minutes(now), None, &schedule());
        assert_eq!(verdict(100), Verdict::Retry(minutes(127)));
        assert_eq!(verdict(1_439), Verdict::Retry(minutes(1_440)));
        assert_eq!(verdict(1_440), Verdict::Dead { pauses: false });
        assert_eq!(verdict(9_999), Verdict::Dead { pauses: false });
    }

    #[test]
    fn retry_after_lengthens_a_step_up_to_the_following_one() {
        let verdict = |now, wanted| {
            decide(ReceiverResponse::Status(429), Some(minutes(0)), minutes(now), Some(minutes(wanted)), &schedule())
        };
        assert_eq!(verdict(0, 2), Verdict::Retry(minutes(2)));
        assert_eq!(verdict(0, 0), Verdict::Retry(minutes(1)));
        assert_eq!(verdict(0, 500), Verdict::Retry(minutes(3)));
        assert_eq!(verdict(3, 9), Verdict::Retry(minutes(9)));
        assert_eq!(verdict(600, 100_000), Verdict::Retry(minutes(1_440)));
        assert_eq!(verdict(1_023, 100_000), Verdict::Retry(minutes(1_440)));
        assert_eq!(verdict(1_440, 2_000), Verdict::Dead { pauses: false });
    }

    #[test]
    fn the_whole_schedule_scales_with_its_first_step() {
        let second = RetrySchedule::starting_with(Duration::from_secs(1));
        let verdict = |now| decide(ReceiverResponse::Status(500), Some(minutes(0)), now, None, &second);
        assert_eq!(verdict(minutes(0)), Verdict::Retry(minutes(0).plus_micros(1_000_000)));
        assert_eq!(verdict(minutes(23)), Verdict::Retry(minutes(24)));
        assert_eq!(verdict(minutes(24)), Verdict::Dead { pauses: false });
    }

    #[test]
    fn a_paused_url_is_tried_ever_more_rarely_for_five_days() {
        let mut now = minutes(0);
        let mut tried = Vec::new();
        while let Some(at) = schedule().next_probe(minutes(0), now) {
            tried.push((at.micros() - minutes(0).micros()) / MINUTE);
            now = at;
        }
        assert_eq!(tried, [5, 15, 35, 75, 155, 315, 635, 1_275, 2_555, 5_115]);
        assert_eq!(schedule().next_probe(minutes(0), minutes(100)), Some(minutes(155)), "moments gone by are skipped");
    }
}

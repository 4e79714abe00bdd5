//! A watched clock: it is compared with a reference, and reports when it cannot be trusted.
//!
//! It is compared with two sources. The first is the *reference*, if there is one: the clock of the database, which all
//! nodes share. The clock is corrected by the difference; beyond [`ClockLimits::most_skew`] it is in trouble. The
//! second is the steady clock, which is never set: between two comparisons a clock cannot move by more than the time
//! that passed. A step is detected at the next reading, which still returns the time without the step.
//!
//! When the server starts it also knows the latest time that the database has seen. A clock behind it is in trouble
//! until it has caught up. A clock far ahead of it is refused before anything is processed: see [`Jump`].

use crate::{Clock, micros};
use daybook_engine::time::Time;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How far a clock may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockLimits {
    /// If the clock is off by more than this, nothing is processed.
    pub most_skew: Duration,
    /// If the clock is ahead of the latest known time by more than this, an operator must confirm the start.
    pub most_jump: Duration,
}

/// The smallest difference that is logged as a warning.
pub const WORTH_A_WARNING: Duration = Duration::from_millis(100);

/// A clock may drift by a microsecond in this many.
const MOST_DRIFT: i64 = 1_000;

/// Why a clock cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It differs from the database's clock by this many microseconds: positive if it is ahead.
    Skew(i64),
    /// It was set by this many microseconds while it was watched: positive if it was set ahead.
    Step(i64),
    /// The database's clock was set by this many microseconds while it was watched: positive if it was set ahead.
    ReferenceStep(i64),
    /// It is this many microseconds behind the latest time that the database knows.
    Behind(i64),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Skew(by) => write!(
                f,
                "this machine's clock is {} the database's. Correct it (use chrony or another NTP service); \
                 processing then resumes automatically",
                Apart(*by)
            ),
            Trouble::Step(by) | Trouble::ReferenceStep(by) => write!(
                f,
                "{} clock was set {} while the server ran. If it was wrong before and is correct now, restart the \
                 server. If it is wrong now, correct it; processing then resumes automatically",
                if matches!(self, Trouble::Step(_)) { "this machine's" } else { "the database's" },
                if *by < 0 { format!("back by {}", Length(-by)) } else { format!("ahead by {}", Length(*by)) }
            ),
            Trouble::Behind(by) => write!(
                f,
                "the clock is {} behind the latest time recorded in the database. If the clock is wrong, correct it; \
                 processing then resumes automatically. If it is correct, the database was used with a wrong clock: \
                 restart the server once with --confirm-clock",
                Length(*by)
            ),
        }
    }
}

/// The clock is too far ahead of the latest known time to start without confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The latest time that the database knows.
    pub latest: Time,
    /// The clock's time.
    pub now: Time,
}

impl fmt::Display for Jump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ahead = self.now.micros().saturating_sub(self.latest.micros());
        write!(
            f,
            "the clock shows {}, which is {} after the latest time recorded in the database ({}): everything that \
             falls due in between would be processed at once. If the clock is wrong, correct it. If it is correct (the \
             server was off for that long, or the database is an old copy), confirm it once: \
             daybook serve --confirm-clock",
            self.now,
            Length(ahead),
            self.latest
        )
    }
}

impl std::error::Error for Jump {}

/// The difference between two clocks, in words.
struct Apart(i64);

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.0 < 0 { "behind" } else { "ahead of" };
        write!(f, "{} {side}", Length(self.0.saturating_abs()))
    }
}

/// A duration in microseconds, formatted for people.
struct Length(i64);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000;
        match seconds {
            0..=9 => write!(f, "{} ms", self.0 / 1_000),
            10..=599 => write!(f, "{seconds} s"),
            600..=35_999 => write!(f, "{} minutes", seconds / 60),
            36_000..=259_199 => write!(f, "{} hours", seconds / 3_600),
            _ => write!(f, "{} days", seconds / 86_400),
        }
    }
}

/// A watched clock.
#[derive(Debug)]
pub struct Watched {
    inner: Arc<dyn Clock>,
    limits: ClockLimits,
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    /// A point in time, and the steady time then.
    anchor: (Time, Duration),
    /// Whether the anchor is a time of the reference.
    has_reference: bool,
    /// Microseconds to add to the machine's clock.
    correction: i64,
    /// The last difference from the reference, or from the steady time.
    offset: i64,
    /// The latest time that the database is known to have seen.
    latest: Option<Time>,
    trouble: Option<Trouble>,
}

/// The reading that begins a comparison: the machine's clock before the reference was queried.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    wall: Time,
    steady: Duration,
}

impl Watched {
    /// Watches a clock.
    pub fn new(inner: Arc<dyn Clock>, limits: ClockLimits) -> Watched {
        let anchor = (inner.now(), inner.steady());
        let state = ClockState { anchor, has_reference: false, correction: 0, offset: 0, latest: None, trouble: None };
        Watched { inner, limits, state: Mutex::new(state) }
    }

    /// Its limits.
    pub fn limits(&self) -> ClockLimits {
        self.limits
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a comparison with a reference.
    pub fn before(&self) -> Before {
        Before { wall: self.inner.now(), steady: self.inner.steady() }
    }

    /// Ends a comparison with the reference's time. The response was under way for an unknown part of the time it took,
    /// so the difference may be off by half of that: if the previous difference is within these bounds, it stays. A
    /// response that took too long is ignored. Returns whether the comparison counted.
    pub fn compare(&self, before: Before, reference: Time) -> bool {
        let took = self.inner.steady().saturating_sub(before.steady);
        if took > self.limits.most_skew {
            return false;
        }
        let half = micros(took / 2);
        let (wall, steady) = (before.wall.plus_micros(half), before.steady + took / 2);
        let most_skew = micros(self.limits.most_skew);
        let is_beyond = |by: i64| by.saturating_abs().saturating_sub(half) > most_skew;
        let mut state = self.state();
        let step = reference.micros().saturating_sub(expected(state.anchor, steady).micros());
        if state.has_reference && is_beyond(step) {
            state.trouble = Some(Trouble::ReferenceStep(step));
            return true;
        }
        let measured = wall.micros().saturating_sub(reference.micros());
        let is_within = state.offset.saturating_sub(measured).saturating_abs() <= half;
        let offset = if is_within { state.offset } else { measured };
        state.offset = offset;
        state.correction = -offset;
        let now = wall.plus_micros(-offset);
        state.anchor = (if state.has_reference { followed(state.anchor, now, steady) } else { now }, steady);
        state.has_reference = true;
        if is_beyond(offset) {
            state.trouble = Some(Trouble::Skew(offset));
        } else {
            self.judge_latest(&mut state, reference);
        }
        true
    }

    /// Compares the clock with the steady time, if there is no reference. The next comparison starts from here.
    pub fn compare_alone(&self) {
        let (now, steady) = (self.inner.now(), self.inner.steady());
        let mut state = self.state();
        let expected = expected(state.anchor, steady);
        let step = now.micros().saturating_sub(expected.micros());
        state.offset = step;
        if step.saturating_abs() > micros(self.limits.most_skew) {
            state.trouble = Some(Trouble::Step(step));
            return;
        }
        state.anchor = (followed(state.anchor, now, steady), steady);
        self.judge_latest(&mut state, now);
    }

    /// Checks whether the clock is behind the latest time that the database has seen.
    fn judge_latest(&self, state: &mut ClockState, now: Time) {
        let behind = state.latest.map_or(0, |latest| latest.micros().saturating_sub(now.micros()));
        state.trouble = (behind > micros(self.limits.most_skew)).then_some(Trouble::Behind(behind));
    }

    /// Whether it was compared with a reference, and is corrected by the difference.
    pub fn has_reference(&self) -> bool {
        self.state().has_reference
    }

    /// Sets the latest time that the database had seen before this start.
    pub fn set_latest(&self, latest: Option<Time>) {
        self.state().latest = latest;
    }

    /// Fails if the clock is too far ahead of `latest` to start without confirmation.
    pub fn jump_from(&self, latest: Time) -> Result<(), Jump> {
        let now = self.now();
        let ahead = now.micros().saturating_sub(latest.micros());
        if ahead > micros(self.limits.most_jump) { Err(Jump { latest, now }) } else { Ok(()) }
    }

    /// Why the clock cannot be trusted; `None` if it can.
    pub fn standing(&self) -> Option<Trouble> {
        self.read().1
    }

    fn read(&self) -> (Time, Option<Trouble>) {
        let (wall, steady) = (self.inner.now(), self.inner.steady());
        let state = self.state();
        let now = wall.plus_micros(state.correction);
        let expected = expected(state.anchor, steady);
        let step = now.micros().saturating_sub(expected.micros());
        if step.saturating_abs() > micros(self.limits.most_skew) {
            return (expected, Some(state.trouble.unwrap_or(Trouble::Step(step))));
        }
        (now, state.trouble)
    }
}

fn expected((at, then): (Time, Duration), steady: Duration) -> Time {
    at.plus_micros(micros(steady.saturating_sub(then)))
}

/// The next anchor of a clock that shows `now`. It follows the clock by [`MOST_DRIFT`] of the time that passed, so that
/// many small steps add up to a large one.
fn followed(anchor: (Time, Duration), now: Time, steady: Duration) -> Time {
    let expected = expected(anchor, steady);
    let most = micros(steady.saturating_sub(anchor.1)) / MOST_DRIFT;
    let off = now.micros().saturating_sub(expected.micros());
    expected.plus_micros(off.clamp(-most, most))
}

impl Clock for Watched {
    fn now(&self) -> Time {
        self.read().0
    }

    fn steady(&self) -> Duration {
        self.inner.steady()
    }

    fn trouble(&self) -> Option<String> {
        self.standing().map(|trouble| trouble.to_string())
    }

    fn offset_micros(&self) -> Option<i64> {
        Some(self.state().offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Manual;

    const LIMITS: ClockLimits =
        ClockLimits { most_skew: Duration::from_secs(5), most_jump: Duration::from_secs(7 * 86_400) };
    const SECOND: i64 = 1_000_000;

    fn watched() -> (Arc<Manual>, Watched) {
        let manual = Arc::new(Manual::at(at(0)));
        let watched = Watched::new(manual.clone(), LIMITS);
        (manual, watched)
    }

    fn at(micros: i64) -> Time {
        Time::from_seconds(1_800_000_000).plus_micros(micros)
    }

    #[test]
    fn it_shows_the_time_of_the_reference() {
        for skew in [50_000, -200_000, 2 * SECOND, -2 * SECOND] {
            let (manual, watched) = watched();
            manual.set(at(skew));
            assert!(watched.compare(watched.before(), at(0)));
            assert_eq!((watched.now(), watched.standing()), (at(0), None), "off by {skew}");
            assert_eq!(watched.offset_micros(), Some(skew));
            manual.pass(Duration::from_secs(1));
            assert_eq!(watched.now(), at(SECOND));
        }
    }

    #[test]
    fn beyond_the_limit_it_is_in_trouble_until_it_is_right() {
        for skew in [3_600 * SECOND, -3_600 * SECOND, 6 * SECOND] {
            let (manual, watched) = watched();
            manual.set(at(skew));
            watched.compare(watched.before(), at(0));
            assert_eq!((watched.now(), watched.standing()), (at(0), Some(Trouble::Skew(skew))));
            manual.set(at(SECOND));
            watched.compare(watched.before(), at(SECOND));
            assert_eq!((watched.now(), watched.standing()), (at(SECOND), None));
        }
    }

    #[test]
    fn half_of_the_way_to_the_reference_and_back_is_allowed_for() {
        let (manual, watched) = watched();
        let before = watched.before();
        manual.pass(Duration::from_secs(2));
        assert!(watched.compare(before, at(SECOND)));
        assert_eq!((watched.offset_micros(), watched.now()), (Some(0), at(2 * SECOND)));
        // A response that took longer than the limit is ignored.
        let before = watched.before();
        manual.pass(Duration::from_secs(6));
        assert!(!watched.compare(before, at(500 * SECOND)));
        assert_eq!(watched.now(), at(8 * SECOND));
    }

    #[test]
    fn a_slow_response_does_not_move_the_time() {
        let (manual, watched) = watched();
        let before = watched.before();
        // The response was under way for a moment only, at the end.
        manual.pass(Duration::from_secs(3));
        assert!(watched.compare(before, at(3 * SECOND)));
        assert_eq!((watched.offset_micros(), watched.now()), (Some(0), at(3 * SECOND)));
        // One that shows a difference beyond its own imprecision counts.
        let before = watched.before();
        manual.pass(Duration::from_secs(1));
        assert!(watched.compare(before, at(5 * SECOND)));
        assert_eq!(watched.offset_micros(), Some(-1_500_000));
    }

    #[test]
    fn a_step_shows_at_once_and_is_not_followed() {
        for step in [3_600, -3_600, 20, -20, 6, -6] {
            let (manual, watched) = watched();
            manual.pass(Duration::from_secs(10));
            watched.compare_alone();
            manual.pass(Duration::from_secs(1));
            manual.set(at((11 + step) * SECOND));
            assert_eq!(watched.standing(), Some(Trouble::Step(step * SECOND)));
            assert_eq!(watched.now(), at(11 * SECOND), "the step of {step} s is not followed");
            watched.compare_alone();
            assert_eq!(watched.standing(), Some(Trouble::Step(step * SECOND)));
            manual.set(at(11 * SECOND));
            watched.compare_alone();
            assert_eq!((watched.standing(), watched.now()), (None, at(11 * SECOND)), "it was set right");
        }
    }

    #[test]
    fn a_small_step_is_followed() {
        let (manual, watched) = watched();
        manual.set(at(2 * SECOND));
        assert_eq!((watched.standing(), watched.now()), (None, at(2 * SECOND)));
        watched.compare_alone();
        manual.set(at(SECOND));
        assert_eq!((watched.standing(), watched.now()), (None, at(SECOND)));
    }

    #[test]
    fn small_steps_add_up() {
        let (manual, watched) = watched();
        for step in 1..=2 {
            manual.pass(Duration::from_secs(1));
            manual.set(at(step * (SECOND + 3 * SECOND)));
            watched.compare_alone();
        }
        assert_eq!(watched.standing(), Some(Trouble::Step(6 * SECOND - 1_000)));
    }

    #[test]
    fn a_step_of_the_reference_is_not_followed() {
        for step in [400 * 86_400, 3_600, -3_600, 6, -6] {
            let (manual, watched) = watched();
            assert!(watched.compare(watched.before(), at(0)));
            manual.pass(Duration::from_secs(1));
            // Both clocks are set: they are one machine's.
            manual.set(at((1 + step) * SECOND));
            assert!(watched.compare(watched.before(), at((1 + step) * SECOND)));
            assert_eq!(watched.standing(), Some(Trouble::ReferenceStep(step * SECOND)));
            assert_eq!(watched.now(), at(SECOND), "the step of {step} s is not followed");
            manual.pass(Duration::from_secs(1));
            manual.set(at(2 * SECOND));
            assert!(watched.compare(watched.before(), at(2 * SECOND)));
            assert_eq!((watched.standing(), watched.now()), (None, at(2 * SECOND)), "it was set right");
        }
    }

    #[test]
    fn behind_the_latest_moment_it_waits() {
        let (manual, watched) = watched();
        watched.set_latest(Some(at(20 * SECOND)));
        watched.compare_alone();
        assert_eq!(watched.standing(), Some(Trouble::Behind(20 * SECOND)));
        manual.pass(Duration::from_secs(15));
        watched.compare_alone();
        assert_eq!(watched.standing(), None);
    }

    #[test]
    fn far_ahead_of_the_latest_moment_it_has_to_be_confirmed() {
        let (_, watched) = watched();
        let day = 86_400 * SECOND;
        assert_eq!(watched.jump_from(at(-7 * day)), Ok(()));
        let jump = watched.jump_from(at(-400 * day)).expect_err("400 days are too many");
        assert!(jump.to_string().contains("400 days after"), "{jump}");
        assert!(jump.to_string().contains("daybook serve --confirm-clock"), "{jump}");
    }
}

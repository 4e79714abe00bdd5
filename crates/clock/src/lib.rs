//! The only reader of time.
//!
//! Everything else is told what time it is: by an argument, or by a [`Clock`] it was given. [`System`] reads the
//! machine's clock; [`Manual`] stands where it is put, for tests, demos and embedded runs.

use daybook_engine::time::Time;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Says what time it is.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now, to the microsecond.
    fn now(&self) -> Time;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Time {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time of day")]
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => Time::from_micros(since.as_micros() as i64),
            Err(before) => Time::from_micros(-(before.duration().as_micros() as i64)),
        }
    }
}

/// A clock that stands until it is moved.
#[derive(Debug, Default)]
pub struct Manual(AtomicI64);

impl Manual {
    /// A clock that stands at a moment.
    pub fn at(time: Time) -> Manual {
        Manual(AtomicI64::new(time.micros()))
    }

    /// Puts the clock to a moment. It may go back: tests ask what happens then.
    pub fn set(&self, time: Time) {
        self.0.store(time.micros(), Ordering::SeqCst);
    }
}

impl Clock for Manual {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Measures how long something takes; for logs, metrics and benchmarks, never for a result.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    pub fn start() -> Stopwatch {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time that passes")]
        let now = Instant::now();
        Stopwatch(now)
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time that passes")]
        let elapsed = self.0.elapsed();
        elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_where_it_is_put() {
        let clock = Manual::at(Time::from_seconds(5));
        assert_eq!(clock.now(), Time::from_seconds(5));
        clock.set(Time::from_seconds(3));
        assert_eq!(clock.now(), Time::from_seconds(3));
    }

    #[test]
    fn the_system_clock_is_past_the_day_this_was_written() {
        assert!(System.now() > Time::parse("2025-01-01T00:00:00Z").expect("a time"));
    }
}

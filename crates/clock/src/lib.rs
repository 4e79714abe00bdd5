//! The only crate that reads the time.
//!
//! All other code gets the time as an argument or from a [`Clock`]. [`System`] reads the machine's clock. [`Manual`]
//! stays at the time it is set to, for tests, demos and embedded runs. [`Watched`] compares a clock with a reference
//! and reports when it cannot be trusted.

mod watched;

pub use watched::{Before, ClockLimits, Jump, Trouble, WORTH_A_WARNING, Watched};

use daybook_engine::time::Time;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of the current time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now, to the microsecond.
    fn now(&self) -> Time;

    /// The time passed since an arbitrary start. It is never adjusted, and continues while the machine sleeps.
    fn steady(&self) -> Duration;

    /// Why the time cannot be trusted, and what to do; `None` if it can.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// By how many microseconds the machine's clock is ahead of its reference; `None` if it has none.
    fn offset_micros(&self) -> Option<i64> {
        None
    }
}

/// A duration in microseconds.
fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
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

    #[cfg(target_os = "linux")]
    fn steady(&self) -> Duration {
        let since_boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::new(since_boot.tv_sec.unsigned_abs(), u32::try_from(since_boot.tv_nsec).unwrap_or(0))
    }

    #[cfg(not(target_os = "linux"))]
    fn steady(&self) -> Duration {
        static BEGINNING: std::sync::OnceLock<Stopwatch> = std::sync::OnceLock::new();
        BEGINNING.get_or_init(Stopwatch::start).elapsed()
    }
}

/// A clock that stays at one time until it is moved.
#[derive(Debug, Default)]
pub struct Manual {
    now_micros: AtomicI64,
    steady_micros: AtomicI64,
}

impl Manual {
    /// A clock that stays at this time.
    pub fn at(time: Time) -> Manual {
        Manual { now_micros: AtomicI64::new(time.micros()), steady_micros: AtomicI64::new(0) }
    }

    /// Sets the clock, also backwards, which tests need. [`Clock::steady`] does not advance.
    pub fn set(&self, time: Time) {
        self.now_micros.store(time.micros(), Ordering::SeqCst);
    }

    /// Advances the time.
    pub fn pass(&self, length: Duration) {
        self.now_micros.fetch_add(micros(length), Ordering::SeqCst);
        self.steady_micros.fetch_add(micros(length), Ordering::SeqCst);
    }
}

impl Clock for Manual {
    fn now(&self) -> Time {
        Time::from_micros(self.now_micros.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        Duration::from_micros(self.steady_micros.load(Ordering::SeqCst).unsigned_abs())
    }
}

/// Measures how long something takes; for logs, metrics and benchmarks, never for results.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
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

//! How long calls took.

use std::time::Duration;

/// The times of calls, in microseconds, sorted.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    micros: Vec<u64>,
}

impl Timings {
    /// The times of these calls.
    pub fn of(calls: impl IntoIterator<Item = Duration>) -> Timings {
        let mut micros: Vec<u64> = calls.into_iter().map(|took| took.as_micros() as u64).collect();
        micros.sort_unstable();
        Timings { micros }
    }

    /// The number of calls.
    pub fn count(&self) -> usize {
        self.micros.len()
    }

    /// The time that this percentage of the calls did not exceed, in milliseconds; 0 if there were no calls.
    pub fn percentile_ms(&self, percent: usize) -> f64 {
        let place = (self.micros.len() * percent / 100).min(self.micros.len().saturating_sub(1));
        self.micros.get(place).map_or(0.0, |micros| *micros as f64 / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Timings;
    use std::time::Duration;

    #[test]
    fn a_percentile_is_the_time_of_a_call() {
        let timings = Timings::of((1..=200).rev().map(Duration::from_millis));
        assert_eq!([50, 98, 100].map(|percent| timings.percentile_ms(percent)), [101.0, 197.0, 200.0]);
        assert_eq!((timings.count(), Timings::default().percentile_ms(99)), (200, 0.0));
    }
}

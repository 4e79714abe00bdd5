//! Figures about connections, and lines about them that are not written too often.

use super::connection::Ending;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The least time between two lines in the log about the same thing.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// Why a connection gets no more than an answer to a health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its address has as many as it may have, and all are worked on.
    Address,
    /// The server has as many as it may have, and all are worked on.
    Full,
}

impl Refused {
    /// All of them.
    const ALL: [Refused; 2] = [Refused::Address, Refused::Full];

    /// As the label of a metric.
    pub const fn label(self) -> &'static str {
        match self {
            Refused::Address => "address",
            Refused::Full => "full",
        }
    }

    /// What the caller is told.
    pub const fn sentence(self) -> &'static str {
        match self {
            Refused::Address => "too many connections from this address are being worked on: try again in a moment",
            Refused::Full => "the server has as many connections as it may have: try again in a moment",
        }
    }
}

/// Figures about connections.
#[derive(Debug, Default)]
pub struct Figures {
    accepted: AtomicU64,
    accept_errors: AtomicU64,
    bodies_late: AtomicU64,
    refused: [AtomicU64; Refused::ALL.len()],
    closed: [AtomicU64; Ending::ALL.len()],
    /// About connections that were closed to make room, or refused; and about those that could not be accepted.
    full_lines: Seldom,
    error_lines: Seldom,
}

impl Figures {
    /// A connection was accepted.
    pub fn accepted(&self) {
        self.accepted.fetch_add(1, Relaxed);
    }

    /// A connection could not be accepted.
    pub fn not_accepted(&self, error: &std::io::Error, now: Duration) {
        self.accept_errors.fetch_add(1, Relaxed);
        if let Some(times) = self.error_lines.count(now) {
            tracing::error!(%error, times, "connections cannot be accepted");
        }
    }

    /// A connection was closed by the door.
    pub fn closed(&self, ending: Ending) {
        self.closed[ending as usize].fetch_add(1, Relaxed);
    }

    /// A connection found no room.
    pub fn refused(&self, refused: Refused, now: Duration) {
        self.refused[refused as usize].fetch_add(1, Relaxed);
        if let Some(times) = self.full_lines.count(now) {
            tracing::warn!(reason = refused.label(), times, "connections are refused: there are too many");
        }
    }

    /// Connections that waited for their clients were closed so that others find room.
    pub fn made_room(&self, now: Duration) {
        if let Some(times) = self.full_lines.count(now) {
            tracing::warn!(times, "slow or idle connections are closed to make room: there are too many");
        }
    }

    /// The body of a request took too long.
    pub fn body_late(&self) {
        self.bodies_late.fetch_add(1, Relaxed);
    }

    /// All figures, in the text format that Prometheus reads.
    pub fn text(&self, open: usize, limit: usize) -> String {
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
            // Writing to a text does not fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let one = |value: u64| vec![(String::new(), value)];
        let labelled = |label: &str, value: &AtomicU64| (format!("{{reason=\"{label}\"}}"), value.load(Relaxed));
        let refused = Refused::ALL.iter().zip(&self.refused).map(|(why, count)| labelled(why.label(), count));
        let closed = Ending::ALL.iter().zip(&self.closed).map(|(why, count)| labelled(why.label(), count));
        metric("daybook_connections_open", "gauge", "Connections of callers", &one(open as u64));
        metric("daybook_connections_limit", "gauge", "The most connections of callers", &one(limit as u64));
        let accepted = one(self.accepted.load(Relaxed));
        metric("daybook_connections_accepted_total", "counter", "Connections accepted", &accepted);
        let errors = one(self.accept_errors.load(Relaxed));
        metric("daybook_connections_accept_errors_total", "counter", "Connections that the system refused", &errors);
        let refused: Vec<_> = refused.collect();
        metric("daybook_connections_refused_total", "counter", "Connections that found no room", &refused);
        let closed: Vec<_> = closed.collect();
        metric("daybook_connections_closed_total", "counter", "Connections closed while waiting for callers", &closed);
        let late = one(self.bodies_late.load(Relaxed));
        metric("daybook_request_bodies_late_total", "counter", "Requests whose bodies took too long", &late);
        text
    }
}

/// Lets a line through at most once a second, and counts those in between.
#[derive(Debug, Default)]
struct Seldom(Mutex<(Option<Duration>, u64)>);

impl Seldom {
    /// How often it was counted since the last line, if it is time for another.
    fn count(&self, now: Duration) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += 1;
        if state.0.is_some_and(|last| now.saturating_sub(last) < BETWEEN_LINES) {
            return None;
        }
        state.0 = Some(now);
        Some(std::mem::take(&mut state.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_second_and_the_others_are_counted() {
        let seldom = Seldom::default();
        let ms = Duration::from_millis;
        let told = [0, 1, 999, 1_000, 1_500, 3_000].map(|at| seldom.count(ms(at)));
        assert_eq!(told, [Some(1), None, None, Some(3), None, Some(2)]);
    }

    #[test]
    fn reasons_are_labels_in_their_own_place() {
        let figures = Figures::default();
        figures.closed(Ending::Unread);
        figures.refused(Refused::Full, Duration::ZERO);
        let text = figures.text(3, 9);
        for line in [
            "daybook_connections_open 3\n",
            "daybook_connections_limit 9\n",
            "daybook_connections_closed_total{reason=\"unread\"} 1\n",
            "daybook_connections_closed_total{reason=\"idle\"} 0\n",
            "daybook_connections_refused_total{reason=\"full\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}

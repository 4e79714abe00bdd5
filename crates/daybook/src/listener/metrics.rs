//! Metrics and rate-limited log lines about connections.

use super::connection::Ending;
use daybook_metrics::{Counter, Families, Gauge, Registry};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The least time between two log lines of the same kind.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// Why a connection is admitted only for health checks, or a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its address has reached its limit, and all its connections have requests in progress.
    Address,
    /// The server has reached its limit, and all connections have requests in progress.
    Full,
    /// The bodies of concurrent requests have reached their limit.
    Bodies,
    /// Responses that were not read yet have reached their limit.
    Responses,
}

impl Refused {
    /// All of them.
    const ALL: [Refused; 4] = [Refused::Address, Refused::Full, Refused::Bodies, Refused::Responses];

    /// The label of the metric.
    pub const fn label(self) -> &'static str {
        match self {
            Refused::Address => "address",
            Refused::Full => "full",
            Refused::Bodies => "bodies",
            Refused::Responses => "responses",
        }
    }

    /// The log line.
    const fn line(self) -> &'static str {
        match self {
            Refused::Address | Refused::Full => "connections are refused: there are too many",
            Refused::Bodies => "calls are refused: the bodies of concurrent requests take too much memory",
            Refused::Responses => "calls are refused: responses that were not read yet take too much memory",
        }
    }
}

/// Metrics of connections.
#[derive(Debug)]
pub struct ConnectionMetrics {
    registry: Registry,
    open: Gauge,
    limit: Gauge,
    accepted: Counter,
    accept_errors: Counter,
    bodies_late: Counter,
    body_bytes: Gauge,
    unsent_bytes: Gauge,
    refused: [Counter; Refused::ALL.len()],
    closed: [Counter; Ending::ALL.len()],
    /// Log lines about connections that were closed to make room or refused, and about failures to accept.
    full_lines: Seldom,
    error_lines: Seldom,
}

impl Default for ConnectionMetrics {
    fn default() -> ConnectionMetrics {
        let registry = Registry::default();
        let counter = |name, help| registry.counter(name, help);
        let by_reason = |name, help| registry.counters(name, help, &["reason"]);
        let refused =
            by_reason("daybook_connections_refused_total", "Connections and calls refused because a limit was reached");
        let closed = by_reason(
            "daybook_connections_closed_total",
            "Connections closed because they were idle or slow, or to make room",
        );
        ConnectionMetrics {
            open: registry.gauge("daybook_connections_open", "Open connections"),
            limit: registry.gauge("daybook_connections_limit", "The maximum number of connections"),
            accepted: counter("daybook_connections_accepted_total", "Connections accepted"),
            accept_errors: counter(
                "daybook_connections_accept_errors_total",
                "Connections that the operating system could not accept",
            ),
            bodies_late: counter("daybook_request_bodies_late_total", "Requests whose bodies took too long"),
            body_bytes: registry.gauge("daybook_request_bodies_bytes", "Bytes of request bodies in memory"),
            unsent_bytes: registry.gauge("daybook_responses_unsent_bytes", "Bytes of responses that are not sent yet"),
            refused: Refused::ALL.map(|why| refused.of(&[why.label()])),
            closed: Ending::ALL.map(|why| closed.of(&[why.label()])),
            full_lines: Seldom::default(),
            error_lines: Seldom::default(),
            registry,
        }
    }
}

impl ConnectionMetrics {
    /// Records that a connection was accepted.
    pub fn accepted(&self) {
        self.accepted.add(1);
    }

    /// Records that a connection could not be accepted.
    pub fn not_accepted(&self, error: &std::io::Error, now: Duration) {
        self.accept_errors.add(1);
        if let Some(times) = self.error_lines.count(now) {
            tracing::error!(%error, times, "connections cannot be accepted");
        }
    }

    /// Records that the listener closed a connection.
    pub fn closed(&self, ending: Ending) {
        self.closed[ending as usize].add(1);
    }

    /// Records that a connection or a call was refused.
    pub fn refused(&self, refused: Refused, now: Duration) {
        self.refused[refused as usize].add(1);
        if let Some(times) = self.full_lines.count(now) {
            tracing::warn!(reason = refused.label(), times, "{}", refused.line());
        }
    }

    /// Records that a waiting connection was closed to make room.
    pub fn made_room(&self, now: Duration) {
        if let Some(times) = self.full_lines.count(now) {
            tracing::warn!(times, "slow or idle connections are closed to make room: there are too many");
        }
    }

    /// Records that the body of a request timed out.
    pub fn body_late(&self) {
        self.bodies_late.add(1);
    }

    /// Sets the memory of request bodies and of unsent responses.
    pub fn memory(&self, body_bytes: usize, unsent_bytes: usize) {
        self.body_bytes.set(body_bytes as u64);
        self.unsent_bytes.set(unsent_bytes as u64);
    }

    /// All metrics.
    pub fn families(&self, open: usize, limit: usize) -> Families {
        self.open.set(open as u64);
        self.limit.set(limit as u64);
        self.registry.families()
    }
}

/// Allows one log line per second, and counts the events in between.
#[derive(Debug, Default)]
struct Seldom(Mutex<(Option<Duration>, u64)>);

impl Seldom {
    /// The number of events since the last line, if another line is due.
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
        let metrics = ConnectionMetrics::default();
        metrics.closed(Ending::Unread);
        metrics.refused(Refused::Full, Duration::ZERO);
        let text = daybook_metrics::text(&metrics.families(3, 9));
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

//! Figures about calls, for people who run the server: how many, with what result, how long they took.

use axum::http::Method;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// The methods that are told apart; all others are one.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OTHER"];
/// The classes of statuses.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// Upper bounds of what calls are sorted by, in microseconds, and the same in seconds.
const BOUNDS: [(u64, &str); 9] = [
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (100_000, "0.1"),
    (500_000, "0.5"),
    (2_500_000, "2.5"),
    (10_000_000, "10"),
];

/// Figures of one path and method.
#[derive(Debug, Default)]
struct Tally {
    by_class: [AtomicU64; CLASSES.len()],
    by_duration: [AtomicU64; BOUNDS.len()],
    micros: AtomicU64,
}

/// Figures about calls.
#[derive(Debug, Default)]
pub struct Figures(RwLock<BTreeMap<Box<str>, [Tally; METHODS.len()]>>);

impl Figures {
    /// A call was answered. Paths are those of routes, so there are only so many.
    pub fn count(&self, method: &Method, path: &str, status: u16, took: Duration) {
        let path = if path.is_empty() { "unknown" } else { path };
        let place = METHODS.iter().position(|known| *known == method.as_str()).unwrap_or(METHODS.len() - 1);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tallies) = known.get(path) {
            return tallies[place].count(status, took);
        }
        drop(known);
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(path.into()).or_default()[place].count(status, took);
    }

    /// All figures, in the text format that Prometheus reads.
    pub fn text(&self) -> String {
        let (mut requests, mut seconds) = (String::new(), String::new());
        for (path, tallies) in &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            for (tally, method) in tallies.iter().zip(METHODS) {
                tally.write(&format!("path=\"{path}\",method=\"{method}\""), &mut requests, &mut seconds);
            }
        }
        format!(
            "# HELP daybook_http_requests_total Calls answered\n# TYPE daybook_http_requests_total counter\n{requests}\
             # HELP daybook_http_request_seconds Time that calls took\n# TYPE daybook_http_request_seconds histogram\n{seconds}"
        )
    }
}

impl Tally {
    fn count(&self, status: u16, took: Duration) {
        let micros = took.as_micros() as u64;
        let class = usize::from(status / 100).clamp(1, CLASSES.len()) - 1;
        self.by_class[class].fetch_add(1, Relaxed);
        if let Some(place) = BOUNDS.iter().position(|(bound, _)| micros <= *bound) {
            self.by_duration[place].fetch_add(1, Relaxed);
        }
        self.micros.fetch_add(micros, Relaxed);
    }

    fn write(&self, labels: &str, requests: &mut String, seconds: &mut String) {
        let total: u64 = self.by_class.iter().map(|count| count.load(Relaxed)).sum();
        if total == 0 {
            return;
        }
        for (count, class) in self.by_class.iter().zip(CLASSES) {
            let count = count.load(Relaxed);
            if count > 0 {
                let _ = writeln!(requests, "daybook_http_requests_total{{{labels},status=\"{class}\"}} {count}");
            }
        }
        let name = "daybook_http_request_seconds";
        let mut so_far = 0;
        for (count, (_, bound)) in self.by_duration.iter().zip(BOUNDS) {
            so_far += count.load(Relaxed);
            let _ = writeln!(seconds, "{name}_bucket{{{labels},le=\"{bound}\"}} {so_far}");
        }
        let sum = self.micros.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(seconds, "{name}_bucket{{{labels},le=\"+Inf\"}} {total}");
        let _ = writeln!(seconds, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {total}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_path_method_and_class() {
        let figures = Figures::default();
        figures.count(&Method::GET, "/accounts/{account_id}", 200, Duration::from_micros(900));
        figures.count(&Method::GET, "/accounts/{account_id}", 404, Duration::from_secs(60));
        figures.count(&Method::TRACE, "", 404, Duration::ZERO);
        let text = figures.text();
        let path = "path=\"/accounts/{account_id}\",method=\"GET\"";
        for line in [
            format!("daybook_http_requests_total{{{path},status=\"2xx\"}} 1\n"),
            format!("daybook_http_requests_total{{{path},status=\"4xx\"}} 1\n"),
            format!("daybook_http_request_seconds_bucket{{{path},le=\"0.001\"}} 1\n"),
            format!("daybook_http_request_seconds_bucket{{{path},le=\"10\"}} 1\n"),
            format!("daybook_http_request_seconds_bucket{{{path},le=\"+Inf\"}} 2\n"),
            format!("daybook_http_request_seconds_sum{{{path}}} 60.0009\n"),
            "daybook_http_requests_total{path=\"unknown\",method=\"OTHER\",status=\"4xx\"} 1\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
}

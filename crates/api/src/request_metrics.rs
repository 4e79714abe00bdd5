//! Metrics about calls, for operators: how many, with what result, how long they took.

use axum::http::Method;
use daybook_metrics::{BOUNDS_SECONDS, Counters, DurationsBy, Families, Registry};
use std::time::Duration;

/// The methods that are counted separately; all others are counted together.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// The classes of statuses.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Metrics about calls.
#[derive(Debug)]
pub struct RequestMetrics {
    registry: Registry,
    requests: Counters,
    seconds: DurationsBy,
}

impl Default for RequestMetrics {
    fn default() -> RequestMetrics {
        let registry = Registry::default();
        let requests =
            registry.counters("daybook_http_requests_total", "Requests answered", &["path", "method", "status"]);
        let help = "How long requests took";
        let seconds = registry.durations_by("daybook_http_request_seconds", help, &BOUNDS_SECONDS, &["path", "method"]);
        RequestMetrics { registry, requests, seconds }
    }
}

impl RequestMetrics {
    /// Counts a finished call. Paths are those of routes, so their number is limited.
    pub fn count(&self, method: &Method, path: &str, status: u16, took: Duration) {
        let path = if path.is_empty() { "unknown" } else { path };
        let method = METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("OTHER");
        let class = CLASSES[usize::from(status / 100).clamp(1, CLASSES.len()) - 1];
        self.requests.of(&[path, method, class]).add(1);
        self.seconds.of(&[path, method]).note(took);
    }

    /// All metrics.
    pub fn families(&self) -> Families {
        self.registry.families()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_path_method_and_class() {
        let metrics = RequestMetrics::default();
        metrics.count(&Method::GET, "/accounts/{account_id}", 200, Duration::from_micros(900));
        metrics.count(&Method::GET, "/accounts/{account_id}", 404, Duration::from_secs(60));
        metrics.count(&Method::TRACE, "", 404, Duration::ZERO);
        let text = daybook_metrics::text(&metrics.families());
        let path = "method=\"GET\",path=\"/accounts/{account_id}\"";
        for line in [
            format!("daybook_http_requests_total{{{path},status=\"2xx\"}} 1\n"),
            format!("daybook_http_requests_total{{{path},status=\"4xx\"}} 1\n"),
            format!("daybook_http_request_seconds_bucket{{{path},le=\"0.001\"}} 1\n"),
            format!("daybook_http_request_seconds_bucket{{{path},le=\"10\"}} 1\n"),
            format!("daybook_http_request_seconds_bucket{{{path},le=\"+Inf\"}} 2\n"),
            format!("daybook_http_request_seconds_sum{{{path}}} 60.0009\n"),
            "daybook_http_requests_total{method=\"OTHER\",path=\"unknown\",status=\"4xx\"} 1\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
}

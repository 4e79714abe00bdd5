//! Metrics for Prometheus.
//!
//! Each crate that counts has its own [`Registry`] and exposes its [`Families`]; `/metrics` joins them and formats them
//! ([`text`]). Values that are read only for a scrape, such as database row counts, go into a temporary registry
//! ([`Registry::value`], [`Registry::total`]).
//!
//! ```text
//! webhooks ──┐
//! service  ──┤ Registry ─► Families ─► text ─► /metrics
//! api      ──┤
//! daybook  ──┘
//! ```
//!
//! Names follow Prometheus: seconds and bytes, `_total` for counters. A name is used once in the program; each one is
//! documented in `docs/operating/monitoring.md`, and a test compares the two.

pub mod process;

use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{
    CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts,
    Registry as Collectors, TextEncoder,
};
use std::fmt;
use std::time::Duration;

/// The content type of [`text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Histogram bounds for mostly short durations: from a millisecond to ten seconds.
pub const BOUNDS_SECONDS: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// Metrics with their current values, each with its name, kind and help.
pub type Families = Vec<MetricFamily>;

/// Metrics in Prometheus' text format.
pub fn text(families: &[MetricFamily]) -> String {
    TextEncoder::new()
        .encode_to_string(families)
        .unwrap_or_else(|error| format!("# the metrics cannot be written: {error}\n"))
}

/// A number that only increases.
#[derive(Clone, Debug)]
pub struct Counter(IntCounter);

impl Counter {
    /// Adds to the counter.
    pub fn add(&self, more: u64) {
        self.0.inc_by(more);
    }

    /// The current value.
    pub fn get(&self) -> u64 {
        self.0.get()
    }
}

/// Counters that differ by labels.
#[derive(Clone, Debug)]
pub struct Counters(IntCounterVec);

impl Counters {
    /// The counter with these label values, in the order in which the labels were declared.
    pub fn of(&self, values: &[&str]) -> Counter {
        Counter(self.0.with_label_values(values))
    }
}

/// A number that increases and decreases.
#[derive(Clone, Debug)]
pub struct Gauge(IntGauge);

impl Gauge {
    /// Adds to the gauge.
    pub fn add(&self, more: u64) {
        self.0.add(more.cast_signed());
    }

    /// Subtracts from the gauge.
    pub fn sub(&self, less: u64) {
        self.0.sub(less.cast_signed());
    }

    /// Sets the gauge.
    pub fn set(&self, number: u64) {
        self.0.set(number.cast_signed());
    }

    /// The current value.
    pub fn get(&self) -> u64 {
        self.0.get().max(0).cast_unsigned()
    }
}

/// A histogram of durations: their number, their sum, and the number within each bound.
#[derive(Clone, Debug)]
pub struct Durations(prometheus::Histogram);

impl Durations {
    /// Records a duration.
    pub fn note(&self, took: Duration) {
        self.0.observe(took.as_secs_f64());
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.0.get_sample_count()
    }
}

/// Durations that differ by labels.
#[derive(Clone, Debug)]
pub struct DurationsBy(HistogramVec);

impl DurationsBy {
    /// The durations with these label values, in the order in which the labels were declared.
    pub fn of(&self, values: &[&str]) -> Durations {
        Durations(self.0.with_label_values(values))
    }
}

/// A set of metrics.
#[derive(Clone, Debug, Default)]
pub struct Registry(Collectors);

impl Registry {
    /// The current metrics, sorted by name. A metric with labels but without values yet is left out.
    pub fn families(&self) -> Families {
        self.0.gather()
    }

    /// A new counter.
    pub fn counter(&self, name: &str, help: &str) -> Counter {
        Counter(self.keep(IntCounter::new(name, help)))
    }

    /// New counters that differ by labels.
    pub fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Counters {
        Counters(self.keep(IntCounterVec::new(Opts::new(name, help), labels)))
    }

    /// A new gauge.
    pub fn gauge(&self, name: &str, help: &str) -> Gauge {
        Gauge(self.keep(IntGauge::new(name, help)))
    }

    /// New durations, in buckets with these bounds in seconds.
    pub fn durations(&self, name: &str, help: &str, bounds: &[f64]) -> Durations {
        let opts = HistogramOpts::new(name, help).buckets(bounds.to_vec());
        Durations(self.keep(prometheus::Histogram::with_opts(opts)))
    }

    /// New durations that differ by labels, in buckets with these bounds in seconds.
    pub fn durations_by(&self, name: &str, help: &str, bounds: &[f64], labels: &[&str]) -> DurationsBy {
        let opts = HistogramOpts::new(name, help).buckets(bounds.to_vec());
        DurationsBy(self.keep(HistogramVec::new(opts, labels)))
    }

    /// A gauge with a value that was just read.
    pub fn value(&self, name: &str, help: &str, value: f64) {
        self.values(name, help, &[], [(Vec::<&str>::new(), value)]);
    }

    /// Gauges with values that were just read, by label values.
    pub fn values<S: AsRef<str> + fmt::Debug>(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        values: impl IntoIterator<Item = (Vec<S>, f64)>,
    ) {
        let gauges = self.keep(GaugeVec::new(Opts::new(name, help), labels));
        for (of, value) in values {
            gauges.with_label_values(&of).set(value);
        }
    }

    /// A counter with a value that was just read.
    pub fn total(&self, name: &str, help: &str, total: f64) {
        self.totals(name, help, &[], [(Vec::<&str>::new(), total)]);
    }

    /// Counters with values that were just read, by label values. Negative values count as zero.
    pub fn totals<S: AsRef<str> + fmt::Debug>(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        totals: impl IntoIterator<Item = (Vec<S>, f64)>,
    ) {
        let counters = self.keep(CounterVec::new(Opts::new(name, help), labels));
        for (of, total) in totals {
            counters.with_label_values(&of).inc_by(total.max(0.0));
        }
    }

    #[expect(clippy::panic, reason = "names are constants of this program, and tests make every registry")]
    fn keep<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let kept = made.and_then(|made| self.0.register(Box::new(made.clone())).map(|()| made));
        kept.unwrap_or_else(|error| panic!("a metric cannot be registered: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_with_their_kinds_and_help_by_name() {
        let registry = Registry::default();
        let calls = registry.counters("calls_total", "Calls", &["path", "method"]);
        calls.of(&["/b", "GET"]).add(2);
        calls.of(&["/a", "GET"]).add(1);
        let open = registry.gauge("open", "Open ones");
        open.add(5);
        open.sub(2);
        registry.durations("took_seconds", "How long", &[0.5, 1.0]).note(Duration::from_millis(750));
        registry.counters("unused_total", "Never", &["why"]);
        let expected = "\
# HELP calls_total Calls
# TYPE calls_total counter
calls_total{method=\"GET\",path=\"/a\"} 1
calls_total{method=\"GET\",path=\"/b\"} 2
# HELP open Open ones
# TYPE open gauge
open 3
# HELP took_seconds How long
# TYPE took_seconds histogram
took_seconds_bucket{le=\"0.5\"} 0
took_seconds_bucket{le=\"1\"} 1
took_seconds_bucket{le=\"+Inf\"} 1
took_seconds_sum 0.75
took_seconds_count 1
";
        assert_eq!(text(&registry.families()), expected);
        assert_eq!((calls.of(&["/b", "GET"]).get(), open.get()), (2, 3));
    }

    #[test]
    fn what_was_just_read_is_written_with_its_labels() {
        let registry = Registry::default();
        registry.value("lag_seconds", "Behind", 1.5);
        registry.total("cpu_seconds_total", "Used", 2.25);
        registry.values("paused", "Paused", &["reason"], [(vec!["b"], 2.0), (vec!["a\"\n"], 0.0)]);
        let text = text(&registry.families());
        assert!(text.contains("# TYPE cpu_seconds_total counter\ncpu_seconds_total 2.25\n"), "{text}");
        assert!(text.contains("# TYPE lag_seconds gauge\nlag_seconds 1.5\n"), "{text}");
        assert!(text.ends_with("paused{reason=\"a\\\"\\n\"} 0\npaused{reason=\"b\"} 2\n"), "{text}");
    }
}

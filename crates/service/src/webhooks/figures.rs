//! Figures about each URL, for people who run the server.
//!
//! They are read from the database at most every [`FRESH_US`]: how far each cursor is behind its log, with counts that end
//! at a limit, so that asking often or having a long log costs little. Labels name the organization and the subscription;
//! URLs may carry secrets and are not shown.

use crate::Service;
use daybook_engine::time::Time;
use daybook_store::outbox::UrlFigures;
use std::fmt::Write as _;
use std::sync::Arc;

/// How long figures of the database are shown before they are read again.
const FRESH_US: i64 = 10_000_000;

/// Figures that were read last, and when.
type Read = (Time, Vec<UrlFigures>);

/// The figures of the database that are shown until they are read again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered(Arc<tokio::sync::Mutex<Option<Read>>>);

impl Service {
    /// Figures about each URL, in the text format that Prometheus reads.
    pub async fn url_metrics_text(&self) -> String {
        let now = self.clock.now();
        let mut remembered = self.url_figures.0.lock().await;
        let is_fresh = |at: Time| (0..FRESH_US).contains(&(now.micros() - at.micros()));
        if !remembered.as_ref().is_some_and(|(at, _)| is_fresh(*at)) {
            match self.store.url_figures().await {
                Ok(figures) => *remembered = Some((now, figures)),
                Err(error) => {
                    tracing::warn!(%error, "figures about URLs cannot be read");
                    return String::new();
                }
            }
        }
        let figures: &[UrlFigures] = remembered.as_ref().map_or(&[], |(_, figures)| figures);
        let mut text = gauges(figures, now);
        let attempts = self.dispatcher.get().map(|dispatcher| dispatcher.figures().by_url()).unwrap_or_default();
        let made = attempts.iter().map(|((org, uuid), one)| (*org, uuid.as_str(), one.made as f64));
        family(
            &mut text,
            "attempts_total",
            "counter",
            "Attempts to deliver to the URL, by this node since its start",
            made,
        );
        let failed = attempts.iter().map(|((org, uuid), one)| (*org, uuid.as_str(), one.failed as f64));
        let help = "Attempts that failed, by this node since its start";
        family(&mut text, "failed_attempts_total", "counter", help, failed);
        text
    }
}

fn gauges(figures: &[UrlFigures], now: Time) -> String {
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, value: &dyn Fn(&UrlFigures) -> f64| {
        let lines = figures.iter().map(|one| (one.org, one.uuid.as_str(), value(one)));
        family(&mut text, name, "gauge", help, lines);
    };
    gauge("backlog_messages", "Messages to be sent to the URL, or sent again", &|one| one.pending as f64);
    let age = |one: &UrlFigures| one.oldest_pending.map_or(0.0, |at| (now.micros() - at.micros()).max(0) as f64 / 1e6);
    gauge(
        "oldest_waiting_seconds",
        "Age of the oldest message that is to be sent to the URL; 0 if there is none",
        &age,
    );
    gauge("paused", "1 while the URL is paused, else 0", &|one| f64::from(u8::from(one.is_paused)));
    gauge("dead_letters", "Dead letters of the URL", &|one| one.dead as f64);
    text
}

fn family<'a>(text: &mut String, name: &str, kind: &str, help: &str, lines: impl Iterator<Item = (i64, &'a str, f64)>) {
    let _ = writeln!(text, "# HELP daybook_webhook_url_{name} {help}\n# TYPE daybook_webhook_url_{name} {kind}");
    for (org, uuid, value) in lines {
        let _ = writeln!(text, "daybook_webhook_url_{name}{{organization=\"{org}\",webhook_uuid=\"{uuid}\"}} {value}");
    }
}

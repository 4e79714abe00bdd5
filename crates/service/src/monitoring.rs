//! All metrics of the service, for operators.
//!
//! ```text
//! scrape ─► fresh? ── yes ─────────────────────────────► page
//!              └── no ─► read in the background, once at a time ─► page, after PATIENCE with the previous values
//! ```
//!
//! Most metrics are counted in memory. Those of the database are read for a scrape if the known values are older than
//! [`FRESH_US`], or older than [`TIMES_AS_LONG`] times the time it took to read them; so frequent scrapes cost little.
//! If the database does not respond, the page neither fails nor slows down: its metrics are left out, and
//! `daybook_database_up` is 0.

use crate::Service;
use crate::boxed;
use crate::call_slots::{CallCounts, CallKind};
use crate::problem::Problem;
use daybook_clock::Stopwatch;
use daybook_engine::terms::RULES_VERSION;
use daybook_engine::time::Time;
use daybook_metrics::{Families, Registry};
use daybook_store::monitoring::{OverdueWork, Releases, StorageSpace};
use daybook_store::outbox::UrlMetrics;
use daybook_webhooks::dispatcher::URL_LABELS;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long database metrics are shown before they are read again.
const FRESH_US: i64 = 10_000_000;
/// The same, as a multiple of the time it took to read them.
const TIMES_AS_LONG: i64 = 5;
/// The longest time they are shown.
const LONGEST_US: i64 = 120_000_000;
/// How long a page waits for database metrics.
const PATIENCE: Duration = Duration::from_secs(2);
/// The timeout for reading due work and failures from the database.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout for counting the events that releases still hold.
const COUNT_TIMEOUT: Duration = Duration::from_secs(30);

/// The reasons why URLs are paused.
const PAUSE_REASONS: [&str; 3] = ["CONSECUTIVE_ERRORS", "UNAUTHORIZED", "UNSUBSCRIBED"];

/// The values read from the database.
#[derive(Debug)]
struct DatabaseReadings {
    standing: OverdueWork,
    urls: Vec<UrlMetrics>,
    storage_space: Option<StorageSpace>,
    /// `None` if counting took too long.
    releases: Option<Releases>,
}

/// Database metrics, when they were read and until when they are shown.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    began: Time,
    shown_until: Time,
    /// `None` if the database did not respond.
    families: Option<Arc<Families>>,
}

impl Read {
    fn is_fresh(&self, now: Time) -> bool {
        (self.began..self.shown_until).contains(&now)
    }
}

impl DatabaseReadings {
    fn families(&self, now: Time) -> Families {
        let figures = Registry::default();
        show_work(&figures, &self.standing, now);
        show_releases(&figures, self.releases);
        show_storage_space(&figures, self.storage_space);
        show_urls(&figures, &self.urls, now);
        show_webhooks(&figures, self, now);
        figures.families()
    }
}

impl Service {
    /// All metrics of the service.
    #[boxed]
    pub async fn metrics(&self) -> Families {
        let read = self.read_of_database(self.clock.now()).await;
        let figures = Registry::default();
        self.show_build(&figures);
        self.show_clock(&figures);
        self.show_mute(&figures);
        self.show_connections(&figures);
        self.show_call_slots(&figures);
        let of_database = read.and_then(|read| read.families);
        let help = "1 if the last query for database metrics succeeded, else 0";
        figures.value("daybook_database_up", help, f64::from(u8::from(of_database.is_some())));
        let mut families = self.metrics.families();
        families.extend(figures.families());
        families.extend(of_database.iter().flat_map(|families| families.iter().cloned()));
        families.extend(self.dispatcher.get().map(|dispatcher| dispatcher.metrics().families()).unwrap_or_default());
        families
    }

    /// All metrics in the Prometheus text format.
    #[boxed]
    pub async fn metrics_text(&self) -> String {
        daybook_metrics::text(&self.metrics().await)
    }

    /// The database metrics: fresh ones if they can be read in time, otherwise the last ones.
    async fn read_of_database(&self, now: Time) -> Option<Read> {
        let kept = self.monitored.kept(&());
        if kept.as_ref().is_some_and(|read| read.is_fresh(now)) {
            return kept;
        }
        let service = self.clone();
        let reading = self.monitored.count(&(), async move { Ok(service.read_database(now).await) });
        match reading.within(PATIENCE).await {
            Some(Ok(read)) => Some(read),
            _ => self.monitored.kept(&()),
        }
    }

    async fn read_database(&self, began: Time) -> Read {
        let watch = Stopwatch::start();
        let families = match self.ask_database(began).await {
            Ok(found) => Some(Arc::new(found.families(began))),
            Err(problem) => {
                tracing::warn!(%problem, "database metrics cannot be read; they are left out");
                None
            }
        };
        let took_us = i64::try_from(watch.elapsed().as_micros()).unwrap_or(i64::MAX);
        let shown_us = match families {
            Some(_) => took_us.saturating_mul(TIMES_AS_LONG).clamp(FRESH_US, LONGEST_US),
            None => FRESH_US,
        };
        Read { began, shown_until: began.plus_micros(shown_us), families }
    }

    async fn ask_database(&self, now: Time) -> Result<DatabaseReadings, Problem> {
        let asking = async {
            self.store.ping().await?;
            let standing = self.store.overdue_work(now).await?;
            Ok::<_, Problem>((standing, self.store.url_metrics().await?, self.store.storage_space().await?))
        };
        let too_slow = |_| Problem::unavailable("the database did not respond in time");
        let (standing, urls, storage_space) = tokio::time::timeout(READ_TIMEOUT, asking).await.map_err(too_slow)??;
        let releases = match tokio::time::timeout(COUNT_TIMEOUT, self.store.releases()).await {
            Ok(counted) => Some(counted?),
            Err(_) => None,
        };
        Ok(DatabaseReadings { standing, urls, storage_space, releases })
    }

    fn show_build(&self, figures: &Registry) {
        let labels = ["version", "rules_version", "schema"];
        let of = vec![env!("CARGO_PKG_VERSION").to_owned(), RULES_VERSION.to_string(), self.store.schema().to_string()];
        let help = "Always 1; the labels give the build, the version of its rules and the version of its tables";
        figures.values("daybook_build_info", help, &labels, [(of, 1.0)]);
    }

    fn show_clock(&self, figures: &Registry) {
        let Some(offset) = self.clock.offset_micros() else { return };
        let help = "How far this machine's clock is ahead of the clock it is compared with";
        figures.value("daybook_clock_offset_seconds", help, offset as f64 / 1e6);
        let is_trusted = u8::from(self.clock.trouble().is_none());
        let help = "1 while the clock is trusted, 0 while it is not and processing is paused";
        figures.value("daybook_clock_trusted", help, is_trusted.into());
    }

    /// Connections to PostgreSQL, and the write-ahead log of SQLite. Both are known without a query.
    fn show_connections(&self, figures: &Registry) {
        if let Some(pool) = self.store.connections() {
            let value = |name, help, number: u64| figures.value(name, help, number as f64);
            value("daybook_postgres_connections_limit", "Maximum number of connections to PostgreSQL", pool.limit);
            value("daybook_postgres_connections_open", "Open connections to PostgreSQL", pool.open);
            value("daybook_postgres_connections_in_use", "Connections to PostgreSQL that are in use", pool.in_use);
            value("daybook_postgres_waiting", "Statements that wait for a connection to PostgreSQL", pool.waiting);
        }
        if let Some(log) = self.store.log_size() {
            let help = "Pages in the write-ahead log when it was last copied";
            figures.value("daybook_sqlite_log_pages", help, log.pages as f64);
            let help = "How often a long read kept the write-ahead log from being restarted";
            figures.total("daybook_sqlite_log_held_back_total", help, log.held_back as f64);
        }
    }

    fn show_call_slots(&self, figures: &Registry) {
        let gauge = |name, help, value: fn(CallCounts) -> usize| {
            let values = CallKind::ALL.map(|kind| (vec![kind.name()], value(self.call_counts(kind)) as f64));
            figures.values(name, help, &["kind"], values);
        };
        gauge(
            "daybook_calls_in_progress",
            "Calls that have a slot: lists, reads of one object, bulk calls",
            |counts| counts.in_progress,
        );
        gauge("daybook_calls_waiting", "Calls that wait for a slot", |counts| counts.waiting);
    }
}

/// How long ago a moment was, in seconds; 0 if there is none.
fn age(now: Time, moment: Option<Time>) -> f64 {
    moment.map_or(0.0, |at| (now.micros() - at.micros()).max(0) as f64 / 1e6)
}

fn show_work(figures: &Registry, standing: &OverdueWork, now: Time) {
    let help = "Age of the oldest due moment of an account that is not processed yet; 0 if there is none. Products \
                that are being released are not counted";
    figures.value("daybook_due_lag_seconds", help, age(now, standing.oldest_due));
    let help = "Accounts that could not be processed, counted up to 10,000";
    figures.value("daybook_failed_accounts", help, standing.failed_accounts as f64);
}

fn show_releases(figures: &Registry, releases: Option<Releases>) {
    let Some(releases) = releases else { return };
    let value = |name, help, number: u64| figures.value(name, help, number as f64);
    value("daybook_releasing_products", "Products whose held events are being released", releases.products);
    value("daybook_release_events", "Events held by these products when their release began", releases.events);
    value("daybook_release_held_events", "Events that these products still hold", releases.held_events);
    let help = "Accounts of these products that still hold events, except failed ones";
    value("daybook_release_held_accounts", help, releases.held_accounts);
    let help = "Accounts of these products that could not be processed";
    value("daybook_release_failed_accounts", help, releases.failed_accounts);
}

fn show_storage_space(figures: &Registry, storage_space: Option<StorageSpace>) {
    let Some(storage_space) = storage_space else { return };
    let value = |name, help, number: u64| figures.value(name, help, number as f64);
    value("daybook_database_bytes", "Size of the database", storage_space.database_bytes);
    let Some(files) = storage_space.files else { return };
    value("daybook_sqlite_log_bytes", "Size of the write-ahead log's file", files.log_bytes);
    value("daybook_disk_free_bytes", "Free space on the file system of the database", files.free_bytes);
    value("daybook_disk_bytes", "Size of the file system of the database", files.disk_bytes);
}

/// Metrics of each URL. Labels name the organization and the subscription; URLs may contain secrets and are not shown.
fn show_urls(figures: &Registry, urls: &[UrlMetrics], now: Time) {
    let gauge = |name, help, value: &dyn Fn(&UrlMetrics) -> f64| {
        let values = urls.iter().map(|one| (vec![one.org.to_string(), one.uuid.clone()], value(one)));
        figures.values(name, help, &URL_LABELS, values);
    };
    let help = "Messages pending for the URL, including retries";
    gauge("daybook_webhook_url_backlog_messages", help, &|one| one.pending as f64);
    let help = "Age of the oldest message pending for the URL; 0 if there is none";
    gauge("daybook_webhook_url_oldest_waiting_seconds", help, &|one| age(now, one.oldest_pending));
    let help = "1 while the URL is paused, else 0";
    gauge("daybook_webhook_url_paused", help, &|one| f64::from(u8::from(one.is_paused)));
    gauge("daybook_webhook_url_dead_letters", "Dead letters of the URL", &|one| one.dead as f64);
}

fn show_webhooks(figures: &Registry, found: &DatabaseReadings, now: Time) {
    let urls = &found.urls;
    let sum = |of: fn(&UrlMetrics) -> u64| urls.iter().map(of).sum::<u64>() as f64;
    let help = "Messages pending for all URLs, including retries";
    figures.value("daybook_webhooks_backlog_messages", help, sum(|one| one.pending));
    figures.value("daybook_webhooks_dead_letters", "Dead letters of all URLs", sum(|one| one.dead));
    let oldest = urls.iter().filter_map(|one| one.oldest_pending).chain(found.standing.oldest_unpublished).min();
    let help =
        "Age of the oldest message that is pending for any URL, or due but not published yet; 0 if there is none";
    figures.value("daybook_webhooks_oldest_waiting_seconds", help, age(now, oldest));
    let mut paused: BTreeMap<&str, u64> = PAUSE_REASONS.map(|reason| (reason, 0)).into();
    for reason in urls.iter().filter_map(|one| one.pause_reason.as_deref()) {
        *paused.entry(reason).or_default() += 1;
    }
    let paused = paused.into_iter().map(|(reason, urls)| (vec![reason], urls as f64));
    figures.values("daybook_webhooks_paused_urls", "Webhook URLs that are paused, by reason", &["reason"], paused);
}

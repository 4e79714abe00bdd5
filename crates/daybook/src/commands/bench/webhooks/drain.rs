//! Sends the messages that are already in the log as fast as possible.

use super::bare::{self, Bare};
use super::messages;
use super::site::Site;
use crate::cli::{BenchWebhookClientArgs, BenchWebhooksArgs};
use crate::commands::Failure;
use crate::commands::bench::processor_time;
use daybook_clock::Stopwatch;
use daybook_webhooks::dispatcher::DispatcherSettings;
use std::time::Duration;

/// The bare client makes this fraction of the deliveries, before and after the dispatcher.
const LIMIT_SHARE: u64 = 4;
/// The interval between checks whether everything is sent.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// If there is no delivery for this long, something is wrong.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// The results.
#[derive(Debug)]
pub struct Drained {
    /// The number of URLs, including hanging ones.
    pub urls: u64,
    /// The number of hanging URLs.
    pub hanging: u64,
    /// The number of messages delivered, for all URLs.
    pub deliveries: u64,
    /// The time from the start until the last delivery was recorded.
    pub took: Duration,
    /// The results of the bare client, before and after.
    pub limit: Bare,
    /// The growth of the database per message written, in bytes.
    pub log_bytes: i64,
    /// The growth of the database per delivery, in bytes.
    pub delivery_bytes: i64,
    processor: Duration,
    receiver_us: u64,
    limit_receiver_us: u64,
}

impl Drained {
    /// Deliveries per second.
    pub fn rate(&self) -> f64 {
        self.deliveries as f64 / self.took.as_secs_f64()
    }

    /// The rate relative to the bare client.
    pub fn ratio(&self) -> f64 {
        self.rate() / self.limit.rate()
    }

    /// Processor time per delivery, in microseconds.
    pub fn processor_us(&self) -> f64 {
        self.processor.as_micros() as f64 / self.deliveries as f64
    }

    /// Processor time per request of the bare client.
    pub fn limit_processor_us(&self) -> f64 {
        self.limit.processor_us as f64 / self.limit.requests as f64
    }

    /// The receiver's processor time per delivery.
    pub fn receiver_us(&self) -> f64 {
        self.receiver_us as f64 / self.deliveries as f64
    }

    /// The receiver's processor time per request of the bare client.
    pub fn limit_receiver_us(&self) -> f64 {
        self.limit_receiver_us as f64 / self.limit.requests as f64
    }
}

/// Sends messages to this many URLs, some of which hang.
pub async fn measure(site: &mut Site, args: &BenchWebhooksArgs, urls: u64, hanging: u64) -> Result<Drained, Failure> {
    let answering = urls - hanging;
    let messages = args.messages / urls;
    let paths: Vec<String> = (0..answering)
        .map(|url| format!("/take/{url}"))
        .chain((0..hanging).map(|url| format!("/hang/{url}")))
        .collect();
    site.subscribe(&paths).await?;
    let empty = site.database_bytes().await?;
    messages::write(&*site.bench.store, site.org, site.next_message, messages, args.in_a_row).await?;
    site.next_message += messages;
    eprintln!("wrote {messages} messages for {urls} URLs");
    let written = site.database_bytes().await?;

    let (before, before_us) = limit(site, args, answering).await?;
    let receiver_before = site.receiver.ask()?.processor_us;
    let (processor_before, watch) = (processor_time(), Stopwatch::start());
    let running = site.dispatch()?;
    wait(site, answering).await?;
    let (took, processor) = (watch.elapsed(), processor_time().saturating_sub(processor_before));
    let receiver_us = site.receiver.ask()?.processor_us - receiver_before;
    running.stop().await?;
    let sent = site.database_bytes().await?;
    let (after, after_us) = limit(site, args, answering).await?;

    let deliveries = messages * answering;
    Ok(Drained {
        urls,
        hanging,
        deliveries,
        took,
        limit: before.and(after),
        log_bytes: (written - empty) / messages as i64,
        delivery_bytes: (sent - written) / deliveries as i64,
        processor,
        receiver_us,
        limit_receiver_us: before_us + after_us,
    })
}

/// Measures the bare client, and the receiver's processor time for it.
async fn limit(site: &mut Site, args: &BenchWebhooksArgs, urls: u64) -> Result<(Bare, u64), Failure> {
    let before = site.receiver.ask()?.processor_us;
    let receiver = site.receiver.address;
    let connections = DispatcherSettings::default().most_in_flight as u64;
    let client = BenchWebhookClientArgs { receiver, requests: args.messages / LIMIT_SHARE, urls, connections };
    let bare = bare::measure(client, messages::request_after_first_line(&receiver.to_string())).await?;
    Ok((bare, site.receiver.ask()?.processor_us - before))
}

/// Waits until every responding URL has received everything and this is recorded.
async fn wait(site: &Site, answering: u64) -> Result<(), Failure> {
    let (mut last, mut since) = (0, Stopwatch::start());
    let head = site.next_message as i64;
    loop {
        let rows = site.bench.store.subscriptions(site.org).await?;
        let all = rows.iter().filter(|row| row.cursor >= head).count() as u64;
        if all >= answering {
            return Ok(());
        }
        let now: i64 = rows.iter().map(|row| row.cursor).sum();
        if now > last {
            (last, since) = (now, Stopwatch::start());
        }
        if since.elapsed() > STUCK_AFTER {
            return Err(Failure::Failed(format!("deliveries have stopped: {rows:?}")));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

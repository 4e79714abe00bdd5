//! Memory under mixed load: payments, openings, bulk calls, lists, timelines, previews and webhooks, from several
//! callers, for `DAYBOOK_SOAK_SECONDS`. The server's memory stays within its limit, and does not grow in the second
//! half. Two figures are sampled: resident memory, and the memory that the program holds (allocated). The difference is
//! mostly freed memory that the allocator has not returned to the system.
//!
//! A short run checks only the limit. A campaign of an hour also checks that memory does not grow in the second half:
//! `DAYBOOK_SOAK_SECONDS=3600 cargo test --release --workspace --test faults soak -- --nocapture --test-threads 1`.

use crate::common::api_client::ApiClient;
use crate::common::chance::{Chance, seed, setting};
use crate::common::loans::{line, loan, make_product, payments_of};
use crate::webhooks_installation::{AT_ONCE, WebhooksInstallation, subscribe};
use daybook_clock::Stopwatch;
use daybook_testkit::postgres;
use daybook_testkit::receiver::Receiver;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const ACCOUNTS: u64 = 2_000;
/// A campaign has more accounts: an account's state lists the payments of the open period, so accounts that get
/// hundreds of payments within an hour would grow, and with them the batches in memory.
const CAMPAIGN_ACCOUNTS: u64 = 20_000;
const CALLERS: u64 = 6;
const SECONDS: u64 = 8;
const BETWEEN_CALLS: Duration = Duration::from_millis(8);
/// The memory limit of the server.
const MOST_KIB: u64 = 512 << 10;
/// A run of at least this length is a campaign.
const CAMPAIGN_SECONDS: u64 = 600;
/// By how much the median of the last quarter of a campaign may exceed that of the third, in percent.
const LEVEL_PERCENT: u64 = 10;
/// Memory samples of a run.
const SAMPLES: u64 = 60;

#[test]
fn memory_is_bounded_under_mixed_load_on_sqlite() {
    memory_is_bounded("SQLite", &WebhooksInstallation::sqlite());
}

#[test]
fn memory_is_bounded_under_mixed_load_on_postgres() {
    let server = postgres::Server::start_durable();
    memory_is_bounded("PostgreSQL", &WebhooksInstallation::postgres(&server.database()));
}

fn memory_is_bounded(database: &str, installation: &WebhooksInstallation) {
    let seconds = setting("DAYBOOK_SOAK_SECONDS", SECONDS);
    let server = installation.serve(&AT_ONCE);
    let client = ApiClient::to(server.url());
    make_product(&client, "auto", json!({}), json!({}));
    let count = if seconds < CAMPAIGN_SECONDS { ACCOUNTS } else { CAMPAIGN_ACCOUNTS };
    let accounts: Vec<Value> = (0..count).map(|number| line("/accounts", &today(&account(number)))).collect();
    client.bulk(&accounts);
    let receivers = [Receiver::counting(), Receiver::counting()];
    for receiver in &receivers {
        subscribe(&client, &receiver.url(), None);
    }
    let (is_over, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut resident, mut allocated) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (client, is_over, calls) = (client.another(), &is_over, &calls);
            scope.spawn(move || {
                let mut chance = Chance::of_seed(seed()).for_one(caller);
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    number += 1;
                    call(&client, &mut chance, count, &format!("c{caller}-{number}"));
                    calls.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(BETWEEN_CALLS);
                }
            });
        }
        let watch = Stopwatch::start();
        for sample in 1..=SAMPLES {
            let due = Duration::from_secs(seconds).mul_f64(sample as f64 / SAMPLES as f64);
            thread::sleep(due.saturating_sub(watch.elapsed()));
            resident.push(server.resident_kib() >> 10);
            allocated.push(allocated_bytes(&client) >> 20);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!(
        "{database}: {seconds} s, {} calls, {} webhooks; MiB resident: {resident:?}; MiB allocated: {allocated:?}",
        calls.load(Ordering::Relaxed),
        receivers.iter().map(|receiver| receiver.counts().requests).sum::<usize>(),
    );
    let most = resident.iter().max().copied().unwrap_or(0);
    assert!(most > 0 && allocated.iter().any(|some| *some > 0), "no memory was measured");
    assert!(most < MOST_KIB >> 10, "{most} MiB");
    if seconds >= CAMPAIGN_SECONDS {
        assert_level("resident", &resident);
        assert_level("allocated", &allocated);
    }
    server.stop();
}

/// Fails if the median of the last quarter is more than [`LEVEL_PERCENT`] above that of the third: single samples vary
/// with the calls in progress.
fn assert_level(what: &str, samples: &[u64]) {
    let (third, last) = samples[samples.len() / 2..].split_at(samples.len() / 4);
    let (third, last) = (median(third), median(last));
    println!("  MiB {what}, medians of the third and the last quarter: {third}, {last}");
    assert!(last <= third * (100 + LEVEL_PERCENT) / 100, "{what}: {last} MiB after {third} MiB");
}

fn median(samples: &[u64]) -> u64 {
    let mut samples = samples.to_vec();
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// The memory that the server's allocator has handed out.
fn allocated_bytes(client: &ApiClient) -> u64 {
    let metrics = client.get("/metrics").text;
    let line = metrics.lines().find_map(|line| line.strip_prefix("daybook_memory_allocated_bytes "));
    line.and_then(|value| value.parse::<f64>().ok()).map_or(0, |bytes| bytes as u64)
}

fn account(number: u64) -> String {
    format!("loan-{number}")
}

/// A loan opened today that is never paid off.
fn today(account: &str) -> Value {
    let mut form = loan("auto", account, "");
    form.as_object_mut().expect("an object").remove("effective_at");
    form["summary"]["initial_principal_cents"] = json!(1_000_000_000_000_i64);
    form
}

/// One call of the mix, to one of `count` accounts.
fn call(client: &ApiClient, chance: &mut Chance, count: u64, id: &str) {
    let some = account(chance.below(count));
    let payment = |id: &str| json!({ "line_item_id": id, "original_amount_cents": 7 });
    let reply = match chance.below(100) {
        0..50 => client.post(&payments_of(&some), &payment(id)),
        50..62 => client.get(&format!("/accounts/{some}")),
        62..70 => client.get(&format!("/accounts/{some}?effective_as_of=2031-01-01T12:00:00Z")),
        70..78 => client.get(&format!("/accounts/{some}/events?limit=50")),
        78..85 => client.get(&format!("/accounts/{some}/line_items?limit=200")),
        85..90 => client.get("/accounts?limit=100&product_id=auto"),
        90..95 => client.post("/accounts", &loan("auto", id, "2024-01-05T12:00:00-05:00")),
        95..97 => client.get("/metrics"),
        _ => {
            let lines = (0..200).map(|number| {
                let account = account(chance.below(count));
                line(&payments_of(&account), &payment(&format!("{id}-{number}")))
            });
            return drop(client.bulk(&lines.collect::<Vec<_>>()));
        }
    };
    assert_eq!(reply.status, 200, "{}", reply.text);
}

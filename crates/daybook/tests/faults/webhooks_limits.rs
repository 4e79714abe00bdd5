//! Receivers with rate limits, and a backlog for each: none is paused, there are no dead letters, and each receives at
//! nine tenths of its capacity from the first second on. The test takes minutes of real time, so it runs separately:
//! `cargo test -p daybook --test faults webhooks_limits -- --ignored --nocapture`. `DAYBOOK_LIMITED_MESSAGES` is the
//! number of messages for each receiver; the default is 3,000. The policy itself is tested with a simulated clock in
//! `pace`.

use crate::common::api_client::ApiClient;
use crate::common::chance::setting;
use crate::common::loans::line;
use crate::webhooks_installation::{AT_ONCE, LATER, WebhooksInstallation, subscribe};
use daybook_clock::Stopwatch;
use daybook_testkit::postgres;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The limit of a receiver.
#[derive(Clone, Copy, Debug)]
enum Limit {
    PerSecond(usize),
    AtOnce(usize),
}

/// The receivers: limit, response time, and whether the response has a `Retry-After`.
const RECEIVERS: [(Limit, u64, bool); 6] = [
    (Limit::PerSecond(10), 50, true),
    (Limit::PerSecond(50), 50, true),
    (Limit::AtOnce(10), 300, true),
    (Limit::AtOnce(30), 300, true),
    (Limit::PerSecond(50), 20, false),
    (Limit::AtOnce(10), 250, false),
];

#[derive(Debug, Default)]
struct Seen {
    /// When each accepted message arrived, since the first request.
    taken: Vec<Duration>,
    refused: usize,
    busy: usize,
    since: Option<Stopwatch>,
}

fn limited(limit: Limit, answer_ms: u64, says: bool, seen: &Arc<Mutex<Seen>>) -> Receiver {
    let seen = seen.clone();
    Receiver::start(Behaviour::slowly(move |_, _| {
        {
            let mut seen = seen.lock().expect("no answer panics");
            let now = seen.since.get_or_insert_with(Stopwatch::start).elapsed();
            let lately = seen.taken.iter().rev().take_while(|at| now - **at < Duration::from_secs(1)).count();
            let is_full = match limit {
                Limit::PerSecond(most) => lately >= most,
                Limit::AtOnce(most) => seen.busy >= most,
            };
            if is_full {
                seen.refused += 1;
                let answer = PreparedResponse::status(429);
                return if says { answer.with("retry-after", "1") } else { answer };
            }
            seen.taken.push(now);
            seen.busy += 1;
        }
        thread::sleep(Duration::from_millis(answer_ms));
        seen.lock().expect("no answer panics").busy -= 1;
        PreparedResponse::status(200)
    }))
}

#[test]
#[ignore = "takes minutes of real time"]
fn limited_receivers_on_sqlite_get_what_they_take() {
    limited_receivers_get_what_they_take("SQLite", &WebhooksInstallation::sqlite());
}

#[test]
#[ignore = "takes minutes of real time"]
fn limited_receivers_on_postgres_get_what_they_take() {
    let server = postgres::Server::start_durable();
    limited_receivers_get_what_they_take("PostgreSQL", &WebhooksInstallation::postgres(&server.database()));
}

fn limited_receivers_get_what_they_take(database: &str, installation: &WebhooksInstallation) {
    let messages = setting("DAYBOOK_LIMITED_MESSAGES", 3_000) as usize;
    let seen: Vec<Arc<Mutex<Seen>>> = RECEIVERS.iter().map(|_| Arc::default()).collect();
    let receivers: Vec<Receiver> =
        RECEIVERS.iter().zip(&seen).map(|((limit, ms, says), seen)| limited(*limit, *ms, *says, seen)).collect();
    let server = installation.serve(&LATER);
    let client = ApiClient::to(server.url());
    for receiver in &receivers {
        subscribe(&client, &receiver.url(), Some(&["customer_create"]));
    }
    let customer = |number| line("/customers", &json!({ "customer_id": format!("c{number}"), "name_last": "Zoë" }));
    client.bulk(&(0..messages).map(customer).collect::<Vec<_>>());
    server.stop();
    let server = installation.serve(&AT_ONCE);
    client.lead_to(server.url());
    // The slowest accepts ten per second: five minutes, and at least a minute for retries.
    loop {
        let all = client.get("/organization/subscriptions").good();
        let all: Vec<Value> = all["results"].as_array().expect("a list").clone();
        for one in &all {
            assert_eq!((&one["status"], &one["dead_letters"]), (&json!("ACTIVE"), &json!(0)), "{one}");
        }
        if all.iter().all(|one| one["pending"] == 0) {
            break;
        }
        thread::sleep(Duration::from_secs(2));
    }
    server.stop();
    let mut too_few = Vec::new();
    for ((limit, answer_ms, says), seen) in RECEIVERS.iter().zip(&seen) {
        let seen = seen.lock().expect("no answer panics");
        let per_second = match limit {
            Limit::PerSecond(most) => *most as f64,
            Limit::AtOnce(most) => *most as f64 * 1_000.0 / *answer_ms as f64,
        };
        // Refused messages are retried after a minute: until then only the others count.
        let first_pass = messages - seen.refused.min(messages / 10);
        let in_minute = seen.taken.iter().filter(|at| at.as_secs() < 60).count().min(first_pass);
        let minute_s = seen.taken[in_minute - 1].as_secs_f64().max(1.0);
        let share_of_minute = in_minute as f64 / (per_second * minute_s);
        let all_s = seen.taken[first_pass - 1].as_secs_f64();
        let share = first_pass as f64 / (per_second * all_s);
        println!(
            "{database}: {limit:?}, answers in {answer_ms} ms, Retry-After {says}: {} taken, {} refused, {:.1} % of what it \
             can take in the first minute, {:.1} % until all {first_pass} went ({all_s:.0} s)",
            seen.taken.len(),
            seen.refused,
            100.0 * share_of_minute,
            100.0 * share
        );
        if share < 0.9 || share_of_minute < 0.9 || seen.taken.len() < messages {
            too_few.push((limit, answer_ms, says));
        }
    }
    assert!(too_few.is_empty(), "{too_few:?}");
}

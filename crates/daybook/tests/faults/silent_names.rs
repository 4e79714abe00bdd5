//! Many concurrent subscriptions of names whose name servers never respond: another organization is served as usual.
//!
//! Lookups use no thread, and each organization has a limit on concurrent lookups. Each run checks this, and prints the
//! time of the other organization's calls. A campaign also checks that time, and needs a release build on an otherwise
//! idle machine: `DAYBOOK_SILENT_NAMES=130 cargo test --release --workspace --test faults silent_names -- --nocapture
//! --test-threads 1`.

use crate::common::api_client::ApiClient;
use crate::common::installation::Installation;
use daybook_clock::Stopwatch;
use daybook_testkit::names::NameServer;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The number of concurrent subscriptions.
const AT_ONCE: usize = 130;
/// The number of queries of a lookup before its call stops waiting: for IPv4 and for IPv6, each with retries.
const QUESTIONS: usize = 6;
/// More threads than a healthy server on two cores has.
const MOST_THREADS: usize = 64;
/// The time limit for 99 of 100 of the other organization's calls in a campaign.
const LIMIT: Duration = Duration::from_millis(100);

#[test]
fn silent_name_servers_hold_up_no_other_organization_on_sqlite() {
    check("SQLite", &Installation::sqlite());
}

#[test]
fn silent_name_servers_hold_up_no_other_organization_on_postgres() {
    check("PostgreSQL", &Installation::postgres());
}

fn check(database: &str, installation: &Installation) {
    let asked: Option<usize> = std::env::var("DAYBOOK_SILENT_NAMES").ok().map(|text| text.parse().expect("a number"));
    let names = NameServer::silent();
    let server = installation.serve_with(&["--name-server", &names.address().to_string()]);
    let other = ApiClient::to(server.url());
    let made = installation.json_of(&["org", "create", "noisy", "--json"]);
    let noisy = made["client_secret"].as_str().expect("a secret").to_owned();
    let is_over = AtomicBool::new(false);
    let (mut took, most_threads) = thread::scope(|scope| {
        let calls: Vec<_> = (0..asked.unwrap_or(AT_ONCE))
            .map(|number| {
                let (server, noisy) = (&server, &noisy);
                scope.spawn(move || {
                    let body = json!({ "webhook_url": format!("https://n{number}.silent.example/hooks") });
                    server.put("/organization/subscribe", noisy, &body).status
                })
            })
            .collect();
        let threads = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::SeqCst) {
                most = most.max(threads_of(server.pid()));
                thread::sleep(Duration::from_millis(20));
            }
            most
        });
        let mut took = Vec::new();
        while calls.iter().any(|call| !call.is_finished()) {
            let customer = json!({ "customer_id": format!("c{}", took.len()), "name_last": "Torres" });
            let stopwatch = Stopwatch::start();
            other.post("/customers", &customer).good();
            took.push(stopwatch.elapsed());
        }
        is_over.store(true, Ordering::SeqCst);
        let statuses: Vec<u16> = calls.into_iter().map(|call| call.join().expect("the call has an answer")).collect();
        // An organization can have a hundred subscriptions.
        assert!(statuses.iter().all(|status| [200, 201, 409].contains(status)), "{statuses:?}");
        (took, threads.join().expect("the counting goes on"))
    });
    took.sort();
    let percentile = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
    println!(
        "{database}: {} calls during {} subscriptions of silent names: p50 {:?}, p99 {:?}, slowest {:?}; {most_threads} threads \
         at most, {} questions to the name server",
        took.len(),
        asked.unwrap_or(AT_ONCE),
        percentile(50),
        percentile(99),
        took[took.len() - 1],
        names.asked()
    );
    assert!(most_threads < MOST_THREADS, "{most_threads} threads");
    let questions = names.asked();
    let most = QUESTIONS / 3 * asked.unwrap_or(AT_ONCE);
    assert!((1..most).contains(&questions), "{questions} questions: a few names at a time");
    assert!(!took.is_empty(), "the other organization was served meanwhile");
    if asked.is_some() {
        assert!(percentile(99) < LIMIT, "p99 {:?}", percentile(99));
    }
}

fn threads_of(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

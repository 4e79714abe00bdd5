//! SIGTERM while webhooks are sent: responses are recorded, so that nothing arrives twice, and a URL that hangs does
//! not delay the stop.
//!
//! `DAYBOOK_WEBHOOK_STOPS` is the number of stops; the default is 3. A campaign: `DAYBOOK_WEBHOOK_STOPS=20 cargo test
//! -p daybook --test faults webhooks_stopped -- --nocapture`.

use crate::common::api_client::ApiClient;
use crate::common::chance::{Chance, seed, setting};
use crate::webhooks_installation::{
    AT_ONCE, LATER, WebhooksInstallation, announcements, compare, log_of, prepare, subscribe, wait_until_sent,
};
use daybook_clock::Stopwatch;
use daybook_testkit::postgres;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use std::thread;
use std::time::Duration;

/// The numbers of customers created before the first message is sent, and before each stop.
const BACKLOG: u64 = 300;
const MORE: u64 = 60;
/// The longest response times of the receivers, in milliseconds: shorter than a stop waits.
const ANSWERS_WITHIN_MS: [u64; 3] = [5, 300, 1_500];
/// A hanging URL hangs longer than this; a stop waits 5 seconds for it.
const LONGEST_STOP: Duration = Duration::from_secs(9);

#[test]
fn a_stop_on_sqlite_sends_nothing_twice() {
    a_stop_sends_nothing_twice("SQLite", &WebhooksInstallation::sqlite());
}

#[test]
fn a_stop_on_postgres_sends_nothing_twice() {
    let server = postgres::Server::start_durable();
    a_stop_sends_nothing_twice("PostgreSQL", &WebhooksInstallation::postgres(&server.database()));
}

/// Responds after a time that differs between messages.
fn within(most_ms: u64) -> Receiver {
    Receiver::start(Behaviour::slowly(move |number, _| {
        let wait = Chance::of_seed(number as u64 ^ most_ms).below(most_ms);
        thread::sleep(Duration::from_millis(wait));
        PreparedResponse::status(200)
    }))
}

fn a_stop_sends_nothing_twice(database: &str, installation: &WebhooksInstallation) {
    let stops = setting("DAYBOOK_WEBHOOK_STOPS", 3);
    let mut chance = Chance::of_seed(seed());
    let receivers = ANSWERS_WITHIN_MS.map(within);
    let urls: Vec<String> = receivers.iter().map(Receiver::url).collect();
    let mut server = installation.serve(&LATER);
    let client = ApiClient::to(server.url());
    prepare(&client);
    for url in &urls {
        subscribe(&client, url, None);
    }
    client.bulk(&announcements("first", BACKLOG));
    server.stop();
    server = installation.serve(&AT_ONCE);
    for stop in 0..stops {
        client.lead_to(server.url());
        let before = receivers[0].counts().requests;
        client.bulk(&announcements(&format!("round-{stop}"), MORE));
        receivers[0].wait_until(|counts| counts.requests > before);
        thread::sleep(Duration::from_millis(chance.below(500)));
        server.stop();
        server = installation.serve(&AT_ONCE);
    }
    client.lead_to(server.url());
    wait_until_sent(&client, &urls, || {});
    server.stop();
    let log = log_of(&installation.database);
    for (receiver, within_ms) in receivers.iter().zip(ANSWERS_WITHIN_MS) {
        let arrived = compare(&receiver.requests(), log.iter());
        println!(
            "webhooks on {database}: {stops} stops, answers within {within_ms} ms, {} messages, {} twice, {} lost, seed {}",
            arrived.messages,
            arrived.duplicates,
            arrived.lost,
            seed()
        );
        assert_eq!((arrived.duplicates, arrived.lost), (0, 0), "answers within {within_ms} ms");
    }
}

#[test]
fn a_url_that_hangs_does_not_hold_up_a_stop() {
    let installation = WebhooksInstallation::sqlite();
    let hanging = Receiver::start(Behaviour::Silent);
    let server = installation.serve(&[AT_ONCE[0], AT_ONCE[1], "--webhook-timeout", "1m"]);
    let client = ApiClient::to(server.url());
    prepare(&client);
    subscribe(&client, &hanging.url(), None);
    client.bulk(&announcements("first", 3));
    hanging.wait_until(|counts| counts.requests > 0);
    let stopwatch = Stopwatch::start();
    server.stop();
    let elapsed = stopwatch.elapsed();
    println!("stopped after {elapsed:?}");
    assert!(elapsed < LONGEST_STOP, "{elapsed:?}");
}

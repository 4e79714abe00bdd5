//! Leases are renewed while deliveries are recorded: no node may lose a subscription that it holds, or dead-letter its
//! messages. A campaign runs more rounds:
//! `DAYBOOK_LEASE_ROUNDS=12 cargo test -p daybook --test faults webhooks_leases`.

use crate::common::api_client::ApiClient;
use crate::common::chance::setting;
use crate::webhooks_installation::{AT_ONCE, WebhooksInstallation, announcements, prepare, subscribe, wait_until_sent};
use daybook_clock::Stopwatch;
use daybook_testkit::postgres;
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use std::time::Duration;

const MESSAGES: u64 = 1_000;
/// Longer than a lease: before, none can expire.
const LEASE: Duration = Duration::from_secs(20);

#[test]
fn no_message_of_a_healthy_url_is_buried_on_postgres() {
    let rounds = setting("DAYBOOK_LEASE_ROUNDS", 1);
    let installation = WebhooksInstallation::postgres(&postgres::Server::shared().migrated_database());
    let receivers: Vec<Receiver> = (0..10).map(|_| Receiver::start(Behaviour::status(200))).collect();
    let urls: Vec<String> = receivers.iter().map(Receiver::url).collect();
    let spare = Receiver::start(Behaviour::status(200));
    let server = installation.serve(&AT_ONCE);
    let client = ApiClient::to(server.url());
    prepare(&client);
    urls.iter().for_each(|url| drop(subscribe(&client, url, None)));
    let stopwatch = Stopwatch::start();
    let mut round = 0;
    while round < rounds || stopwatch.elapsed() < LEASE {
        let other = client.another();
        std::thread::scope(|scope| {
            let bulk = scope.spawn(|| client.bulk(&announcements(&format!("r{round}"), MESSAGES)));
            let mut turn = 0;
            while !bulk.is_finished() {
                turn += 1;
                let events = ["account_create", "customer_create"][turn % 2];
                // Any change of a subscription triggers a check of the leases.
                other.put("/organization/subscribe", &json!({ "webhook_url": spare.url(), "filter_events": [events] }));
            }
        });
        let dead = client.get("/organization/dead_letters?limit=2").good();
        assert_eq!(dead["results"], json!([]), "round {round}");
        round += 1;
    }
    wait_until_sent(&client, &urls, || {});
    println!("{round} rounds of {MESSAGES} messages to ten URLs, none buried");
}

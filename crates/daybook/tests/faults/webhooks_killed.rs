//! `kill -9` while webhooks are sent: every message arrives, with the same bytes each time, and only messages in flight
//! at the kill arrive twice.
//!
//! ```text
//! backlog ─► server ── killed at a moment that chance picks ──► server again ── ... ──► everything is sent
//!              └────────────► a receiver that remembers ◄─────────┘                      │
//!                                  compared with the log in the database ◄───────────────┘
//! ```
//!
//! The receiver has a gate, so that a kill happens during sending at any speed of the machine. It is closed while
//! messages are created, then lets a random number of them through, fewer than there are, and the kill follows when it
//! is closed again.
//!
//! `DAYBOOK_WEBHOOK_KILLS` is the number of kills; the default is 4 on SQLite and 2 on PostgreSQL, where a new server
//! waits until the lease of the dead one, 15 seconds, expires. A campaign:
//! `DAYBOOK_WEBHOOK_KILLS=50 cargo test -p daybook --test faults webhooks_killed -- --nocapture`.

use crate::common::api_client::ApiClient;
use crate::common::chance::{Chance, seed, setting};
use crate::webhooks_installation::{
    AT_ONCE, LATER, WebhooksInstallation, announced, announcements, compare, log_of, prepare, subscribe,
    wait_until_sent,
};
use daybook_testkit::postgres;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The numbers of customers created before the first message is sent, and before most kills.
const BACKLOG: u64 = 1_000;
const MORE: u64 = 2_800;
/// The most messages that one kill may cause to arrive twice: those in flight to a URL, and those answered but not yet
/// recorded, which are more on a busy machine.
const WINDOW: usize = 64 + 1_000;
/// Sends at once, with a timeout long enough to wait at the gate.
const SENDING: [&str; 4] = [AT_ONCE[0], AT_ONCE[1], "--webhook-timeout", "10m"];

#[test]
fn messages_on_sqlite_survive_kills() {
    messages_survive_kills("SQLite", &WebhooksInstallation::sqlite(), setting("DAYBOOK_WEBHOOK_KILLS", 4));
}

#[test]
fn messages_on_postgres_survive_kills() {
    let server = postgres::Server::start_durable();
    let installation = WebhooksInstallation::postgres(&server.database());
    messages_survive_kills("PostgreSQL", &installation, setting("DAYBOOK_WEBHOOK_KILLS", 2));
}

/// Lets requests through up to a number; later ones wait for their response.
#[derive(Clone, Debug, Default)]
struct Gate(Arc<AtomicUsize>);

impl Gate {
    fn before(&self, status: u16) -> Behaviour {
        let gate = self.clone();
        Behaviour::answers(move |number, _| {
            while number >= gate.0.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            PreparedResponse::status(status)
        })
    }

    fn let_through(&self, requests: usize) {
        self.0.store(requests, Ordering::SeqCst);
    }

    fn open(&self) {
        self.let_through(usize::MAX);
    }
}

/// Opens the gate at the end of a test, even a failed one, because the receiver waits for the requests at its gate.
struct OpenedInTheEnd(Gate);

impl Drop for OpenedInTheEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

fn messages_survive_kills(database: &str, installation: &WebhooksInstallation, kills: u64) {
    println!("seed {}", seed());
    let mut chance = Chance::of_seed(seed());
    let gate = Gate::default();
    let receiver = Receiver::start(gate.before(200));
    let _opened = OpenedInTheEnd(gate.clone());
    let mut server = installation.serve(&LATER);
    let client = ApiClient::to(server.url());
    prepare(&client);
    subscribe(&client, &receiver.url(), None);
    client.bulk(&announcements("first", BACKLOG));
    server.stop();
    assert_eq!(receiver.counts().requests, 0, "nothing is sent before its time");

    let mut customers = BACKLOG;
    let mut at_the_gate = 0;
    server = installation.serve(&SENDING);
    for kill in 0..kills {
        client.lead_to(server.url());
        if kill % 4 == 3 {
            // Soon after the start, at any point of the server's work.
            gate.open();
            thread::sleep(Duration::from_millis(chance.below(300)));
        } else {
            gate.let_through(receiver.counts().requests);
            client.bulk(&announcements(&format!("round-{kill}"), MORE));
            customers += MORE;
            // So many that a server which sent all of them again would exceed the limit.
            let last = receiver.counts().requests + 2 * WINDOW + chance.below(500) as usize;
            gate.let_through(last);
            receiver.wait_until(|counts| counts.requests > last);
            // Sometimes results are unrecorded, sometimes being recorded, sometimes recorded.
            thread::sleep(Duration::from_millis(chance.below(150)));
            at_the_gate += 1;
        }
        server.kill();
        server = installation.serve(&SENDING);
    }
    gate.open();
    client.lead_to(server.url());
    wait_until_sent(&client, &[receiver.url()], || {});
    server.stop();

    let requests = receiver.requests();
    let log = log_of(&installation.database);
    let arrived = compare(&requests, log.iter());
    println!(
        "webhooks on {database}: {kills} kills, {} messages, {} duplicates, {} lost, seed {}",
        arrived.messages,
        arrived.duplicates,
        arrived.lost,
        seed()
    );
    assert_eq!(arrived.lost, 0);
    assert!(arrived.duplicates <= kills as usize * WINDOW, "{arrived:?}");
    assert!(arrived.duplicates >= at_the_gate, "what stood at the gate was sent again: {arrived:?}");
    // Everything acknowledged was announced, regardless of the log.
    assert_eq!(announced(&requests, "customer_create", "customer_id").len() as u64, customers);
}

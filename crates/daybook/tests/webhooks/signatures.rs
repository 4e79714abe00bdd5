//! Receivers can verify every message in each documented way, and a changed message never verifies.
//!
//! ```text
//! daybook ─► testkit's receiver ─► Rust, over the raw bytes ─┬─► Python, Node: `data` written once more
//!                                                            └─► the libraries of Standard Webhooks: Rust, Python, Node
//! ```
//!
//! `DAYBOOK_PYTHON` names a Python with `requirements.txt`; `./check tests` sets one up. Node and npm are skipped if
//! they are not installed, with a message. `DAYBOOK_SIGNATURES` is the least number of messages; the default is 2,000.
//! `DAYBOOK_SEED` is the seed. A campaign: `DAYBOOK_SIGNATURES=10000 cargo test -p daybook --test webhooks signatures
//! -- --nocapture`.

use crate::common::chance::{Chance, seed, setting};
use crate::oddities;
use crate::verifiers::{Evidence, verify_elsewhere};
use crate::webhook_server::WebhookServer;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver, Request};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// Customers and accounts created before their messages are verified. The libraries accept messages for five minutes
/// only.
const CUSTOMERS: usize = 1_000;
const ACCOUNTS: usize = 20;

#[test]
fn every_message_is_verified_on_sqlite() {
    every_message_is_verified(WebhookServer::sqlite(), "SQLite");
}

#[test]
fn every_message_is_verified_on_postgres() {
    every_message_is_verified(WebhookServer::postgres(), "PostgreSQL");
}

fn every_message_is_verified(webhook_server: WebhookServer, database: &str) {
    let wanted = setting("DAYBOOK_SIGNATURES", 2_000) as usize;
    let receiver = Receiver::start(Behaviour::status(200));
    webhook_server.subscribe(&receiver.url());
    let key = webhook_server.key();
    let mut chance = Chance::of_seed(seed());
    let products = oddities::make_products(&webhook_server.client, &mut chance);
    oddities::make_escaped_customer(&webhook_server.client);
    let (mut verified, mut by) = (0, Vec::new());
    while verified < wanted {
        oddities::make_events(&webhook_server.client, &products, &mut chance, CUSTOMERS, ACCOUNTS);
        webhook_server.wait_until_sent();
        let requests = receiver.requests();
        let new = requests[verified..].iter().map(|request| Evidence::new(request, &key, &[&key], &mut chance));
        by = verify_elsewhere(&new.collect::<Vec<_>>());
        verified = requests.len();
    }
    let events = no_two_events_share_a_signature(&receiver.requests());
    webhook_server.close();
    println!("{database}: {verified} messages of {events} events verified by {by:?}, seed {}", seed());
}

/// Checks signatures and ids. Returns the number of events.
fn no_two_events_share_a_signature(requests: &[Request]) -> usize {
    let mut event_of = HashMap::new();
    for request in requests {
        let message: serde_json::Value = serde_json::from_slice(&request.body).expect("a message is JSON");
        let event_id = message["data"]["event_id"].as_str().expect("an event has an id").to_owned();
        assert_eq!(request.header("webhook-id"), Some(event_id.as_str()));
        let signature = message["hmac_signature"].as_str().expect("a message is signed").to_owned();
        let known = event_of.entry(signature).or_insert_with(|| event_id.clone());
        assert_eq!(*known, event_id, "two events with one signature");
    }
    let events: HashSet<&String> = event_of.values().collect();
    assert_eq!(events.len(), event_of.len(), "one event with two signatures");
    events.len()
}

/// A receiver that refuses each body the first time.
fn hesitant() -> Receiver {
    let seen = Mutex::new(HashSet::new());
    Receiver::start(Behaviour::answers(move |_, body| {
        let is_new = seen.lock().expect("no answer panicked").insert(body.to_vec());
        PreparedResponse::status(if is_new { 500 } else { 200 })
    }))
}

#[test]
fn a_repeat_is_the_same_to_the_byte_on_sqlite() {
    a_repeat_is_the_same_to_the_byte(WebhookServer::sqlite());
}

#[test]
fn a_repeat_is_the_same_to_the_byte_on_postgres() {
    a_repeat_is_the_same_to_the_byte(WebhookServer::postgres());
}

fn a_repeat_is_the_same_to_the_byte(webhook_server: WebhookServer) {
    const MESSAGES: usize = 5;
    let receiver = hesitant();
    webhook_server.subscribe(&receiver.url());
    let mut chance = Chance::of_seed(seed());
    for _ in 0..MESSAGES {
        webhook_server.client.post("/customers", &oddities::customer(&mut chance)).good();
    }
    let requests = receiver.wait_for(2 * MESSAGES);
    webhook_server.wait_until_sent();
    let mut bodies: HashMap<&str, Vec<&[u8]>> = HashMap::new();
    for request in &requests {
        let id = request.header("webhook-id").expect("a message has an id");
        bodies.entry(id).or_default().push(&request.body);
    }
    assert_eq!(bodies.len(), MESSAGES);
    for (id, bodies) in bodies {
        assert_eq!(bodies.len(), 2, "{id} comes once more");
        assert_eq!(bodies[0], bodies[1], "{id} comes as it was");
    }
    let key = webhook_server.key();
    let all: Vec<Evidence> = requests.iter().map(|one| Evidence::new(one, &key, &[&key], &mut chance)).collect();
    verify_elsewhere(&all);
    assert_eq!(no_two_events_share_a_signature(&requests), MESSAGES);
    webhook_server.close();
}

#[test]
fn while_keys_change_both_are_good_on_sqlite() {
    while_keys_change_both_are_good(WebhookServer::sqlite());
}

#[test]
fn while_keys_change_both_are_good_on_postgres() {
    while_keys_change_both_are_good(WebhookServer::postgres());
}

fn while_keys_change_both_are_good(webhook_server: WebhookServer) {
    let receiver = Receiver::start(Behaviour::status(500));
    webhook_server.subscribe(&receiver.url());
    let mut chance = Chance::of_seed(seed());
    webhook_server.client.post("/customers", &json!({ "name_last": "before \u{1F511}" })).good();
    let before = receiver.wait_for(1)[0].clone();
    let old = webhook_server.key();
    let new = webhook_server.rotate_key();
    assert_ne!(old, new);
    assert_eq!(webhook_server.key(), new);

    // Messages recorded before, and messages recorded from now on.
    receiver.behave(Behaviour::status(200));
    webhook_server.wait_until_sent();
    let again = receiver.requests().last().expect("it was sent again").clone();
    assert_eq!(again.body, before.body, "a message keeps the signature it was recorded with");
    let tried = receiver.requests().len();
    webhook_server.client.post("/customers", &json!({ "name_last": "after \u{1F5DD}" })).good();
    let after = receiver.wait_for(tried + 1)[tried].clone();
    webhook_server.wait_until_sent();

    let all = [
        Evidence::new(&before, &old, &[&old], &mut chance),
        Evidence::new(&again, &old, &[&old, &new], &mut chance),
        Evidence::new(&after, &new, &[&old, &new], &mut chance),
    ];
    verify_elsewhere(&all);
    assert!(!all[0].header_is_by(&new), "nobody can know a key that is not there yet");
    // Each is signed by the stated key and no other.
    for (evidence, wrong) in all.iter().zip([&new, &new, &old]) {
        assert!(!evidence.body_is_by(wrong));
    }
    let both = after.header("webhook-signature").expect("a signature").split(' ').count();
    assert_eq!((before.header("webhook-signature").expect("a signature").split(' ').count(), both), (1, 2));
    webhook_server.close();
}

//! Several nodes on one database.

use crate::setup::{DeliverySetup, names, seconds};
use crate::support::Home;
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use std::time::Duration;

fn at_once() -> DispatcherSettings {
    DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() }
}

/// Two nodes send at the same time, again and again: each message goes out once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_send_each_message_once() {
    let first = DeliverySetup::at_once(Home::Postgres).await;
    let second = DeliverySetup::over(first.trial.node().await, at_once());
    let receivers = [200; 6].map(|status| Receiver::start(Behaviour::status(status)));
    for receiver in &receivers {
        first.subscribe(receiver).await;
    }
    for round in 0..8 {
        for number in 0..10 {
            first.announce(&format!("R{round}N{number}")).await;
        }
        let (one, other) = tokio::join!(first.dispatcher.settle(), second.dispatcher.settle());
        one.expect("the first node sends");
        other.expect("the second node sends");
        first.trial.clock.set(daybook_clock::Clock::now(&*first.trial.clock).plus_micros(1_000_000));
    }
    for receiver in &receivers {
        let mut got = names(receiver);
        assert_eq!(got.len(), 80);
        got.sort();
        got.dedup();
        assert_eq!(got.len(), 80, "none comes twice");
    }
}

/// A node that is gone keeps its subscriptions for the length of its lease, and not longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_subscriptions_of_a_dead_node_are_taken_over() {
    let first = DeliverySetup::at_once(Home::Postgres).await;
    let second = DeliverySetup::over(first.trial.node().await, at_once());
    let receiver = Receiver::start(Behaviour::status(200));
    first.subscribe(&receiver).await;
    first.announce("A").await;
    assert_eq!(first.send().await, 1);
    // It does not release its leases.
    first.announce("B").await;
    assert_eq!(second.send().await, 0, "the lease still runs");
    assert_eq!(second.pass(seconds(14)).await, 0);
    assert_eq!(second.pass(seconds(1)).await, 1);
    assert_eq!(names(&receiver), ["A", "B"]);
    // The first node returns, as if it had only been asleep: its leases have expired.
    first.announce("C").await;
    assert_eq!(first.send().await, 0);
    assert_eq!(second.send().await, 1);
    second.dispatcher.stop().await;
    first.announce("D").await;
    assert_eq!(first.send().await, 1, "one that stops gives back what it holds");
    assert_eq!(names(&receiver), ["A", "B", "C", "D"]);
}

/// A transaction that stays open hides nothing, and messages that commit late are not skipped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_open_transaction_skips_nothing() {
    let setup = DeliverySetup::at_once(Home::Postgres).await;
    let receiver = Receiver::start(Behaviour::status(200));
    setup.subscribe(&receiver).await;
    let (client, connection) =
        tokio_postgres::connect(&setup.trial.address, tokio_postgres::NoTls).await.expect("it connects");
    tokio::spawn(connection);
    // It has a transaction id in the database, older than all later ones, and does not end.
    client.batch_execute("BEGIN; CREATE TABLE beside (a int); INSERT INTO beside VALUES (1)").await.expect("it begins");
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
    }
    setup.send().await;
    assert_eq!(names(&receiver), ["A", "B", "C"]);
    client.batch_execute("COMMIT").await.expect("it ends");
    setup.announce("D").await;
    setup.send().await;
    assert_eq!(names(&receiver), ["A", "B", "C", "D"]);
}

/// A node that joins gets its share without a message being sent twice; when it stops, the other gets all subscriptions
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_the_subscriptions_evenly() {
    let first = DeliverySetup::at_once(Home::Postgres).await;
    let receivers = [200; 7].map(|status| Receiver::start(Behaviour::status(status)));
    for receiver in &receivers {
        first.subscribe(receiver).await;
    }
    first.announce("A").await;
    assert_eq!(first.send().await, 7, "alone it has all");
    let second = DeliverySetup::over(first.trial.node().await, at_once());
    // Each node checks again after some seconds: the second is seen, the first releases, the second takes over.
    for _ in 0..3 {
        second.pass(seconds(3)).await;
        first.send().await;
    }
    first.announce("B").await;
    let shares = [first.send().await, second.send().await];
    assert_eq!(shares, [4, 3]);
    second.dispatcher.stop().await;
    first.announce("C").await;
    assert_eq!(first.pass(seconds(3)).await, 7, "one that stops gives back what it has");
    for receiver in &receivers {
        assert_eq!(names(receiver), ["A", "B", "C"]);
    }
}

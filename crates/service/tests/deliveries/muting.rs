//! A restored copy is muted: it sends and processes nothing until it is unmuted; then it does both, once.
//!
//! Copies are made as operators make them: by the function that `daybook backup` calls, and with `pg_dump` and
//! `pg_restore`.

use crate::setup::{DeliverySetup, events};
use crate::support::{Home, Trial, json_of, on_both, time, view_of};
use daybook_service::muting::{self, MUTED, OF_A_BACKUP, WaitingWork};
use daybook_testkit::postgres::Server;
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

on_both!(
    a_restored_copy_does_nothing_until_it_is_unmuted_and_then_all_of_it_once,
    a_muted_database_takes_calls_and_keeps_what_they_announce,
    a_release_stands_still_in_a_muted_database,
    every_node_follows_the_mark,
    nothing_is_let_go_in_a_muted_database,
);

/// The account's first instalment is due on 15 April.
const OPENED: &str = "2026-03-15T00:00:00-04:00";
/// After the due date and its grace period, when the copy is made and restored.
const LATER: &str = "2026-05-01T12:00:30Z";

/// A restored copy of a setup's database; it is deleted with the folder.
async fn restored(setup: &DeliverySetup, folder: &Path) -> String {
    let trial = &setup.trial;
    if trial.address.starts_with("postgres:") {
        let address = trial.address.clone();
        return tokio::task::spawn_blocking(move || Server::shared().copy(&address)).await.expect("it is copied");
    }
    let copy = folder.join("copy.db");
    let mark = muting::mark(OF_A_BACKUP, trial.clock_now());
    trial.store.backup(&copy, &[(MUTED, &mark)]).await.expect("it is copied");
    let files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    assert_eq!(files, std::slice::from_ref(&copy), "a copy is one file");
    format!("sqlite:{}", copy.display())
}

/// A service over a database as a server starts it, sending at once.
async fn served(address: &str, now: &str) -> DeliverySetup {
    let trial = Trial::over(address, now).await;
    trial.service.begin_muting(false).await.expect("it begins");
    DeliverySetup::over(trial, DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() })
}

/// Processes and sends everything due, as a server does. Returns the number of attempts.
async fn work(setup: &DeliverySetup) -> usize {
    setup.trial.service.follow_mark().await.expect("the mark is looked at");
    setup.trial.settle().await;
    setup.send().await
}

async fn unmute(setup: &DeliverySetup) -> WaitingWork {
    setup.trial.service.unmute().await.expect("it answers").expect("it was muted")
}

async fn a_restored_copy_does_nothing_until_it_is_unmuted_and_then_all_of_it_once(home: Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let setup = DeliverySetup::with(home, DispatcherSettings::default()).await;
    setup.trial.service.begin_muting(false).await.expect("it begins");
    assert_eq!(setup.trial.service.muted(), None, "a database that a server began is not muted");
    let receiver = Receiver::start(Behaviour::status(200));
    setup.subscribe(&receiver).await;
    setup.trial.account("auto-12", "a1", OPENED).await;
    // The due date passes unprocessed: the server stopped before.
    setup.trial.clock.set(time(LATER));
    let copy = restored(&setup, folder.path()).await;

    let restored = served(&copy, LATER).await;
    let muted = restored.trial.service.muted().expect("a restored copy is muted");
    let why = if home == Home::Sqlite { "daybook backup" } else { "restored from a dump" };
    assert!(muted.why.contains(why), "{}", muted.why);
    let told_before = restored.trial.announced("a1").await.len();
    let balance_before = restored.trial.read("a1").await["summary"].clone();
    for _ in 0..2 {
        assert_eq!(work(&restored).await, 0, "no attempt is made");
    }
    assert_eq!(events(&receiver), Vec::<String>::new(), "nothing is sent");
    assert_eq!(restored.trial.announced("a1").await.len(), told_before, "nothing is worked through");
    assert_eq!(restored.trial.read("a1").await["summary"], balance_before);
    assert!(restored.trial.service.metrics_text().await.contains("\ndaybook_muted 1\n"));

    // It is still muted after another start.
    let restored = served(&copy, LATER).await;
    assert_eq!(restored.trial.service.muted(), Some(muted));
    let waiting = restored.trial.service.waiting().await.expect("it counts");
    assert_eq!(waiting, WaitingWork { messages: told_before as u64, urls: 1, accounts: 1 });
    assert_eq!(unmute(&restored).await, waiting);
    assert_eq!(restored.trial.service.unmute().await.expect("it answers"), None, "it is muted no longer");
    work(&restored).await;
    assert!(restored.trial.service.metrics_text().await.contains("\ndaybook_muted 0\n"));
    let told = restored.trial.announced("a1").await;
    assert!(told.len() > told_before, "the due date is worked through");
    let arrived = events(&receiver);
    assert_eq!(arrived.len(), told.len(), "all of it is sent, once: {arrived:?}");
    assert!(arrived.iter().any(|event| event == "payment_missed"), "{arrived:?}");

    // And never again.
    assert_eq!(work(&restored).await, 0);
    let again = served(&copy, LATER).await;
    assert_eq!(again.trial.service.muted(), None, "the next start is not muted");
    assert_eq!(work(&again).await, 0);
    assert_eq!(events(&receiver), arrived);
    again.trial.verify().await;
}

async fn a_muted_database_takes_calls_and_keeps_what_they_announce(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    setup.subscribe(&receiver).await;
    setup.trial.account("auto-12", "a1", OPENED).await;
    work(&setup).await;
    let before = events(&receiver).len();
    setup.trial.service.mute("a test asked for it").await.expect("it is muted");
    setup.trial.service.follow_mark().await.expect("the mark is looked at");
    json_of(setup.trial.pay_with("a1", &json!({ "line_item_id": "p1", "original_amount_cents": 700 })).await);
    view_of(setup.trial.service.send_test_event(&setup.trial.who).await);
    assert_eq!(work(&setup).await, 0);
    setup.trial.service.ping().await.expect("it is ready");
    assert_eq!(setup.trial.item("a1", "p1").await["line_item_id"], "p1", "the payment is recorded");
    assert_eq!(events(&receiver).len(), before, "neither the payment nor a test event is sent");
    unmute(&setup).await;
    work(&setup).await;
    let arrived = events(&receiver).split_off(before);
    assert!(arrived.contains(&"test_event".to_owned()) && arrived.len() >= 2, "{arrived:?}");
    assert_eq!(work(&setup).await, 0, "nothing is sent twice");
}

async fn a_release_stands_still_in_a_muted_database(home: Home) {
    let trial = Trial::at(home, "2026-04-01T12:00:30Z").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    trial.account("auto-12", "a1", OPENED).await;
    trial.service.mute("a test asked for it").await.expect("it is muted");
    trial.service.follow_mark().await.expect("the mark is looked at");
    trial.release("auto-12").await;
    let state = |progress: &Value| progress["state"].clone();
    let still = trial.progress("auto-12").await;
    assert_eq!(trial.service.waiting().await.expect("it counts").accounts, 1, "{still}");
    trial.service.unmute().await.expect("it answers").expect("it was muted");
    trial.service.follow_mark().await.expect("the mark is looked at");
    trial.settle().await;
    let done = trial.progress("auto-12").await;
    assert_ne!(state(&still), state(&done), "{still} {done}");
    assert_eq!(trial.service.waiting().await.expect("it counts").accounts, 0, "{done}");
}

async fn every_node_follows_the_mark(home: Home) {
    let (_folder, address) = home.kept();
    let one = served(&address, LATER).await;
    let other = one.trial.node().await;
    one.trial.service.mute("a test asked for it").await.expect("it is muted");
    for service in [&one.trial.service, &other.service] {
        assert_eq!(service.muted(), None, "it has not looked yet");
        service.follow_mark().await.expect("the mark is looked at");
        assert_eq!(service.muted().expect("it is muted").why, "a test asked for it");
    }
    other.service.unmute().await.expect("it answers").expect("it was muted");
    for service in [&one.trial.service, &other.service] {
        service.follow_mark().await.expect("the mark is looked at");
        assert_eq!(service.muted(), None);
    }
}

/// A restored copy may be older than the retention of its dead letters: they stay until it is unmuted.
async fn nothing_is_let_go_in_a_muted_database(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    setup.trial.service.mute("a test asked for it").await.expect("it is muted");
    setup.trial.service.follow_mark().await.expect("the mark is looked at");
    setup.announce("kept").await;
    let log = || async { setup.trial.store.messages(setup.trial.who.org, 0, 100).await.expect("messages").len() };
    let before = log().await;
    assert!(before > 0);
    setup.trial.clock.set(time("2027-04-01T12:00:30Z"));
    setup.dispatcher.tidy().await.expect("it is left alone");
    assert_eq!(log().await, before);
    unmute(&setup).await;
    setup.trial.service.follow_mark().await.expect("the mark is looked at");
    setup.dispatcher.tidy().await.expect("it is tidied");
    assert_eq!(log().await, 0, "messages are kept for 30 days");
}

mod on_postgres {
    use super::{LATER, served};
    use daybook_testkit::postgres::Server;

    /// The tables are dropped and created again, in the same database of the same server.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_dump_that_is_restored_in_its_own_place_is_noticed() {
        let address = Server::shared().database();
        served(&address, LATER).await;
        assert_eq!(served(&address, LATER).await.trial.service.muted(), None, "the same tables");
        let in_place = address.clone();
        let restoring = tokio::task::spawn_blocking(move || Server::shared().restore_in_place(&in_place));
        restoring.await.expect("it is restored");
        let muted = served(&address, LATER).await.trial.service.muted().expect("it was restored");
        assert!(muted.why.contains("restored from a dump"), "{}", muted.why);
    }
}

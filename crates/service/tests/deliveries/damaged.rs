//! A message that is damaged in the database is not sent, and does not keep others from being sent.

use crate::setup::{DeliverySetup, START, body};
use crate::support::{Home, Trial, on_both, view_of};
use daybook_service::DeliveryQuery;
use daybook_service::paging::Paging;
use daybook_testkit::old_database::OldDatabase;
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use serde_json::json;
use std::time::Duration;

on_both!(
    a_damaged_message_becomes_a_dead_letter,
    damage_pauses_no_url,
    wrong_columns_of_a_row_hide_nothing_and_add_nothing,
    a_wrong_number_of_messages_keeps_no_retry_waiting,
    a_wrong_number_of_messages_drops_no_retry_that_a_narrower_filter_wants,
);

async fn sending_at_once(address: &str) -> DeliverySetup {
    let trial = Trial::over(address, START).await;
    trial.product("auto-12", json!({})).await;
    let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
    DeliverySetup::over(trial, settings)
}

async fn a_damaged_message_becomes_a_dead_letter(home: Home) {
    let (_folder, address) = home.kept();
    let setup = sending_at_once(&address).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["first", "second", "third"] {
        setup.announce(name).await;
    }
    let damaged = match home {
        Home::Sqlite => "CAST(substr(content, 1, length(content) - 1) || x'78' AS BLOB)",
        Home::Postgres => "set_byte(content, length(content) - 1, get_byte(content, length(content) - 1) # 255)",
    };
    let second = "(SELECT min(m.{place}) + 1 FROM message_groups m WHERE m.event = 'customer_create')";
    let place = if home == Home::Sqlite { "place" } else { "position" };
    let second = second.replace("{place}", place);
    OldDatabase::at(&address).run(&format!("UPDATE message_groups SET content = {damaged} WHERE {place} = {second}"));
    setup.send().await;
    assert_eq!(receiver.counts().requests, 2, "the others are sent");
    assert!(receiver.requests().iter().all(|request| !String::from_utf8_lossy(&request.body).contains("second")));
    assert_eq!(setup.state(&uuid).await.3, 1);
    let (service, who) = (&setup.trial.service, &setup.trial.who);
    let dead = view_of(service.list_dead_letters(who, Paging::default(), DeliveryQuery::default()).await).to_string();
    assert!(dead.contains("the stored message is damaged; run `daybook verify`"), "{dead}");
}

/// All messages of a group are damaged at once: that says nothing about the URL.
async fn damage_pauses_no_url(home: Home) {
    let (_folder, address) = home.kept();
    let setup = sending_at_once(&address).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.trial.account("auto-12", "late", "2024-01-15T00:00:00-05:00").await;
    let (place, damaged) = match home {
        Home::Sqlite => ("place", "CAST(content || x'78' AS BLOB)"),
        Home::Postgres => ("position", "content || '\\x78'"),
    };
    let first = format!("(SELECT min(m.{place}) FROM message_groups m WHERE m.account = 'late' AND m.size > 1)");
    OldDatabase::at(&address).run(&format!("UPDATE message_groups SET content = {damaged} WHERE {place} = {first}"));
    setup.send().await;
    let sent = receiver.counts().requests as u64;
    let (status, _, pending, dead) = setup.state(&uuid).await;
    assert_eq!((status.as_str(), pending, dead), ("ACTIVE", 0, 16));
    assert!(sent > 16, "{sent} others are sent");
}

/// The number of messages in a row, and the list of its events, are not what its content says: each URL gets every message
/// that it asked for once, and no other.
async fn wrong_columns_of_a_row_hide_nothing_and_add_nothing(home: Home) {
    let (place, columns) = if home == Home::Sqlite { ("place", "place") } else { ("position", "org, position") };
    let row = format!("(SELECT min(m.{place}) FROM message_groups m WHERE m.account = 'late' AND m.size > 2)");
    let shared = format!("WHERE {place} = {row}");
    for change in [
        format!("UPDATE message_groups SET size = size - 1 {shared}"),
        format!("UPDATE message_groups SET size = 1 {shared}"),
        "UPDATE message_groups SET size = 3 WHERE event = 'customer_create'".to_owned(),
        format!("UPDATE message_events SET mask = 65535 {shared}"),
        // Of rows of one message.
        format!(
            "INSERT INTO message_events ({columns}, mask, event)
             SELECT {columns}, 1, 'line_item_create' FROM message_groups WHERE event = 'customer_create'"
        ),
    ] {
        let (_folder, address) = home.kept();
        let setup = sending_at_once(&address).await;
        let [all, some] = [(), ()].map(|()| Receiver::start(Behaviour::status(200)));
        setup.subscribe(&all).await;
        setup.subscribe_to(&some, &json!({ "filter_events": ["line_item_create"] })).await;
        let (store, org) = (&setup.trial.store, setup.trial.who.org);
        let before = store.log_standing(org).await.expect("it is read").head;
        for name in ["first", "second", "third"] {
            setup.announce(name).await;
        }
        setup.trial.account("auto-12", "late", "2024-01-15T00:00:00-05:00").await;
        let log = store.messages(org, before, 1_000).await.expect("they are read");
        OldDatabase::at(&address).run(&change);
        setup.send().await;
        for (receiver, event) in [(&all, None), (&some, Some("line_item_create"))] {
            let mut got: Vec<String> = receiver
                .requests()
                .iter()
                .map(|request| body(request)["data"]["event_id"].as_str().expect("an id").to_owned())
                .collect();
            let wanted = log.iter().filter(|message| event.is_none_or(|event| message.event == event));
            let mut wanted: Vec<String> = wanted.map(|message| message.event_id.clone()).collect();
            got.sort_unstable();
            wanted.sort_unstable();
            assert!(wanted.len() > 3, "{wanted:?}");
            assert_eq!(got, wanted, "{change}: {event:?}");
        }
    }
}

/// Messages that have failed once, in a row that says it has only one.
struct FailedOnce {
    setup: DeliverySetup,
    receiver: Receiver,
    uuid: String,
    attempts: u64,
    _folder: Option<tempfile::TempDir>,
}

impl FailedOnce {
    async fn new(home: Home, filter: &[&str]) -> FailedOnce {
        let (folder, address) = home.kept();
        let setup = sending_at_once(&address).await;
        let receiver = Receiver::start(Behaviour::status(500));
        let uuid = setup.subscribe_to(&receiver, &json!({ "filter_events": filter })).await;
        setup.trial.account("auto-12", "late", "2026-01-01T00:00:00-05:00").await;
        setup.send().await;
        let attempts = receiver.counts().requests as u64;
        assert!(attempts > 3, "{attempts}");
        OldDatabase::at(&address).run("UPDATE message_groups SET size = 1 WHERE account = 'late' AND size > 1");
        receiver.behave(Behaviour::status(200));
        FailedOnce { setup, receiver, uuid, attempts, _folder: folder }
    }

    /// Each message is sent once more and accepted.
    async fn all_are_sent_again(&self) {
        self.setup.pass(Duration::from_secs(60)).await;
        assert_eq!(self.receiver.counts().requests as u64, 2 * self.attempts);
        let (status, _, pending, dead) = self.setup.state(&self.uuid).await;
        assert_eq!((status.as_str(), pending, dead), ("ACTIVE", 0, 0));
    }
}

async fn a_wrong_number_of_messages_keeps_no_retry_waiting(home: Home) {
    FailedOnce::new(home, &["account_create", "line_item_create"]).await.all_are_sent_again().await;
}

async fn a_wrong_number_of_messages_drops_no_retry_that_a_narrower_filter_wants(home: Home) {
    let failed = FailedOnce::new(home, &["line_item_create", "account_closed"]).await;
    failed.setup.subscribe_to(&failed.receiver, &json!({ "filter_events": ["line_item_create"] })).await;
    failed.all_are_sent_again().await;
}

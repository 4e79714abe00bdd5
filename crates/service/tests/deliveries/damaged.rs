//! A message that is damaged in the database is not sent, and does not keep others from being sent.

use crate::setup::{DeliverySetup, START};
use crate::support::{Home, Trial, on_both, view_of};
use daybook_service::DeliveryQuery;
use daybook_service::paging::Paging;
use daybook_testkit::old_database::OldDatabase;
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::dispatcher::DispatcherSettings;
use serde_json::json;
use std::time::Duration;

on_both!(a_damaged_message_becomes_a_dead_letter, damage_pauses_no_url);

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

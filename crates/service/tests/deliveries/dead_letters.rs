//! Dead letters: how long they are kept, and replaying them.

use crate::setup::{DeliverySetup, days, events, minutes, names, seconds};
use crate::support::{Home, list, on_both, view_of};
use daybook_service::{DeliveryQuery, paging::Paging};
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};

on_both!(
    dead_letters_are_gone_after_five_days,
    what_a_paused_url_missed_is_gone_after_five_days,
    a_replay_sends_all_dead_letters_of_active_urls_and_no_others,
    a_replay_that_fails_starts_a_new_day_and_new_five_days,
    a_replay_can_be_narrowed_and_tried_dry,
    a_replay_interrupted_by_a_pause_loses_nothing,
    messages_that_are_needed_are_kept,
);

async fn letters(setup: &DeliverySetup) -> Vec<String> {
    let service = &setup.trial.service;
    let all = service.list_dead_letters(&setup.trial.who, Paging::default(), DeliveryQuery::default()).await;
    list(view_of(all)).iter().map(|letter| letter["event"].as_str().expect("a name").to_owned()).collect()
}

async fn dead(setup: &DeliverySetup, uuid: &str) -> u64 {
    setup.state(uuid).await.3
}

async fn tidy(setup: &DeliverySetup) {
    setup.dispatcher.tidy().await.expect("it is tidied");
}

async fn dead_letters_are_gone_after_five_days(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(404));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    setup.pass(days(1)).await;
    setup.announce("B").await;
    setup.send().await;
    setup.pass(days(4) - seconds(1)).await;
    tidy(&setup).await;
    assert_eq!((dead(&setup, &uuid).await, letters(&setup).await.len()), (2, 2));
    setup.pass(seconds(1)).await;
    tidy(&setup).await;
    assert_eq!((dead(&setup, &uuid).await, letters(&setup).await.len()), (1, 1));
    assert_eq!(setup.replay(&json!({})).await, (1, 0));
    receiver.behave(Behaviour::status(200));
    setup.send().await;
    assert_eq!(names(&receiver), ["A", "B", "B"]);
}

async fn what_a_paused_url_missed_is_gone_after_five_days(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.pause(&uuid).await;
    setup.announce("A").await;
    setup.pass(days(3)).await;
    setup.announce("B").await;
    assert_eq!(dead(&setup, &uuid).await, 2);
    setup.pass(days(2)).await;
    tidy(&setup).await;
    assert_eq!(dead(&setup, &uuid).await, 1);
    setup.resume(&uuid).await;
    setup.pass(days(2)).await;
    tidy(&setup).await;
    assert_eq!(dead(&setup, &uuid).await, 1, "resuming does not shorten the five days");
    setup.pass(days(1)).await;
    tidy(&setup).await;
    assert_eq!((dead(&setup, &uuid).await, letters(&setup).await.len()), (0, 0));
    assert_eq!(setup.replay(&json!({})).await, (0, 0));
    assert_eq!(receiver.counts().requests, 0);
}

async fn a_replay_sends_all_dead_letters_of_active_urls_and_no_others(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [dead_a, dead_b, fine] = [404, 410, 200].map(|status| Receiver::start(Behaviour::status(status)));
    let a = setup.subscribe(&dead_a).await;
    let b = setup.subscribe(&dead_b).await;
    setup.subscribe(&fine).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
    }
    setup.send().await;
    setup.pause(&b).await;
    setup.send().await;
    dead_a.behave(Behaviour::status(200));
    dead_b.behave(Behaviour::status(200));
    assert_eq!(setup.replay(&json!({})).await, (3, 3));
    setup.send().await;
    assert_eq!(names(&dead_a), ["A", "B", "C", "A", "B", "C"]);
    assert_eq!(names(&dead_b), ["A", "B", "C"], "it is paused");
    assert_eq!(names(&fine), ["A", "B", "C"], "it had no dead letters");
    assert_eq!((dead(&setup, &a).await, dead(&setup, &b).await), (0, 3));
    assert_eq!(setup.replay(&json!({})).await, (0, 3), "what was delivered is not sent again");
    let equal = |at: usize| dead_a.requests()[at].body == dead_a.requests()[at + 3].body;
    assert!(equal(0) && equal(1) && equal(2), "a replay sends the same bytes");
}

async fn a_replay_that_fails_starts_a_new_day_and_new_five_days(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(404));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    setup.pass(days(4)).await;
    receiver.behave(Behaviour::status(500));
    setup.replay(&json!({})).await;
    assert_eq!(setup.send().await, 1);
    assert_eq!(setup.pass(minutes(1) - seconds(1)).await, 0);
    assert_eq!(setup.pass(seconds(1)).await, 1, "the retries begin anew");
    setup.pass(minutes(1_439)).await;
    assert_eq!(dead(&setup, &uuid).await, 1);
    setup.pass(days(5) - seconds(1)).await;
    tidy(&setup).await;
    assert_eq!(dead(&setup, &uuid).await, 1);
    setup.pass(seconds(1)).await;
    tidy(&setup).await;
    assert_eq!(dead(&setup, &uuid).await, 0);
}

async fn a_replay_can_be_narrowed_and_tried_dry(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(404));
    let other = Receiver::start(Behaviour::status(404));
    let uuid = setup.subscribe(&receiver).await;
    setup.subscribe(&other).await;
    setup.announce("A").await;
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    setup.send().await;
    assert_eq!(events(&receiver), ["customer_create", "account_create", "line_item_create"]);
    setup.pass(days(1)).await;
    setup.announce("B").await;
    setup.send().await;
    receiver.behave(Behaviour::status(200));
    other.behave(Behaviour::status(200));
    assert_eq!(setup.replay(&json!({ "dry_run": true })).await, (8, 0));
    assert_eq!(setup.send().await, 0, "a dry run sends nothing");
    let since = "2026-04-02T00:00:00Z";
    assert_eq!(
        setup.replay(&json!({ "webhook_uuid": uuid, "event": "customer_create", "since": since })).await,
        (1, 0)
    );
    setup.send().await;
    assert_eq!((names(&receiver), other.counts().requests), (vec!["A".into(), "B".into(), "B".into()], 4));
    assert_eq!(setup.replay(&json!({ "webhook_uuid": uuid, "until": since })).await, (3, 0));
    setup.send().await;
    assert_eq!(receiver.counts().requests, 8);
    assert_eq!(setup.replay(&json!({ "event": "line_item_create" })).await, (1, 0));
    setup.send().await;
    assert_eq!(events(&other)[4..], ["line_item_create"]);
}

/// A long range that a URL missed is replayed as a range, and a pause in the middle leaves the rest dead.
async fn a_replay_interrupted_by_a_pause_loses_nothing(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.pause(&uuid).await;
    let all: Vec<String> = (0..60).map(|number| format!("N{number:02}")).collect();
    for name in &all {
        setup.announce(name).await;
    }
    setup.resume(&uuid).await;
    assert_eq!(setup.replay(&json!({})).await, (60, 0));
    let mut statuses = vec![200; 20];
    statuses.push(401);
    receiver.behave(Behaviour::answers({
        let statuses = statuses.clone();
        move |number, _| daybook_testkit::receiver::PreparedResponse::status(statuses[number.min(20)])
    }));
    setup.send().await;
    let taken: Vec<String> = names(&receiver)[..20].to_vec();
    let left = dead(&setup, &uuid).await;
    assert!((20..=40).contains(&left), "{left} are left");
    receiver.behave(Behaviour::status(200));
    setup.resume(&uuid).await;
    let (replayed, _) = setup.replay(&json!({})).await;
    assert_eq!(replayed, left);
    setup.send().await;
    let mut got = names(&receiver)[names(&receiver).len() - replayed as usize..].to_vec();
    got.extend(taken);
    got.sort();
    got.dedup();
    assert!(all.iter().all(|name| got.contains(name) || names(&receiver).contains(name)), "none is lost");
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

/// Messages are kept for 30 days, and longer while a URL still has to get them.
async fn messages_that_are_needed_are_kept(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.announce("B").await;
    setup.send().await;
    setup.pass(days(29)).await;
    tidy(&setup).await;
    assert_eq!(setup.trial.log().await.len(), 2);
    setup.announce("C").await;
    setup.pass(days(2)).await;
    tidy(&setup).await;
    let left = setup.trial.log().await.len();
    assert_eq!(left, 1, "older than 30 days, and delivered");
    setup.trial.clock.set(daybook_clock::Clock::now(&*setup.trial.clock).plus_micros(40 * 86_400_000_000));
    setup.announce("D").await;
    setup.trial.clock.set(daybook_clock::Clock::now(&*setup.trial.clock).plus_micros(40 * 86_400_000_000));
    tidy(&setup).await;
    assert_eq!(setup.trial.log().await.last().expect("it is there").event, "customer_create", "D was not sent yet");
    setup.send().await;
    assert_eq!(names(&receiver), ["A", "B", "C", "D"]);
    assert_eq!(dead(&setup, &uuid).await, 0);
}

//! When messages are sent, and in which order.

use crate::setup::{DeliverySetup, body, events, names};
use crate::support::{Home, LEVEL, json_of, on_both, view_of};
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::json;
use std::collections::HashMap;

on_both!(
    nothing_before_the_tick_and_everything_at_it,
    a_test_event_does_not_wait_and_has_no_filter,
    a_roll_with_webhooks_does_not_wait,
    a_roll_without_webhooks_waits_for_each_moment,
    of_an_account_one_at_a_time_and_in_order,
    a_restart_sends_what_was_left,
);

async fn nothing_before_the_tick_and_everything_at_it(home: Home) {
    let setup = DeliverySetup::new(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    assert_eq!(setup.send().await, 0);
    assert_eq!(setup.go_to("2026-04-01T12:00:59.999999Z").await, 0, "it waits for the minute");
    assert_eq!(setup.state(&uuid).await.2, 1);
    assert_eq!(setup.go_to("2026-04-01T12:01:00Z").await, 1);
    setup.announce("B").await;
    setup.announce("C").await;
    assert_eq!(setup.go_to("2026-04-01T12:01:59Z").await, 0);
    assert_eq!(setup.go_to("2026-04-01T12:02:00Z").await, 2);
    assert_eq!(names(&receiver), ["A", "B", "C"]);
    // A missed tick is made up for later.
    setup.announce("D").await;
    assert_eq!(setup.go_to("2026-04-01T15:30:07Z").await, 1);
}

async fn a_test_event_does_not_wait_and_has_no_filter(home: Home) {
    let setup = DeliverySetup::new(home).await;
    let [all, some, off] = [200; 3].map(|status| Receiver::start(Behaviour::status(status)));
    setup.subscribe(&all).await;
    setup.subscribe_to(&some, &json!({ "filter_events": ["payment_missed"] })).await;
    let paused = setup.subscribe(&off).await;
    setup.pause(&paused).await;
    let sent = view_of(setup.trial.service.send_test_event(&setup.trial.who).await);
    assert_eq!(sent["active_urls"], 2);
    assert_eq!(setup.send().await, 2);
    assert_eq!((events(&all), events(&some)), (vec!["test_event".to_owned()], vec!["test_event".to_owned()]));
    assert_eq!(off.counts().accepted, 0);
    assert_eq!(body(&all.requests()[0])["data"]["event_id"], sent["event_id"]);
    // It was sent to the active URLs only; the others have not missed it.
    assert_eq!(setup.state(&paused).await.3, 0);
    setup.resume(&paused).await;
    assert_eq!((setup.state(&paused).await.3, setup.replay(&json!({})).await), (0, (0, 0)));
    assert_eq!(setup.send().await, 0);
    // If an active URL does not accept it, it becomes a dead letter like others.
    all.behave(Behaviour::status(404));
    view_of(setup.trial.service.send_test_event(&setup.trial.who).await);
    assert_eq!(setup.send().await, 3);
    assert_eq!(setup.replay(&json!({ "event": "test_event" })).await, (1, 0));
}

async fn a_roll_with_webhooks_does_not_wait(home: Home) {
    let setup = DeliverySetup::new(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    setup.trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    setup.go_to("2026-04-01T12:01:00Z").await;
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["due_date_passed", "payment_missed"] })).await;
    let rolled = json_of(setup.trial.roll("a1", "2026-06-16T00:00:00-04:00", true).await);
    assert!(rolled["webhooks_sent"].as_u64().expect("a count") >= 6);
    assert_eq!(setup.send().await, 6, "three due dates went by, all missed: now, not with the next batch");
    let at: Vec<String> = receiver
        .requests()
        .iter()
        .map(|request| body(request)["data"]["effective_at"].as_str().expect("a time")[..10].to_owned())
        .collect();
    assert_eq!(
        at,
        ["2026-04-15", "2026-04-15", "2026-05-15", "2026-05-15", "2026-06-15", "2026-06-15"].map(str::to_owned)
    );
}

async fn a_roll_without_webhooks_waits_for_each_moment(home: Home) {
    let setup = DeliverySetup::new(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    setup.trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    setup.go_to("2026-04-01T12:01:00Z").await;
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["due_date_passed"] })).await;
    json_of(setup.trial.roll("a1", "2026-06-16T00:00:00-04:00", false).await);
    assert_eq!(setup.go_to("2026-04-10T12:00:00Z").await, 0);
    assert_eq!(setup.go_to("2026-04-16T12:00:00Z").await, 1, "the due date of 15 April has come");
    assert_eq!(setup.go_to("2026-05-16T12:00:00Z").await, 1);
    // A later roll with webhooks also sends messages that the earlier one left.
    json_of(setup.trial.roll("a1", "2026-07-16T00:00:00-04:00", true).await);
    assert_eq!(setup.send().await, 2);
    assert_eq!(setup.go_to("2026-08-01T00:00:00Z").await, 0, "nothing comes twice");
}

async fn of_an_account_one_at_a_time_and_in_order(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    for account in 0..12 {
        setup.trial.account("auto-12", &format!("a{account}"), "2026-03-15T00:00:00-04:00").await;
    }
    setup.send().await;
    setup.subscribe(&receiver).await;
    let before = setup.trial.log().await.len();
    for payment in 0..20 {
        for account in 0..12 {
            let id = format!("a{account}");
            let at = format!("2026-04-01T12:00:{:02}Z", payment.min(30));
            json_of(setup.trial.pay(&id, &format!("p{payment}"), LEVEL / 20, &at).await);
        }
    }
    setup.send().await;
    let mut last: HashMap<String, i64> = HashMap::new();
    for request in receiver.requests() {
        let message = body(&request);
        let account = message["data"]["account_id"].as_str().expect("an account").to_owned();
        let sequence = message["data"]["account_sequence"].as_i64().expect("a number");
        let before = last.insert(account.clone(), sequence);
        assert!(before.is_none_or(|before| sequence == before + 1), "{account}: {before:?} then {sequence}");
    }
    let announced = setup.trial.log().await.len() - before;
    assert!(announced >= 240, "each payment is announced");
    assert_eq!((last.len(), receiver.counts().requests), (12, announced));
}

async fn a_restart_sends_what_was_left(home: Home) {
    if home == Home::Sqlite {
        // An in-memory database is gone after a restart; another test kills and restarts the built command.
        return;
    }
    let setup = DeliverySetup::new(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.dispatcher.stop().await;
    let trial = setup.trial.node().await;
    let again = DeliverySetup::over(trial, daybook_webhooks::dispatcher::DispatcherSettings::default());
    again.go_to("2026-04-01T12:05:00Z").await;
    assert_eq!(names(&receiver), ["A"]);
}

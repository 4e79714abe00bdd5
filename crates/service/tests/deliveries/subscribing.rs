//! Several URLs, each with its own filter; keys and their rotation.

use crate::setup::{DeliverySetup, body, events, names};
use crate::support::{Home, LEVEL, form_of, json_of, on_both, view_of};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver, Request};
use daybook_webhooks::signature::SigningKey;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

on_both!(
    each_url_gets_exactly_what_its_filter_says,
    a_subscription_begins_when_it_is_made,
    a_changed_filter_counts_for_what_was_not_sent,
    a_wider_filter_does_not_count_for_what_was_passed_over,
    a_removed_url_gets_nothing_more,
    signatures_are_by_the_key_of_the_time,
    a_url_may_not_point_inside,
    a_narrowed_filter_stops_retries_and_replays_of_what_it_leaves_out,
    settings_of_a_url_hold_and_stay_unless_they_are_given,
    a_url_gets_no_more_at_once_than_its_setting_says,
);

async fn each_url_gets_exactly_what_its_filter_says(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [all, payments, closing] = [200; 3].map(|status| Receiver::start(Behaviour::status(status)));
    setup.subscribe(&all).await;
    setup.subscribe_to(&payments, &json!({ "filter_events": ["line_item_create"] })).await;
    setup.subscribe_to(&closing, &json!({ "filter_events": ["account_closed", "customer_create"] })).await;
    setup.announce("A").await;
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    json_of(setup.trial.pay("a1", "p1", LEVEL, "2026-04-01T12:00:30Z").await);
    let closed = json!({ "account_status": "CLOSED", "account_substatus": "SETTLEMENT" });
    json_of(setup.trial.status("a1", &closed).await);
    setup.send().await;
    let log: Vec<String> = setup.trial.log().await.into_iter().map(|message| message.event).collect();
    let only = |wanted: &[&str]| -> Vec<String> {
        log.iter().filter(|event| wanted.contains(&event.as_str())).cloned().collect()
    };
    let mut got = events(&all);
    let mut sent = log.clone();
    got.sort();
    sent.sort();
    assert_eq!(got, sent);
    assert_eq!(events(&payments), only(&["line_item_create"]));
    let mut closed = events(&closing);
    let mut expected = only(&["account_closed", "customer_create"]);
    closed.sort();
    expected.sort();
    assert_eq!(closed, expected);
    assert_eq!(expected, ["account_closed", "customer_create"]);
}

async fn a_subscription_begins_when_it_is_made(home: Home) {
    let setup = DeliverySetup::new(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    setup.announce("Before").await;
    setup.subscribe(&receiver).await;
    setup.announce("After").await;
    setup.go_to("2026-04-01T12:01:00Z").await;
    assert_eq!(names(&receiver), ["After"]);
}

async fn a_changed_filter_counts_for_what_was_not_sent(home: Home) {
    let setup = DeliverySetup::new(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    assert_eq!(setup.send().await, 0);
    assert_eq!(setup.subscribe_to(&receiver, &json!({ "filter_events": ["account_create"] })).await, uuid);
    setup.go_to("2026-04-01T12:01:00Z").await;
    assert_eq!(events(&receiver), ["account_create"]);
    assert_eq!(setup.subscribe(&receiver).await, uuid, "without a filter it gets all again");
    setup.announce("B").await;
    setup.go_to("2026-04-01T12:02:00Z").await;
    assert_eq!(events(&receiver), ["account_create", "customer_create"]);
}

async fn a_wider_filter_does_not_count_for_what_was_passed_over(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe_to(&receiver, &json!({ "filter_events": ["account_closed"] })).await;
    for number in 0..5 {
        setup.announce(&format!("N{number}")).await;
    }
    assert_eq!(setup.send().await, 0);
    setup.subscribe(&receiver).await;
    assert_eq!(setup.send().await, 0);
    assert_eq!(setup.state(&uuid).await.2, 0, "they are not pending either");
    setup.announce("Later").await;
    setup.send().await;
    assert_eq!(names(&receiver), ["Later"]);
}

async fn a_removed_url_gets_nothing_more(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    json_of(setup.trial.service.delete_subscription(&setup.trial.who, None, &uuid).await);
    setup.announce("B").await;
    setup.go_to("2026-04-02T12:01:00Z").await;
    assert_eq!(receiver.counts().requests, 1, "not even the retry");
}

/// Whether a key signed a body: the signature is over the bytes of `data` as they are.
fn signed_by(key: &SigningKey, request: &Request) -> bool {
    let text = String::from_utf8(request.body.clone()).expect("a body is text");
    let begin = text.find(",\"data\":").expect("data") + 8;
    let end = text.rfind(",\"hmac_signature\":").expect("a signature");
    key.verify(&text.as_bytes()[begin..end], body(request)["hmac_signature"].as_str().expect("a signature"))
}

/// Which signatures of the header are by a key, computed as the standard defines: over id, timestamp and body.
fn header_signed_by(key: &SigningKey, request: &Request) -> Vec<bool> {
    use hmac::{Hmac, KeyInit, Mac};
    let secret = STANDARD.decode(key.text()).expect("the key is Base64");
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&secret).expect("any length");
    let header = |name: &str| request.header(name).expect("the header is there");
    mac.update(format!("{}.{}.", header("webhook-id"), header("webhook-timestamp")).as_bytes());
    mac.update(&request.body);
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    header("webhook-signature").split(' ').map(|signature| signature == expected).collect()
}

async fn signatures_are_by_the_key_of_the_time(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[500, 200]));
    setup.subscribe(&receiver).await;
    let key = |answer: Value| SigningKey::from_text(answer["hmac_secret_key"].as_str().expect("a key"));
    let service = &setup.trial.service;
    let old = key(view_of(service.hmac_key(&setup.trial.who).await));
    assert_eq!(STANDARD.decode(old.text()).expect("Base64").len(), 32);
    setup.announce("Old").await;
    setup.send().await;
    let new = key(view_of(service.rotate_hmac_key(&setup.trial.who).await));
    assert_ne!(old, new);
    assert_eq!(key(view_of(service.hmac_key(&setup.trial.who).await)), new);
    setup.announce("New").await;
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    setup.go_to("2026-04-01T12:01:30Z").await;
    let got = receiver.requests();
    let (same, rest): (Vec<&Request>, Vec<&Request>) = got.iter().partition(|request| request.body == got[0].body);
    assert_eq!((same.len(), rest.len()), (2, 3), "the retry, a customer, an account and its loan");
    assert!(same.iter().all(|request| signed_by(&old, request)), "a message keeps its signature");
    assert!(rest.iter().all(|request| signed_by(&new, request) && !signed_by(&old, request)));
    assert_eq!(header_signed_by(&old, &got[0]), [true]);
    for request in &got[1..] {
        assert_eq!(header_signed_by(&new, request), [true, false]);
        assert_eq!(header_signed_by(&old, request), [false, true], "for 24 hours by each");
    }
    setup.go_to("2026-04-02T12:00:30Z").await;
    setup.announce("Later").await;
    setup.send().await;
    let last = receiver.requests().pop().expect("it came");
    assert_eq!(header_signed_by(&new, &last), [true]);
    setup.trial.verify().await;
}

async fn a_url_may_not_point_inside(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    for url in ["http://10.0.0.1/", "https://169.254.169.254/latest", "https://[fd00::1]/", "ftp://example.com/", "x"] {
        let form = form_of(&json!({ "webhook_url": url }));
        let refused = setup.trial.service.subscribe(&setup.trial.who, None, form).await.expect_err(url);
        assert_eq!((refused.code, refused.details[0].field.as_str()), ("invalid_request", "webhook_url"), "{url}");
    }
}

async fn a_narrowed_filter_stops_retries_and_replays_of_what_it_leaves_out(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(500));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.announce("B").await;
    setup.send().await;
    assert_eq!(setup.state(&uuid).await.2, 2);
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["customer_create", "account_closed"] })).await;
    assert_eq!(setup.state(&uuid).await.2, 2, "they are still wanted");
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["account_closed"] })).await;
    assert_eq!(setup.state(&uuid).await.2, 0);
    assert_eq!(setup.pass(crate::setup::days(2)).await, 0);
    assert_eq!(receiver.counts().requests, 2);
    // A filter also excludes messages that are to be replayed.
    setup.pause(&uuid).await;
    setup.subscribe_to(&receiver, &json!({})).await;
    setup.announce("C").await;
    setup.resume(&uuid).await;
    assert_eq!(setup.replay(&json!({})).await, (1, 0));
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["account_closed"] })).await;
    assert_eq!((setup.send().await, setup.state(&uuid).await.2), (0, 0));
    // It also excludes dead letters, even if the replay names their event.
    setup.subscribe_to(&receiver, &json!({})).await;
    receiver.behave(Behaviour::status(400));
    setup.announce("D").await;
    setup.send().await;
    setup.subscribe_to(&receiver, &json!({ "filter_events": ["account_closed"] })).await;
    receiver.behave(Behaviour::status(200));
    assert_eq!(setup.replay(&json!({ "event": "customer_create" })).await, (0, 0));
    assert_eq!((setup.send().await, setup.state(&uuid).await), (0, ("ACTIVE".to_owned(), Value::Null, 0, 0)));
}

async fn settings_of_a_url_hold_and_stay_unless_they_are_given(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe_to(&receiver, &json!({ "max_per_second": 5, "max_in_flight": 2 })).await;
    let settings = async || {
        let shown = setup.subscription(&uuid).await;
        (shown["max_per_second"].clone(), shown["max_in_flight"].clone())
    };
    assert_eq!(settings().await, (json!(5), json!(2)));
    setup.subscribe_to(&receiver, &json!({ "max_in_flight": null })).await;
    assert_eq!(settings().await, (json!(5), Value::Null));
    for number in 0..20 {
        setup.announce(&format!("N{number}")).await;
    }
    let mut sent = setup.send().await;
    for _ in 0..10 {
        sent += setup.pass(std::time::Duration::from_millis(100)).await;
    }
    assert!((4..=5).contains(&sent), "{sent} in a second");
    setup.subscribe_to(&receiver, &json!({ "max_per_second": null })).await;
    assert_eq!(settings().await, (Value::Null, Value::Null));
    sent += setup.send().await;
    assert_eq!(sent, 20);
}

/// How many messages a receiver had at the same time.
#[derive(Debug, Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    /// Each answer waits until this many messages were there at the same time, but not forever.
    fn waiting_for(self: &Arc<Crowd>, wanted: usize) -> Behaviour {
        let crowd = self.clone();
        Behaviour::slowly(move |_, _| {
            let now = crowd.now.fetch_add(1, Ordering::SeqCst) + 1;
            crowd.most.fetch_max(now, Ordering::SeqCst);
            for wait in 0..2_000 {
                if wait > 4 && crowd.most.load(Ordering::SeqCst) >= wanted {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            crowd.now.fetch_sub(1, Ordering::SeqCst);
            PreparedResponse::status(200)
        })
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

async fn a_url_gets_no_more_at_once_than_its_setting_says(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe_to(&receiver, &json!({ "max_in_flight": 2 })).await;
    let crowd = Arc::new(Crowd::default());
    // After twenty were accepted, twenty more would be sent at once.
    for (name, wanted) in [("Before", 0), ("Limited", 2), ("Free", 3)] {
        if wanted > 0 {
            receiver.behave(crowd.waiting_for(wanted));
        }
        if name == "Free" {
            assert_eq!(crowd.most(), 2, "as many at once as the setting says");
            assert_eq!(setup.subscribe_to(&receiver, &json!({ "max_in_flight": null })).await, uuid);
        }
        for number in 0..20 {
            setup.announce(&format!("{name}{number}")).await;
        }
        setup.send().await;
    }
    assert!(crowd.most() >= 3, "more without the setting: {}", crowd.most());
    assert_eq!((receiver.counts().requests, setup.state(&uuid).await.2), (60, 0));
}

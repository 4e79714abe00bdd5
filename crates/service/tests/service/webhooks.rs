//! Subscriptions, dead letters, keys: everything about webhooks except sending.

use crate::support::{Home, Trial, code_of, data, form_of, idempotency_key, json_of, list, on_both, view_of};
use bytes::Bytes;
use daybook_service::DeliveryQuery;
use daybook_service::form::EventName;
use daybook_service::form::fields::{DeliveryOutcome, Reference};
use daybook_service::paging::Paging;
use daybook_service::problem::Problem;
use daybook_store::outbox::{Deliveries, DeliveryAttempt, Failure, Fate, Pause, Recorded};
use daybook_webhooks::signature::SigningKey;
use serde_json::{Value, json};
use std::time::Duration;

on_both!(
    a_url_is_subscribed_paused_resumed_and_removed,
    the_same_url_gets_another_filter,
    wrong_urls_and_events_are_refused,
    an_organization_has_at_most_a_hundred_subscriptions,
    a_repeated_call_gets_its_answer_again,
    a_test_event_hurries_to_the_active_urls,
    what_a_paused_url_misses_is_its_dead_letters_until_replayed,
    attempts_are_listed_the_latest_first,
    a_new_key_signs_what_is_recorded_from_then_on,
    the_key_before_is_known_for_a_day,
    a_pause_is_told_to_the_others,
    whoever_waits_is_nudged,
);

const NOW: &str = "2026-04-01T12:00:00-04:00";
const OPENING: &str = "2026-03-15T00:00:00-04:00";

async fn open(home: Home) -> Trial {
    let trial = Trial::at(home, NOW).await;
    trial.product("auto-12", json!({})).await;
    trial
}

async fn try_subscribe(trial: &Trial, body: &Value) -> Result<Bytes, Problem> {
    trial.service.subscribe(&trial.who, None, form_of(body)).await
}

async fn subscribe(trial: &Trial, url: &str) -> Value {
    json_of(try_subscribe(trial, &json!({ "webhook_url": url })).await)
}

async fn subscriptions(trial: &Trial) -> Vec<Value> {
    list(view_of(trial.service.list_subscriptions(&trial.who).await))
}

fn uuid(subscription: &Value) -> &str {
    subscription["webhook_uuid"].as_str().expect("it has one")
}

async fn a_url_is_subscribed_paused_resumed_and_removed(home: Home) {
    let trial = open(home).await;
    let made = subscribe(&trial, "https://example.com/a").await;
    let expected = json!({
        "webhook_uuid": made["webhook_uuid"], "webhook_url": "https://example.com/a", "filter_events": null,
        "status": "ACTIVE", "paused_reason": null, "paused_at": null, "consecutive_errors": 0,
        "created_at": "2026-04-01T16:00:00Z", "last_success_at": null, "pending": 0, "dead_letters": 0, "max_per_second": null, "max_in_flight": null,
        "next_probe_at": null, "held_until": null, "held_reason": null
    });
    assert_eq!(made, expected);
    assert_eq!(subscriptions(&trial).await, [expected]);
    for _ in 0..2 {
        let paused = json_of(trial.service.unsubscribe(&trial.who, None, uuid(&made)).await);
        assert_eq!((&paused["status"], &paused["paused_reason"]), (&json!("PAUSED"), &json!("UNSUBSCRIBED")));
        assert_eq!(paused["paused_at"], "2026-04-01T16:00:00Z");
    }
    for _ in 0..2 {
        let resumed = json_of(trial.service.resubscribe(&trial.who, None, uuid(&made)).await);
        assert_eq!((&resumed["status"], &resumed["paused_reason"]), (&json!("ACTIVE"), &json!(null)));
    }
    json_of(trial.service.delete_subscription(&trial.who, None, uuid(&made)).await);
    assert_eq!(subscriptions(&trial).await, Vec::<Value>::new());
    assert_eq!(code_of(trial.service.delete_subscription(&trial.who, None, uuid(&made)).await), "not_found");
    assert_eq!(code_of(trial.service.unsubscribe(&trial.who, None, uuid(&made)).await), "not_found");
    assert_eq!(code_of(trial.service.resubscribe(&trial.who, None, uuid(&made)).await), "not_found");
}

async fn the_same_url_gets_another_filter(home: Home) {
    let trial = open(home).await;
    let made = subscribe(&trial, "https://example.com/a").await;
    json_of(trial.service.unsubscribe(&trial.who, None, uuid(&made)).await);
    let twice = json!(["account_closed", "payment_missed", "account_closed"]);
    let body = json!({ "webhook_url": "https://example.com/a", "filter_events": twice });
    let again = json_of(try_subscribe(&trial, &body).await);
    assert_eq!(again["webhook_uuid"], made["webhook_uuid"]);
    assert_eq!(again["filter_events"], json!(["account_closed", "payment_missed"]));
    assert_eq!(again["status"], "PAUSED", "subscribing again does not unpause");
    let all = json!({ "webhook_url": "https://example.com/a", "filter_events": null });
    assert_eq!(json_of(try_subscribe(&trial, &all).await)["filter_events"], json!(null));
    subscribe(&trial, "https://example.com/b").await;
    assert_eq!(subscriptions(&trial).await.len(), 2);
}

async fn wrong_urls_and_events_are_refused(home: Home) {
    let trial = open(home).await;
    for url in ["https://127.0.0.1/a", "https://inside.example/a", "ftp://example.com/a", "nonsense", "https://[::1]/"]
    {
        let problem = try_subscribe(&trial, &json!({ "webhook_url": url })).await.expect_err(url);
        assert_eq!((problem.code, problem.details[0].field.as_str()), ("invalid_request", "webhook_url"), "{url}");
    }
    let none = json!({ "webhook_url": "https://example.com/a", "filter_events": [] });
    let problem = try_subscribe(&trial, &none).await.expect_err("an empty filter");
    assert!(problem.message.contains("leave it out"), "{problem}");
    let unknown = br#"{"webhook_url": "https://example.com/a", "filter_events": ["account_closed", "account_close"]}"#;
    let bad = daybook_service::form::parse::<daybook_service::form::Subscribe>(unknown).expect_err("an unknown event");
    let bad = bad.to_string();
    assert!(bad.starts_with("filter_events[1] must be one of account_create, "), "{bad}");
    assert!(bad.contains("test_event") && bad.contains("account_summary"), "{bad}");
    assert_eq!(subscriptions(&trial).await, Vec::<Value>::new());
}

async fn an_organization_has_at_most_a_hundred_subscriptions(home: Home) {
    let trial = open(home).await;
    for number in 0..100 {
        subscribe(&trial, &format!("https://example.com/{number}")).await;
    }
    assert_eq!(code_of(try_subscribe(&trial, &json!({ "webhook_url": "https://example.com/x" })).await), "conflict");
    subscribe(&trial, "https://example.com/7").await;
    assert_eq!(subscriptions(&trial).await.len(), 100);
}

async fn a_repeated_call_gets_its_answer_again(home: Home) {
    let trial = open(home).await;
    let body = json!({ "webhook_url": "https://example.com/a" });
    let call = || trial.service.subscribe(&trial.who, idempotency_key("k", "1"), form_of(&body));
    let made = json_of(call().await);
    json_of(trial.service.delete_subscription(&trial.who, idempotency_key("d", "1"), uuid(&made)).await);
    assert_eq!(json_of(call().await), made);
    json_of(trial.service.delete_subscription(&trial.who, idempotency_key("d", "1"), uuid(&made)).await);
    assert_eq!(subscriptions(&trial).await, Vec::<Value>::new(), "nothing was done again");
}

async fn a_test_event_hurries_to_the_active_urls(home: Home) {
    let trial = open(home).await;
    for path in ["a", "b", "c"] {
        subscribe(&trial, &format!("https://example.com/{path}")).await;
    }
    let paused = subscriptions(&trial).await[1].clone();
    json_of(trial.service.unsubscribe(&trial.who, None, uuid(&paused)).await);
    trial.account("auto-12", "a1", OPENING).await;
    let heads = trial.store.heads().await.expect("they can be read");
    assert_eq!(heads.first().map(|head| (head.head, head.hurried)), Some((2, 0)));
    let sent = view_of(trial.service.send_test_event(&trial.who).await);
    assert_eq!((&sent["event"], &sent["active_urls"]), (&json!("test_event"), &json!(2)));
    let message = trial.log().await.pop().expect("it is in the log");
    assert_eq!((message.event.as_str(), json!(message.event_id)), ("test_event", sent["event_id"].clone()));
    assert_eq!(data(&message)["account_sequence"], 0);
    let heads = trial.store.heads().await.expect("they can be read");
    assert_eq!(heads.first().map(|head| (head.head, head.hurried)), Some((3, 3)));
    let another = view_of(trial.service.send_test_event(&trial.who).await);
    assert_ne!(another["event_id"], sent["event_id"]);
    // A roll with webhooks is sent at once too, one without is not.
    json_of(trial.roll("a1", "2026-04-20T12:00:00-04:00", false).await);
    let hurried = trial.store.heads().await.expect("they can be read")[0];
    assert_eq!(hurried.hurried, 4);
    json_of(trial.roll("a1", "2026-05-20T12:00:00-04:00", true).await);
    let hurried = trial.store.heads().await.expect("they can be read")[0];
    assert_eq!((hurried.hurried, hurried.head > 4), (hurried.head, true));
}

async fn dead(trial: &Trial, query: DeliveryQuery) -> Vec<String> {
    let page = view_of(trial.service.list_dead_letters(&trial.who, crate::support::whole(), query).await);
    list(page).iter().map(|letter| letter["event"].as_str().expect("a name").to_owned()).collect()
}

async fn replay(trial: &Trial, body: &Value) -> (u64, u64) {
    let done = json_of(trial.service.replay_failed_events(&trial.who, None, form_of(body)).await);
    (done["replayed"].as_u64().expect("a count"), done["left_paused"].as_u64().expect("a count"))
}

fn of_event(name: &str) -> DeliveryQuery {
    DeliveryQuery { event: Some(EventName::read(name).expect("it is one")), ..DeliveryQuery::default() }
}

async fn what_a_paused_url_misses_is_its_dead_letters_until_replayed(home: Home) {
    let trial = open(home).await;
    let made = subscribe(&trial, "https://example.com/a").await;
    json_of(trial.service.unsubscribe(&trial.who, None, uuid(&made)).await);
    trial.account("auto-12", "a1", OPENING).await;
    trial.account("auto-12", "a2", OPENING).await;
    let opening = ["account_create", "line_item_create", "account_create", "line_item_create"];
    assert_eq!(dead(&trial, DeliveryQuery::default()).await, opening);
    assert_eq!(dead(&trial, of_event("account_create")).await, ["account_create"; 2]);
    let of_account = DeliveryQuery { account_id: Reference::read("a2").ok(), ..DeliveryQuery::default() };
    assert_eq!(dead(&trial, of_account).await, opening[2..]);
    let before = DeliveryQuery { until: Some(trial.clock_now()), ..DeliveryQuery::default() };
    assert_eq!(dead(&trial, before).await, Vec::<String>::new());
    assert_eq!(subscriptions(&trial).await[0]["dead_letters"], 4);
    assert_eq!(replay(&trial, &json!({})).await, (0, 4), "those of a paused URL stay");
    // Pages lead through all of them.
    let mut seen = Vec::new();
    let mut mark: Option<String> = None;
    loop {
        let paging = Paging::read(Some("3"), mark.as_deref(), None).expect("the mark leads on");
        let page = view_of(trial.service.list_dead_letters(&trial.who, paging, DeliveryQuery::default()).await);
        seen.extend(list(page.clone()).iter().map(|letter| letter["event_id"].clone()));
        mark = page["paging"]["starting_after"].as_str().map(str::to_owned);
        assert_eq!(page["paging"]["ending_before"], json!(null));
        if page["paging"]["has_more"] == false {
            break;
        }
    }
    let mut expected = trial.messages("a1").await;
    expected.extend(trial.messages("a2").await);
    let expected: Vec<Value> = expected.iter().map(|message| json!(message.event_id)).collect();
    assert_eq!((seen.len(), &seen), (4, &expected));
    let backwards = Paging::read(None, None, Some("YQ")).expect("a mark");
    let refused = trial.service.list_dead_letters(&trial.who, backwards, DeliveryQuery::default()).await;
    assert_eq!(refused.expect_err("one way").details[0].field, "ending_before");

    json_of(trial.service.resubscribe(&trial.who, None, uuid(&made)).await);
    assert_eq!(replay(&trial, &json!({ "event": "account_create", "dry_run": true })).await, (2, 0));
    assert_eq!(replay(&trial, &json!({ "event": "account_create" })).await, (2, 0));
    assert_eq!(dead(&trial, DeliveryQuery::default()).await, ["line_item_create"; 2]);
    let named = json!({ "webhook_uuid": uuid(&made) });
    assert_eq!(replay(&trial, &named).await, (2, 0));
    assert_eq!(subscriptions(&trial).await[0]["pending"], 4);
    let unknown = form_of(&json!({ "webhook_uuid": "nothing" }));
    let unknown = trial.service.replay_failed_events(&trial.who, None, unknown).await.expect_err("there is none");
    assert_eq!(unknown.details[0].field, "webhook_uuid");
}

async fn attempts_are_listed_the_latest_first(home: Home) {
    let trial = open(home).await;
    subscribe(&trial, "https://example.com/a").await;
    trial.account("auto-12", "a1", OPENING).await;
    let now = trial.clock_now();
    let leased = trial.store.lease("node", now, now.plus_micros(1_000_000), 10).await.expect("it can be leased").held;
    let attempt = |position: i64, status: u16, error: Option<&str>| DeliveryAttempt {
        position,
        number: 1,
        at: now,
        latency_us: 12_345,
        status: Some(status),
        error: error.map(str::to_owned),
        response: error.map(|_| "no room".to_owned()),
        next_at: error.map(|_| now.plus_micros(60_000_000)),
    };
    let failure = Failure {
        position: 2,
        attempts: 1,
        first_failed_at: Some(now),
        fate: Fate::Dead(now),
        reason: "answered 503".to_owned(),
        status: Some(503),
        streak: 0,
    };
    let recorded = trial.store.record(Deliveries {
        org: trial.who.org,
        subscription: leased[0].id,
        token: "node".to_owned(),
        version: leased[0].version,
        cursor: 2,
        attempts: vec![attempt(1, 200, None), attempt(2, 503, Some("answered 503"))],
        failed: vec![failure],
        consecutive_errors: 1,
        ..Deliveries::default()
    });
    assert!(matches!(recorded.await.expect("it can be recorded"), Recorded::Kept(_)));
    let of = |query: DeliveryQuery| trial.service.list_deliveries(&trial.who, crate::support::whole(), query);
    let all = list(view_of(of(DeliveryQuery::default()).await));
    let expected = json!({
        "webhook_uuid": all[0]["webhook_uuid"], "webhook_url": "https://example.com/a", "event": "line_item_create",
        "event_id": trial.messages("a1").await[1].event_id, "account_id": "a1", "attempt": 1, "attempted_at": "2026-04-01T16:00:00Z",
        "latency_ms": 12, "outcome": "FAILED", "response_status": 503, "error": "answered 503",
        "response": "no room", "next_retry_at": "2026-04-01T16:01:00Z"
    });
    assert_eq!(all[0], expected);
    assert_eq!((&all[1]["event"], &all[1]["outcome"]), (&json!("account_create"), &json!("DELIVERED")));
    let delivered = DeliveryQuery { outcome: Some(DeliveryOutcome::Delivered), ..DeliveryQuery::default() };
    assert_eq!(list(view_of(of(delivered).await)), all[1..]);
    let failed = DeliveryQuery { outcome: Some(DeliveryOutcome::Failed), ..DeliveryQuery::default() };
    assert_eq!(list(view_of(of(failed).await)), all[..1]);
    let first = Paging { limit: 1, ..Paging::default() };
    let first = view_of(trial.service.list_deliveries(&trial.who, first, DeliveryQuery::default()).await);
    assert_eq!(first["paging"]["has_more"], true);
    let next = Paging::read(None, first["paging"]["starting_after"].as_str(), None).expect("a mark");
    let next = view_of(trial.service.list_deliveries(&trial.who, next, DeliveryQuery::default()).await);
    assert_eq!(list(next), all[1..]);
    let letters =
        view_of(trial.service.list_dead_letters(&trial.who, crate::support::whole(), DeliveryQuery::default()).await);
    assert_eq!(letters["results"][0]["reason"], "answered 503");
    assert_eq!(letters["results"][0]["attempts"], 1);
}

async fn key(trial: &Trial) -> SigningKey {
    let key = view_of(trial.service.hmac_key(&trial.who).await);
    SigningKey::from_text(key["hmac_secret_key"].as_str().expect("a text"))
}

async fn a_new_key_signs_what_is_recorded_from_then_on(home: Home) {
    let trial = open(home).await;
    // On PostgreSQL another node has everything cached when the key changes.
    let other = if home == Home::Postgres { trial.node().await } else { trial.clone() };
    trial.account("auto-12", "a1", OPENING).await;
    json_of(other.pay("a1", "p1", 100, NOW).await);
    let customer = |id: &str| form_of(&json!({ "customer_id": id, "name_last": "L" }));
    json_of(other.service.create_customer(&trial.who, None, customer("c1")).await);
    let before = key(&trial).await;
    let old = trial.log().await;
    assert!(old.iter().all(|message| before.verify(&message.data, &message.signature)));

    let rotated = view_of(trial.service.rotate_hmac_key(&trial.who).await);
    assert_eq!(rotated["previous_key_until"], "2026-04-02T16:00:00Z");
    let after = key(&other).await;
    assert_eq!(json!(after.text()), rotated["hmac_secret_key"]);
    assert_ne!(after, before);
    json_of(other.pay("a1", "p2", 100, NOW).await);
    json_of(trial.pay("a1", "p3", 100, NOW).await);
    json_of(other.service.create_customer(&trial.who, None, customer("c2")).await);
    view_of(other.service.send_test_event(&trial.who).await);
    let log = trial.log().await;
    assert_eq!(log[..old.len()], old, "what was recorded keeps its signature");
    let new = &log[old.len()..];
    for (event, subject) in
        [("line_item_create", "p2"), ("line_item_create", "p3"), ("customer_create", "c2"), ("test_event", "")]
    {
        assert!(new.iter().any(|message| message.event == event && message.subject == subject), "{event} {subject}");
    }
    for message in new {
        assert!(after.verify(&message.data, &message.signature), "{} {}", message.event, message.subject);
    }
    trial.verify().await;
    view_of(trial.service.rotate_hmac_key(&trial.who).await);
    trial.verify().await;
}

async fn the_key_before_is_known_for_a_day(home: Home) {
    let trial = open(home).await;
    let dispatcher_support = trial.service.dispatcher_support();
    let first = key(&trial).await;
    assert_eq!(dispatcher_support.keys(trial.who.org).await.expect("keys"), std::slice::from_ref(&first));
    view_of(trial.service.rotate_hmac_key(&trial.who).await);
    let second = key(&trial).await;
    assert_eq!(dispatcher_support.keys(trial.who.org).await.expect("keys"), [second.clone(), first]);
    trial.clock.set(crate::support::time("2026-04-02T16:00:00Z"));
    assert_eq!(dispatcher_support.keys(trial.who.org).await.expect("keys"), [second]);
}

async fn a_pause_is_told_to_the_others(home: Home) {
    let trial = open(home).await;
    let made = subscribe(&trial, "https://example.com/a").await;
    trial.account("auto-12", "a1", OPENING).await;
    let row = trial.store.subscriptions(trial.who.org).await.expect("they can be read").remove(0);
    let pause = Pause { reason: "CONSECUTIVE_ERRORS".to_owned(), at: trial.clock_now(), probe_at: None };
    let message = trial.service.dispatcher_support().paused(&row, &pause).await.expect("it can be said");
    assert_eq!((message.event.as_str(), message.subject.as_str()), ("subscription_paused", uuid(&made)));
    assert!(key(&trial).await.verify(&message.data, &message.signature));
    let object = &data(&message)["object"];
    assert_eq!((&object["status"], &object["paused_reason"]), (&json!("PAUSED"), &json!("CONSECUTIVE_ERRORS")));
    assert_eq!(
        (&object["pending"], &object["dead_letters"]),
        (&json!(0), &json!(2)),
        "what waits is dead by the pause"
    );
}

async fn whoever_waits_is_nudged(home: Home) {
    let trial = open(home).await;
    let nudge = trial.service.nudge();
    let nudged = || tokio::time::timeout(Duration::from_secs(20), nudge.notified());
    let made = subscribe(&trial, "https://example.com/a").await;
    nudged().await.expect("a subscription");
    trial.account("auto-12", "a1", OPENING).await;
    nudged().await.expect("an account announces its opening");
    view_of(trial.service.send_test_event(&trial.who).await);
    nudged().await.expect("a test event");
    json_of(trial.service.unsubscribe(&trial.who, None, uuid(&made)).await);
    nudged().await.expect("a pause");
    json_of(trial.service.resubscribe(&trial.who, None, uuid(&made)).await);
    nudged().await.expect("a resumption");
    json_of(trial.roll("a1", "2026-05-20T12:00:00-04:00", false).await);
    nudged().await.expect("a roll");
    trial.go_to("2026-05-21T12:00:00-04:00").await;
    nudged().await.expect("messages whose time has come");
    json_of(trial.service.delete_subscription(&trial.who, None, uuid(&made)).await);
    nudged().await.expect("a removal");
}

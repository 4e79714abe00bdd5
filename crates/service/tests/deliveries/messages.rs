//! The console's own URL; one message with all its details, and resending it.

use crate::setup::{DeliverySetup, body, events, minutes, names};
use crate::support::{Home, code_of, json_of, list, on_both, view_of};
use daybook_engine::time::Time;
use daybook_service::webhooks::message::{DeliveryStatus, MessageDetails};
use daybook_service::webhooks::subscriptions::MOST_SUBSCRIPTIONS;
use daybook_service::{DeliveryQuery, paging::Paging};
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};

on_both!(
    the_consoles_url_gets_all_events,
    the_console_handles_one_record_only,
    the_consoles_url_is_checked_as_others_are,
    a_message_is_shown_as_it_was_sent,
    a_message_shows_where_it_stands,
    a_test_that_a_paused_url_did_not_get_says_why,
    a_delivered_message_is_sent_again,
    a_dead_message_is_sent_again_with_a_fresh_schedule,
    what_cannot_be_sent_again_says_why,
);

async fn save(setup: &DeliverySetup, url: Option<&str>) -> Option<Value> {
    let saved = setup.trial.service.save_console_url(&setup.trial.who, url).await.expect("it is saved");
    saved.map(|subscription| view_of(Ok(subscription)))
}

async fn consoles(setup: &DeliverySetup) -> Option<String> {
    setup.trial.service.console_url(&setup.trial.who).await.expect("it is read")
}

async fn urls(setup: &DeliverySetup) -> Vec<(Value, Value)> {
    let all = list(view_of(setup.trial.service.list_subscriptions(&setup.trial.who).await));
    all.iter().map(|one| (one["webhook_url"].clone(), one["filter_events"].clone())).collect()
}

async fn the_consoles_url_gets_all_events(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    assert_eq!(consoles(&setup).await, None);
    let saved = save(&setup, Some(&receiver.url())).await.expect("a subscription");
    assert_eq!((&saved["filter_events"], &saved["status"]), (&Value::Null, &json!("ACTIVE")));
    assert_eq!(consoles(&setup).await.as_deref(), saved["webhook_uuid"].as_str());
    setup.announce("A").await;
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    setup.send().await;
    assert_eq!(events(&receiver), ["customer_create", "account_create", "line_item_create"]);
    assert_eq!(save(&setup, None).await, None);
    assert_eq!((consoles(&setup).await, urls(&setup).await), (None, vec![]));
    setup.announce("B").await;
    assert_eq!(setup.send().await, 0);
}

async fn the_console_handles_one_record_only(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [a, b, api] = [200; 3].map(|status| Receiver::start(Behaviour::status(status)));
    let filtered = json!({ "filter_events": ["account_closed"] });
    let of_api = setup.subscribe_to(&api, &filtered).await;
    let shared = setup.subscribe_to(&b, &filtered).await;
    setup.pause(&shared).await;
    save(&setup, Some(&a.url())).await;
    let taken = save(&setup, Some(&b.url())).await.expect("a subscription");
    assert_eq!(taken["webhook_uuid"], json!(shared), "the API's becomes the record");
    assert_eq!((&taken["status"], &taken["filter_events"]), (&json!("PAUSED"), &Value::Null));
    assert_eq!(consoles(&setup).await, Some(shared.clone()));
    let closed = json!(["account_closed"]);
    assert_eq!(
        urls(&setup).await,
        [(json!(api.url()), closed.clone()), (json!(b.url()), Value::Null)],
        "the old is gone"
    );
    save(&setup, None).await;
    assert_eq!(urls(&setup).await, [(json!(api.url()), closed)]);
    assert_eq!(setup.subscription(&of_api).await["status"], "ACTIVE");
}

async fn the_consoles_url_is_checked_as_others_are(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    save(&setup, Some(&receiver.url())).await;
    for url in ["http://10.0.0.1/", "https://169.254.169.254/latest", "ftp://example.com/", "x", "", "https://a b/"] {
        let refused = setup.trial.service.save_console_url(&setup.trial.who, Some(url)).await.expect_err(url);
        assert_eq!((refused.code, refused.details[0].field.as_str()), ("invalid_request", "webhook_url"), "{url}");
    }
    assert_eq!(urls(&setup).await, [(json!(receiver.url()), Value::Null)], "the one before is still there");
    for number in 1..MOST_SUBSCRIPTIONS {
        let form = crate::support::form_of(&json!({ "webhook_url": format!("http://127.0.0.1:9/{number}") }));
        json_of(setup.trial.service.subscribe(&setup.trial.who, None, form).await);
    }
    let form = crate::support::form_of(&json!({ "webhook_url": "http://127.0.0.1:9/more" }));
    assert_eq!(code_of(setup.trial.service.subscribe(&setup.trial.who, None, form).await), "conflict");
    save(&setup, Some("http://127.0.0.1:9/other")).await;
    save(&setup, None).await;
    save(&setup, Some("http://127.0.0.1:9/1")).await;
    assert_eq!(urls(&setup).await.len(), MOST_SUBSCRIPTIONS - 1);
}

async fn message(setup: &DeliverySetup, event_id: &str) -> MessageDetails {
    setup.trial.service.message(&setup.trial.who, event_id).await.expect("it is there")
}

/// The ids of the events a receiver got.
fn ids(receiver: &Receiver) -> Vec<String> {
    receiver.requests().iter().map(|request| request.header("webhook-id").expect("an id").to_owned()).collect()
}

fn time(text: &str) -> Time {
    Time::parse(text).expect("a time")
}

async fn a_message_is_shown_as_it_was_sent(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[503, 200]));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.trial.account("auto-12", "a1", "2026-04-01T12:00:00Z").await;
    setup.send().await;
    setup.pass(minutes(1)).await;
    let requests = receiver.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        let id = request.header("webhook-id").expect("an id");
        let shown = message(&setup, id).await;
        assert_eq!((shown.event_id.as_str(), &shown.body[..]), (id, &request.body[..]));
        assert_eq!(json!(shown.event), body(request)["event"]);
        assert_eq!(shown.urls.iter().map(|url| url.webhook_uuid.as_str()).collect::<Vec<_>>(), [&*uuid]);
        let sent = ["content-type", "user-agent", "webhook-id", "webhook-timestamp", "webhook-signature"]
            .map(|name| (name, request.header(name).expect("it was sent").to_owned()));
        let is_shown = shown.urls[0].attempts.iter().any(|attempt| attempt.headers == sent);
        assert!(is_shown, "{:?}", shown.urls[0].attempts);
    }
    let failed = message(&setup, requests[0].header("webhook-id").expect("an id")).await;
    let statuses: Vec<_> = failed.urls[0].attempts.iter().map(|one| one.attempt.status).collect();
    assert_eq!((statuses, failed.account_id), (vec![Some(503), Some(200)], None));
    let of_account = message(&setup, requests[1].header("webhook-id").expect("an id")).await;
    assert_eq!((of_account.account_id.as_deref(), of_account.event.as_str()), (Some("a1"), "account_create"));
    for unknown in ["dbk_evt_a1.99", "dbk_evt_unknown", "", "\0", "x.1"] {
        let problem = setup.trial.service.message(&setup.trial.who, unknown).await.expect_err(unknown);
        assert_eq!(problem.code, "not_found", "{unknown:?}");
    }
}

async fn a_message_shows_where_it_stands(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [good, bad, paused, narrow] = [200, 500, 200, 200].map(|status| Receiver::start(Behaviour::status(status)));
    setup.subscribe(&good).await;
    setup.subscribe(&bad).await;
    let uuid = setup.subscribe(&paused).await;
    setup.subscribe_to(&narrow, &json!({ "filter_events": ["account_closed"] })).await;
    setup.pause(&uuid).await;
    setup.announce("A").await;
    let query = DeliveryQuery::default();
    let letters =
        list(view_of(setup.trial.service.list_dead_letters(&setup.trial.who, Paging::default(), query).await));
    let id = letters[0]["event_id"].as_str().expect("an id");
    let stands = async || message(&setup, id).await.urls.iter().map(|url| url.stand).collect::<Vec<_>>();
    let now = time("2026-04-01T12:00:30Z");
    assert_eq!(
        stands().await,
        [DeliveryStatus::Waiting, DeliveryStatus::Waiting, DeliveryStatus::Dead(now), DeliveryStatus::NotForIt]
    );
    setup.send().await;
    let retry = DeliveryStatus::Retry(time("2026-04-01T12:01:30Z"));
    assert_eq!(
        stands().await,
        [DeliveryStatus::Delivered(now), retry, DeliveryStatus::Dead(now), DeliveryStatus::NotForIt]
    );
    let shown = message(&setup, id).await;
    let reasons: Vec<_> = shown.urls.iter().map(|url| url.reason.as_deref()).collect();
    let (paused, excluded) = ("it was not sent: the URL was paused", "the URL's filter excludes the event");
    assert_eq!(reasons, [None, Some("answered 500"), Some(paused), Some(excluded)]);
    setup.pass(minutes(1_500)).await;
    setup.resume(&uuid).await;
    assert!(matches!(
        stands().await[..],
        [DeliveryStatus::Delivered(_), DeliveryStatus::Dead(_), DeliveryStatus::Dead(_), DeliveryStatus::NotForIt]
    ));
    setup.replay(&json!({ "webhook_uuid": uuid })).await;
    assert_eq!(stands().await[2], DeliveryStatus::Waiting);
    setup.send().await;
    assert!(matches!(stands().await[2], DeliveryStatus::Delivered(_)));
}

async fn a_test_that_a_paused_url_did_not_get_says_why(home: Home) {
    let setup = DeliverySetup::new(home).await;
    let [active, paused] = [200; 2].map(|status| Receiver::start(Behaviour::status(status)));
    setup.subscribe(&active).await;
    let uuid = setup.subscribe(&paused).await;
    setup.pause(&uuid).await;
    let sent = view_of(setup.trial.service.send_test_event(&setup.trial.who).await);
    setup.send().await;
    setup.resume(&uuid).await;
    let shown = message(&setup, sent["event_id"].as_str().expect("an id")).await;
    assert_eq!(shown.urls[1].stand, DeliveryStatus::Dropped);
    assert_eq!(shown.urls[1].reason.as_deref(), Some("the URL was paused when this test was recorded"));
}

async fn again(setup: &DeliverySetup, uuid: &str, event_id: &str) {
    setup.trial.service.send_again(&setup.trial.who, uuid, event_id).await.expect("it is sent again");
}

async fn a_delivered_message_is_sent_again(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [receiver, other] = [200; 2].map(|status| Receiver::start(Behaviour::status(status)));
    let uuid = setup.subscribe(&receiver).await;
    setup.subscribe(&other).await;
    setup.announce("A").await;
    setup.announce("B").await;
    setup.send().await;
    let id = ids(&receiver)[0].clone();
    for _ in 0..2 {
        again(&setup, &uuid, &id).await;
        assert_eq!(setup.state(&uuid).await.2, 1);
        assert_eq!(setup.send().await, 1);
    }
    assert_eq!(
        (names(&receiver), names(&other)),
        (vec!["A".into(), "B".into(), "A".into(), "A".into()], vec!["A".into(), "B".into()])
    );
    assert_eq!(receiver.requests()[0].body, receiver.requests()[3].body);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
    // A resent message that fails is retried by its own schedule, and becomes a dead letter like any other.
    receiver.behave(Behaviour::status(404));
    again(&setup, &uuid, &id).await;
    setup.send().await;
    assert_eq!(setup.state(&uuid).await.3, 1);
    assert_eq!(setup.subscription(&uuid).await["consecutive_errors"], 1);
}

async fn a_dead_message_is_sent_again_with_a_fresh_schedule(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[404, 404, 500, 200]));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.announce("B").await;
    setup.send().await;
    let id = ids(&receiver)[0].clone();
    again(&setup, &uuid, &id).await;
    assert_eq!(setup.send().await, 1);
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 1, 1));
    assert_eq!(setup.pass(minutes(1)).await, 1, "a minute after its first failure");
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 1), "the other letter is dead still");
    let attempts = message(&setup, &id).await.urls.remove(0).attempts;
    assert_eq!(attempts.iter().map(|one| one.attempt.number).collect::<Vec<_>>(), [1, 1, 2]);
    // A single message of a range that a pause left.
    setup.pause(&uuid).await;
    for name in ["C", "D", "E"] {
        setup.announce(name).await;
    }
    setup.resume(&uuid).await;
    let query = DeliveryQuery::default();
    let letters =
        list(view_of(setup.trial.service.list_dead_letters(&setup.trial.who, Paging::default(), query).await));
    assert_eq!(letters.len(), 4);
    again(&setup, &uuid, letters[2]["event_id"].as_str().expect("an id")).await;
    assert_eq!((setup.send().await, names(&receiver).pop()), (1, Some("D".to_owned())));
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 3));
    assert_eq!(setup.replay(&json!({})).await, (3, 0));
    setup.send().await;
    assert_eq!(names(&receiver).iter().filter(|name| *name == "D").count(), 1);
}

async fn what_cannot_be_sent_again_says_why(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [receiver, narrow] = [200; 2].map(|status| Receiver::start(Behaviour::status(status)));
    let uuid = setup.subscribe(&receiver).await;
    let of_narrow = setup.subscribe_to(&narrow, &json!({ "filter_events": ["account_closed"] })).await;
    setup.announce("A").await;
    setup.send().await;
    let id = ids(&receiver)[0].clone();
    let refused = async |uuid: &str, id: &str| {
        let problem = setup.trial.service.send_again(&setup.trial.who, uuid, id).await.expect_err("it is refused");
        (problem.code, problem.message)
    };
    assert_eq!(refused("unknown", &id).await.0, "not_found");
    assert_eq!(refused(&uuid, "unknown").await.0, "not_found");
    assert_eq!(refused(&of_narrow, &id).await, ("conflict", "the message was not for this URL".to_owned()));
    setup.pause(&uuid).await;
    assert_eq!(refused(&uuid, &id).await, ("subscription_paused", "the URL is paused: resume it first".to_owned()));
    assert_eq!(receiver.counts().requests, 1);
}

//! Messages in the API: finding them, one with all its details, resending one or many, metrics of each URL.

use crate::setup::{DeliverySetup, body, events, minutes, names};
use crate::support::{Home, Trial, code_of, form_of, json_of, list, on_both, time, view_of};
use daybook_service::MessageQuery;
use daybook_service::form::fields::{Reference, SearchState};
use daybook_service::form::{EventName, Resend};
use daybook_service::paging::Paging;
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};

on_both!(
    a_message_is_given_byte_by_byte_with_its_attempts,
    a_message_is_sent_again_to_one_url_or_to_all,
    what_is_not_sent_again_has_a_code,
    messages_are_found_by_everything_they_have,
    pages_lead_through_all_messages_once,
    a_short_page_leads_on,
    another_organization_finds_nothing,
    a_replay_may_be_about_one_account,
    delivered_messages_are_replayed_since_a_moment,
    a_replay_of_delivered_messages_that_a_pause_interrupts_stays,
    delivered_messages_become_few_ranges,
    a_replay_of_delivered_messages_needs_a_moment,
    urls_have_metrics,
);

async fn get(setup: &DeliverySetup, event_id: &str) -> Value {
    view_of(setup.trial.service.get_message(&setup.trial.who, event_id).await)
}

async fn resend(setup: &DeliverySetup, event_id: &str, body: &Value) -> Result<Value, &'static str> {
    let form: Resend = form_of(body);
    match setup.trial.service.resend_message(&setup.trial.who, None, event_id, form).await {
        Ok(done) => Ok(serde_json::from_slice(&done).expect("JSON")),
        Err(problem) => Err(problem.code),
    }
}

async fn page(setup: &DeliverySetup, limit: &str, after: Option<&str>, query: MessageQuery) -> Value {
    let paging = Paging::read(Some(limit), after, None).expect("a page");
    view_of(setup.trial.service.list_messages(&setup.trial.who, paging, query).await)
}

async fn found(setup: &DeliverySetup, query: MessageQuery) -> Vec<Value> {
    list(page(setup, "200", None, query).await)
}

fn reference(id: &str) -> Option<Reference> {
    Some(Reference::read(id).expect("an id"))
}

fn ids(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["event_id"].as_str().expect("an id")).collect()
}

async fn a_message_is_given_byte_by_byte_with_its_attempts(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [good, bad] = [200, 503].map(|status| Receiver::start(Behaviour::status(status)));
    let (of_good, of_bad) = (setup.subscribe(&good).await, setup.subscribe(&bad).await);
    setup.announce("A").await;
    setup.send().await;
    let sent = good.requests().remove(0);
    let event_id = body(&sent)["data"]["event_id"].as_str().expect("an id").to_owned();
    let message = get(&setup, &event_id).await;
    assert_eq!(message["body"].as_str().map(str::as_bytes), Some(&sent.body[..]));
    assert_eq!(message["hmac_signature"], body(&sent)["hmac_signature"]);
    assert_eq!((&message["event"], &message["state"]), (&json!("customer_create"), &json!("PUBLISHED")));
    let urls = message["urls"].as_array().expect("a list");
    assert_eq!((&urls[0]["webhook_uuid"], &urls[1]["webhook_uuid"]), (&json!(of_good), &json!(of_bad)));
    assert_eq!((&urls[0]["state"], &urls[1]["state"]), (&json!("DELIVERED"), &json!("PENDING")));
    assert_eq!(urls[0]["delivered_at"], "2026-04-01T12:00:30Z");
    assert_eq!(urls[1]["next_retry_at"], "2026-04-01T12:01:30Z");
    let attempt = &urls[1]["attempts"][0];
    assert_eq!((&attempt["attempt"], &attempt["response_status"]), (&json!(1), &json!(503)));
    assert_eq!(attempt["outcome"], "FAILED");
}

async fn a_message_is_sent_again_to_one_url_or_to_all(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [a, b, narrow] = [200; 3].map(|status| Receiver::start(Behaviour::status(status)));
    let (of_a, of_b) = (setup.subscribe(&a).await, setup.subscribe(&b).await);
    setup.subscribe_to(&narrow, &json!({ "filter_events": ["account_closed"] })).await;
    setup.announce("A").await;
    setup.send().await;
    let event_id = body(&a.requests()[0])["data"]["event_id"].as_str().expect("an id").to_owned();
    let done = resend(&setup, &event_id, &json!({ "webhook_uuid": of_b })).await.expect("it is sent");
    assert_eq!((&done["resent"], &done["left_paused"]), (&json!([of_b]), &json!([])));
    setup.send().await;
    assert_eq!((names(&a).len(), names(&b).len()), (1, 2));
    let done = resend(&setup, &event_id, &json!({})).await.expect("it is sent");
    assert_eq!(done["resent"], json!([of_a, of_b]));
    setup.send().await;
    assert_eq!((names(&a).len(), names(&b).len(), names(&narrow).len()), (2, 3, 0));
    assert_eq!(b.requests()[0].body, b.requests()[2].body, "the same bytes");
    setup.pause(&of_a).await;
    let done = resend(&setup, &event_id, &json!({})).await.expect("it is sent");
    assert_eq!((&done["resent"], &done["left_paused"]), (&json!([of_b]), &json!([of_a])));
}

async fn what_is_not_sent_again_has_a_code(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.announce("A").await;
    setup.send().await;
    let event_id = body(&receiver.requests()[0])["data"]["event_id"].as_str().expect("an id").to_owned();
    assert_eq!(resend(&setup, "dbk_evt_none.1", &json!({})).await, Err("not_found"));
    assert_eq!(resend(&setup, &event_id, &json!({ "webhook_uuid": "none" })).await, Err("not_found"));
    setup.pause(&uuid).await;
    assert_eq!(resend(&setup, &event_id, &json!({})).await, Err("subscription_paused"));
    assert_eq!(resend(&setup, &event_id, &json!({ "webhook_uuid": uuid })).await, Err("subscription_paused"));
    setup.trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    json_of(setup.trial.roll("a1", "2026-06-20T00:00:00-04:00", false).await);
    let scheduled =
        found(&setup, MessageQuery { state: Some(SearchState::Scheduled), ..MessageQuery::default() }).await;
    assert_eq!(resend(&setup, ids(&scheduled)[0], &json!({})).await, Err("conflict"));
    assert_eq!(get(&setup, ids(&scheduled)[0]).await["state"], "SCHEDULED");
}

async fn messages_are_found_by_everything_they_have(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[200, 404, 503]));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
        setup.send().await;
    }
    setup.trial.clock.set(time("2026-04-01T13:00:30Z"));
    setup.trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    json_of(setup.trial.roll("a1", "2026-04-20T00:00:00-04:00", false).await);
    let all = || MessageQuery::default();
    let of = |state| MessageQuery { state: Some(state), ..MessageQuery::default() };
    let everything = found(&setup, all()).await;
    let moments: Vec<bool> = everything.iter().map(|one| one["state"] == "SCHEDULED").collect();
    assert!(moments.is_sorted_by(|a, b| a >= b) && moments[0], "those that wait come first: {moments:?}");
    let customers = found(&setup, MessageQuery { event: EventName::read("customer_create").ok(), ..all() }).await;
    assert_eq!(customers.len(), 3);
    let one = ids(&customers)[0];
    let by_id = |id: &str| MessageQuery { event_id: Some(id.to_owned()), ..MessageQuery::default() };
    assert_eq!(ids(&found(&setup, by_id(one)).await), [one]);
    assert_eq!(found(&setup, by_id("dbk_evt_none")).await, [] as [Value; 0]);
    assert_eq!(found(&setup, MessageQuery { account_id: reference("a1"), ..by_id(one) }).await, [] as [Value; 0]);
    // Newest first: C is to be retried, B is dead, A was accepted.
    for (state, place) in [(SearchState::Pending, 0), (SearchState::Dead, 1), (SearchState::Delivered, 2)] {
        let query = MessageQuery { until: Some(time("2026-04-01T13:00:00Z")), ..of(state) };
        assert_eq!(ids(&found(&setup, query).await), [ids(&customers)[place]], "{state:?}");
    }
    let of_account = found(&setup, MessageQuery { account_id: reference("a1"), ..all() }).await;
    assert!(of_account.iter().all(|one| one["account_id"] == "a1"));
    assert_eq!(of_account.len(), everything.len() - 3);
    let since = found(&setup, MessageQuery { since: Some(time("2026-04-01T13:00:00Z")), ..all() }).await;
    assert_eq!(ids(&since), ids(&of_account));
    let scheduled = found(&setup, of(SearchState::Scheduled)).await;
    assert!(!scheduled.is_empty() && scheduled.iter().all(|one| one["due_at"].is_string()));
    let wanted = found(&setup, MessageQuery { webhook_uuid: reference(&uuid), ..all() }).await;
    assert_eq!(wanted.len(), everything.len() - scheduled.len());
    let paging = Paging::default();
    let query = MessageQuery { webhook_uuid: reference("none"), ..all() };
    assert_eq!(code_of(setup.trial.service.list_messages(&setup.trial.who, paging, query).await), "invalid_request");
}

async fn pages_lead_through_all_messages_once(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    setup.trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    json_of(setup.trial.roll("a1", "2026-08-20T00:00:00-04:00", false).await);
    for name in ["A", "B", "C", "D", "E"] {
        setup.announce(name).await;
    }
    let everything = found(&setup, MessageQuery::default()).await;
    for limit in ["1", "2", "3", "7"] {
        let (mut walked, mut mark): (Vec<Value>, Option<String>) = (Vec::new(), None);
        loop {
            let page = page(&setup, limit, mark.as_deref(), MessageQuery::default()).await;
            mark = page["paging"]["starting_after"].as_str().map(str::to_owned);
            let has_more = page["paging"]["has_more"] == true;
            walked.extend(list(page));
            if !has_more {
                break;
            }
        }
        assert_eq!(walked, everything, "in pages of {limit}");
    }
}

/// A search examines a limited number of messages per page; the rest come with the next page.
async fn a_short_page_leads_on(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[404]));
    setup.subscribe(&receiver).await;
    setup.announce("dead").await;
    setup.send().await;
    receiver.behave(Behaviour::status(200));
    for number in 0..501 {
        setup.announce(&format!("n{number}")).await;
    }
    setup.send().await;
    let dead = || MessageQuery { state: Some(SearchState::Dead), ..MessageQuery::default() };
    let first = page(&setup, "10", None, dead()).await;
    assert_eq!((list(first.clone()).len(), &first["paging"]["has_more"]), (0, &json!(true)));
    let second = page(&setup, "10", first["paging"]["starting_after"].as_str(), dead()).await;
    assert_eq!((list(second.clone()).len(), &second["paging"]["has_more"]), (1, &json!(false)));
}

async fn another_organization_finds_nothing(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    setup.announce("A").await;
    let event_id = ids(&found(&setup, MessageQuery::default()).await)[0].to_owned();
    setup.trial.service.create_organization("other", "TEST").await.expect("it is made");
    let who = setup.trial.service.operator(Some("other")).await.expect("it is there");
    let other = Trial { who, ..setup.trial.clone() };
    assert_eq!(code_of(other.service.get_message(&other.who, &event_id).await), "not_found");
    assert_eq!(
        code_of(other.service.resend_message(&other.who, None, &event_id, form_of(&json!({}))).await),
        "not_found"
    );
    let query = MessageQuery { event_id: Some(event_id), ..MessageQuery::default() };
    let nothing = list(view_of(other.service.list_messages(&other.who, Paging::default(), query).await));
    assert_eq!(nothing, [] as [Value; 0]);
}

async fn a_replay_may_be_about_one_account(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    setup.pause(&uuid).await;
    for account in ["a1", "a2"] {
        setup.trial.account("auto-12", account, "2026-04-01T00:00:00Z").await;
    }
    setup.resume(&uuid).await;
    let about = json!({ "account_id": "a2" });
    assert_eq!(setup.replay(&json!({ "account_id": "a2", "dry_run": true })).await, (2, 0));
    assert_eq!(setup.replay(&about).await, (2, 0));
    setup.send().await;
    let accounts: Vec<Value> = receiver.requests().iter().map(|one| body(one)["data"]["account_id"].clone()).collect();
    assert_eq!(accounts, ["a2", "a2"]);
    assert_eq!(setup.state(&uuid).await.3, 2, "those of the other account stay");
}

async fn delivered_messages_are_replayed_since_a_moment(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[200, 200, 404, 200]));
    let (uuid, narrow) = (setup.subscribe(&receiver).await, Receiver::start(Behaviour::status(200)));
    let of_narrow = setup.subscribe_to(&narrow, &json!({ "filter_events": ["account_create"] })).await;
    setup.announce("before").await;
    setup.send().await;
    setup.pass(minutes(30)).await;
    for name in ["A", "dead", "B"] {
        setup.announce(name).await;
        setup.send().await;
    }
    setup.trial.account("auto-12", "a1", "2026-04-01T00:00:00Z").await;
    setup.send().await;
    view_of(setup.trial.service.send_test_event(&setup.trial.who).await);
    setup.send().await;
    let (before, before_narrow) = (receiver.counts().requests, narrow.counts().requests);
    let since = json!({ "state": "DELIVERED", "since": "2026-04-01T12:30:00Z" });
    let of = |more: Value| {
        let mut body = since.clone();
        crate::support::merge(&mut body, &more);
        body
    };
    // A, B, and the two of the account; to the URL with a filter, the account's own.
    assert_eq!(setup.replay(&of(json!({ "dry_run": true }))).await, (5, 0));
    assert_eq!(setup.send().await, 0, "it was only counted");
    assert_eq!(setup.replay(&of(json!({ "event": "customer_create", "dry_run": true }))).await, (2, 0));
    assert_eq!(setup.replay(&of(json!({ "account_id": "a1", "dry_run": true }))).await, (3, 0));
    assert_eq!(setup.replay(&of(json!({ "until": "2026-04-01T12:30:00Z" }))).await, (0, 0));
    assert_eq!(setup.replay(&of(json!({ "webhook_uuid": uuid }))).await, (4, 0));
    assert_eq!(setup.replay(&of(json!({ "webhook_uuid": uuid }))).await, (0, 0), "they are to be sent already");
    setup.send().await;
    assert_eq!(names(&receiver)[4..], ["A", "B"]);
    assert_eq!(receiver.counts().requests - before, 4, "no test, nothing that is dead");
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 1));
    assert_eq!(narrow.counts().requests, before_narrow);
    setup.pause(&of_narrow).await;
    assert_eq!(setup.replay(&of(json!({ "webhook_uuid": of_narrow }))).await, (0, 1), "a paused URL gets nothing");
    setup.resume(&of_narrow).await;
    assert_eq!(setup.replay(&of(json!({ "webhook_uuid": of_narrow }))).await, (1, 0));
    setup.send().await;
    assert_eq!(narrow.counts().requests - before_narrow, 1);
    assert_eq!(events(&narrow).last().map(String::as_str), Some("account_create"));
}

/// Messages that were to be sent again when the URL was paused are dead letters, and resuming the URL does not drop
/// them.
async fn a_replay_of_delivered_messages_that_a_pause_interrupts_stays(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::status(200));
    let uuid = setup.subscribe(&receiver).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
    }
    setup.send().await;
    let since = json!({ "state": "DELIVERED", "since": "2026-04-01T12:00:00Z" });
    assert_eq!(setup.replay(&since).await, (3, 0));
    setup.pause(&uuid).await;
    assert_eq!(setup.state(&uuid).await.3, 3);
    setup.resume(&uuid).await;
    assert_eq!(setup.state(&uuid).await, ("ACTIVE".to_owned(), Value::Null, 0, 3));
    assert_eq!(setup.replay(&json!({})).await, (3, 0));
    setup.send().await;
    assert_eq!(names(&receiver), ["A", "B", "C", "A", "B", "C"]);
}

/// Messages that lie together in the log become one range, even across messages that the URL does not get; there is no
/// row for each message.
async fn delivered_messages_become_few_ranges(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let [all, some] = [200; 2].map(|status| Receiver::start(Behaviour::status(status)));
    setup.subscribe(&all).await;
    let filter = json!({ "filter_events": ["account_create"] });
    let of_some = setup.subscribe_to(&some, &filter).await;
    for number in 0..20 {
        setup.announce("A").await;
        setup.trial.account("auto-12", &format!("a{number}"), "2026-04-01T00:00:00Z").await;
    }
    setup.send().await;
    assert_eq!(setup.replay(&json!({ "state": "DELIVERED", "since": "2026-04-01T12:00:00Z" })).await, (80, 0));
    let subscriptions = setup.trial.store.subscriptions(setup.trial.who.org).await.expect("they are read");
    for subscription in &subscriptions {
        let ranges = setup.trial.store.replaying(subscription.org, subscription.id).await.expect("they are read");
        assert_eq!(ranges.len(), 1, "{ranges:?}");
    }
    setup.send().await;
    assert_eq!((all.counts().requests, some.counts().requests), (120, 40));
    assert_eq!(setup.state(&of_some).await, ("ACTIVE".to_owned(), Value::Null, 0, 0));
}

async fn a_replay_of_delivered_messages_needs_a_moment(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let form = form_of(&json!({ "state": "DELIVERED" }));
    assert_eq!(
        code_of(setup.trial.service.replay_failed_events(&setup.trial.who, None, form).await),
        "invalid_request"
    );
}

async fn urls_have_metrics(home: Home) {
    let setup = DeliverySetup::at_once(home).await;
    let receiver = Receiver::start(Behaviour::statuses(&[200, 404, 503]));
    let uuid = setup.subscribe(&receiver).await;
    let idle = Receiver::start(Behaviour::status(200));
    let of_idle = setup.subscribe_to(&idle, &json!({ "filter_events": ["account_closed"] })).await;
    for name in ["A", "B", "C"] {
        setup.announce(name).await;
        setup.send().await;
    }
    setup.trial.clock.set(time("2026-04-01T12:01:00Z"));
    setup.announce("D").await;
    let org = setup.trial.who.org;
    let text = setup.trial.service.metrics_text().await;
    let expect = |text: &str, name: &str, uuid: &str, value: &str| {
        let line = format!("daybook_webhook_url_{name}{{organization=\"{org}\",webhook_uuid=\"{uuid}\"}} {value}\n");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    };
    expect(&text, "backlog_messages", &uuid, "2");
    expect(&text, "oldest_waiting_seconds", &uuid, "30");
    expect(&text, "dead_letters", &uuid, "1");
    expect(&text, "paused", &uuid, "0");
    expect(&text, "backlog_messages", &of_idle, "0");
    expect(&text, "oldest_waiting_seconds", &of_idle, "0");
    assert!(!text.contains("127.0.0.1"), "a URL may hold a secret: {text}");
    setup.pause(&uuid).await;
    let again = setup.trial.service.metrics_text().await;
    expect(&again, "paused", &uuid, "0");
    setup.trial.clock.set(time("2026-04-01T12:01:10Z"));
    let later = setup.trial.service.metrics_text().await;
    expect(&later, "paused", &uuid, "1");
    expect(&later, "backlog_messages", &uuid, "0");
    expect(&later, "dead_letters", &uuid, "3");
    let attempts = setup.dispatcher.metrics().by_url();
    let of_uuid = attempts.get(&(org, uuid)).copied().expect("it was tried");
    assert_eq!((of_uuid.made, of_uuid.failed), (3, 2));
}

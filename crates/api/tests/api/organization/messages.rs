//! Messages by HTTP: each parameter of a search, one message, sending one again, replaying.

use crate::support::Server;
use daybook_clock::Clock as _;
use daybook_engine::time::Time;
use serde_json::{Value, json};

const MESSAGES: &str = "/organization/messages";
const REPLAY: &str = "/organization/subscribe/replay_failed_events";

/// A server with two accounts, a customer and one active URL, and the URL's id.
async fn with_messages() -> (Server, String) {
    let server = Server::start().await;
    let made = server.subscription("https://example.com/a").await;
    server.product("p").await;
    server.account("a", "p").await;
    server.clock.set(Time::parse("2025-06-01T13:00:00Z").expect("a time"));
    server.account("b", "p").await;
    server.post("/customers", json!({"customer_id": "c", "name_last": "Torres"})).await.ok();
    (server, made["webhook_uuid"].as_str().expect("a name").to_owned())
}

async fn found(server: &Server, query: &str) -> Vec<Value> {
    let page = server.get(&format!("{MESSAGES}?limit=200&{query}")).await.ok();
    assert_eq!(page["paging"]["has_more"], false, "{query}");
    page["results"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn messages_are_found_by_id_account_event_state_url_and_time() {
    let (server, uuid) = with_messages().await;
    let all = found(&server, "").await;
    let ids = |messages: &[Value]| -> Vec<String> {
        messages.iter().map(|one| one["event_id"].as_str().expect("an id").to_owned()).collect()
    };
    let only =
        |is_wanted: &dyn Fn(&Value) -> bool| ids(&all.iter().filter(|one| is_wanted(one)).cloned().collect::<Vec<_>>());
    let one = ids(&all)[1].clone();
    let cases: [(String, Vec<String>); 6] = [
        (format!("event_id={one}"), vec![one.clone()]),
        ("account_id=b".to_owned(), only(&|one| one["account_id"] == "b")),
        ("event=account_create".to_owned(), only(&|one| one["event"] == "account_create")),
        ("since=2025-06-01T13:00:00Z".to_owned(), only(&|one| one["recorded_at"] == "2025-06-01T13:00:00Z")),
        ("until=2025-06-01T13:00:00Z".to_owned(), only(&|one| one["recorded_at"] == "2025-06-01T12:00:00Z")),
        (format!("webhook_uuid={uuid}&event=customer_create"), only(&|one| one["event"] == "customer_create")),
    ];
    for (query, expected) in cases {
        assert!(!expected.is_empty() && expected.len() < all.len(), "{query}: {expected:?} of {}", all.len());
        assert_eq!(ids(&found(&server, &query).await), expected, "{query}");
    }
    let states = async || [found(&server, "state=PENDING").await.len(), found(&server, "state=DEAD").await.len()];
    assert_eq!(states().await, [all.len(), 0]);
    server.put(&format!("/organization/subscriptions/{uuid}/unsubscribe"), json!({})).await.ok();
    assert_eq!(states().await, [0, all.len()]);
    assert_eq!(found(&server, "state=DELIVERED").await.len(), 0);
    for (query, field) in [
        ("state=LOST", "state"),
        ("event=nothing", "event"),
        ("event_id=", "event_id"),
        ("account_id=%20", "account_id"),
        ("webhook_uuid=none", "webhook_uuid"),
        ("since=2025", "since"),
        ("until=2025", "until"),
        ("limit=0", "limit"),
        ("ending_before=YQ", "ending_before"),
    ] {
        server.get(&format!("{MESSAGES}?{query}")).await.refused_field(422, field);
    }
}

#[tokio::test]
async fn one_message_is_given_whole_and_sent_again() {
    let (server, uuid) = with_messages().await;
    let id = found(&server, "event=customer_create").await[0]["event_id"].as_str().expect("an id").to_owned();
    let path = format!("{MESSAGES}/{id}");
    let message = server.get(&path).await.ok();
    let body: Value = serde_json::from_str(message["body"].as_str().expect("a body")).expect("it is JSON");
    assert_eq!((&body["event"], &body["data"]["event_id"]), (&json!("customer_create"), &json!(id)));
    assert_eq!(message["hmac_signature"], body["hmac_signature"]);
    assert_eq!((&message["urls"][0]["webhook_uuid"], &message["urls"][0]["state"]), (&json!(uuid), &json!("PENDING")));
    server.get(&format!("{MESSAGES}/dbk_evt_none.1")).await.refused(404, "not_found");
    // A message that waits to be sent is not sent again.
    server.post(&format!("{path}/resend"), json!({})).await.refused(409, "conflict");
    let subscription = format!("/organization/subscriptions/{uuid}");
    server.put(&format!("{subscription}/unsubscribe"), json!({})).await.ok();
    server.post(&format!("{path}/resend"), json!({})).await.refused(409, "subscription_paused");
    server.put(&format!("{subscription}/resubscribe"), json!({})).await.ok();
    assert_eq!(server.get(&path).await.ok()["urls"][0]["state"], "DEAD");
    let sent = server.post(&format!("{path}/resend"), json!({"webhook_uuid": uuid})).await.ok();
    assert_eq!((&sent["resent"], &sent["left_paused"]), (&json!([uuid]), &json!([])));
    assert_eq!(server.get(&path).await.ok()["urls"][0]["state"], "PENDING");
    server.post(&format!("{path}/resend"), json!({"webhook_uuid": "none"})).await.refused(404, "not_found");
    server.post(&format!("{path}/resend"), json!({"webhook": uuid})).await.refused_field(422, "webhook");
}

#[tokio::test]
async fn a_replay_is_narrowed_to_an_account_or_to_what_was_delivered() {
    let (server, uuid) = with_messages().await;
    let subscription = format!("/organization/subscriptions/{uuid}");
    let of_b = found(&server, "account_id=b").await.len();
    server.put(&format!("{subscription}/unsubscribe"), json!({})).await.ok();
    server.put(&format!("{subscription}/resubscribe"), json!({})).await.ok();
    let dead = found(&server, "state=DEAD").await.len();
    let some = json!({"account_id": "b"});
    assert_eq!(server.put(REPLAY, some).await.ok(), json!({"replayed": of_b, "left_paused": 0}));
    let rest = found(&server, "state=DEAD").await;
    assert_eq!(rest.len(), dead - of_b);
    assert!(rest.iter().all(|one| one["account_id"] != "b"), "{rest:?}");
    let rule = server.put(REPLAY, json!({"state": "DELIVERED"})).await.refused_field(422, "since");
    assert!(rule.contains("is required with state DELIVERED"), "{rule}");
    let delivered = json!({"state": "DELIVERED", "since": "2025-06-01T00:00:00Z"});
    assert_eq!(server.put(REPLAY, delivered).await.ok(), json!({"replayed": 0, "left_paused": 0}), "none was");
    server.put(REPLAY, json!({"state": "LOST"})).await.refused_field(422, "state");
}

#[tokio::test]
async fn the_figures_of_each_url_are_among_the_metrics() {
    let (server, uuid) = with_messages().await;
    let all = found(&server, "").await.len();
    let lines = async |expected: &[(&str, usize)]| {
        // Metrics of the database are cached for ten seconds.
        server.clock.set(server.clock.now().plus_micros(10_000_000));
        let text = server.call("GET", "/metrics", None, &[], Vec::new()).await.text;
        for (name, value) in expected {
            let line = format!("daybook_webhook_url_{name}{{organization=\"1\",webhook_uuid=\"{uuid}\"}} {value}");
            assert!(text.lines().any(|given| given == line), "{line} is not in\n{text}");
        }
        let paused = expected.iter().find(|(name, _)| *name == "paused").map_or(0, |(_, paused)| *paused);
        let line = format!("daybook_webhooks_paused_urls{{reason=\"UNSUBSCRIBED\"}} {paused}");
        assert!(text.lines().any(|given| given == line), "{line} is not in\n{text}");
    };
    lines(&[("backlog_messages", all), ("oldest_waiting_seconds", 3_610), ("paused", 0), ("dead_letters", 0)]).await;
    server.put(&format!("/organization/subscriptions/{uuid}/unsubscribe"), json!({})).await.ok();
    lines(&[("backlog_messages", 0), ("oldest_waiting_seconds", 0), ("paused", 1), ("dead_letters", all)]).await;
}

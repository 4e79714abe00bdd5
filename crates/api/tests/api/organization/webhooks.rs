use crate::support::{ADMIN, Server};
use serde_json::{Value, json};

const SUBSCRIBE: &str = "/organization/subscribe";

fn uuid(subscription: &Value) -> &str {
    subscription["webhook_uuid"].as_str().expect("it has one")
}

#[tokio::test]
async fn a_url_is_subscribed_by_put_and_by_post_and_answered_with_201() {
    let server = Server::start().await;
    let body = json!({"webhook_url": "https://example.com/a", "filter_events": ["account_closed"]});
    let made = server.put(SUBSCRIBE, body).await.created();
    let again = server.post(SUBSCRIBE, json!({"webhook_url": "https://example.com/a"})).await.created();
    assert_eq!(uuid(&again), uuid(&made));
    assert_eq!((&made["filter_events"], &again["filter_events"]), (&json!(["account_closed"]), &json!(null)));
    let list = server.get("/organization/subscriptions").await.ok();
    assert_eq!(list["results"], json!([again]));
    let path = |what: &str| format!("/organization/subscriptions/{}{what}", uuid(&made));
    for method in ["PUT", "POST"] {
        for (what, status) in [("/unsubscribe", "PAUSED"), ("/resubscribe", "ACTIVE")] {
            let got = server.call(method, &path(what), Some(ADMIN), &[], Vec::new()).await.ok();
            assert_eq!(got["status"], status, "{method} {what}");
        }
    }
    assert_eq!(server.delete(&path("")).await.ok()["deleted"], true);
    server.delete(&path("")).await.refused(404, "not_found");
    server.put(&path("/unsubscribe"), json!({})).await.refused(404, "not_found");
}

#[tokio::test]
async fn what_cannot_be_subscribed_is_refused_by_its_field() {
    let server = Server::start().await;
    let with = |url: &str, more: Value| {
        let mut body = json!({"webhook_url": url});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        server.put(SUBSCRIBE, body)
    };
    for url in
        ["http://10.0.0.1/", "https://localhost/", "https://user@example.com/", "/hooks", "gopher://example.com/"]
    {
        with(url, json!({})).await.refused_field(422, "webhook_url");
    }
    let good = "https://example.com/a";
    let rule = with(good, json!({"filter_events": ["account_closed", "nothing"]})).await;
    let rule = rule.refused_field(422, "filter_events[1]");
    assert!(rule.contains("account_closed") && rule.contains("account_summary"), "it names those there are: {rule}");
    let rule = with(good, json!({"filter_events": []})).await.refused_field(422, "filter_events");
    assert!(rule.contains("leave it out"), "{rule}");
    with(good, json!({"filter": []})).await.refused_field(422, "filter");
    server.put(SUBSCRIBE, json!({})).await.refused_field(422, "webhook_url");
    assert_eq!(server.get("/organization/subscriptions").await.ok()["results"], json!([]));
}

#[tokio::test]
async fn a_reader_looks_and_does_nothing() {
    let server = Server::start().await;
    server.subscription("https://example.com/a").await;
    let (_, reader) = server.key("READ_ONLY").await;
    let (_, servicing) = server.key("SERVICING").await;
    let get = |path: &'static str, key: &str| {
        let key = key.to_owned();
        let server = &server;
        async move { server.call("GET", path, Some(&key), &[], Vec::new()).await }
    };
    for path in ["subscriptions", "event_types", "deliveries", "dead_letters"] {
        let path: &'static str = format!("/organization/{path}").leak();
        get(path, &reader).await.ok();
    }
    get("/organization/subscribe/test", &reader).await.refused(403, "not_authorized");
    get("/organization/subscribe/test", &servicing).await.ok();
    for key in [&reader, &servicing] {
        get("/organization/hmac_key", key).await.refused(403, "not_authorized");
        let rotate = server.call("POST", "/organization/hmac_key/rotate", Some(key), &[], Vec::new()).await;
        rotate.refused(403, "not_authorized");
    }
}

#[tokio::test]
async fn a_test_event_says_where_it_goes() {
    let server = Server::start().await;
    assert_eq!(server.get("/organization/subscribe/test").await.ok()["active_urls"], 0);
    server.subscription("https://example.com/a").await;
    let sent = server.get("/organization/subscribe/test").await.ok();
    assert_eq!((&sent["event"], &sent["active_urls"]), (&json!("test_event"), &json!(1)));
    assert!(sent["event_id"].as_str().is_some_and(|id| id.starts_with("dbk_evt_")), "{sent}");
    let pending = &server.get("/organization/subscriptions").await.ok()["results"][0]["pending"];
    assert_eq!(pending, 1, "it gets what is announced after it was made");
}

#[tokio::test]
async fn the_key_is_base64_of_32_bytes_and_is_rotated() {
    let server = Server::start().await;
    let first = server.get("/organization/hmac_key").await.ok();
    let text = first["hmac_secret_key"].as_str().expect("a text");
    assert_eq!((text.len(), text.ends_with('=')), (44, true));
    let rotated = server.post("/organization/hmac_key/rotate", json!({})).await.ok();
    assert_eq!(rotated["previous_key_until"], "2025-06-02T12:00:00Z");
    assert_ne!(rotated["hmac_secret_key"], first["hmac_secret_key"]);
    let now = server.get("/organization/hmac_key").await.ok();
    assert_eq!(now["hmac_secret_key"], rotated["hmac_secret_key"]);
}

#[tokio::test]
async fn the_catalogue_lists_every_event_with_schema_and_sample() {
    let server = Server::start().await;
    let catalogue = server.get("/organization/event_types").await.ok();
    let events = catalogue["results"].as_array().expect("a list");
    assert_eq!(events.len(), 20);
    for event in events {
        assert_eq!(event["schema"]["$schema"], "https://json-schema.org/draft/2020-12/schema", "{event}");
        assert!(event["sample"]["event_id"].is_string() && event["sent_when"].is_string(), "{event}");
    }
    let configurable = events.iter().filter(|event| event["kind"] == "CONFIGURABLE").count();
    assert_eq!(configurable, 4);
}

#[tokio::test]
async fn dead_letters_are_filtered_paged_replayed_and_nobody_elses() {
    let server = Server::start().await;
    let made = server.subscription("https://example.com/a").await;
    let path = format!("/organization/subscriptions/{}", uuid(&made));
    server.put(&format!("{path}/unsubscribe"), json!({})).await.ok();
    server.product("p").await;
    server.account("a", "p").await;
    let letters = server.get("/organization/dead_letters?event=account_create&account_id=a").await.ok();
    assert_eq!(letters["results"].as_array().map(Vec::len), Some(1), "{letters}");
    let ends = |letter: &Value, end: &str| letter["event_id"].as_str().is_some_and(|id| id.ends_with(end));
    assert!(ends(&letters["results"][0], ".a.1"), "{letters}");
    let first = server.get("/organization/dead_letters?limit=1").await.ok();
    assert_eq!(first["paging"]["has_more"], true);
    let mark = first["paging"]["starting_after"].as_str().expect("a mark");
    let second = server.get(&format!("/organization/dead_letters?limit=1&starting_after={mark}")).await.ok();
    assert!(ends(&second["results"][0], ".a.2"), "{second}");

    let other = server.service.create_organization_with_key("other", "TEST").await.expect("another organization");
    let other = other.client_secret.expect("a key that was made has a secret");
    let theirs = server.call("GET", "/organization/dead_letters", Some(&other), &[], Vec::new()).await.ok();
    assert_eq!(theirs["results"], json!([]));
    let by_uuid = format!("/organization/dead_letters?webhook_uuid={}", uuid(&made));
    server.call("GET", &by_uuid, Some(&other), &[], Vec::new()).await.refused_field(422, "webhook_uuid");
    let headers = [("content-type", "application/json")];
    let replay = "/organization/subscribe/replay_failed_events";
    let theirs = server.call("PUT", replay, Some(&other), &headers, b"{}".to_vec()).await.ok();
    assert_eq!(theirs, json!({"replayed": 0, "left_paused": 0}));

    let left = server.call("PUT", replay, Some(ADMIN), &[], Vec::new()).await.ok();
    assert_eq!(left["replayed"], 0);
    assert!(left["left_paused"].as_u64() > Some(2), "{left}");
    server.put(&format!("{path}/resubscribe"), json!({})).await.ok();
    let some = json!({"event": "account_create", "webhook_uuid": uuid(&made), "dry_run": true});
    assert_eq!(server.put(replay, some).await.ok(), json!({"replayed": 1, "left_paused": 0}));
    let all = server.put(replay, json!({})).await.ok();
    assert_eq!(all["replayed"], left["left_paused"]);
    assert_eq!(server.get("/organization/dead_letters").await.ok()["results"], json!([]));
    server.put(replay, json!({"event": "nothing"})).await.refused_field(422, "event");
    server.put(replay, json!({"since": "yesterday"})).await.refused_field(422, "since");
}

#[tokio::test]
async fn lists_of_deliveries_refuse_what_they_do_not_know() {
    let server = Server::start().await;
    for path in ["/organization/deliveries", "/organization/dead_letters"] {
        for (query, field) in [
            ("limit=0", "limit"),
            ("starting_after=%21", "starting_after"),
            ("starting_after=YQ", "starting_after"),
            ("ending_before=YQ", "ending_before"),
            ("event=nothing", "event"),
            ("since=2025", "since"),
            ("until=2025", "until"),
            ("account_id=%20", "account_id"),
            ("webhook_uuid=nothing", "webhook_uuid"),
        ] {
            server.get(&format!("{path}?{query}")).await.refused_field(422, field);
        }
        assert_eq!(server.get(path).await.ok()["results"], json!([]));
    }
    server.get("/organization/deliveries?outcome=LOST").await.refused_field(422, "outcome");
    server.get("/organization/deliveries?outcome=FAILED").await.ok();
    server.get("/organization/dead_letters?outcome=FAILED").await.refused_field(422, "outcome");
}

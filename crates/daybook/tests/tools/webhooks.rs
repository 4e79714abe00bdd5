//! `daybook webhooks`.

use crate::common::api_client::until;
use crate::common::loans::{loan, make_product};
use crate::support::DevServer;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use serde_json::{Value, json};

fn subscribed(dev_server: &DevServer, receiver: &Receiver) -> String {
    let made = dev_server.client.put("/organization/subscribe", &json!({ "webhook_url": receiver.url() })).json();
    made["webhook_uuid"].as_str().expect("a name").to_owned()
}

fn search(dev_server: &DevServer, args: &[&str]) -> Vec<Value> {
    let found = dev_server.daybook.json_of(&[&["webhooks", "search", "--json"], args].concat());
    found["results"].as_array().expect("a list").clone()
}

#[test]
fn messages_are_found_shown_sent_again_and_replayed() {
    let dev_server = DevServer::open();
    let receiver = Receiver::start(Behaviour::statuses(&[404, 200]));
    let uuid = subscribed(&dev_server, &receiver);
    dev_server.make_customer("ana");
    until("a dead letter", || match search(&dev_server, &["--state", "dead"]).len() {
        1 => Ok(()),
        other => Err(format!("{other} dead letters")),
    });
    dev_server.make_customer("ben");
    until("a delivery", || match search(&dev_server, &["--state", "delivered", "--webhook", &uuid]).len() {
        1 => Ok(()),
        other => Err(format!("{other} deliveries")),
    });
    let listed = dev_server.daybook.stdout_of(&["webhooks", "list"]);
    assert!(listed.lines().any(|line| line.starts_with(&uuid) && line.contains("ACTIVE")), "{listed}");
    let dead = search(&dev_server, &["--state", "dead"]).remove(0);
    let event_id = dead["event_id"].as_str().expect("an id");
    assert_eq!(search(&dev_server, &["--event-id", event_id]), std::slice::from_ref(&dead));
    let body = dev_server.daybook.stdout_of(&["webhooks", "get", event_id, "--body"]);
    assert_eq!(body.as_bytes(), &receiver.requests()[0].body[..], "the bytes as they were sent");
    let shown = dev_server.daybook.stdout_of(&["webhooks", "get", event_id]);
    assert!(shown.contains("attempt 1 at ") && shown.contains("404"), "{shown}");
    let replayed = dev_server.daybook.stdout_of(&["webhooks", "replay", "--dry-run"]);
    assert_eq!(replayed, "1 dead letter would be sent again\n");
    let resent = dev_server.daybook.stdout_of(&["webhooks", "resend", event_id]);
    assert_eq!(resent, format!("{uuid}\n"));
    until("the message again", || match receiver.counts().requests {
        3 => Ok(()),
        other => Err(format!("{other} requests")),
    });
    let since = dead["recorded_at"].as_str().expect("a time");
    until("both are delivered", || {
        let args = ["webhooks", "replay", "--delivered", "--since", since, "--dry-run", "--json"];
        let counted = dev_server.daybook.json_of(&args);
        if counted["replayed"] == 2 { Ok(()) } else { Err(counted.to_string()) }
    });
    let keys = dev_server.working_keys();
    assert_eq!(keys.len(), 1, "the keys that were made for the commands are revoked: {keys:?}");
}

#[test]
fn messages_are_searched_and_replayed_by_account_event_and_time() {
    let dev_server = DevServer::open();
    // It accepts messages about customers.
    let receiver = Receiver::start(Behaviour::answers(|_, body| {
        PreparedResponse::status(if String::from_utf8_lossy(body).contains("account_create") { 404 } else { 200 })
    }));
    let form = json!({ "webhook_url": receiver.url(), "filter_events": ["account_create", "customer_create"] });
    let made = dev_server.client.put("/organization/subscribe", &form).json();
    let uuid = made["webhook_uuid"].as_str().expect("a name");
    make_product(&dev_server.client, "p", json!({}), json!({}));
    for account in ["a1", "a2"] {
        dev_server.client.post("/accounts", &loan("p", account, "2025-01-15T12:00:00-05:00")).good();
    }
    dev_server.make_customer("ana");
    let settled = |dead: u64| {
        until("that nothing waits", || match &dev_server.subscriptions()[0] {
            one if one["pending"] == 0 && one["dead_letters"] == dead => Ok(()),
            one => Err(one.to_string()),
        });
    };
    settled(2);
    let accounts = |args: &[&str]| -> Vec<Value> {
        search(&dev_server, args).iter().map(|message| message["account_id"].clone()).collect()
    };
    assert_eq!(accounts(&["--state", "dead"]), ["a2", "a1"], "the latest first");
    assert_eq!(accounts(&["--state", "delivered"]), [Value::Null]);
    assert_eq!(accounts(&["--event", "account_create"]), ["a2", "a1"]);
    assert_eq!(accounts(&["--event", "account_create", "--account", "a1"]), ["a1"]);
    let of_a2 = search(&dev_server, &["--event", "account_create", "--account", "a2"]).remove(0);
    let moment = of_a2["recorded_at"].as_str().expect("a time");
    assert_eq!(accounts(&["--event", "account_create", "--since", moment]), ["a2"]);
    assert_eq!(accounts(&["--event", "account_create", "--until", moment]), ["a1"]);

    receiver.behave(Behaviour::status(200));
    let replayed = dev_server.daybook.stdout_of(&["webhooks", "replay", "--account", "a1"]);
    assert_eq!(replayed, "1 dead letter is sent again\n");
    settled(1);
    assert_eq!(accounts(&["--state", "dead"]), ["a2"]);
    assert_eq!(accounts(&["--state", "delivered"]), [Value::Null, json!("a1")]);
    let args = ["webhooks", "replay", "--delivered", "--since", moment, "--account", "a1"];
    assert_eq!(dev_server.daybook.stdout_of(&args), "1 delivered message is sent again\n");
    let requests = receiver.wait_for(5);
    assert!(String::from_utf8_lossy(&requests[4].body).contains("\"account_id\":\"a1\""), "the account's own");
    // Two were refused at first; the customer's message, and the account's message twice, were accepted.
    until("the figures of the URL", || {
        let text = dev_server.client.get("/metrics").text;
        let is_there = |(name, value): &(&str, u32)| {
            let line = format!("daybook_webhook_url_{name}{{organization=\"1\",webhook_uuid=\"{uuid}\"}} {value}");
            text.lines().any(|given| given == line)
        };
        let expected = [("attempts_total", 5), ("failed_attempts_total", 2), ("paused", 0)];
        if expected.iter().all(is_there) { Ok(()) } else { Err(text.clone()) }
    });
}

#[test]
fn what_cannot_be_done_is_said_on_stderr() {
    let dev_server = DevServer::open();
    let (code, said) = dev_server.daybook.failure_of(&["webhooks", "get", "dbk_evt_none.1"]);
    assert_eq!(code, 1);
    assert!(said.contains("there is no message"), "{said}");
    let (code, said) = dev_server.daybook.failure_of(&["webhooks", "replay", "--delivered"]);
    assert_eq!(code, 2);
    assert!(said.contains("--since"), "{said}");
}

//! `daybook trigger`: the whole catalogue, one event after the other.

use crate::common::api_client::until;
use crate::support::DevServer;
use daybook_testkit::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};
use std::process::Command;

/// Events that cannot be triggered, each with the reason. There are none.
const NOT_TRIGGERED: [(&str, &str); 0] = [];

fn names(dev_server: &DevServer) -> Vec<String> {
    let catalogue = dev_server.client.get("/organization/event_types").good();
    let all = catalogue["results"].as_array().expect("a list").iter();
    all.map(|event| event["name"].as_str().expect("a name").to_owned()).collect()
}

/// A receiver subscribed to one event only.
fn subscribe(dev_server: &DevServer, event: &str) -> (Receiver, String) {
    let receiver = Receiver::start(Behaviour::status(200));
    let form = json!({ "webhook_url": receiver.url(), "filter_events": [event] });
    let reply = dev_server.client.put("/organization/subscribe", &form);
    assert_eq!(reply.status, 201, "{}", reply.text);
    (receiver, reply.json()["webhook_uuid"].as_str().expect("an id").to_owned())
}

fn events_at(receiver: &Receiver) -> Vec<String> {
    let all = receiver.requests();
    let bodies = all.iter().map(|request| serde_json::from_slice::<Value>(&request.body).expect("JSON"));
    bodies.map(|body| body["event"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn every_event_of_the_catalogue_is_made_to_happen() {
    let dev_server = DevServer::open();
    let names = names(&dev_server);
    assert_eq!(names.len(), 20);
    for event in names.iter().filter(|event| !NOT_TRIGGERED.iter().any(|(known, _)| known == event)) {
        let (receiver, id) = subscribe(&dev_server, event);
        let said = dev_server.daybook.stdout_of(&["trigger", event]);
        assert!(said.contains("\ncurl -sS -X "), "{event}: {said}");
        assert!(said.contains("\n# ok: "), "{event}: {said}");
        assert!(!said.contains("# refused"), "{event}: {said}");
        until(&format!("{event} at its receiver"), || {
            let got = events_at(&receiver);
            if got.is_empty() { Err(said.clone()) } else { Ok(()) }
        });
        assert!(events_at(&receiver).iter().all(|got| got == event), "{event}: {:?}", events_at(&receiver));
        let removed =
            dev_server.client.try_call("DELETE", &format!("/organization/subscriptions/{id}"), "", String::new());
        removed.expect("an answer").good();
        // The recipe's own subscriptions are removed too.
        assert_eq!(dev_server.subscriptions(), [] as [Value; 0], "{event}");
    }
    assert_eq!(dev_server.working_keys(), ["tests"]);
}

/// Even though the next batch is a day away.
#[test]
fn what_happens_to_an_account_does_not_wait_for_the_batch() {
    let dev_server = DevServer::serving(&["--dev", "--webhook-batch-interval", "1d"]);
    let (receiver, _) = subscribe(&dev_server, "payment_missed");
    dev_server.daybook.stdout_of(&["trigger", "payment_missed"]);
    receiver.wait_for(1);
}

/// The printed lines are a script: run with a token on another server, they have the same result.
#[test]
fn what_is_printed_can_be_pasted() {
    let dev_server = DevServer::open();
    let said = dev_server.daybook.stdout_of(&["trigger", "payment_missed"]);
    let fresh = DevServer::open();
    let (receiver, _) = subscribe(&fresh, "payment_missed");
    let script = said.replace(dev_server.server.url(), fresh.server.url());
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &script]).env("DAYBOOK_TOKEN", crate::common::installation::SECRET);
    let output = shell.output().expect("bash starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("\"error\""), "{output:?}");
    receiver.wait_for(1);
}

#[test]
fn the_list_is_the_catalogue() {
    let dev_server = DevServer::open();
    let list = dev_server.daybook.stdout_of(&["trigger", "--list"]);
    let listed: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(listed, names(&dev_server));
}

#[test]
fn an_event_that_is_not_there_is_refused_with_those_that_are_close() {
    let dev_server = DevServer::open();
    let (code, stderr) = dev_server.daybook.failure_of(&["trigger", "payment_mised"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("there is no event payment_mised: did you mean payment_missed?"), "{stderr}");
}

#[test]
fn a_live_organization_is_left_alone() {
    let dev_server = DevServer::with(&["--dev", "--environment", "LIVE"]);
    let (code, stderr) = dev_server.daybook.failure_of(&["trigger", "payment_missed"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("only in a TEST organization, and this one is LIVE"), "{stderr}");
    assert_eq!(dev_server.client.all("/products"), [] as [Value; 0]);
}

#[test]
fn a_pause_needs_a_server_that_may_send_to_itself() {
    let dev_server = DevServer::with(&[]);
    let (code, stderr) = dev_server.daybook.failure_of(&["trigger", "subscription_paused"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("Start it with `daybook serve --dev`"), "{stderr}");
}

//! `daybook listen`.

use crate::common::api_client::until;
use crate::common::installation::SECRET;
use crate::support::DevServer;
use daybook_testkit::receiver::{Behaviour, Receiver};
use rustix::process::Signal;
use serde_json::{Value, json};

#[test]
fn a_failed_message_comes_again_with_the_same_signature() {
    let dev_server = DevServer::open();
    let listening = dev_server.listen(&["--answer", "500,200", "--events", "customer_create"]);
    dev_server.make_customer("ana");
    let lines = listening.wait_for_lines(2);
    let words: Vec<Vec<&str>> = lines.iter().map(|line| line.split("  ").collect()).collect();
    assert_eq!(words[0][1..], ["customer_create", "-", "signature ok", "attempt 1", "answered 500"], "{lines:?}");
    let again = ["customer_create", "-", "signature ok", "attempt 2, same signature as before", "answered 200"];
    assert_eq!(words[1][1..], again, "{lines:?}");
    assert_eq!(words[0][0], words[1][0], "the message says the same time");
    // Each message starts the list from its beginning.
    dev_server.make_customer("ben");
    let lines = listening.wait_for_lines(4);
    assert!(lines[2].ends_with("attempt 1  answered 500"), "{lines:?}");
}

#[test]
fn told_to_stop_it_leaves_nothing_behind() {
    let dev_server = DevServer::open();
    let keys = dev_server.working_keys();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut listening = dev_server.listen(&[]);
        assert_eq!(dev_server.subscriptions().len(), 1);
        assert_eq!(dev_server.working_keys(), keys, "its key is lent, and not written anywhere");
        listening.signal(signal);
        assert_eq!(listening.end(), Some(0));
        assert_eq!(dev_server.subscriptions(), [] as [Value; 0]);
        assert_eq!(dev_server.working_keys(), keys);
    }
}

/// A killed command cannot clean up: its lent key is only in the server's memory and expires automatically, and the
/// next run removes its subscription.
#[test]
fn killed_it_leaves_no_key_behind_and_its_subscription_goes_with_the_next() {
    let dev_server = DevServer::open();
    let keys = dev_server.working_keys();
    let other = Receiver::start(Behaviour::status(200));
    let form = json!({ "webhook_url": format!("http://{}/daybook-listen", other.address()) });
    let living = dev_server.client.put("/organization/subscribe", &form).json()["webhook_url"].clone();
    let mut killed = dev_server.listen(&[]);
    let url = dev_server.subscriptions()[1]["webhook_url"].clone();
    killed.signal(Signal::KILL);
    assert_eq!(killed.end(), None);
    assert_eq!(dev_server.working_keys(), keys);
    assert_eq!(dev_server.subscriptions().len(), 2);
    let mut next = dev_server.listen(&[]);
    next.wait_for_talk("The subscription of 127.0.0.1:");
    let urls: Vec<Value> = dev_server.subscriptions().iter().map(|one| one["webhook_url"].clone()).collect();
    assert_eq!(urls.len(), 2, "{urls:?}");
    assert!(!urls.contains(&url) && urls.contains(&living), "one that is listened to stays: {urls:?}");
    next.signal(Signal::TERM);
    assert_eq!(next.end(), Some(0));
    assert_eq!(dev_server.subscriptions().len(), 1);
}

#[test]
fn neither_key_is_in_what_it_says() {
    let dev_server = DevServer::open();
    let mut listening = dev_server.listen(&["--count", "1"]);
    dev_server.make_customer("ana");
    assert_eq!(listening.end(), Some(0));
    listening.wait_for_lines(1);
    listening.wait_for_talk("The subscription is removed.");
    let said = [listening.lines(), listening.talk()].concat().join("\n");
    assert!(said.contains("customer_create") && said.contains("Listening on "), "{said}");
    let signing = dev_server.client.get("/organization/hmac_key").json()["hmac_secret_key"].clone();
    let signing = signing.as_str().filter(|key| key.len() >= 16).expect("a key");
    assert!(!said.contains(signing) && !said.contains("dbk_"), "{said}");
}

#[test]
fn it_ends_when_enough_has_come() {
    let dev_server = DevServer::open();
    let key = format!("tests:{SECRET}");
    let url = dev_server.server.url().to_owned();
    let args = ["--url", &url, "--key", &key, "--answer", "500,202", "--count", "2", "--json"];
    let mut listening = dev_server.listen(&args);
    dev_server.make_customer("ana");
    dev_server.make_customer("ben");
    assert_eq!(listening.end(), Some(0));
    assert_eq!(dev_server.subscriptions(), [] as [Value; 0]);
    let lines: Vec<Value> =
        listening.wait_for_lines(4).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 4, "two messages, each twice: {lines:?}");
    for id in ["ana", "ben"] {
        let of_one: Vec<&Value> = lines.iter().filter(|line| line["data"]["object"]["customer_id"] == id).collect();
        let answered: Vec<&Value> = of_one.iter().map(|line| &line["answered"]).collect();
        assert_eq!(answered, [500, 202]);
        assert_eq!(of_one[0]["webhook_id"], of_one[1]["webhook_id"]);
        assert_eq!((&of_one[0]["attempt"], &of_one[1]["attempt"]), (&json!(1), &json!(2)));
        assert_eq!(of_one[0]["same_signature_as_before"], Value::Null);
        assert_eq!(of_one[1]["same_signature_as_before"], true);
    }
    assert!(lines.iter().all(|line| line["signature_ok"] == true && line["event"] == "customer_create"), "{lines:?}");
}

#[test]
fn what_is_passed_on_can_be_verified_there_and_its_status_is_the_answer() {
    let dev_server = DevServer::open();
    let other = Receiver::start(Behaviour::statuses(&[503, 200]));
    let listening = dev_server.listen(&["--forward-to", &other.url(), "--json"]);
    dev_server.make_customer("ana");
    let lines = listening.wait_for_lines(2);
    let line = |place: usize| serde_json::from_str::<Value>(&lines[place]).expect("JSON");
    assert_eq!((&line(0)["answered"], &line(1)["answered"]), (&json!(503), &json!(200)));
    assert_eq!(line(0)["forwarded"], true);

    let requests = other.requests();
    assert_eq!(requests.len(), 2);
    let key =
        dev_server.client.get("/organization/hmac_key").good()["hmac_secret_key"].as_str().expect("a text").to_owned();
    let library = standardwebhooks::Webhook::new(&key).expect("a key");
    for request in &requests {
        let mut headers = ureq::http::HeaderMap::new();
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            let value = request.header(name).expect("the header is passed on");
            headers.insert(name, value.parse().expect("a header"));
        }
        assert!(library.verify(&request.body, &headers).is_ok(), "{:?}", request.headers);
        assert_eq!(request.header("content-type"), Some("application/json"));
    }
}

#[test]
fn nobody_to_pass_on_to_is_told_and_counts_as_a_failure() {
    let dev_server = DevServer::open();
    let listening = dev_server.listen(&["--forward-to", "http://127.0.0.1:1/", "--json"]);
    dev_server.make_customer("ana");
    let line: Value = serde_json::from_str(&listening.wait_for_lines(1)[0]).expect("JSON");
    assert_eq!(line["answered"], 502);
    let why = line["forward_trouble"].as_str().expect("a sentence");
    assert!(why.starts_with("http://127.0.0.1:1/ does not respond: "), "{why}");
}

#[test]
fn another_key_is_learned_on_the_way() {
    let dev_server = DevServer::open();
    let listening = dev_server.listen(&[]);
    dev_server.client.post("/organization/hmac_key/rotate", &json!({})).good();
    dev_server.make_customer("ana");
    let lines = listening.wait_for_lines(1);
    assert!(lines[0].contains("  signature ok  "), "{lines:?}");
}

/// Messages from another sender that are not signed with the organization's key.
#[test]
fn a_forged_message_is_told() {
    let dev_server = DevServer::open();
    let mut listening = dev_server.listen(&["--count", "1"]);
    let said = listening.wait_for_talk("Listening on ");
    let url = said.split([' ', ',']).nth(2).expect("a URL").to_owned();
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let send = |body: &str| {
        let call = agent.post(&url).header("webhook-id", "evt_1").header("webhook-timestamp", "1700000000");
        call.header("webhook-signature", "v1,AAAA").send(body).expect("an answer").status().as_u16()
    };
    assert_eq!(send("{\"event\":\"test_event\"}"), 400);
    assert_eq!(listening.lines(), [] as [String; 0]);
    assert_eq!(send("{\"event\":\"payment_missed\",\"data\":{},\"hmac_signature\":\"AAAA\"}"), 200);
    let lines = listening.wait_for_lines(1);
    assert!(lines[0].contains("signature NOT OK (hmac_signature, webhook-signature)"), "{lines:?}");
    assert_eq!(listening.end(), Some(1), "a wrong signature is a failure for whoever counts");
}

#[test]
fn a_server_that_sends_nothing_to_itself_says_what_to_do() {
    let dev_server = DevServer::with(&[]);
    let (code, stderr) = dev_server.daybook.failure_of(&["listen"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("webhook_url"), "{stderr}");
    assert!(stderr.contains("Start it with `daybook serve --dev`"), "{stderr}");
    assert_eq!(dev_server.working_keys(), ["tests"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dev_server = DevServer::open();
    let cases: [(&[&str], &str); 4] = [
        (&["--answer", "99"], "99 is not in 200..=599"),
        (&["--answer", "500", "--forward-to", "http://127.0.0.1:1/"], "cannot be used with"),
        (&["--forward-to", "ftp://x"], "--forward-to: ftp://x does not begin with http:// or https://"),
        (&["--count", "0"], "0 is not in 1.."),
    ];
    for (args, expected) in cases {
        let (code, stderr) = dev_server.daybook.failure_of(&[&["listen"], args].concat());
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    }
    let (code, stderr) = dev_server.daybook.failure_of(&["listen", "--events", "no_such_event"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("payment_missed"), "the known events are named: {stderr}");
}

#[test]
fn a_port_that_was_paused_receives_again() {
    let dev_server = DevServer::open();
    // A port that was in use before.
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        free.local_addr().expect("an address").port().to_string()
    };
    let form = json!({ "webhook_url": format!("http://127.0.0.1:{port}/daybook-listen") });
    let reply = dev_server.client.put("/organization/subscribe", &form);
    let id = reply.json()["webhook_uuid"].as_str().expect("a text").to_owned();
    dev_server.client.put(&format!("/organization/subscriptions/{id}/unsubscribe"), &json!({})).good();
    let listening = dev_server.listen(&["--port", &port]);
    dev_server.make_customer("ana");
    listening.wait_for_lines(1);
    until("that it is active", || {
        let all = dev_server.subscriptions();
        if all.len() == 1 && all[0]["status"] == "ACTIVE" { Ok(()) } else { Err(format!("{all:?}")) }
    });
}

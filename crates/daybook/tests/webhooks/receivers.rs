//! The receivers of the guide accept the messages of the built command and refuse changed ones.
//!
//! ```text
//! daybook ─┬─► a receiver of the guide ─► a line for each message
//!          └─► testkit's receiver ─► a copy, a changed copy, a forged one ─► the receiver of the guide again
//! ```
//!
//! A language that is not installed is skipped, with a message.

use crate::common::api_client::until;
use crate::common::chance::{Chance, seed};
use crate::oddities;
use crate::webhook_server::WebhookServer;
use daybook_testkit::receiver::{Behaviour, Receiver, Request};
use daybook_webhooks::signature::SigningKey;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// The receiver in Rust is an example, which a test cannot find as a program. So it is compiled in, and the test starts
/// itself.
#[path = "../../../webhooks/examples/receiver.rs"]
mod in_rust;

const GUIDE: &str = include_str!("../../../../docs/guides/receiving-webhooks.md");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/receivers")
}

/// A running receiver of the guide. Killed on drop.
struct Program {
    child: Child,
    url: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Program {
    /// Starts it; `None` if its language is not installed.
    fn start(command: &mut Command, key: &str) -> Option<Program> {
        command.env("PORT", "0").env("DAYBOOK_HMAC_KEY", key).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                println!("{:?} does not start and is left out: {error}", command.get_program());
                return None;
            }
        };
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
        let said = stdout.by_ref().map_while(Result::ok);
        let port = said.filter_map(|line| line.strip_prefix("listening on ").map(str::to_owned)).next();
        let port = port.expect("a receiver says where it listens");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let shared = lines.clone();
        thread::spawn(move || {
            for line in stdout.map_while(Result::ok) {
                shared.lock().expect("no reader panicked").push(line);
            }
        });
        Some(Program { child, url: format!("http://127.0.0.1:{port}/hooks"), lines })
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no reader panicked").clone()
    }

    /// Waits until it has printed this many lines.
    fn wait_for(&self, count: usize) -> Vec<String> {
        until("so many lines", || {
            let lines = self.lines();
            if lines.len() >= count { Ok(lines) } else { Err(format!("{} lines of {count}", lines.len())) }
        })
    }

    /// Sends it a request. Returns the status and the line it prints.
    fn send(&self, request: &Request) -> (u16, String) {
        let before = self.lines().len();
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut call = agent.post(&self.url);
        for (name, value) in request.headers.iter().filter(|(name, _)| name.starts_with("webhook-")) {
            call = call.header(name, value);
        }
        let status = call.send(&request.body[..]).expect("an answer").status().as_u16();
        (status, self.wait_for(before + 1)[before].clone())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_header(request: &mut Request, name: &str, value: &str) {
    let header = request.headers.iter_mut().find(|(other, _)| other == name);
    header.expect("the header is there").1 = value.to_owned();
}

/// Signs the header again, like a sender who has the key but did not create `data`.
fn sign_header(request: &mut Request, key: &SigningKey) {
    let header = |name: &str| request.header(name).expect("the header is there").to_owned();
    let sent_at_s = header("webhook-timestamp").parse().expect("a number");
    let signature = key.standard().sign(&header("webhook-id"), sent_at_s, &request.body);
    set_header(request, "webhook-signature", &signature);
}

/// Starts a receiver, sends messages to it, and then changed ones.
fn check(language: &str, mut command: Command) {
    let webhook_server = WebhookServer::sqlite();
    let key = webhook_server.key();
    let Some(program) = Program::start(&mut command, &key) else { return };
    let accepting = Receiver::start(Behaviour::status(200));
    webhook_server.subscribe(&program.url);
    webhook_server.subscribe(&accepting.url());
    let mut chance = Chance::of_seed(seed());
    let products = oddities::make_products(&webhook_server.client, &mut chance);
    oddities::make_escaped_customer(&webhook_server.client);
    oddities::make_events(&webhook_server.client, &products, &mut chance, 100, products.len());
    webhook_server.send_test();
    webhook_server.wait_until_sent();

    let taken = webhook_server.taken_by(&program.url);
    assert!(taken.len() > 150, "only {} messages", taken.len());
    let lines = program.wait_for(taken.len());
    assert_eq!(lines.len(), taken.len());
    assert!(lines.iter().all(|line| line.starts_with("verified ")), "{lines:?}");
    let said: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(said, taken.iter().map(String::as_str).collect());
    for event in ["account_create", "line_item_create", "customer_create", "test_event"] {
        assert!(lines.iter().any(|line| line.starts_with(&format!("verified {event} "))), "no {event}");
    }

    let refusals = refuses_what_was_changed(&program, &accepting.requests(), &key, &mut chance);
    webhook_server.close();
    println!("{language}: {} messages verified, {refusals} changed ones refused, seed {}", taken.len(), seed());
}

fn refuses_what_was_changed(program: &Program, requests: &[Request], key: &str, chance: &mut Chance) -> usize {
    let (status, line) = program.send(&requests[0]);
    assert_eq!((status, line.split(' ').next()), (200, Some("duplicate")), "the same again is good, and known");
    let key = SigningKey::from_text(key);
    let mut wrong = Vec::new();
    for request in requests.iter().take(20) {
        // One bit of any byte of the body.
        let mut changed = request.clone();
        let place = chance.below(changed.body.len() as u64) as usize;
        changed.body[place] ^= 1;
        wrong.push(changed.clone());
        // The same with a valid header: only `hmac_signature` reveals the change (of `data` or of the signature).
        let data = request.body.windows(8).position(|bytes| bytes == b",\"data\":").expect("a message has data");
        let mut forged = request.clone();
        let place = data + 8 + chance.below((request.body.len() - data - 11) as u64) as usize;
        forged.body[place] ^= 1;
        sign_header(&mut forged, &key);
        wrong.push(forged);
    }
    // A replay of an old message, and one without a valid header.
    let mut old = requests[0].clone();
    set_header(&mut old, "webhook-timestamp", "1700000000");
    sign_header(&mut old, &key);
    let mut late = requests[0].clone();
    set_header(&mut late, "webhook-timestamp", "1700000000");
    let mut stranger = requests[0].clone();
    sign_header(&mut stranger, &SigningKey::from_bytes(&[9; 32]));
    let mut bare = requests[0].clone();
    bare.headers.clear();
    let mut empty = requests[0].clone();
    empty.body.clear();
    sign_header(&mut empty, &key);
    wrong.extend([old, late, stranger, bare, empty]);
    for request in &wrong {
        let (status, line) = program.send(request);
        let shown = String::from_utf8_lossy(&request.body).into_owned();
        assert_eq!((status, line.as_str()), (400, "refused"), "{:?} {shown}", request.headers);
    }
    wrong.len()
}

#[test]
fn in_python() {
    let mut command = Command::new("python3");
    command.arg("-B").arg(folder().join("receiver.py"));
    check("Python", command);
}

#[test]
fn in_node() {
    let mut command = Command::new("node");
    command.arg(folder().join("receiver.mjs"));
    check("Node", command);
}

#[test]
fn in_java() {
    let mut command = Command::new("java");
    command.arg(folder().join("Receiver.java"));
    check("Java", command);
}

/// The receiver is this test itself, started again with a variable in its environment.
#[test]
fn in_the_language_of_the_house() {
    const MARK: &str = "DAYBOOK_TEST_IS_RECEIVER";
    if std::env::var_os(MARK).is_some() {
        return in_rust::main().expect("a receiver listens");
    }
    let mut command = Command::new(std::env::current_exe().expect("a test knows its program"));
    command.args(["--exact", "receivers::in_the_language_of_the_house", "--nocapture"]).env(MARK, "1");
    check("Rust", command);
}

/// The code in the guide is part of the tested code.
#[test]
fn the_guide_shows_these_receivers() {
    let java = std::fs::read_to_string(folder().join("Receiver.java")).expect("a file");
    let python = std::fs::read_to_string(folder().join("receiver.py")).expect("a file");
    let node = std::fs::read_to_string(folder().join("receiver.mjs")).expect("a file");
    let rust = include_str!("../../../webhooks/examples/receiver.rs").to_owned();
    for (language, source) in [("java", java), ("python", python), ("javascript", node), ("rust", rust)] {
        let fence = format!("```{language}\n");
        let shown: Vec<&str> = GUIDE.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!shown.is_empty(), "the guide shows nothing in {language}");
        for block in shown {
            assert!(source.contains(block), "the receiver in {language} has not:\n{block}");
        }
    }
}

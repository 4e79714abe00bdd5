//! Verifiers of messages: Rust over the raw bytes and with the library, then Python and Node.
//!
//! Each verifier gets [`Evidence`]: a received message, and the same with one byte changed. It must accept the first
//! and refuse the second.

use crate::common::chance::Chance;
use crate::common::npm::{is_there, package};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use daybook_testkit::receiver::Request;
use daybook_webhooks::signature::SigningKey;
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

/// The npm package, pinned, so that a run can be repeated.
const PACKAGE: &str = "standardwebhooks@1.1.1";
const OF_DATA: &[u8] = b",\"data\":";
const OF_SIGNATURE: &[u8] = b",\"hmac_signature\":\"";

/// A received message, and the keys that should have signed it.
pub struct Evidence {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The body with one byte of `data` changed.
    changed: Vec<u8>,
    hmac_key: String,
    header_keys: Vec<String>,
}

/// The bytes of `data` and the signature.
fn cut(body: &[u8]) -> Option<(&[u8], &str)> {
    let from = body.windows(OF_DATA.len()).position(|bytes| bytes == OF_DATA)? + OF_DATA.len();
    let to = body.windows(OF_SIGNATURE.len()).rposition(|bytes| bytes == OF_SIGNATURE)?;
    let signature = body.get(to + OF_SIGNATURE.len()..)?.strip_suffix(b"\"}")?;
    Some((body.get(from..to)?, std::str::from_utf8(signature).ok()?))
}

fn body_is_by(key: &str, body: &[u8]) -> bool {
    cut(body).is_some_and(|(data, signature)| SigningKey::from_text(key).verify(data, signature))
}

fn header_is_by(key: &str, headers: &[(String, String)], body: &[u8]) -> bool {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header's name");
        map.insert(name, HeaderValue::from_str(value).expect("a header's value"));
    }
    Webhook::new(key).expect("a key").verify(body, &map).is_ok()
}

impl Evidence {
    /// The evidence of a request, verified by Rust: `hmac_signature` is by one key, the header by each of several. The
    /// changed byte is random.
    pub fn new(request: &Request, hmac_key: &str, header_keys: &[&str], chance: &mut Chance) -> Evidence {
        let mut changed = request.body.clone();
        let (data, _) = cut(&request.body).expect("a message has data and a signature");
        let before = request.body.windows(OF_DATA.len()).position(|bytes| bytes == OF_DATA).expect("data");
        // This bit never turns a text into an equivalent spelling: the letter of an escape becomes another letter.
        changed[before + OF_DATA.len() + chance.below(data.len() as u64) as usize] ^= 1;
        let evidence = Evidence {
            headers: request.headers.iter().filter(|(name, _)| name.starts_with("webhook-")).cloned().collect(),
            body: request.body.clone(),
            changed,
            hmac_key: hmac_key.to_owned(),
            header_keys: header_keys.iter().map(|key| (*key).to_owned()).collect(),
        };
        evidence.verify();
        evidence
    }

    fn verify(&self) {
        let shown = String::from_utf8_lossy(&self.body);
        assert!(self.body_is_by(&self.hmac_key), "hmac_signature: {shown}");
        assert!(!body_is_by(&self.hmac_key, &self.changed), "hmac_signature, changed: {shown}");
        for key in &self.header_keys {
            assert!(self.header_is_by(key), "header: {:?} {shown}", self.headers);
            assert!(!header_is_by(key, &self.headers, &self.changed), "header, changed: {shown}");
        }
    }

    pub fn body_is_by(&self, key: &str) -> bool {
        body_is_by(key, &self.body)
    }

    pub fn header_is_by(&self, key: &str) -> bool {
        header_is_by(key, &self.headers, &self.body)
    }

    fn line(&self) -> String {
        let headers: serde_json::Map<String, Value> =
            self.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let line = json!({
            "headers": headers, "body": STANDARD.encode(&self.body), "changed": STANDARD.encode(&self.changed),
            "hmac_key": self.hmac_key, "header_keys": self.header_keys,
        });
        format!("{line}\n")
    }
}

/// Verifies messages, already verified by Rust, with Python and Node. Returns the names of all verifiers.
pub fn verify_elsewhere(all: &[Evidence]) -> Vec<&'static str> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("messages.jsonl");
    fs::write(&file, all.iter().map(Evidence::line).collect::<String>()).expect("a file");
    let mut by = vec!["Rust", "its library", "Python", "its library"];
    let python = std::env::var("DAYBOOK_PYTHON").expect(
        "DAYBOOK_PYTHON names a Python with standardwebhooks: run `./check tests`, which makes one and sets it",
    );
    expect_all(Command::new(python).arg("-B").arg(script("verify.py")).arg(&file).output().expect("Python"), all.len());
    if !is_there("node") {
        println!("node is not here: its verifiers are left out");
        return by;
    }
    let mut node = Command::new("node");
    node.arg(script("verify.mjs")).arg(&file).env_remove("LIBRARY");
    by.push("Node");
    match package(PACKAGE) {
        Some(library) => {
            node.env("LIBRARY", library);
            by.push("its library");
        }
        None => println!("npm is not here: its library is left out"),
    }
    expect_all(node.output().expect("Node"), all.len());
    by
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhooks").join(name)
}

fn expect_all(output: Output, messages: usize) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    assert_eq!(said, json!({ "messages": messages }));
}

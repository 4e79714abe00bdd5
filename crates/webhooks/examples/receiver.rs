//! A receiver of Daybook's webhooks. It uses the standard library, `base64`, `hmac`, `sha2` and `serde_json`.
//!
//! ```text
//! DAYBOOK_HMAC_KEY=... PORT=8000 cargo run -p daybook-webhooks --example receiver
//! ```
//!
//! `DAYBOOK_HMAC_KEY` is the key that `GET /organization/hmac_key` returns; during a rotation, both keys, separated by a
//! space. `PORT` 0 picks a free port. Prints one line for each message. In production, let a framework handle HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

const MOST_BYTES: usize = 8 * 1024 * 1024;
const TOLERANCE_S: u64 = 5 * 60;

/// The keys, and the ids of the messages that were received.
struct Receiver {
    keys: Vec<String>,
    /// In production, use a table with a unique column.
    seen: Mutex<HashSet<String>>,
}

/// A request: its headers, their names in lower case, and its body.
struct Request {
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Whether a Base64 signature is the one of these parts. Compares in constant time.
fn is_signature(key: &[u8], parts: &[&[u8]], signature: &str) -> bool {
    let (Ok(mut mac), Ok(signature)) = (Hmac::<Sha256>::new_from_slice(key), STANDARD.decode(signature)) else {
        return false;
    };
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_slice(&signature).is_ok()
}

/// The bytes of `data` and the signature, exactly as in the body.
fn cut(body: &str) -> Option<(&str, &str)> {
    let (_, rest) = body.split_once(",\"data\":")?;
    let (data, tail) = rest.rsplit_once(",\"hmac_signature\":\"")?;
    Some((data, tail.strip_suffix("\"}")?))
}

impl Receiver {
    fn body_is_ours(&self, body: &[u8]) -> bool {
        let Some((data, given)) = std::str::from_utf8(body).ok().and_then(cut) else { return false };
        // The key is the text itself.
        self.keys.iter().any(|key| is_signature(key.as_bytes(), &[data.as_bytes()], given))
    }

    fn header_is_ours(&self, request: &Request, now_s: u64) -> bool {
        let header = |name: &str| request.headers.get(name).map_or("", String::as_str);
        let (id, sent_at, given) = (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
        if !sent_at.parse().is_ok_and(|sent_at: u64| now_s.abs_diff(sent_at) <= TOLERANCE_S) {
            return false;
        }
        let head = format!("{id}.{sent_at}.");
        let parts = [head.as_bytes(), &request.body];
        // The key is the bytes that the text decodes to.
        let keys: Vec<Vec<u8>> = self.keys.iter().filter_map(|key| STANDARD.decode(key).ok()).collect();
        let mut given = given.split(' ').filter_map(|one| one.strip_prefix("v1,"));
        given.any(|signature| keys.iter().any(|key| is_signature(key, &parts, signature)))
    }

    /// Returns the status to respond with, and the line to print.
    fn take(&self, request: &Request) -> (u16, String) {
        if !self.header_is_ours(request, now_s()) || !self.body_is_ours(&request.body) {
            // Not 401: that would pause the subscription.
            return (400, "refused".to_owned());
        }
        let Ok(message) = serde_json::from_slice::<serde_json::Value>(&request.body) else {
            return (400, "refused".to_owned());
        };
        let (event, event_id) = (&message["event"], &message["data"]["event_id"]);
        let (event, event_id) = (event.as_str().unwrap_or_default(), event_id.as_str().unwrap_or_default());
        // Store the message here, and process it after the response.
        let is_new = self.seen.lock().is_ok_and(|mut seen| seen.insert(event_id.to_owned()));
        (200, format!("{} {event} {event_id}", if is_new { "verified" } else { "duplicate" }))
    }

    /// Answers the requests of a connection, one after the other.
    fn serve(&self, stream: &TcpStream) -> Result<()> {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader)? {
            let (status, line) = self.take(&request);
            println!("{line}");
            let mut writer = stream;
            write!(writer, "HTTP/1.1 {status} Any\r\ncontent-length: 0\r\n\r\n")?;
        }
        Ok(())
    }
}

/// Reads a request; `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> Result<Option<Request>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.by_ref().take(MOST_BYTES as u64).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let pairs = lines.iter().filter_map(|line| line.split_once(':'));
    let headers: HashMap<String, String> =
        pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if length > MOST_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "too long"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { headers, body }))
}

#[expect(clippy::disallowed_methods, reason = "a receiver is a program of its own, with its own clock")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Listens until it is ended.
pub fn main() -> Result<()> {
    let keys = std::env::var("DAYBOOK_HMAC_KEY").map_err(|_| Error::other("DAYBOOK_HMAC_KEY is not set"))?;
    let keys = keys.split_whitespace().map(str::to_owned).collect();
    let receiver = Arc::new(Receiver { keys, seen: Mutex::default() });
    let port = std::env::var("PORT").unwrap_or_else(|_| "8000".to_owned());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    println!("listening on {}", listener.local_addr()?.port());
    for stream in listener.incoming().flatten() {
        let receiver = receiver.clone();
        thread::spawn(move || {
            // An error ends only this connection.
            let _ = receiver.serve(&stream);
        });
    }
    Ok(())
}

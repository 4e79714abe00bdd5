//! The built-in receiver: a small HTTP server on this machine that receives messages and checks their signatures.

use crate::run::inbox::signed_event;
use bytes::Bytes;
use daybook_webhooks::sender::Post;
use daybook_webhooks::signature::SigningKey;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Larger than any message.
const BODY_BYTES_MAX: usize = 16 << 20;
/// Larger than the head of any request.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// A received message.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its event; `None` if it is not signed by the organization's key.
    pub event: Option<String>,
    /// Its data.
    pub data: Value,
}

/// Receives messages until it is dropped.
#[derive(Debug)]
pub struct MessageReceiver {
    address: SocketAddr,
    shared: Arc<ReceivedMessages>,
}

#[derive(Debug)]
struct ReceivedMessages {
    path: String,
    key: SigningKey,
    is_over: AtomicBool,
    /// By message id: a message that arrives twice is counted once.
    received: Mutex<BTreeMap<String, Received>>,
}

impl MessageReceiver {
    /// Listens on this machine, at a secret path.
    pub fn start(key: SigningKey, path: String) -> io::Result<MessageReceiver> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = ReceivedMessages { path, key, is_over: AtomicBool::new(false), received: Mutex::default() };
        let shared = Arc::new(shared);
        let takes = shared.clone();
        thread::Builder::new().name("webhook receiver".to_owned()).spawn(move || accept(&listener, &takes))?;
        Ok(MessageReceiver { address, shared })
    }

    /// The URL for messages.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.shared.path)
    }

    /// The messages received so far, by id.
    pub fn received(&self) -> MutexGuard<'_, BTreeMap<String, Received>> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MessageReceiver {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes the thread that waits for a connection, so that it sees the flag and ends.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<ReceivedMessages>) {
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::Acquire) {
            return;
        }
        let (Ok(stream), shared) = (stream, shared.clone()) else { continue };
        // If a connection breaks, the sender retries.
        let served = thread::Builder::new().spawn(move || serve(&stream, &shared));
        drop(served);
    }
}

/// Serves the requests of one connection until it ends.
fn serve(stream: &TcpStream, shared: &ReceivedMessages) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        let status = match take(&request, shared) {
            true => "200 OK",
            false => "400 Bad Request",
        };
        let mut stream = stream;
        stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes())?;
    }
    Ok(())
}

struct ReceivedRequest {
    /// Method and path.
    line: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<ReceivedRequest>> {
    let mut head = reader.take(HEAD_BYTES_MAX);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        head.read_line(&mut header)?;
        match header.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length: usize = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if length > BODY_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the body is too long"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(ReceivedRequest { line, headers, body }))
}

/// Records a message. An unsigned message is recorded as unsigned, and refused.
fn take(request: &ReceivedRequest, shared: &ReceivedMessages) -> bool {
    if !request.line.starts_with(&format!("POST {} ", shared.path)) {
        return false;
    }
    let id = request.header("webhook-id");
    let post = Post {
        id,
        timestamp_s: request.header("webhook-timestamp").parse().unwrap_or(0),
        signature: request.header("webhook-signature").to_owned(),
        body: Bytes::from(request.body.clone()),
    };
    let event = signed_event(&shared.key, &post);
    let mut message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let is_signed = event.is_some();
    let received = Received { event, data: message["data"].take() };
    shared.received.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), received);
    is_signed
}

//! The built-in receiver: receives messages on this machine and checks their signatures.

use crate::run::inbox::signed_event;
use bytes::Bytes;
use daybook_receiver::{PreparedResponse, ReceiverConnection, ReceiverThread, Request};
use daybook_webhooks::sender::Post;
use daybook_webhooks::signature::SigningKey;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpStream;

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
    thread: ReceiverThread,
    shared: Arc<ReceivedMessages>,
}

#[derive(Debug)]
struct ReceivedMessages {
    path: String,
    key: SigningKey,
    /// By message id: a message that arrives twice is counted once.
    received: Mutex<BTreeMap<String, Received>>,
}

impl MessageReceiver {
    /// Listens on this machine, at a secret path.
    pub fn start(key: SigningKey, path: String) -> io::Result<MessageReceiver> {
        let shared = Arc::new(ReceivedMessages { path, key, received: Mutex::default() });
        let takes = shared.clone();
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        let thread = ReceiverThread::start(address, move |stream| serve(stream, takes.clone()))?;
        Ok(MessageReceiver { thread, shared })
    }

    /// The URL for messages.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.thread.address(), self.shared.path)
    }

    /// The messages received so far, by id.
    pub fn received(&self) -> MutexGuard<'_, BTreeMap<String, Received>> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the requests of one connection until it ends.
async fn serve(stream: TcpStream, shared: Arc<ReceivedMessages>) -> io::Result<()> {
    let mut connection = ReceiverConnection::new(stream);
    while let Some(request) = connection.next().await? {
        let status = if take(&request, &shared) { 200 } else { 400 };
        connection.respond(&PreparedResponse::status(status)).await?;
    }
    Ok(())
}

/// Records a message. An unsigned message is recorded as unsigned, and refused.
fn take(request: &Request, shared: &ReceivedMessages) -> bool {
    if !request.line.starts_with(&format!("POST {} ", shared.path)) {
        return false;
    }
    let header = |name: &str| request.header(name).unwrap_or_default();
    let id = header("webhook-id");
    let post = Post {
        id,
        timestamp_s: header("webhook-timestamp").parse().unwrap_or(0),
        signature: header("webhook-signature").to_owned(),
        body: Bytes::from(request.body.clone()),
    };
    let event = signed_event(&shared.key, &post);
    let mut message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let is_signed = event.is_some();
    let received = Received { event, data: message["data"].take() };
    shared.received.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), received);
    is_signed
}

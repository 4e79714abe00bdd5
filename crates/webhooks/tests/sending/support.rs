//! Senders and messages for the tests here.

use async_trait::async_trait;
use bytes::Bytes;
use daybook_webhooks::guard::{Guard, Resolve, System};
use daybook_webhooks::sender::{Post, Reply, Sender, SenderSettings};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Long enough for anything that works.
pub const GENEROUS: Duration = Duration::from_secs(60);
/// For responses that never arrive: every test that waits for one takes this long.
pub const SHORT: Duration = Duration::from_millis(300);

/// A sender to loopback addresses.
pub fn dev_sender(timeout: Duration) -> Sender {
    let guard = Guard { dev: true, networks: Vec::new() };
    sender_with(SenderSettings { guard, timeout, ..SenderSettings::default() }, Arc::new(System::default()))
}

pub fn sender_with(settings: SenderSettings, resolver: Arc<dyn Resolve>) -> Sender {
    Sender::new(settings, resolver).expect("a sender can be made")
}

/// A message with a body.
pub fn message(body: &'static [u8]) -> Post<'static> {
    Post {
        id: "msg_1",
        timestamp_s: 1_700_000_000,
        signature: "v1,c2lnbmF0dXJl".to_owned(),
        body: Bytes::from_static(body),
    }
}

/// Sends one message to a URL through its own connection pool.
pub async fn send(sender: &Sender, url: &str) -> Reply {
    sender.pool(url).post(message(b"{}")).await
}

/// A resolver that returns prepared results in turn, then the last one for ever, and counts its calls.
#[derive(Debug)]
pub struct Prepared {
    answers: Mutex<Vec<Vec<SocketAddr>>>,
    pub asked: AtomicUsize,
}

impl Prepared {
    pub fn new(answers: Vec<Vec<SocketAddr>>) -> Arc<Prepared> {
        Arc::new(Prepared { answers: Mutex::new(answers), asked: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl Resolve for Prepared {
    async fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().expect("no test panicked here");
        match answers.len() {
            0 => Err(io::ErrorKind::NotFound.into()),
            1 => Ok(answers[0].clone()),
            _ => Ok(answers.remove(0)),
        }
    }
}

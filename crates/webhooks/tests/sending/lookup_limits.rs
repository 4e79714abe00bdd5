//! Names whose name servers do not respond delay no other URL of their organization, and use none of its time.

use crate::support::{GENEROUS, message, sender_with};
use async_trait::async_trait;
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::guard::{Guard, Resolve};
use daybook_webhooks::sender::{Fault, Reply, Sender, SenderSettings};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Knows every name except those that begin with `silent`, for which it never responds.
#[derive(Debug)]
struct Names {
    receiver: SocketAddr,
    silent: AtomicUsize,
}

#[async_trait]
impl Resolve for Names {
    async fn addresses(&self, host: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        if host.starts_with("silent") {
            self.silent.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>().await;
        }
        Ok(vec![self.receiver])
    }
}

struct LookupSetup {
    receiver: Receiver,
    names: Arc<Names>,
    sender: Sender,
}

impl LookupSetup {
    fn new(timeout: Duration) -> LookupSetup {
        let receiver = Receiver::start(Behaviour::status(200));
        let names = Arc::new(Names { receiver: receiver.address(), silent: AtomicUsize::new(0) });
        let guard = Guard { dev: true, networks: Vec::new() };
        let sender = sender_with(SenderSettings { guard, timeout, ..SenderSettings::default() }, names.clone());
        LookupSetup { receiver, names, sender }
    }

    fn silent(&self) -> usize {
        self.names.silent.load(Ordering::SeqCst)
    }

    /// Sends one message of the organization in the background, through its own connection pool.
    fn send(&self, url: String) -> JoinHandle<Reply> {
        let sender = self.sender.clone();
        tokio::spawn(async move { sender.pool_of(1, &url).post(message(b"{}")).await })
    }

    /// Sends to this many names without a response, and waits until `begun` lookups have begun.
    async fn hold_up(&self, names: usize, begun: usize) -> Vec<JoinHandle<Reply>> {
        let sent = (0..names).map(|number| self.send(format!("http://silent{number}.example/"))).collect();
        while self.silent() < begun {
            tokio::task::yield_now().await;
        }
        sent
    }
}

/// The reply, before any of the others times out.
async fn soon(reply: impl Future<Output = Reply>) -> Reply {
    tokio::time::timeout(GENEROUS / 4, reply).await.expect("it does not wait for the others")
}

#[tokio::test]
async fn an_address_needs_no_turn() {
    let setup = LookupSetup::new(GENEROUS);
    let others = setup.hold_up(40, 32).await;
    let pool = setup.sender.pool_of(1, &setup.receiver.url());
    assert_eq!(soon(pool.post(message(b"{}"))).await.status, Some(200));
    assert_eq!(setup.silent(), 32);
    others.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn a_name_that_was_answered_waits_for_none_that_was_not() {
    let setup = LookupSetup::new(GENEROUS);
    let pool = |path: &str| setup.sender.pool_of(1, &format!("http://hooks.example/{path}"));
    let first = pool("first");
    assert_eq!(first.post(message(b"{}")).await.status, Some(200));
    let others = setup.hold_up(40, 32).await;
    // Another URL of the host has no connection yet.
    let second = pool("second");
    assert_eq!(soon(second.post(message(b"{}"))).await.status, Some(200));
    assert_eq!((setup.receiver.counts().accepted, setup.silent()), (2, 32));
    others.iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn the_urls_of_one_host_have_few_of_the_turns() {
    let setup = LookupSetup::new(GENEROUS);
    let others: Vec<_> = (0..40).map(|number| setup.send(format!("http://silent.example/{number}"))).collect();
    while setup.silent() < 4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(soon(setup.sender.pool_of(1, "http://new.example/").post(message(b"{}"))).await.status, Some(200));
    assert_eq!(setup.silent(), 4);
    others.iter().for_each(JoinHandle::abort);
}

/// Sixty-four names take turns, each until its attempt times out: the next one waits longer than an attempt may take,
/// and then has the full time of an attempt.
#[tokio::test]
async fn waiting_for_a_turn_is_no_part_of_an_attempt() {
    let limit = Duration::from_secs(3);
    let setup = LookupSetup::new(limit);
    let others = setup.hold_up(64, 32).await;
    let reply = setup.send("http://new.example/".to_owned()).await.expect("it ends");
    assert_eq!((reply.status, setup.silent()), (Some(200), 64), "{reply:?}");
    assert!(reply.latency < limit, "{reply:?}");
    for other in others {
        let reply = other.await.expect("it ends");
        assert!(matches!(reply.fault, Some(Fault::TimedOut)), "{reply:?}");
    }
}

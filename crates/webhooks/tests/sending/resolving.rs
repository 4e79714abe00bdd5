//! Names, and the machine's own name settings.

use crate::support::{GENEROUS, message, sender_with};
use async_trait::async_trait;
use daybook_testkit::names::NameServer;
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::guard::{Guard, Resolve, System};
use daybook_webhooks::sender::{Fault, SenderSettings};
use std::fs;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn texts(found: &[SocketAddr]) -> Vec<String> {
    found.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_name_has_the_addresses_that_the_name_server_says() {
    let server = NameServer::knowing(&[("hooks.example", &["2606:4700::1", "8.8.8.8", "9.9.9.9"])]);
    let system = System::asking(vec![server.address()]);
    for name in ["hooks.example", "HOOKS.example", "hooks.example."] {
        let found = system.addresses(name, 443).await.expect("it is known");
        let mut found = texts(&found);
        assert_eq!(found.pop().as_deref(), Some("[2606:4700::1]:443"), "{name}: IPv4 is tried first");
        found.sort();
        assert_eq!(found, ["8.8.8.8:443", "9.9.9.9:443"], "{name}");
    }
    let error = system.addresses("nowhere.example", 443).await.expect_err("there is none");
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NotFound, "it has no address"));
}

#[tokio::test(start_paused = true)]
async fn a_name_server_that_does_not_answer_is_told() {
    let server = NameServer::silent();
    let error = System::asking(vec![server.address()]).addresses("hooks.example", 443).await.expect_err("silence");
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::TimedOut, "the name server did not answer in time")
    );
}

#[tokio::test]
async fn localhost_and_the_hosts_file_need_no_name_server() {
    let server = NameServer::silent();
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = folder.path().join("hosts");
    fs::write(&hosts, "10.1.0.7 inside.example # ours\n").expect("written");
    let system = System::reading(vec![server.address()], PathBuf::from("/nowhere"), hosts.clone());
    for name in ["localhost", "LocalHost.", "a.localhost"] {
        let found = system.addresses(name, 80).await.expect("every machine knows it");
        assert_eq!(texts(&found), ["127.0.0.1:80", "[::1]:80"], "{name}");
    }
    assert_eq!(texts(&system.addresses("inside.example", 80).await.expect("it is there")), ["10.1.0.7:80"]);
    fs::write(&hosts, "10.1.0.8 inside.example\n10.1.0.9 inside.example\n").expect("written");
    let found = system.addresses("inside.example", 80).await.expect("it is there");
    assert_eq!(texts(&found), ["10.1.0.8:80", "10.1.0.9:80"], "a file that has changed is read again");
    fs::remove_file(&hosts).expect("removed");
    assert_eq!(texts(&system.addresses("localhost", 80).await.expect("it is there")), ["127.0.0.1:80", "[::1]:80"]);
    assert_eq!(server.asked(), 0);
}

/// A delivery to a name goes to the address that the name server returns, and the guard checks that address.
#[tokio::test]
async fn a_message_goes_to_the_address_that_was_checked() {
    let receiver = Receiver::start(Behaviour::status(200));
    let server =
        NameServer::knowing(&[("hooks.example", &["127.0.0.1"]), ("mixed.example", &["127.0.0.1", "10.0.0.1"])]);
    let system: Arc<dyn Resolve> = Arc::new(System::asking(vec![server.address()]));
    let guard = Guard { dev: true, networks: Vec::new() };
    let sender = sender_with(SenderSettings { guard, timeout: GENEROUS, ..SenderSettings::default() }, system);
    let url = |name: &str| format!("http://{name}:{}/", receiver.address().port());
    assert_eq!(sender.pool(&url("hooks.example")).post(message(b"{}")).await.status, Some(200));
    let reply = sender.pool(&url("mixed.example")).post(message(b"{}")).await;
    assert!(matches!(reply.fault, Some(Fault::Forbidden(_))), "{reply:?}");
    let reply = sender.pool(&url("unknown.example")).post(message(b"{}")).await;
    assert_eq!(
        reply.fault.map(|fault| fault.to_string()).as_deref(),
        Some("the host name was not found (it has no address)")
    );
    assert_eq!(receiver.counts().requests, 1);
}

/// Lookups without a response block no thread: this runtime has one thread for blocking work, and it stays free.
#[test]
fn lookups_hold_no_thread() {
    let server = NameServer::silent();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().expect("a runtime");
    runtime.block_on(async {
        let system = Arc::new(System::asking(vec![server.address()]));
        let lookups: Vec<_> = (0..200)
            .map(|number| {
                let system = system.clone();
                tokio::spawn(async move { system.addresses(&format!("n{number}.example"), 443).await })
            })
            .collect();
        while server.asked() < 200 {
            assert!(lookups.iter().all(|lookup| !lookup.is_finished()), "{} were asked for at once", server.asked());
            tokio::task::yield_now().await;
        }
        assert_eq!(tokio::task::spawn_blocking(|| 7).await.expect("it runs"), 7);
        assert!(lookups.iter().all(|lookup| !lookup.is_finished()), "they still wait");
        lookups.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

/// Never responds, and counts its queries.
#[derive(Debug, Default)]
struct Silent {
    one: AtomicUsize,
    other: AtomicUsize,
}

#[async_trait]
impl Resolve for Silent {
    async fn addresses(&self, host: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        let asked = if host.starts_with("other") { &self.other } else { &self.one };
        asked.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
}

/// An organization has a limited number of lookups at once for sending; other organizations do not wait for them.
#[tokio::test]
async fn an_organization_has_thirty_two_names_looked_up_at_once() {
    let silent = Arc::new(Silent::default());
    let sender = sender_with(SenderSettings { timeout: GENEROUS, ..SenderSettings::default() }, silent.clone());
    let send = |org, url: String| {
        let sender = sender.clone();
        tokio::spawn(async move { sender.pool_of(org, &url).post(message(b"{}")).await })
    };
    let mut sent: Vec<_> = (0..40).map(|number| send(1, format!("https://one{number}.example/"))).collect();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(silent.one.load(Ordering::SeqCst), 32);
    sent.push(send(2, "https://other.example/".to_owned()));
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!((silent.one.load(Ordering::SeqCst), silent.other.load(Ordering::SeqCst)), (32, 1));
    sent.iter().for_each(tokio::task::JoinHandle::abort);
}

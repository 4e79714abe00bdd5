//! Addresses to which no message may be sent. A canary listens there; no connection to it may ever be made.

use crate::spellings;
use crate::support::{GENEROUS, Prepared, message, sender_with};
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::guard::{AddressKind, Guard, Network, Resolve, System, UrlRefusal};
use daybook_webhooks::sender::{Fault, SenderSettings};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Receivers on one port of both loopback addresses; only of IPv4 if the machine has no IPv6.
fn canaries() -> Vec<Receiver> {
    let first = Receiver::start(Behaviour::status(200));
    let other: SocketAddr = format!("[::1]:{}", first.address().port()).parse().expect("an address");
    let is_free = TcpListener::bind(other).is_ok();
    let second = is_free.then(|| Receiver::start_at(other, Behaviour::status(200)));
    [Some(first), second].into_iter().flatten().collect()
}

fn assert_silent(canaries: &[Receiver]) {
    for canary in canaries {
        assert_eq!(canary.counts().accepted, 0, "{}", canary.url());
    }
}

fn strict(guard: Guard) -> SenderSettings {
    SenderSettings { guard, timeout: GENEROUS, ..SenderSettings::default() }
}

#[tokio::test]
async fn no_spelling_of_an_internal_address_reaches_the_canary() {
    let canaries = canaries();
    let port = canaries[0].address().port();
    // Every name resolves to the canary: the worst that a name server can do.
    let resolver = Prepared::new(vec![canaries.iter().map(Receiver::address).collect()]);
    let sender = sender_with(strict(Guard::default()), resolver.clone());
    let mut urls = spellings::urls(port);
    for host in spellings::hosts() {
        urls.extend(["https", "http"].map(|scheme| format!("{scheme}://{host}:{port}/")));
    }
    for url in &urls {
        let refusal = sender.guard().check_url(url);
        assert!(refusal.is_err(), "{url:?} became {refusal:?}");
        assert_eq!(sender.check_at_subscribing(url).await, Err(refusal.expect_err("it is refused")), "{url:?}");
        let reply = sender.pool(url).post(message(b"{}")).await;
        assert!(matches!(reply.fault, Some(Fault::Forbidden(_))), "{url:?}: {reply:?}");
    }
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0, "none of them had to be resolved");
    for host in spellings::names() {
        let url = format!("https://{host}:{port}/");
        let reply = sender.pool(&url).post(message(b"{}")).await;
        assert!(matches!(reply.fault, Some(Fault::Forbidden(_))), "{url:?}: {reply:?}");
        assert!(sender.check_at_subscribing(&url).await.is_err(), "{url:?}");
    }
    assert_silent(&canaries);
}

/// A canary that cannot be reached would prove nothing.
#[tokio::test]
async fn the_canary_is_reached_when_it_is_allowed() {
    let canaries = canaries();
    let port = canaries[0].address().port();
    let sender = sender_with(strict(Guard { dev: true, networks: Vec::new() }), Arc::new(System::default()));
    for host in ["127.0.0.1", "0x7f000001", "0177.1", "[::ffff:127.0.0.1]", "localhost"] {
        let reply = sender.pool(&format!("http://{host}:{port}/")).post(message(b"{}")).await;
        assert_eq!(reply.status, Some(200), "{host}: {reply:?}");
    }
    let loopback: Network = "127.0.0.0/8".parse().expect("a network");
    let sender = sender_with(strict(Guard { dev: false, networks: vec![loopback] }), Arc::new(System::default()));
    let reply = sender.pool(&format!("http://127.0.0.1:{port}/")).post(message(b"{}")).await;
    assert_eq!(reply.status, Some(200));
}

#[tokio::test]
async fn a_name_server_that_changes_its_answer_gains_nothing() {
    let canaries = canaries();
    let canary = canaries[0].address();
    let public: SocketAddr = format!("93.184.216.34:{}", canary.port()).parse().expect("an address");
    let answers = vec![vec![public], vec![canary], vec![public, canary], vec![canary, public], vec![canary]];
    let resolver = Prepared::new(answers);
    let sender = sender_with(strict(Guard::default()), resolver.clone());
    let url = format!("https://rebind.example:{}/", canary.port());
    assert_eq!(sender.check_at_subscribing(&url).await, Ok(()), "the first answer is public");
    let pool = sender.pool(&url);
    for _ in 0..20 {
        let reply = pool.post(message(b"{}")).await;
        let refusal = UrlRefusal::Address { address: canary.ip(), kind: AddressKind::Loopback };
        assert_eq!(reply.fault, Some(Fault::Forbidden(refusal)));
    }
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 21, "asked once and used once, each time");
    assert_silent(&canaries);
}

#[tokio::test]
async fn plain_http_to_a_name_needs_every_address_in_an_allowed_network() {
    let receiver = Receiver::start(Behaviour::status(200));
    let loopback: Network = "127.0.0.0/8".parse().expect("a network");
    let outside: SocketAddr = "93.184.216.34:80".parse().expect("an address");
    let guard = Guard { dev: false, networks: vec![loopback] };
    let sender = sender_with(strict(guard.clone()), Prepared::new(vec![vec![receiver.address(), outside]]));
    let reply = sender.pool("http://mixed.example/").post(message(b"{}")).await;
    assert_eq!(reply.fault, Some(Fault::Forbidden(UrlRefusal::PlainHttp)));
    assert_eq!(receiver.counts().accepted, 0);
    let sender = sender_with(strict(guard), Prepared::new(vec![vec![receiver.address()]]));
    assert_eq!(sender.pool("http://inside.example/").post(message(b"{}")).await.status, Some(200));
}

#[tokio::test]
async fn the_machines_resolver_finds_localhost() {
    let found = System::default().addresses("localhost", 80).await.expect("every machine knows it");
    assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 80), "{found:?}");
}

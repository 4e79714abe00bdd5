//! Payments while thousands of slow and idle connections are open.
//!
//! The slow clients never give up: they reopen a connection that the server closes. A third sends the head of a request
//! byte by byte, a third the body, a third nothing. They connect from the caller's address, or from many addresses.
//!
//! `DAYBOOK_CROWD` is the number of connections; the default is 300, with low caps. A campaign also requires 99 of 100
//! payments within 50 milliseconds, on an otherwise idle machine: `DAYBOOK_CROWD=5000 cargo test --release --workspace
//! --test faults crowds -- --ignored --nocapture --test-threads 1`.

use crate::common::api_client::{ApiClient, until};
use crate::common::chance::setting;
use crate::common::installation::Installation;
use crate::common::loans::payments_of;
use crate::load::make_accounts;
use daybook_clock::Stopwatch;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;

const BETWEEN_BYTES: Duration = Duration::from_millis(200);
const BEFORE_COMING_AGAIN: Duration = Duration::from_secs(2);
const PAYMENTS: u64 = 40;
/// In a campaign: enough for a meaningful 99th percentile.
const CAMPAIGN_PAYMENTS: u64 = 1_000;
/// The most connections that a caller opens for one payment.
const TRIES: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// The caller's address.
    One,
    /// 250 addresses.
    Many,
}

/// Slow and idle connections, until this is dropped.
struct Crowd {
    opened: Arc<AtomicU64>,
    _runtime: Runtime,
}

impl Crowd {
    fn gather(size: u64, at: SocketAddr, from: From) -> Crowd {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let opened = Arc::new(AtomicU64::new(0));
        for number in 0..size {
            let opened = opened.clone();
            runtime.spawn(async move {
                loop {
                    if let Ok(stream) = connect(at, number, from).await {
                        opened.fetch_add(1, Ordering::SeqCst);
                        be_slow(stream, number).await;
                    }
                    tokio::time::sleep(BEFORE_COMING_AGAIN).await;
                }
            });
        }
        let crowd = Crowd { opened, _runtime: runtime };
        until(
            "the crowd",
            || if crowd.opened() >= size { Ok(()) } else { Err(format!("{} are there", crowd.opened())) },
        );
        crowd
    }

    fn opened(&self) -> u64 {
        self.opened.load(Ordering::SeqCst)
    }
}

async fn connect(at: SocketAddr, number: u64, from: From) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if from == From::Many {
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1 + (number % 250) as u8)), 0))?;
    }
    socket.connect(at).await
}

/// Sends as little as possible until the connection is closed.
async fn be_slow(mut stream: TcpStream, number: u64) {
    let beginning: &[u8] = match number % 3 {
        0 => b"",
        1 => b"GET /products HTTP/1.1\r\nhost: x\r\nx-slow: ",
        _ => {
            b"POST /auth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{"
        }
    };
    if stream.write_all(beginning).await.is_err() {
        return;
    }
    let mut byte = [0; 1];
    loop {
        tokio::select! {
            read = stream.read(&mut byte) => if !matches!(read, Ok(1)) { return },
            () = tokio::time::sleep(BETWEEN_BYTES) => {
                if !beginning.is_empty() && stream.write_all(b" ").await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Makes payments: over one connection, which must stay open, and each time over a new one too. A new connection that
/// is closed or answered with 503 before its request began is opened again, as callers do. Returns the time of each
/// payment.
fn pay(client: &ApiClient, name: &str) -> (Vec<Duration>, u64) {
    let (mut took, mut repeated) = (Vec::new(), 0);
    let payments = if std::env::var_os("DAYBOOK_CROWD").is_some() { CAMPAIGN_PAYMENTS } else { PAYMENTS };
    for number in 0..payments {
        let body = |way: &str| json!({ "line_item_id": format!("{name}-{way}-{number}"), "original_amount_cents": 7 });
        let watch = Stopwatch::start();
        let reply = client.post(&payments_of("loan-0"), &body("kept"));
        took.push(watch.elapsed());
        assert_eq!(reply.status, 200, "{}", reply.text);
        let watch = Stopwatch::start();
        let reply = (0..TRIES).find_map(|_| {
            let reply = client.another().try_post(&payments_of("loan-0"), &body("new")).ok();
            let reply = reply.filter(|reply| reply.status != 503);
            repeated += u64::from(reply.is_none());
            reply
        });
        took.push(watch.elapsed());
        assert_eq!(reply.expect("an answer").status, 200);
    }
    took.sort_unstable();
    (took, repeated)
}

fn metric(client: &ApiClient, name: &str) -> u64 {
    let text = client.get("/metrics").text;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("{name} in {text}")).parse().expect("a number")
}

fn address_of(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").parse().expect("an address")
}

fn a_crowd_keeps_no_caller_out(from: From) {
    let campaign = std::env::var_os("DAYBOOK_CROWD").is_some();
    let size = setting("DAYBOOK_CROWD", 300);
    let caps: &[&str] =
        if campaign { &[] } else { &["--max-connections", "128", "--max-connections-per-address", "64"] };
    let installation = Installation::sqlite();
    let server = installation.serve_with(caps);
    let client = ApiClient::to(server.url());
    make_accounts(&client);
    let crowd = Crowd::gather(size, address_of(server.url()), from);
    let (took, repeated) = pay(&client, "crowded");
    let limit = metric(&client, "daybook_connections_limit");
    assert!(metric(&client, "daybook_connections_open") <= limit);
    let reason = if from == From::One { "address" } else { "full" };
    let closed = metric(&client, &format!("daybook_connections_closed_total{{reason=\"{reason}\"}}"));
    assert!(closed > 0 || size < limit, "none made room");
    let p99 = took[took.len() * 99 / 100];
    println!(
        "{size} slow and idle connections from {from:?}, opened {} times, {closed} made room: {} payments, {repeated} connections \
         opened again, p50 {:?}, p99 {p99:?}",
        crowd.opened(),
        took.len(),
        took[took.len() / 2],
    );
    if campaign {
        assert!(p99 < Duration::from_millis(50), "{p99:?}");
    }
    drop(crowd);
    let stderr = server.stop();
    if closed > 0 {
        assert!(stderr.contains("slow or idle connections are closed to make room"), "{stderr}");
    }
}

#[test]
#[ignore = "needs a machine that does little else: who makes room depends on who waits longest"]
fn a_crowd_from_the_callers_own_address_does_not_keep_it_out() {
    a_crowd_keeps_no_caller_out(From::One);
}

#[test]
#[ignore = "needs a machine that does little else: who makes room depends on who waits longest"]
fn a_crowd_from_many_addresses_does_not_keep_a_caller_out() {
    a_crowd_keeps_no_caller_out(From::Many);
}

/// A server with few file descriptors.
#[test]
#[ignore = "needs a machine that does little else: who makes room depends on who waits longest"]
fn a_server_with_few_descriptors_serves_beside_a_crowd() {
    let installation = Installation::sqlite().with_descriptors(128);
    let server = installation.serve();
    let client = ApiClient::to(server.url());
    make_accounts(&client);
    assert_eq!(metric(&client, "daybook_connections_limit"), 128 - 64 - 16);
    let crowd = Crowd::gather(200, address_of(server.url()), From::Many);
    pay(&client, "few");
    drop(crowd);
    let stderr = server.stop();
    assert!(stderr.contains("allows fewer connections than max-connections"), "{stderr}");
}

/// The control: a server with as many threads as the others have connections, and without timeouts. The same slow
/// clients block it.
#[test]
#[ignore = "needs a machine that does little else: who makes room depends on who waits longest"]
fn a_server_without_such_a_listener_is_blocked_by_the_same_crowd() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = listener.local_addr().expect("an address");
    let shared = Arc::new(listener);
    for _ in 0..64 {
        let listener = shared.clone();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let (mut head, mut byte) = (Vec::new(), [0; 1]);
                while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                    head.push(byte[0]);
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
            }
        });
    }
    let ask = || {
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(3)));
        config.build().new_agent().get(format!("http://{at}/healthz")).call().map(|answer| answer.status().as_u16())
    };
    assert_eq!(ask().expect("it answers alone"), 200);
    let crowd = Crowd::gather(150, at, From::One);
    assert!(ask().is_err(), "without the limits, the server still answered");
    drop(crowd);
}

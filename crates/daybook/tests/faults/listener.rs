//! The listener on a real port, in front of a router whose responses wait for the test.

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use daybook::listener::front::Front;
use daybook::listener::limits::{BODY_BYTES, ListenerLimits, RESPONSE_BYTES};
use daybook::listener::{HttpServer, Site, listen};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

struct TestServer {
    http_server: Arc<HttpServer>,
    address: SocketAddr,
    /// The number of `/work` calls that have begun.
    begun: Arc<AtomicUsize>,
    /// Lets `/work` calls complete.
    work: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    serving: JoinHandle<()>,
    looking: JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.serving.abort();
        self.looking.abort();
    }
}

const LONG: Duration = Duration::from_secs(3_600);

fn limits() -> ListenerLimits {
    ListenerLimits {
        connections: 4,
        per_address: 4,
        reserve: 1,
        header_timeout: LONG,
        idle_timeout: LONG,
        body_timeout: LONG,
        write_timeout: LONG,
        body_bytes: BODY_BYTES,
        response_bytes: RESPONSE_BYTES,
    }
}

fn open(limits: ListenerLimits) -> TestServer {
    let http_server = HttpServer::new(limits, Front::default());
    let (listener, address) = listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let (begun, work) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (counted, waited) = (begun.clone(), work.clone());
    let router = Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/quick", get(async || "quick"))
        .route("/much", get(async || vec![b'x'; 64 << 20]))
        .route("/echo", post(async |body: Bytes| body))
        .route(
            "/work",
            get(async move || {
                counted.fetch_add(1, Ordering::SeqCst);
                waited.acquire().await.expect("it stays open").forget();
                "worked"
            }),
        );
    let (closing, closed) = watch::channel(false);
    let serving = tokio::spawn(http_server.clone().serve(listener, Site { router, tls: None }, closed));
    let looked_through = http_server.clone();
    let looking = tokio::spawn(async move { looked_through.close_overdue().await });
    TestServer { http_server, address, begun, work, closing, serving, looking }
}

impl TestServer {
    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("the server listens");
        stream.write_all(text.as_bytes()).await.expect("it is sent");
        stream
    }

    /// Sends a request on a new connection and returns everything up to the end of the connection.
    async fn ask(&self, head: &str) -> String {
        read(self.send(&format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await).await
    }

    async fn until(&self, what: &str, is_so: impl Fn(&TestServer) -> bool) {
        while !is_so(self) {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(self.looking.is_finished() || !self.serving.is_finished(), "{what}");
        }
    }

    fn metric(&self, name: &str) -> u64 {
        let text = daybook_metrics::text(&self.http_server.metrics());
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} in {text}")).parse().expect("a number")
    }
}

/// Reads everything up to the end of a connection, even if it ends with an error.
async fn read(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

const SLOW_HEAD: &str = "GET /quick HTTP/1.1\r\nhost: x\r\nx-slow: ";
const WORK: &str = "GET /work HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn slow_heads_make_room_for_callers() {
    let server = open(limits());
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(server.send(SLOW_HEAD).await);
        assert!(server.ask("GET /quick").await.ends_with("quick"));
    }
    assert!(server.metric("daybook_connections_open") <= 4);
    assert!(server.metric("daybook_connections_closed_total{reason=\"address\"}") >= 16);
    assert_eq!(server.metric("daybook_connections_refused_total{reason=\"address\"}"), 0);
    assert_eq!(read(slow.remove(0)).await, "", "the oldest is closed");
}

#[tokio::test]
async fn bodies_that_do_not_come_make_room_for_callers() {
    let server = open(limits());
    let slow_body = "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nslow";
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(server.send(slow_body).await);
        assert!(server.ask("GET /quick").await.ends_with("quick"));
    }
}

#[tokio::test]
async fn calls_that_are_worked_on_are_not_cut_off_and_the_reserve_answers_health_checks() {
    let server = open(limits());
    let mut working = Vec::new();
    for _ in 0..4 {
        working.push(server.send(WORK).await);
    }
    server.until("four calls", |server| server.begun.load(Ordering::SeqCst) == 4).await;
    let refused = server.ask("GET /quick").await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("\r\nconnection: close\r\n"), "{refused}");
    assert!(refused.contains("\r\nretry-after: 1\r\n") && refused.contains("\"code\":\"unavailable\""), "{refused}");
    let posted = server.ask("POST /healthz").await;
    assert!(posted.starts_with("HTTP/1.1 503 "), "only looking is a health check: {posted}");
    let health = server.ask("GET /healthz").await;
    assert!(health.starts_with("HTTP/1.1 200 ") && health.ends_with("ok"), "{health}");
    assert_eq!(server.metric("daybook_connections_refused_total{reason=\"address\"}"), 2);
    // The reserve has one seat: a second connection gets no response.
    let second = server.send(SLOW_HEAD).await;
    server.until("the reserve taken", |server| server.metric("daybook_connections_accepted_total") == 8).await;
    assert_eq!(server.ask("GET /healthz").await, "");
    drop(second);
    server.work.add_permits(4);
    for one in working {
        let answer = read(one).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("worked"), "{answer}");
    }
    assert!(server.ask("GET /quick").await.ends_with("quick"), "there is room again");
}

#[tokio::test]
async fn a_head_that_takes_too_long_is_closed() {
    let server = open(ListenerLimits { header_timeout: Duration::from_millis(200), ..limits() });
    let nothing = TcpStream::connect(server.address).await.expect("the server listens");
    let slow = server.send(SLOW_HEAD).await;
    let (mut reading, mut writing) = server.send("").await.into_split();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b"G").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert_eq!((read(nothing).await, read(slow).await), (String::new(), String::new()));
    let mut bytes = Vec::new();
    let _ = reading.read_to_end(&mut bytes).await;
    drop(reading);
    dripping.await.expect("it notices");
    assert_eq!(server.metric("daybook_connections_closed_total{reason=\"headers\"}"), 3);
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_call_that_takes_longer_is_not() {
    let short = Duration::from_millis(200);
    let server = open(ListenerLimits { idle_timeout: short, header_timeout: short, ..limits() });
    let working = server.send(WORK).await;
    let idle = server.send("GET /quick HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let answer = read(idle).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("quick"), "{answer}");
    assert_eq!(server.metric("daybook_connections_closed_total{reason=\"idle\"}"), 1);
    server.work.add_permits(1);
    assert!(read(working).await.ends_with("worked"));
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_told_so() {
    let server = open(ListenerLimits { body_timeout: Duration::from_millis(200), ..limits() });
    let slow = server.send("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nslow").await;
    let answer = read(slow).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert_eq!(server.metric("daybook_request_bodies_late_total"), 1);
    let whole =
        server.send("POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 4\r\n\r\nfast").await;
    assert!(read(whole).await.ends_with("fast"));
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_closed() {
    let server = open(ListenerLimits { write_timeout: Duration::from_millis(200), ..limits() });
    let unread = server.send("GET /much HTTP/1.1\r\nhost: x\r\n\r\n").await;
    server
        .until("it is closed", |server| server.metric("daybook_connections_closed_total{reason=\"unread\"}") == 1)
        .await;
    let got = read(unread).await;
    assert!(got.len() < 64 << 20, "{} bytes", got.len());
}

#[tokio::test]
async fn a_server_that_closes_lets_calls_finish_and_idle_connections_go() {
    let mut server = open(limits());
    let working = server.send(WORK).await;
    server.until("the call", |server| server.begun.load(Ordering::SeqCst) == 1).await;
    let idle = server.send("GET /quick HTTP/1.1\r\nhost: x\r\n\r\n").await;
    idle.readable().await.expect("its answer comes");
    server.closing.send_replace(true);
    assert!(read(idle).await.ends_with("quick"), "it is answered and then closed");
    assert!(!server.serving.is_finished(), "a call is being worked on");
    server.work.add_permits(1);
    assert!(read(working).await.ends_with("worked"));
    (&mut server.serving).await.expect("the server has stopped");
    assert!(TcpStream::connect(server.address).await.is_err());
}

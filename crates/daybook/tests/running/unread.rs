//! Responses that clients do not read, and clients that close one side of a connection. The listener runs in the test,
//! with small limits, in front of a router whose responses wait for the test.

use crate::caller::{Caller, SITE};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Extension, Path};
use axum::http::StatusCode;
use axum::routing::{get, post};
use daybook::listener::front::Front;
use daybook::listener::limits::{BODY_BYTES, ListenerLimits, RESPONSE_BYTES};
use daybook::listener::tls::Tls;
use daybook::listener::{HttpServer, Site, listen};
use daybook_service::budget::{ByteAllowance, CallMemory, Most, SharedMemory};
use daybook_testkit::authority::Authority;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

const LONG: Duration = Duration::from_secs(3_600);
const PAGE_BYTES: usize = 60_000;
const READER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

fn limits() -> ListenerLimits {
    ListenerLimits {
        connections: 100,
        per_address: 50,
        reserve: 1,
        header_timeout: LONG,
        idle_timeout: LONG,
        body_timeout: LONG,
        write_timeout: LONG,
        body_bytes: BODY_BYTES,
        response_bytes: RESPONSE_BYTES,
    }
}

/// A listener in plain HTTP and one with TLS.
struct TestServer {
    http_server: Arc<HttpServer>,
    plain: SocketAddr,
    encrypted: SocketAddr,
    authority: Vec<u8>,
    /// The number of `/work` calls that have begun.
    begun: Arc<AtomicUsize>,
    /// Lets `/work` calls complete.
    work: Arc<Semaphore>,
    _closing: watch::Sender<bool>,
    /// Aborts its tasks when it is dropped.
    _tasks: JoinSet<()>,
}

fn open(limits: ListenerLimits) -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let authority = Authority::named("authority");
    authority.sign(SITE, &cert, &key);
    let (begun, work) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (counted, waited) = (begun.clone(), work.clone());
    let working = async move || {
        counted.fetch_add(1, Ordering::SeqCst);
        waited.acquire().await.expect("it stays open").forget();
        "worked"
    };
    let router = Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/page", get(async || vec![b'x'; PAGE_BYTES]))
        .route("/change", post(async |_: Bytes| vec![b'x'; PAGE_BYTES]))
        .route("/shared", get(async || (Extension(SharedMemory), vec![b'x'; PAGE_BYTES])))
        .route("/of/{organization}", get(page_of).post(page_of))
        .route("/work", get(working));
    let http_server = HttpServer::new(limits, Front::default());
    let (closing, closed) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let tls = Arc::new(Tls::load(&cert, &key).expect("a certificate"));
    let [plain, encrypted] = [None, Some(tls)].map(|tls| {
        let (listener, address) = listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        tasks.spawn(http_server.clone().serve(listener, Site { router: router.clone(), tls }, closed.clone()));
        address
    });
    let looked_through = http_server.clone();
    tasks.spawn(async move { looked_through.close_overdue().await });
    let authority = authority.der();
    TestServer { http_server, plain, encrypted, authority, begun, work, _closing: closing, _tasks: tasks }
}

/// A page of an organization. It counts for the organization, like an authenticated call.
async fn page_of(Path(organization): Path<i64>, Extension(memory): Extension<CallMemory>) -> (StatusCode, Vec<u8>) {
    match memory.belongs_to(organization) {
        Ok(()) => (StatusCode::OK, vec![b'x'; PAGE_BYTES]),
        Err(_) => (StatusCode::IM_A_TEAPOT, Vec::new()),
    }
}

impl TestServer {
    fn metric(&self, name: &str) -> u64 {
        let text = daybook_metrics::text(&self.http_server.metrics());
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} in {text}")).parse().expect("a number")
    }

    async fn until(&self, what: &str, is_so: impl Fn(&TestServer) -> bool) {
        for _ in 0..2_000 {
            if is_so(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it has not come about: {what}: {}", daybook_metrics::text(&self.http_server.metrics()));
    }

    async fn until_unread(&self, count: u64) {
        let name = "daybook_connections_closed_total{reason=\"unread\"}";
        self.until("an unread response is closed", |server| server.metric(name) == count).await;
    }

    fn caller(&self, from: Ipv4Addr) -> Caller {
        Caller::by_tls(from, self.encrypted, &self.authority).by_http_2()
    }

    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.plain).await.expect("the server listens");
        stream.write_all(text.as_bytes()).await.expect("it is sent");
        stream
    }
}

/// Makes a call over HTTP/2 with this window, and returns the head of the response.
async fn ask(caller: &Caller, window: u32, method: &str, path: &str) -> (Response<Incoming>, Box<dyn Send>) {
    let mut connection = caller.with_window(window).await;
    let request = caller.request(method, path, &[], "");
    let response = connection.send_request(request).await.expect("the head of a response");
    (response, Box::new(connection))
}

/// The client's window is closed from the start, or after one byte. It pings the server meanwhile.
#[tokio::test]
async fn a_response_whose_window_stays_closed_is_closed_and_a_call_at_work_is_not() {
    let server = open(ListenerLimits { write_timeout: Duration::from_millis(200), ..limits() });
    let caller = server.caller(READER);
    let mut busy = caller.with_window(65_535).await;
    let working = tokio::spawn(busy.send_request(caller.request("GET", "/work", &[], "")));
    server.until("the call", |server| server.begun.load(Ordering::SeqCst) == 1).await;
    for (window, closed) in [(0, 1), (1, 2)] {
        let (response, _connection) = ask(&caller, window, "GET", "/page").await;
        assert_eq!(response.status(), 200);
        server.until_unread(closed).await;
    }
    server.work.add_permits(1);
    let worked = working.await.expect("no panic").expect("a response");
    assert_eq!(worked.status(), 200, "a call at work is not overdue");
    server.until_unread(2).await;
}

#[tokio::test]
async fn unread_responses_of_an_address_are_limited_and_reported_changes_are_not_dropped() {
    let most = Most { address: ByteAllowance { guaranteed: 0, most: 100_000 }, ..RESPONSE_BYTES };
    let server = open(ListenerLimits { response_bytes: most, ..limits() });
    let (caller, other) = (server.caller(READER), server.caller(OTHER));
    let first = ask(&caller, 0, "GET", "/page").await;
    assert_eq!(first.0.status(), 200);
    let refused = ask(&caller, 0, "GET", "/page").await.0;
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(server.metric("daybook_connections_refused_total{reason=\"responses\"}"), 1);
    let changed = ask(&caller, 0, "POST", "/change").await;
    assert_eq!(changed.0.status(), 200, "a change is done and reported");
    assert_eq!(ask(&caller, 0, "POST", "/change").await.0.status(), 503, "the share is used up: nothing is done");
    assert_eq!(ask(&caller, 0, "GET", "/healthz").await.0.status(), 200, "a health check");
    let elsewhere = ask(&other, 0, "GET", "/page").await;
    assert_eq!(elsewhere.0.status(), 200, "another address");
    drop((first, changed));
    for _ in 0..2_000 {
        if ask(&caller, 0, "GET", "/page").await.0.status() == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the memory of closed connections is not released");
}

#[tokio::test]
async fn a_guaranteed_share_of_responses_is_left_when_others_read_none() {
    let share =
        |guaranteed: usize, most: usize| ByteAllowance { guaranteed: guaranteed * PAGE_BYTES, most: most * PAGE_BYTES };
    let most =
        Most { organization: share(2, 9), address: share(1, 2), addresses: 2 * PAGE_BYTES, total: 2 * PAGE_BYTES };
    let server = open(ListenerLimits { response_bytes: most, ..limits() });
    let from = |last: u8| server.caller(Ipv4Addr::new(127, 0, 0, last));
    let mut unread = Vec::new();
    let mut status_of = async |caller: &Caller, method: &str, path: &str| {
        let asked = ask(caller, 0, method, path).await;
        let status = asked.0.status().as_u16();
        unread.push(asked);
        status
    };
    for stranger in [from(11), from(12)] {
        assert_eq!(status_of(&stranger, "GET", "/page").await, 200);
        assert_eq!(status_of(&stranger, "GET", "/page").await, 200, "beyond the guaranteed share");
    }
    assert_eq!(status_of(&from(13), "GET", "/page").await, 200, "an address has a guaranteed share");
    assert_eq!(status_of(&from(13), "GET", "/page").await, 503, "the rest is used up");
    for _ in 0..20 {
        assert_eq!(status_of(&from(14), "GET", "/shared").await, 200, "it takes no memory of its own");
    }
    let known = from(11).with("authorization", "a key");
    for organization in ["/of/1", "/of/2"] {
        assert_eq!(status_of(&known, "GET", organization).await, 200, "from the address that reads nothing");
        assert_eq!(status_of(&known, "POST", organization).await, 200);
        assert_eq!(status_of(&known, "GET", organization).await, 503, "its guaranteed share is used up");
        assert_eq!(status_of(&known, "POST", organization).await, 503, "nothing is done");
    }
    assert_eq!(status_of(&from(11), "GET", "/healthz").await, 200, "a health check");
    assert_eq!(server.metric("daybook_connections_refused_total{reason=\"responses\"}"), 5);
}

#[tokio::test]
async fn a_response_that_is_read_byte_by_byte_is_closed() {
    let server = open(ListenerLimits { write_timeout: Duration::from_millis(500), ..limits() });
    let (response, _connection) = ask(&server.caller(READER), 1, "GET", "/page").await;
    let mut body = response.into_body();
    let mut read = 0;
    while let Some(Ok(piece)) = body.frame().await {
        read += piece.data_ref().map_or(0, Bytes::len);
        assert!(read < 1_000, "it is still open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(read > 1, "its client has read some of it");
    server.until_unread(1).await;
}

const WORK: &str = "GET /work HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn a_client_that_closes_its_sending_side_gets_its_response() {
    let server = open(limits());
    let mut stream = server.send(WORK).await;
    stream.shutdown().await.expect("one side is closed");
    server.until("the call", |server| server.begun.load(Ordering::SeqCst) == 1).await;
    server.work.add_permits(1);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("a response and the end");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("worked"), "{answer}");
}

#[tokio::test]
async fn a_client_that_closes_both_sides_leaves_no_connection() {
    let server = open(limits());
    let are_gone = |accepted: u64| {
        move |server: &TestServer| {
            let open = server.metric("daybook_connections_open");
            (server.metric("daybook_connections_accepted_total"), open) == (accepted, 0)
        }
    };
    drop(server.send(WORK).await);
    server.until("the call", |server| server.begun.load(Ordering::SeqCst) == 1).await;
    server.work.add_permits(1);
    server.until("its call is done", are_gone(1)).await;
    drop(server.send("GET /page HTTP/1.1\r\nhost: x\r\n").await);
    server.until("in the middle of a head", are_gone(2)).await;
    drop(server.send("POST /change HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nslow").await);
    server.until("in the middle of a body", are_gone(3)).await;
    let mut idle = server.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    idle.readable().await.expect("its response arrives");
    idle.shutdown().await.expect("one side is closed");
    server.until("between two requests", are_gone(4)).await;
}

//! Webhook receivers, good and bad.
//!
//! A [`Receiver`] listens on a loopback port, on its own thread, so that tests with and without a runtime can use it.
//! It reads requests over keep-alive connections and records each: its headers, the exact bytes of its body, the order.
//! Its [`Behaviour`] decides its responses; a test may change it at any time. A test waits for requests with
//! [`Receiver::wait_for`] or [`Receiver::wait_until`] (blocking) or [`Receiver::until`] (in a runtime), never by
//! sleeping. A dropped receiver closes its port and all its connections.

pub use daybook_receiver::{PreparedResponse, Request};

use daybook_receiver::{ReceiverConnection, ReceiverThread};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// How long a test waits before it fails: much longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval between the bytes of a slow receiver.
const SLOWLY: Duration = Duration::from_millis(20);

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// How a receiver responds to requests.
#[derive(Clone)]
pub enum Behaviour {
    /// Calls a function with the request's number, from 0, and its body, and sends the result.
    Answers(Arc<AnswerFn>),
    /// The same with a slow function: other connections are served meanwhile.
    Slowly(Arc<AnswerFn>),
    /// Reads requests and never responds.
    Silent,
    /// Sends the head of a response byte by byte, without end.
    SlowHead,
    /// Responds with a status and an endless body.
    EndlessBody(u16),
    /// Resets each connection as soon as it is accepted.
    Reset,
    /// Reads a request and resets the connection.
    ResetAfterReading,
    /// Sends this informational status repeatedly.
    OnlyInformational(u16),
    /// Sends raw bytes and closes the connection.
    Raw(Vec<u8>),
    /// Sends raw bytes and keeps the connection open.
    Stalls(Vec<u8>),
}

/// Makes the response to a request from its number and its body.
pub type AnswerFn = dyn Fn(usize, &[u8]) -> PreparedResponse + Send + Sync;

impl Behaviour {
    /// Always the same status.
    pub fn status(status: u16) -> Behaviour {
        Behaviour::answers(move |_, _| PreparedResponse::status(status))
    }

    /// These statuses in turn; then the last one repeatedly.
    pub fn statuses(statuses: &[u16]) -> Behaviour {
        assert!(!statuses.is_empty(), "there is a last status");
        let statuses = statuses.to_vec();
        Behaviour::answers(move |number, _| PreparedResponse::status(statuses[number.min(statuses.len() - 1)]))
    }

    /// The result of a function.
    pub fn answers(answer: impl Fn(usize, &[u8]) -> PreparedResponse + Send + Sync + 'static) -> Behaviour {
        Behaviour::Answers(Arc::new(answer))
    }

    /// The result of a slow function.
    pub fn slowly(answer: impl Fn(usize, &[u8]) -> PreparedResponse + Send + Sync + 'static) -> Behaviour {
        Behaviour::Slowly(Arc::new(answer))
    }

    /// Redirects every request.
    pub fn redirect(status: u16, location: &str) -> Behaviour {
        let location = location.to_owned();
        Behaviour::answers(move |_, _| PreparedResponse::status(status).with("location", &location))
    }

    /// Responds with bytes that are not HTTP.
    pub fn garbage() -> Behaviour {
        Behaviour::Raw(b"\x16\x03\x01 this is not HTTP \x00\xff\r\n\r\n".to_vec())
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Behaviour(..)")
    }
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Requests that were read completely.
    pub requests: usize,
    /// Connections accepted so far.
    pub accepted: usize,
    /// Connections open now.
    pub open: usize,
}

/// A running receiver.
#[derive(Debug)]
pub struct Receiver {
    thread: ReceiverThread,
    shared: Arc<ReceiverState>,
}

#[derive(Debug)]
struct ReceiverState {
    behaviour: Mutex<Behaviour>,
    /// `None` if requests are only counted.
    requests: Option<Mutex<Vec<Request>>>,
    tls: Option<Arc<ServerConfig>>,
    counts: Mutex<ReceiverCounts>,
    /// Wakes the threads that wait for a change of the counters.
    changed: Condvar,
    /// Wakes the tasks that wait for it.
    notified: Notify,
}

impl Receiver {
    /// A receiver that records its requests.
    pub fn start(behaviour: Behaviour) -> Receiver {
        Receiver::listen(ANY_PORT, behaviour, true, None)
    }

    /// A receiver that responds 200 as fast as it can and only counts.
    pub fn counting() -> Receiver {
        Receiver::listen(ANY_PORT, Behaviour::status(200), false, None)
    }

    /// A receiver at an address, for example one where a receiver was before.
    pub fn start_at(address: SocketAddr, behaviour: Behaviour) -> Receiver {
        Receiver::listen(address, behaviour, true, None)
    }

    /// A receiver with TLS.
    pub fn start_secure(behaviour: Behaviour, config: Arc<ServerConfig>) -> Receiver {
        Receiver::listen(ANY_PORT, behaviour, true, Some(config))
    }

    fn listen(address: SocketAddr, behaviour: Behaviour, remembers: bool, tls: Option<Arc<ServerConfig>>) -> Receiver {
        let shared = Arc::new(ReceiverState {
            behaviour: Mutex::new(behaviour),
            requests: remembers.then(Mutex::default),
            tls,
            counts: Mutex::default(),
            changed: Condvar::new(),
            notified: Notify::new(),
        });
        let for_thread = shared.clone();
        let thread =
            ReceiverThread::start(address, move |stream| serve(stream, OpenConnection::new(for_thread.clone())));
        Receiver { thread: thread.expect("the port is free"), shared }
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.thread.address()
    }

    /// Its URL: `http://127.0.0.1:40001/hooks`.
    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/hooks", self.address())
    }

    /// Changes how it responds to later requests.
    pub fn behave(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// Its counters.
    pub fn counts(&self) -> ReceiverCounts {
        *self.shared.counts.lock().unwrap()
    }

    /// The requests received so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.as_ref().expect("this receiver remembers").lock().unwrap().clone()
    }

    /// Waits until it has received this many requests, and returns them.
    pub fn wait_for(&self, requests: usize) -> Vec<Request> {
        self.wait_until(|counts| counts.requests >= requests);
        self.shared.requests.as_ref().map(|all| all.lock().unwrap().clone()).unwrap_or_default()
    }

    /// Blocks until a condition on its counters holds.
    pub fn wait_until(&self, is_so: impl Fn(ReceiverCounts) -> bool) {
        let counts = self.shared.counts.lock().unwrap();
        let waited = self.shared.changed.wait_timeout_while(counts, PATIENCE, |counts| !is_so(*counts));
        let (counts, waited) = waited.unwrap();
        assert!(!waited.timed_out(), "it did not come true: {counts:?}");
    }

    /// Waits in a runtime until a condition on its counters holds.
    pub async fn until(&self, is_so: impl Fn(ReceiverCounts) -> bool) {
        let reached = tokio::time::timeout(PATIENCE, async {
            loop {
                let notified = self.shared.notified.notified();
                if is_so(self.counts()) {
                    return;
                }
                notified.await;
            }
        });
        assert!(reached.await.is_ok(), "it did not come true: {:?}", self.counts());
    }
}

impl ReceiverState {
    /// Changes the counters, wakes the waiters, and returns the counters before.
    fn count(&self, change: impl FnOnce(&mut ReceiverCounts)) -> ReceiverCounts {
        let mut counts = self.counts.lock().unwrap();
        let before = *counts;
        change(&mut counts);
        drop(counts);
        self.changed.notify_all();
        self.notified.notify_waiters();
        before
    }

    fn behaviour(&self) -> Behaviour {
        self.behaviour.lock().unwrap().clone()
    }

    /// Records a request; returns its number.
    fn take_in(&self, request: &Request) -> usize {
        if let Some(requests) = &self.requests {
            requests.lock().unwrap().push(request.clone());
        }
        self.count(|counts| counts.requests += 1).requests
    }
}

/// A connection that counts as open until this is dropped.
struct OpenConnection(Arc<ReceiverState>);

impl OpenConnection {
    fn new(shared: Arc<ReceiverState>) -> OpenConnection {
        shared.count(|counts| {
            counts.accepted += 1;
            counts.open += 1;
        });
        OpenConnection(shared)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.count(|counts| counts.open -= 1);
    }
}

async fn serve(stream: TcpStream, connection: OpenConnection) -> io::Result<()> {
    let shared = &connection.0;
    if matches!(shared.behaviour(), Behaviour::Reset) {
        return stream.set_zero_linger();
    }
    if let Some(config) = &shared.tls {
        let stream = TlsAcceptor::from(config.clone()).accept(stream).await?;
        return converse(&mut ReceiverConnection::new(stream), shared).await;
    }
    let mut connection = ReceiverConnection::new(stream);
    converse(&mut connection, shared).await?;
    if matches!(shared.behaviour(), Behaviour::ResetAfterReading) {
        connection.stream.set_zero_linger()?;
    }
    Ok(())
}

/// Reads requests and responds, one after the other.
async fn converse<S>(connection: &mut ReceiverConnection<S>, shared: &ReceiverState) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(request) = connection.next().await? {
        let number = shared.take_in(&request);
        let answer = match shared.behaviour() {
            Behaviour::Answers(answer) => answer(number, &request.body),
            Behaviour::Slowly(answer) => {
                let answering = tokio::task::spawn_blocking(move || answer(number, &request.body));
                answering.await.map_err(io::Error::other)?
            }
            other => return misbehave(&mut connection.stream, other).await,
        };
        connection.respond(&answer).await?;
    }
    Ok(())
}

/// The misbehaviour of bad receivers after they have read a request.
async fn misbehave(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), behaviour: Behaviour) -> io::Result<()> {
    match behaviour {
        Behaviour::Answers(_) | Behaviour::Slowly(_) | Behaviour::Reset | Behaviour::ResetAfterReading => Ok(()),
        Behaviour::Silent => until_closed(stream).await,
        Behaviour::Raw(bytes) => {
            stream.write_all(&bytes).await?;
            stream.flush().await
        }
        Behaviour::Stalls(bytes) => {
            stream.write_all(&bytes).await?;
            until_closed(stream).await
        }
        Behaviour::SlowHead => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nx-slow: ").await?;
            again_and_again(stream, b"a", SLOWLY).await
        }
        Behaviour::OnlyInformational(status) => {
            let head = format!("HTTP/1.1 {status} Any\r\n\r\n");
            again_and_again(stream, head.as_bytes(), SLOWLY).await
        }
        Behaviour::EndlessBody(status) => {
            let head = format!("HTTP/1.1 {status} Any\r\ntransfer-encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            let chunk = [b"1000\r\n".as_slice(), &[b'x'; 0x1000], b"\r\n"].concat();
            again_and_again(stream, &chunk, Duration::ZERO).await
        }
    }
}

async fn again_and_again(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8], pause: Duration) -> io::Result<()> {
    loop {
        stream.write_all(bytes).await?;
        stream.flush().await?;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
}

async fn until_closed(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut rest = [0; 4096];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

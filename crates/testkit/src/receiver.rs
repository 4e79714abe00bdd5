//! Webhook receivers, good and bad.
//!
//! A [`Receiver`] listens on a loopback port, on its own thread, so that tests with and without a runtime can use it.
//! It reads requests over keep-alive connections and records each: its headers, the exact bytes of its body, the order.
//! Its [`Behaviour`] decides its responses; a test may change it at any time. A test waits for requests with
//! [`Receiver::wait_for`] or [`Receiver::wait_until`] (blocking) or [`Receiver::until`] (in a runtime), never by
//! sleeping. A dropped receiver closes its port and all its connections.

mod bell;
mod said;

pub use said::{PreparedResponse, Request};

use bell::Bell;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// How long a test waits before it fails: much longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval between the bytes of a slow receiver.
const SLOWLY: Duration = Duration::from_millis(20);

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    address: SocketAddr,
    shared: Arc<ReceiverState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct ReceiverState {
    behaviour: Mutex<Behaviour>,
    /// `None` if requests are only counted.
    requests: Option<Mutex<Vec<Request>>>,
    tls: Option<Arc<ServerConfig>>,
    count: AtomicUsize,
    accepted: AtomicUsize,
    open: AtomicUsize,
    bell: Bell,
}

impl Receiver {
    /// A receiver that records its requests.
    pub fn start(behaviour: Behaviour) -> Receiver {
        Receiver::listen("127.0.0.1:0", behaviour, true, None)
    }

    /// A receiver that responds 200 as fast as it can and only counts.
    pub fn counting() -> Receiver {
        Receiver::listen("127.0.0.1:0", Behaviour::status(200), false, None)
    }

    /// A receiver at an address, for example one where a receiver was before.
    pub fn start_at(address: SocketAddr, behaviour: Behaviour) -> Receiver {
        Receiver::listen(&address.to_string(), behaviour, true, None)
    }

    /// A receiver with TLS.
    pub fn start_secure(behaviour: Behaviour, config: Arc<ServerConfig>) -> Receiver {
        Receiver::listen("127.0.0.1:0", behaviour, true, Some(config))
    }

    fn listen(address: &str, behaviour: Behaviour, remembers: bool, tls: Option<Arc<ServerConfig>>) -> Receiver {
        let listener = TcpListener::bind(address).expect("the port is free");
        listener.set_nonblocking(true).expect("a listener can be told not to block");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(ReceiverState {
            behaviour: Mutex::new(behaviour),
            requests: remembers.then(Mutex::default),
            tls,
            count: AtomicUsize::new(0),
            accepted: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            bell: Bell::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let for_thread = shared.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, for_thread) => {}
                    _ = stopped => {}
                }
            });
        });
        Receiver { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL: `http://127.0.0.1:40001/hooks`.
    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/hooks", self.address)
    }

    /// Changes how it responds to later requests.
    pub fn behave(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// Its counters.
    pub fn counts(&self) -> ReceiverCounts {
        self.shared.counts()
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
        let is_reached = self.shared.bell.wait(|| is_so(self.counts()));
        assert!(is_reached, "it did not come true: {:?}", self.counts());
    }

    /// Waits in a runtime until a condition on its counters holds.
    pub async fn until(&self, is_so: impl Fn(ReceiverCounts) -> bool) {
        let reached = tokio::time::timeout(PATIENCE, self.shared.bell.heard(|| is_so(self.counts()))).await;
        assert!(reached.is_ok(), "it did not come true: {:?}", self.counts());
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A test that is already failing should not fail again here.
            let _ = thread.join();
        }
    }
}

impl ReceiverState {
    fn counts(&self) -> ReceiverCounts {
        ReceiverCounts {
            requests: self.count.load(Ordering::SeqCst),
            accepted: self.accepted.load(Ordering::SeqCst),
            open: self.open.load(Ordering::SeqCst),
        }
    }

    fn behaviour(&self) -> Behaviour {
        self.behaviour.lock().unwrap().clone()
    }

    /// Records a request; returns its number.
    fn take_in(&self, connection: usize, head: &[u8], body: &[u8]) -> usize {
        let number = match &self.requests {
            Some(requests) => {
                let request = Request::read(connection, head, body);
                let mut requests = requests.lock().unwrap();
                requests.push(request);
                self.count.fetch_add(1, Ordering::SeqCst)
            }
            None => self.count.fetch_add(1, Ordering::SeqCst),
        };
        self.bell.ring();
        number
    }
}

async fn accept(listener: TcpListener, shared: Arc<ReceiverState>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let _ = stream.set_nodelay(true);
        let connection = OpenConnection::new(shared.clone());
        tokio::spawn(async move {
            // An error on a connection is the sender's to handle.
            let _ = serve(stream, connection).await;
        });
    }
}

/// A connection that counts as open until this is dropped.
struct OpenConnection {
    number: usize,
    shared: Arc<ReceiverState>,
}

impl OpenConnection {
    fn new(shared: Arc<ReceiverState>) -> OpenConnection {
        shared.open.fetch_add(1, Ordering::SeqCst);
        let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
        shared.bell.ring();
        OpenConnection { number, shared }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
        self.shared.bell.ring();
    }
}

async fn serve(stream: TcpStream, connection: OpenConnection) -> io::Result<()> {
    if matches!(connection.shared.behaviour(), Behaviour::Reset) {
        return stream.set_zero_linger();
    }
    match connection.shared.tls.clone() {
        None => {
            let mut stream = stream;
            converse(&mut stream, &connection).await?;
            if matches!(connection.shared.behaviour(), Behaviour::ResetAfterReading) {
                stream.set_zero_linger()?;
            }
            Ok(())
        }
        Some(config) => {
            let mut stream = TlsAcceptor::from(config).accept(stream).await?;
            converse(&mut stream, &connection).await
        }
    }
}

/// Reads requests and responds, one after the other.
async fn converse(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), connection: &OpenConnection) -> io::Result<()> {
    let (mut bytes, mut out) = (Vec::with_capacity(16 * 1024), Vec::with_capacity(1024));
    loop {
        let Some((head_length, length)) = read_request(stream, &mut bytes).await? else { return Ok(()) };
        let (head, body) = (&bytes[..head_length], &bytes[head_length + 4..length]);
        let number = connection.shared.take_in(connection.number, head, body);
        let answer = match connection.shared.behaviour() {
            Behaviour::Answers(answer) => answer(number, body),
            Behaviour::Slowly(answer) => {
                let body = body.to_vec();
                tokio::task::spawn_blocking(move || answer(number, &body)).await.map_err(io::Error::other)?
            }
            other => return misbehave(stream, other).await,
        };
        answer.write_to(&mut out);
        stream.write_all(&out).await?;
        if answer.closes {
            return Ok(());
        }
        out.clear();
        bytes.drain(..length);
    }
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

/// Reads until the bytes begin with a whole request. Returns the length of its head without the blank line, and its
/// total length; `None` at the end of the connection.
async fn read_request(
    stream: &mut (impl AsyncRead + Unpin),
    bytes: &mut Vec<u8>,
) -> io::Result<Option<(usize, usize)>> {
    loop {
        if let Some(head_length) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let length = head_length + 4 + content_length(&bytes[..head_length]);
            while bytes.len() < length {
                if stream.read_buf(bytes).await? == 0 {
                    return Ok(None);
                }
            }
            return Ok(Some((head_length, length)));
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"content-length:";
    let mut lines = head.split(|byte| *byte == b'\n');
    let value = lines.find_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        name.eq_ignore_ascii_case(NAME).then_some(value)
    });
    value.map_or(0, |value| String::from_utf8_lossy(value).trim().parse().expect("a length is a number"))
}

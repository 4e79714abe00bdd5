//! Receivers of webhooks, good and bad.
//!
//! A [`Receiver`] listens on a loopback port, on a thread of its own, so that tests with and without a runtime can use
//! it. It reads requests over connections that stay open and remembers each: its headers, the exact bytes of its body,
//! the order. What it answers is its [`Behaviour`], which a test may change on the way. A test waits for what it expects
//! by [`Receiver::wait_for`] or [`Receiver::wait_until`] (blocking) or [`Receiver::until`] (in a runtime), never by
//! sleeping. A receiver that is dropped closes its port and all its connections.

mod bell;
mod said;

pub use said::{Answer, Request};

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

/// How long a test waits for something before it fails: much longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a slow receiver says its next byte.
const SLOWLY: Duration = Duration::from_millis(20);

/// What a receiver does with requests.
#[derive(Clone)]
pub enum Behaviour {
    /// Gives the answer that a function makes of the request's number, from 0, and its body.
    Answers(Arc<AnswerFn>),
    /// The same, by a function that may take its time: other connections are answered meanwhile.
    Slowly(Arc<AnswerFn>),
    /// Reads requests and never answers.
    Silent,
    /// Sends the head of an answer byte by byte and never comes to its end.
    SlowHead,
    /// Answers with a status and a body that has no end.
    EndlessBody(u16),
    /// Resets each connection as soon as it is there.
    Reset,
    /// Reads a request and resets the connection.
    ResetAfterReading,
    /// Sends this informational status again and again.
    OnlyInformational(u16),
    /// Answers with bytes as they stand and closes the connection.
    Raw(Vec<u8>),
}

/// Makes the answer to a request of its number and its body.
pub type AnswerFn = dyn Fn(usize, &[u8]) -> Answer + Send + Sync;

impl Behaviour {
    /// Always the same status.
    pub fn status(status: u16) -> Behaviour {
        Behaviour::answers(move |_, _| Answer::status(status))
    }

    /// These statuses in turn; then the last one for ever.
    pub fn statuses(statuses: &[u16]) -> Behaviour {
        assert!(!statuses.is_empty(), "there is a last status");
        let statuses = statuses.to_vec();
        Behaviour::answers(move |number, _| Answer::status(statuses[number.min(statuses.len() - 1)]))
    }

    /// What a function says.
    pub fn answers(answer: impl Fn(usize, &[u8]) -> Answer + Send + Sync + 'static) -> Behaviour {
        Behaviour::Answers(Arc::new(answer))
    }

    /// What a function says that may take its time.
    pub fn slowly(answer: impl Fn(usize, &[u8]) -> Answer + Send + Sync + 'static) -> Behaviour {
        Behaviour::Slowly(Arc::new(answer))
    }

    /// Sends everybody elsewhere.
    pub fn redirect(status: u16, location: &str) -> Behaviour {
        let location = location.to_owned();
        Behaviour::answers(move |_, _| Answer::status(status).with("location", &location))
    }

    /// Answers with what is no HTTP.
    pub fn garbage() -> Behaviour {
        Behaviour::Raw(b"\x16\x03\x01 this is not HTTP \x00\xff\r\n\r\n".to_vec())
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Behaviour(..)")
    }
}

/// What a receiver has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Requests that were read to their end.
    pub requests: usize,
    /// Connections that ever were.
    pub accepted: usize,
    /// Connections that are open.
    pub open: usize,
}

/// A receiver, running.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    behaviour: Mutex<Behaviour>,
    /// None where requests are only counted.
    requests: Option<Mutex<Vec<Request>>>,
    tls: Option<Arc<ServerConfig>>,
    count: AtomicUsize,
    accepted: AtomicUsize,
    open: AtomicUsize,
    bell: Bell,
}

impl Receiver {
    /// A receiver that remembers what it gets.
    pub fn start(behaviour: Behaviour) -> Receiver {
        Receiver::listen("127.0.0.1:0", behaviour, true, None)
    }

    /// A receiver that answers 200 as fast as it can and only counts.
    pub fn counting() -> Receiver {
        Receiver::listen("127.0.0.1:0", Behaviour::status(200), false, None)
    }

    /// A receiver at an address, say one where a receiver was before.
    pub fn start_at(address: SocketAddr, behaviour: Behaviour) -> Receiver {
        Receiver::listen(&address.to_string(), behaviour, true, None)
    }

    /// A receiver that speaks TLS.
    pub fn start_secure(behaviour: Behaviour, config: Arc<ServerConfig>) -> Receiver {
        Receiver::listen("127.0.0.1:0", behaviour, true, Some(config))
    }

    fn listen(address: &str, behaviour: Behaviour, remembers: bool, tls: Option<Arc<ServerConfig>>) -> Receiver {
        let listener = TcpListener::bind(address).expect("the port is free");
        listener.set_nonblocking(true).expect("a listener can be told not to block");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL of it: `http://127.0.0.1:40001/hooks`.
    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/hooks", self.address)
    }

    /// Changes what it does with the requests to come.
    pub fn behave(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// What it has counted so far.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// The requests it got so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.as_ref().expect("this receiver remembers").lock().unwrap().clone()
    }

    /// Waits until it has got so many requests, and gives what it got.
    pub fn wait_for(&self, requests: usize) -> Vec<Request> {
        self.wait_until(|counts| counts.requests >= requests);
        self.shared.requests.as_ref().map(|all| all.lock().unwrap().clone()).unwrap_or_default()
    }

    /// Blocks until something is true of what it has counted.
    pub fn wait_until(&self, is_so: impl Fn(Counts) -> bool) {
        let is_reached = self.shared.bell.wait(|| is_so(self.counts()));
        assert!(is_reached, "it did not come true: {:?}", self.counts());
    }

    /// Waits in a runtime until something is true of what it has counted.
    pub async fn until(&self, is_so: impl Fn(Counts) -> bool) {
        let reached = tokio::time::timeout(PATIENCE, self.shared.bell.heard(|| is_so(self.counts()))).await;
        assert!(reached.is_ok(), "it did not come true: {:?}", self.counts());
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A test that fails already should not fail again for this.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn counts(&self) -> Counts {
        Counts {
            requests: self.count.load(Ordering::SeqCst),
            accepted: self.accepted.load(Ordering::SeqCst),
            open: self.open.load(Ordering::SeqCst),
        }
    }

    fn behaviour(&self) -> Behaviour {
        self.behaviour.lock().unwrap().clone()
    }

    /// Takes a request in; gives its number.
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

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let _ = stream.set_nodelay(true);
        let connection = Connection::new(shared.clone());
        tokio::spawn(async move {
            // How a connection ends is the other side's business.
            let _ = serve(stream, connection).await;
        });
    }
}

/// A connection counts as open until this is dropped.
struct Connection {
    number: usize,
    shared: Arc<Shared>,
}

impl Connection {
    fn new(shared: Arc<Shared>) -> Connection {
        shared.open.fetch_add(1, Ordering::SeqCst);
        let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
        shared.bell.ring();
        Connection { number, shared }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
        self.shared.bell.ring();
    }
}

async fn serve(stream: TcpStream, connection: Connection) -> io::Result<()> {
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

/// Reads request after request and answers.
async fn converse(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), connection: &Connection) -> io::Result<()> {
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

/// What bad receivers do with a connection after they read a request from it.
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

/// Reads until the bytes begin with a whole request; gives the length of its head without the blank line, and of all of
/// it. Nothing at the end of the connection.
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

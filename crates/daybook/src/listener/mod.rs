//! The listener: accepts connections, and protects the server from slow, idle or too many clients.
//!
//! ```text
//! accept ─► slot ─► HTTP, over a watched stream ─► handler ─► router
//!            │              │
//!            │              └─► connection: is it waiting for its client, and since when
//!            │                        ▲
//!            │                        └─ checked at intervals: overdue connections are closed
//!            └─► full? the connection that has waited longest is closed
//! ```
//!
//! | file | contents |
//! |---|---|
//! | [`limits`] | caps and timeouts, and the descriptors they must fit into |
//! | [`connection_slots`] | every open connection, by address; which one is closed to make room |
//! | [`connection`] | the state of a connection |
//! | [`watched`], [`bodies`], [`sending`] | track that state by the connection's bytes, request bodies and responses |
//! | [`request_handler`] | one request, to the router and back |
//! | [`front`], [`framing`] | proxies in front of the server; requests that state their length in two ways |
//! | [`host`] | requests that do not name their host |
//! | [`clients`] | concurrent requests of each client behind proxies |
//! | `daybook_service::budget` | the memory of request bodies and of unsent responses |
//! | [`tls`], [`certificate`] | certificates, reloaded when they change; their dates and names |
//! | [`metrics`] | metrics, and rate-limited log lines |
//!
//! The listener never interrupts a request that has begun; it closes only connections that are waiting for their
//! client.

mod bodies;
pub mod certificate;
mod clients;
mod connection;
mod connection_slots;
mod framing;
pub mod front;
mod host;
pub mod limits;
mod metrics;
mod request_handler;
mod sending;
pub mod tls;
mod watched;

pub use request_handler::refusal;

use axum::Router;
use axum::http::Request;
use clients::Clients;
use connection_slots::{ConnectionSlot, ConnectionSlots};
use daybook_clock::Stopwatch;
use daybook_metrics::Families;
use daybook_service::budget::Budget;
use framing::Framing;
use front::Front;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use limits::ListenerLimits;
use metrics::ConnectionMetrics;
use request_handler::RequestHandler;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tls::Tls;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use watched::WatchedStream;

/// The length of the accept queue; the system may allow less.
const BACKLOG: u32 = 4_096;
/// The largest head, and the read buffer of a body, in bytes.
const BUFFER_BYTES: usize = 64 * 1_024;
/// The most concurrent requests of an HTTP/2 connection.
const STREAMS: u32 = 32;
/// How long accepting pauses when the system has no descriptors left, and how many connections are then closed.
const REST: Duration = Duration::from_millis(50);
const THINNED_OUT: usize = 16;

/// The HTTP server: all addresses that it listens on share its caps.
#[derive(Debug)]
pub struct HttpServer {
    limits: ListenerLimits,
    slots: Arc<ConnectionSlots>,
    metrics: Arc<ConnectionMetrics>,
    clients: Arc<Clients>,
    /// The memory of request bodies.
    bodies: Arc<Budget>,
    /// The memory of unsent responses.
    responses: Arc<Budget>,
    front: Front,
    clock: Stopwatch,
}

/// What is served at an address.
#[derive(Clone, Debug)]
pub struct Site {
    /// The router.
    pub router: Router,
    /// The certificate; `None` for plain HTTP.
    pub tls: Option<Arc<Tls>>,
}

impl HttpServer {
    /// A server with these limits and proxies.
    pub fn new(limits: ListenerLimits, front: Front) -> Arc<HttpServer> {
        let metrics = Arc::new(ConnectionMetrics::default());
        let slots = Arc::new(ConnectionSlots::new(limits, metrics.clone()));
        let clients = Arc::new(Clients::new(limits.per_address));
        let [bodies, responses] = [limits.body_bytes, limits.response_bytes].map(|most| Arc::new(Budget::new(most)));
        Arc::new(HttpServer { limits, slots, metrics, clients, bodies, responses, front, clock: Stopwatch::start() })
    }

    /// The time since the server was created.
    pub fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Metrics of connections.
    pub fn metrics(&self) -> Families {
        self.metrics.memory(self.bodies.total(), self.responses.total());
        self.metrics.families(self.slots.taken(), self.limits.connections)
    }

    /// Closes overdue connections, until it is cancelled.
    pub async fn close_overdue(&self) {
        loop {
            tokio::time::sleep(self.limits.between_looks()).await;
            self.slots.close_overdue(self.now());
        }
    }

    /// Accepts and serves connections. When `closing` is set, it accepts no more, lets each connection finish its
    /// requests in progress, and returns after the last.
    pub async fn serve(self: Arc<HttpServer>, listener: TcpListener, site: Site, mut closing: watch::Receiver<bool>) {
        let site = Site { router: host::refuse_bad(site.router), ..site };
        // Each connection holds a sender. When the last one is dropped, the receiver returns.
        let (open, mut all_gone) = mpsc::channel::<()>(1);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = told(&mut closing) => break,
            };
            match accepted {
                Ok((stream, peer)) => self.let_in(stream, peer, &site, &closing, &open),
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    self.metrics.not_accepted(&error, self.now());
                    self.slots.thin_out(THINNED_OUT, self.now());
                    tokio::time::sleep(REST).await;
                }
            }
        }
        drop((listener, open));
        // Nothing is ever sent: this waits for the last sender to be dropped.
        let _ = all_gone.recv().await;
    }

    fn let_in(
        self: &Arc<HttpServer>,
        stream: TcpStream,
        peer: SocketAddr,
        site: &Site,
        closing: &watch::Receiver<bool>,
        open: &mpsc::Sender<()>,
    ) {
        self.metrics.accepted();
        let slot = match self.slots.admit(peer.ip(), self.front.is_proxy(peer.ip()), self.now()) {
            Ok(slot) => slot,
            // Even the reserve is full: the connection is closed without a response.
            Err(refused) => return self.metrics.refused(refused, self.now()),
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set; small responses may be slow");
        }
        let handler = RequestHandler {
            http_server: self.clone(),
            connection: slot.connection().clone(),
            kind: slot.kind(),
            peer,
            is_tls: site.tls.is_some(),
            is_ambiguous: Arc::default(),
            router: site.router.clone(),
        };
        let config = site.tls.as_ref().map(|tls| tls.config());
        let (closing, open) = (closing.clone(), open.clone());
        tokio::spawn(async move {
            match config {
                None => serve_http_1(stream, handler, closing).await,
                Some(config) => serve_tls(stream, config, handler, closing).await,
            }
            leave(slot, open);
        });
    }
}

/// Drops both at the end of a connection, the slot first.
fn leave(slot: ConnectionSlot, open: mpsc::Sender<()>) {
    drop(slot);
    drop(open);
}

/// Completes the TLS handshake within the header timeout and serves the negotiated protocol.
async fn serve_tls(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    handler: RequestHandler,
    mut closing: watch::Receiver<bool>,
) {
    let connection = handler.connection.clone();
    let shaken = tokio::select! {
        shaken = TlsAcceptor::from(config).accept(stream) => shaken,
        () = connection.ended() => return,
        () = told(&mut closing) => return,
    };
    match shaken {
        Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(tls::HTTP_2) => {
            serve_http_2(stream, handler, closing).await;
        }
        Ok(stream) => serve_http_1(stream, handler, closing).await,
        Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
    }
}

/// Drives a connection until it ends or the listener closes it.
macro_rules! drive {
    ($served:expr, $connection:expr, $closing:expr) => {{
        let (mut served, mut is_closing) = (pin!($served), false);
        loop {
            tokio::select! {
                ended = served.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection was interrupted");
                    }
                    return;
                }
                () = $connection.ended() => return,
                () = told(&mut $closing), if !is_closing => {
                    is_closing = true;
                    served.as_mut().graceful_shutdown();
                }
            }
        }
    }};
}

async fn serve_http_1<S>(stream: S, handler: RequestHandler, mut closing: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = handler.connection.clone();
    let framing = Framing::new(handler.is_ambiguous.clone());
    let stream = WatchedStream::new(stream, connection.clone(), handler.http_server.clock, Some(framing));
    let service = service_fn(move |mut request: Request<Incoming>| {
        host::examine(&mut request);
        handler.clone().answer(request)
    });
    let mut builder = http1::Builder::new();
    // The listener enforces timeouts itself, because the limit between requests differs from the limit of a head.
    builder.header_read_timeout(None).max_buf_size(BUFFER_BYTES);
    // A client may close its sending side after its request and still read the response.
    builder.half_close(true);
    drive!(builder.serve_connection(TokioIo::new(stream), service), connection, closing)
}

async fn serve_http_2<S>(stream: S, handler: RequestHandler, mut closing: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = handler.connection.clone();
    connection.share(handler.http_server.now());
    let stream = WatchedStream::new(stream, connection.clone(), handler.http_server.clock, None);
    let service = service_fn(move |request: Request<Incoming>| handler.clone().answer(request));
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.max_concurrent_streams(STREAMS).max_header_list_size(BUFFER_BYTES as u32);
    drive!(builder.serve_connection(TokioIo::new(stream), service), connection, closing)
}

/// Waits until the listener is closing.
async fn told(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it the server.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Whether an accept error concerns only that connection, and not the system.
fn is_of_one_connection(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    [ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted].contains(&error.kind())
}

/// Listens on an address.
pub fn listen(wanted: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if wanted.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(wanted)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

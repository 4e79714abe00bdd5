//! Opens a connection: from a target to a stream of bytes.
//!
//! The name is resolved, the guard checks every address it has, and a connection is tried to each checked address in
//! turn, each with its share of the remaining time. For https the certificate is verified for the URL's name. There is
//! no proxy.

use crate::guard::{CheckedUrl, Guard, Host, Resolve};
use crate::sender::lookup_limits::LookupPermit;
use crate::sender::reply::Fault;
use daybook_clock::Stopwatch;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How many addresses of a name are tried. All are checked.
const MOST_ADDRESSES: usize = 8;

/// The trusted certificate authorities.
#[derive(Clone, Debug, Default)]
pub enum Roots {
    /// Those that the machine trusts, or those in the file that `SSL_CERT_FILE` names.
    #[default]
    System,
    /// Only these.
    Only(Vec<CertificateDer<'static>>),
}

/// The TLS settings for all connections. Making them reads the machine's certificates.
pub(super) fn tls_config(roots: Roots) -> io::Result<Arc<ClientConfig>> {
    let certificates = match roots {
        Roots::Only(certificates) => certificates,
        Roots::System => {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                tracing::warn!(
                    errors = ?found.errors,
                    "no root certificates were found, so webhooks to https URLs fail; set SSL_CERT_FILE to a file"
                );
            }
            found.certs
        }
    };
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates);
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The name that a certificate must be for; `None` if no certificate can have that name.
pub(super) fn server_name(host: &Host) -> Option<ServerName<'static>> {
    match host {
        Host::Address(address) => Some(ServerName::IpAddress((*address).into())),
        // A certificate never has the trailing dot of a fully qualified name.
        Host::Name(name) => ServerName::try_from(name.strip_suffix('.').unwrap_or(name).to_owned()).ok(),
    }
}

/// The addresses to connect to, all of them allowed at this moment. If one is not allowed, this fails. The turn to look
/// up the name ends when the lookup is done.
pub(super) async fn checked_addresses(
    guard: &Guard,
    resolver: &dyn Resolve,
    target: &CheckedUrl,
    turn: Option<LookupPermit>,
) -> Result<Vec<SocketAddr>, Fault> {
    let addresses = match &target.host {
        Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
        Host::Name(name) => {
            let found = resolver.addresses(name, target.port).await;
            let is_answered = found.as_ref().map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |_| true);
            if let Some(turn) = turn.filter(|_| is_answered) {
                turn.answered();
            }
            found.map_err(|error| Fault::NameNotFound(error.to_string()))?
        }
    };
    if addresses.is_empty() {
        return Err(Fault::NameNotFound("no addresses".to_owned()));
    }
    for address in &addresses {
        guard.check_address(address.ip(), target.is_tls).map_err(Fault::Forbidden)?;
    }
    Ok(addresses)
}

/// Connects to the first address that responds.
pub(super) async fn connect(addresses: &[SocketAddr], time: Duration) -> Result<TcpStream, Fault> {
    let stopwatch = Stopwatch::start();
    let tried = &addresses[..addresses.len().min(MOST_ADDRESSES)];
    let mut fault = Fault::TimedOut;
    for (at, address) in tried.iter().enumerate() {
        let left = u32::try_from(tried.len() - at).unwrap_or(u32::MAX);
        let share = time.saturating_sub(stopwatch.elapsed()) / left;
        match tokio::time::timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Each message is one small write that should be sent at once. A failure here only costs time.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => fault = Fault::of_io(&error),
            Err(_) => fault = Fault::TimedOut,
        }
    }
    Err(fault)
}

/// Establishes TLS on a connection.
pub(super) async fn secure(
    config: &Arc<ClientConfig>,
    name: Option<&ServerName<'static>>,
    stream: TcpStream,
) -> Result<Stream, Fault> {
    let name = name.ok_or_else(|| Fault::Tls("the host name is not valid in a certificate".to_owned()))?;
    match TlsConnector::from(config.clone()).connect(name.clone(), stream).await {
        Ok(stream) => Ok(Stream::Secure(Box::new(stream))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Fault::Tls(error.to_string())),
        Err(error) => Err(Fault::of_io(&error)),
    }
}

/// A connection, with TLS or without.
#[derive(Debug)]
pub(super) enum Stream {
    /// For http.
    Plain(TcpStream),
    /// For https.
    Secure(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Stream::Secure(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Secure(stream) => stream.is_write_vectored(),
        }
    }
}

//! Sends one message to one URL, over HTTP/1.1.
//!
//! A [`Sender`] holds what all URLs share: the guard, the resolver, the trusted certificates, the timeout of an
//! attempt. It opens a [`ConnectionPool`] for each URL; the pool keeps connections alive between messages. A [`Post`]
//! is sent through a pool and results in a [`Reply`]: the final status, or the [`Fault`] that prevented it. What a
//! reply means (delivered, retry, dead) is decided elsewhere.
//!
//! A receiver is never trusted: redirects are not followed, the name is resolved and every address checked at each
//! connection, a response's head is limited in size and time, and its body is read only as far as needed to reuse the
//! connection.
//!
//! | module | what it is |
//! |---|---|
//! | `connect` | from a target to a stream of bytes: resolving, checking, TCP, TLS |
//! | `connection` | one connection, request after request |
//! | `connection_pool` | all connections to one URL |
//! | `lookup_limits` | limits how many names are looked up at once |
//! | `reply` | requests and their results |
//! | `shown_body`, `tls_words` | a response body, and the reason why TLS failed, as readable text |
//! | `inside` | a receiver in the same process, for runs without a network |

mod connect;
mod connection;
mod connection_pool;
mod inside;
mod lookup_limits;
mod reply;
mod shown_body;
mod tls_words;

pub use connect::Roots;
pub use connection_pool::ConnectionPool;
pub use inside::Receive;
pub use reply::{Fault, Post, Reply, RetryAfter};
pub use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::guard::{Guard, Resolve};
use daybook_store::records::OrgId;
use lookup_limits::LookupTurns;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::ClientConfig;

/// The `content-type` of every message.
pub const CONTENT_TYPE: &str = "application/json";
/// The `user-agent` of every message.
pub const USER_AGENT: &str = concat!("daybook/", env!("CARGO_PKG_VERSION"));

/// The names of headers, and constant values.
mod headers {
    use http::{HeaderName, HeaderValue};

    /// The number of headers of a message, including the length.
    pub const COUNT: usize = 8;
    pub const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
    pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
    pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
    pub const JSON: HeaderValue = HeaderValue::from_static(super::CONTENT_TYPE);
    pub const DAYBOOK: HeaderValue = HeaderValue::from_static(super::USER_AGENT);
}

/// How messages are sent.
#[derive(Clone, Debug)]
pub struct SenderSettings {
    /// Where URLs may point.
    pub guard: Guard,
    /// How long an attempt may take, from resolving the name to the end of the response's head. It starts when the turn
    /// to resolve the name has been granted.
    pub timeout: Duration,
    /// How long an idle connection is kept.
    pub idle_limit: Duration,
    /// The trusted certificate authorities.
    pub roots: Roots,
}

impl Default for SenderSettings {
    fn default() -> SenderSettings {
        SenderSettings {
            guard: Guard::default(),
            timeout: Duration::from_secs(15),
            idle_limit: Duration::from_secs(30),
            roots: Roots::System,
        }
    }
}

/// Opens connection pools. Clones share everything.
#[derive(Clone, Debug)]
pub struct Sender {
    shared: Arc<SenderState>,
}

#[derive(Debug)]
struct SenderState {
    guard: Guard,
    resolver: Arc<dyn Resolve>,
    tls: Arc<ClientConfig>,
    timeout: Duration,
    idle_limit: Duration,
    turns: LookupTurns,
    /// Gets all messages instead of their URLs, if set.
    inside: Option<Arc<dyn Receive>>,
}

impl SenderState {
    fn new(
        settings: SenderSettings,
        resolver: Arc<dyn Resolve>,
        inside: Option<Arc<dyn Receive>>,
    ) -> io::Result<SenderState> {
        let SenderSettings { guard, timeout, idle_limit, roots } = settings;
        let (tls, turns) = (connect::tls_config(roots)?, LookupTurns::default());
        Ok(SenderState { guard, resolver, tls, timeout, idle_limit, turns, inside })
    }
}

impl Sender {
    /// A sender with these settings. Reads the machine's root certificates if needed.
    pub fn new(settings: SenderSettings, resolver: Arc<dyn Resolve>) -> io::Result<Sender> {
        Ok(Sender { shared: Arc::new(SenderState::new(settings, resolver, None)?) })
    }

    /// A sender that passes everything to a receiver in this process, regardless of the URL. It opens no connection.
    pub fn inside(receiver: Arc<dyn Receive>) -> io::Result<Sender> {
        let settings = SenderSettings {
            guard: Guard { dev: true, networks: Vec::new() },
            roots: Roots::Only(Vec::new()),
            ..SenderSettings::default()
        };
        let resolver = Arc::new(crate::guard::System::default());
        Ok(Sender { shared: Arc::new(SenderState::new(settings, resolver, Some(receiver))?) })
    }

    /// The connection pool for a URL of an organization. If the URL is not (or no longer) allowed, every post through
    /// it reports that.
    pub fn pool_of(&self, org: OrgId, url: &str) -> ConnectionPool {
        ConnectionPool::new(self.clone(), org, url)
    }

    /// The connection pool for a URL of no organization in particular.
    pub fn pool(&self, url: &str) -> ConnectionPool {
        self.pool_of(0, url)
    }

    /// The rules for URLs.
    pub fn guard(&self) -> &Guard {
        &self.shared.guard
    }

    /// The resolver.
    pub fn resolver(&self) -> Arc<dyn Resolve> {
        self.shared.resolver.clone()
    }

    /// Checks a URL that a caller wants to subscribe.
    pub async fn check_at_subscribing(&self, url: &str) -> Result<(), crate::guard::UrlRefusal> {
        self.shared.guard.check_at_subscribing(url, &*self.shared.resolver).await
    }
}

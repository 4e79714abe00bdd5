//! Sending one message to one URL, over HTTP/1.1.
//!
//! A [`Sender`] has what all URLs share: the guard, the resolver, the certificates to trust, the time an attempt may
//! take. It opens a [`Door`] for each URL; the door keeps connections alive between messages. A [`Post`] goes out through
//! a door and a [`Reply`] comes back: the final status, or the [`Fault`] that kept it away. What a reply means (delivered,
//! try again, dead) is not decided here.
//!
//! A receiver is never trusted: redirects are not followed, the name is resolved and every address checked at each
//! connection, an answer's head is bounded in bytes and in time, its body is read only as far as it takes to use the
//! connection again.
//!
//! | module | what it is |
//! |---|---|
//! | `connect` | from a target to a stream of bytes: resolving, checking, TCP, TLS |
//! | `line` | one connection, request after request |
//! | `door` | all connections to one URL |
//! | `turns` | which names are looked up at once |
//! | `reply` | what goes out and what comes back |
//! | `shown_body`, `tls_words` | an answer's body, and why a connection is not secure, as people can read it |
//! | `inside` | a receiver in the same process, for runs without a network |

mod connect;
mod door;
mod inside;
mod line;
mod reply;
mod shown_body;
mod tls_words;
mod turns;

pub use connect::Roots;
pub use door::Door;
pub use inside::Receive;
pub use reply::{Fault, Post, Reply, RetryAfter};
pub use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::guard::{Guard, Resolve};
use daybook_store::records::OrgId;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::ClientConfig;
use turns::Turns;

/// What messages are, as every one says.
pub const CONTENT_TYPE: &str = "application/json";
/// Who sends them, as every one says.
pub const USER_AGENT: &str = concat!("daybook/", env!("CARGO_PKG_VERSION"));

/// The names of headers, and the values that never change.
mod headers {
    use http::{HeaderName, HeaderValue};

    /// How many headers a message has, with room for the length.
    pub const COUNT: usize = 8;
    pub const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
    pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
    pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
    pub const JSON: HeaderValue = HeaderValue::from_static(super::CONTENT_TYPE);
    pub const DAYBOOK: HeaderValue = HeaderValue::from_static(super::USER_AGENT);
}

/// How messages are sent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where URLs may point.
    pub guard: Guard,
    /// How long an attempt may take, from resolving the name to the end of the answer's head. It begins when its turn to
    /// resolve the name has come.
    pub timeout: Duration,
    /// How long a connection is kept that nothing is sent over.
    pub idle_limit: Duration,
    /// Whose certificates count.
    pub roots: Roots,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            guard: Guard::default(),
            timeout: Duration::from_secs(15),
            idle_limit: Duration::from_secs(30),
            roots: Roots::System,
        }
    }
}

/// Opens doors. Clones share everything.
#[derive(Clone, Debug)]
pub struct Sender {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    guard: Guard,
    resolver: Arc<dyn Resolve>,
    tls: Arc<ClientConfig>,
    timeout: Duration,
    idle_limit: Duration,
    turns: Turns,
    /// Who gets everything, if it is somebody in this process.
    inside: Option<Arc<dyn Receive>>,
}

impl Shared {
    fn new(settings: Settings, resolver: Arc<dyn Resolve>, inside: Option<Arc<dyn Receive>>) -> io::Result<Shared> {
        let Settings { guard, timeout, idle_limit, roots } = settings;
        let (tls, turns) = (connect::tls_config(roots)?, Turns::default());
        Ok(Shared { guard, resolver, tls, timeout, idle_limit, turns, inside })
    }
}

impl Sender {
    /// A sender with these settings. Reads the machine's root certificates if they are wanted.
    pub fn new(settings: Settings, resolver: Arc<dyn Resolve>) -> io::Result<Sender> {
        Ok(Sender { shared: Arc::new(Shared::new(settings, resolver, None)?) })
    }

    /// A sender that hands everything to a receiver in this process, whatever the URL. Nothing is connected to.
    pub fn inside(receiver: Arc<dyn Receive>) -> io::Result<Sender> {
        let settings = Settings {
            guard: Guard { dev: true, networks: Vec::new() },
            roots: Roots::Only(Vec::new()),
            ..Settings::default()
        };
        let resolver = Arc::new(crate::guard::System::default());
        Ok(Sender { shared: Arc::new(Shared::new(settings, resolver, Some(receiver))?) })
    }

    /// The door for a URL of an organization. If the URL is not allowed (any more), every post through it says so.
    pub fn door_of(&self, org: OrgId, url: &str) -> Door {
        Door::new(self.clone(), org, url)
    }

    /// The door for a URL of no organization in particular.
    pub fn door(&self, url: &str) -> Door {
        self.door_of(0, url)
    }

    /// The rules for URLs.
    pub fn guard(&self) -> &Guard {
        &self.shared.guard
    }

    /// Who finds addresses of names.
    pub fn resolver(&self) -> Arc<dyn Resolve> {
        self.shared.resolver.clone()
    }

    /// Checks a URL that somebody wants to subscribe.
    pub async fn check_at_subscribing(&self, url: &str) -> Result<(), crate::guard::Refusal> {
        self.shared.guard.check_at_subscribing(url, &*self.shared.resolver).await
    }
}

//! Where a webhook URL may point.
//!
//! A caller that subscribes a URL makes this machine send requests to it, from inside its network. The [`Guard`] keeps
//! those requests on the public internet. It checks three times: when a URL is subscribed
//! ([`Guard::check_at_subscribing`], so that callers learn of a mistake at once), when a sender opens a connection pool
//! ([`Guard::check_url`]: settings may have changed since) and at every connection, for each address that the name has
//! at that moment ([`Guard::check_address`]: a name may resolve differently by then). A connection is made to the
//! address that was checked, never to the name.
//!
//! | module | what it is |
//! |---|---|
//! | `address` | which addresses are public; IPv4 inside IPv6 |
//! | `network` | networks that the operator allows |
//! | `normal` | one spelling for each URL |
//! | `refusal` | why a URL is rejected, as text |
//! | `resolve`, `machine` | resolves names to addresses; the machine's files that it uses |

mod address;
mod machine;
mod network;
mod normal;
mod refusal;
mod resolve;

pub use address::AddressKind;
pub use network::{Network, NoNetwork};
pub use normal::normal_form;
pub use refusal::UrlRefusal;
pub use resolve::{LookupLimits, NAME_SERVER_PORT, Resolve, System};

use http::{HeaderValue, Uri};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use url::Url;

/// The longest URL that may be subscribed.
pub const MOST_URL_BYTES: usize = 2_048;
/// How long subscribing waits for a name's addresses.
pub const SUBSCRIBING_LIMIT: Duration = Duration::from_secs(2);

/// The rules for URLs. By default: only https to public addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Whether loopback addresses and plain http are allowed, for development.
    pub dev: bool,
    /// Networks that are allowed although they are not public, also with plain http.
    pub networks: Vec<Network>,
}

/// A checked URL, split into the parts that sending needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedUrl {
    /// Whether it is https.
    pub is_tls: bool,
    /// The host to connect to.
    pub host: Host,
    /// The port to connect to.
    pub port: u16,
    /// The path and the query, as they appear in a request.
    pub uri: Uri,
    /// The `host` header: includes the port unless it is the scheme's default.
    pub authority: HeaderValue,
}

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name to resolve at each connection.
    Name(String),
    /// An address, in whatever spelling it was given.
    Address(IpAddr),
}

impl Guard {
    /// Splits a URL and checks what can be checked without a resolver.
    pub fn check_url(&self, text: &str) -> Result<CheckedUrl, UrlRefusal> {
        let target = take_apart(&parsed(text)?)?;
        match &target.host {
            Host::Address(address) => self.check_address(*address, target.is_tls)?,
            Host::Name(name) => self.check_name(name, target.is_tls)?,
        }
        Ok(target)
    }

    /// Checks an address before a connection to it.
    pub fn check_address(&self, address: IpAddr, is_tls: bool) -> Result<(), UrlRefusal> {
        let reached = address::reached(address);
        if self.networks.iter().any(|network| network.contains(reached)) {
            return Ok(());
        }
        if let Some(kind) = address::kind(reached)
            && !(self.dev && kind == AddressKind::Loopback)
        {
            return Err(UrlRefusal::Address { address, kind });
        }
        if is_tls || self.dev { Ok(()) } else { Err(UrlRefusal::PlainHttp) }
    }

    /// Checks a name. Its addresses are checked when they are known; this only rejects names that can never be allowed.
    fn check_name(&self, name: &str, is_tls: bool) -> Result<(), UrlRefusal> {
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        if resolve::is_localhost(name) && loopback.iter().all(|address| self.check_address(*address, is_tls).is_err()) {
            return Err(UrlRefusal::Localhost(name.to_owned()));
        }
        let plain_may_be_right = self.dev || !self.networks.is_empty();
        if is_tls || plain_may_be_right { Ok(()) } else { Err(UrlRefusal::PlainHttp) }
    }

    /// Checks a URL that a caller wants to subscribe, with the addresses that its name has now. A name without
    /// addresses is accepted: it may exist before the first message, and is checked again then.
    pub async fn check_at_subscribing(&self, text: &str, resolver: &dyn Resolve) -> Result<(), UrlRefusal> {
        let target = self.check_url(text)?;
        let Host::Name(name) = &target.host else { return Ok(()) };
        let lookup = resolver.addresses(name, target.port);
        let Ok(Ok(addresses)) = tokio::time::timeout(SUBSCRIBING_LIMIT, lookup).await else { return Ok(()) };
        addresses.iter().try_for_each(|address| self.check_address(address.ip(), target.is_tls))
    }
}

/// Parses a URL as browsers do, within our limits.
fn parsed(text: &str) -> Result<Url, UrlRefusal> {
    if text.len() > MOST_URL_BYTES {
        return Err(UrlRefusal::TooLong);
    }
    // The parser would silently drop some of them.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(UrlRefusal::Blank);
    }
    Url::parse(text).map_err(UrlRefusal::NotAUrl)
}

/// The parts of a URL that sending needs.
fn take_apart(url: &Url) -> Result<CheckedUrl, UrlRefusal> {
    let is_tls = match url.scheme() {
        "https" => true,
        "http" => false,
        other => return Err(UrlRefusal::Scheme(other.to_owned())),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefusal::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(UrlRefusal::Fragment);
    }
    let (host, host_text) = match (url.host(), url.host_str()) {
        (Some(url::Host::Domain(name)), Some(text)) if !name.is_empty() => (Host::Name(name.to_owned()), text),
        (Some(url::Host::Ipv4(address)), Some(text)) => (Host::Address(address.into()), text),
        (Some(url::Host::Ipv6(address)), Some(text)) => (Host::Address(address.into()), text),
        _ => return Err(UrlRefusal::NoHost),
    };
    let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(UrlRefusal::Port)?;
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let authority = match url.port() {
        Some(port) => format!("{host_text}:{port}"),
        None => host_text.to_owned(),
    };
    Ok(CheckedUrl {
        is_tls,
        host,
        port,
        uri: Uri::try_from(path).map_err(|_| UrlRefusal::Path)?,
        authority: HeaderValue::try_from(authority).map_err(|_| UrlRefusal::NoHost)?,
    })
}

#[cfg(test)]
mod tests;

//! Handles proxies in front of the server: the client's address, and whether it used http or https.
//!
//! A proxy writes the client's address into headers, but so can anyone. They are trusted only from the proxies in the
//! settings, and removed from all other requests. The rest of the server sees the client's address and one header,
//! `X-Forwarded-Proto`, which the listener sets.

use crate::config::Settings;
use crate::config::values::Network;
use axum::http::header::{FORWARDED, STRICT_TRANSPORT_SECURITY};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::net::{IpAddr, SocketAddr};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const TOLD_BY_PROXIES: [HeaderName; 5] = [
    FORWARDED,
    FORWARDED_FOR,
    FORWARDED_PROTO,
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-real-ip"),
];
/// Makes browsers use only https, for a year.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The proxies in front of the server.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// Networks of trusted proxies.
    pub proxies: Vec<Network>,
    /// Whether the public URL is https.
    pub is_https_only: bool,
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The client's address; the port is 0 if a proxy reported it.
    pub client: SocketAddr,
    /// Whether the request was sent by a proxy.
    pub is_by_proxy: bool,
}

impl Front {
    /// Reads the settings.
    pub fn of(settings: &Settings) -> Front {
        let is_https_only = settings.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
        Front { proxies: settings.trust_proxies.clone(), is_https_only }
    }

    /// Whether an address belongs to a trusted proxy.
    pub fn is_proxy(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.proxies.iter().any(|network| network.contains(address))
    }

    /// Determines the origin of a request and removes untrusted headers.
    pub fn receive(&self, peer: SocketAddr, is_tls: bool, headers: &mut HeaderMap) -> Arrival {
        let is_by_proxy = self.is_proxy(peer.ip());
        let client = if is_by_proxy { self.client(peer.ip(), headers) } else { None };
        let is_https = if is_by_proxy { is_https_before(headers).unwrap_or(is_tls) } else { is_tls };
        for name in TOLD_BY_PROXIES {
            headers.remove(name);
        }
        if is_https {
            headers.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
        }
        Arrival { client: client.map_or(peer, |client| SocketAddr::new(client, 0)), is_by_proxy }
    }

    /// Adds the headers for browsers to a response.
    pub fn send(&self, headers: &mut HeaderMap) {
        if self.is_https_only {
            headers.insert(STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
        }
    }

    /// The client that a proxy reports. A proxy writes one of the two headers and may pass on the other as sent by a
    /// client: if they name different clients, neither is trusted.
    fn client(&self, proxy: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let listed = elements(headers, &FORWARDED_FOR).iter().map(|text| address(text)).collect();
        let listed = self.nearest_stranger(proxy, listed);
        // Each element is a hop. A hop without `for` has an unknown address (RFC 7239, section 4).
        let described = elements(headers, &FORWARDED);
        let described = described.iter().map(|element| address(parameter(element, "for")?)).collect();
        let described = self.nearest_stranger(proxy, described);
        match (listed, described) {
            (Some(one), Some(other)) if one != other => None,
            (one, other) => one.or(other),
        }
    }

    /// Proxies append to the list, so the client is the last address that is not a trusted proxy. Addresses before it
    /// may be forged by the client. If an entry is not an address, the hop after it is the last known one.
    fn nearest_stranger(&self, proxy: IpAddr, hops: Vec<Option<IpAddr>>) -> Option<IpAddr> {
        let mut nearest = None;
        for hop in hops.into_iter().rev() {
            let Some(hop) = hop else { return Some(nearest.unwrap_or(proxy)) };
            nearest = Some(hop);
            if !self.is_proxy(hop) {
                break;
            }
        }
        nearest
    }
}

/// The elements of a header that lists values, in all its lines; none if all lines are empty. Bytes that are not text
/// make an element unreadable; they do not hide it.
fn elements(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let lines = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let lines: Vec<_> = lines.collect();
    if lines.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    lines.iter().flat_map(|line| line.split(',')).map(str::to_owned).collect()
}

/// Whether the nearest proxy was reached by https.
fn is_https_before(headers: &HeaderMap) -> Option<bool> {
    let listed = elements(headers, &FORWARDED_PROTO).pop();
    let described = || parameter(&elements(headers, &FORWARDED).pop()?, "proto").map(str::to_owned);
    let proto = listed.or_else(described)?;
    Some(proto.trim().eq_ignore_ascii_case("https"))
}

/// The value of a parameter in an element of `Forwarded`: `for=192.0.2.7;proto=https`. A parameter that is given twice,
/// which is not allowed, has no value.
fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(known, _)| known.trim().eq_ignore_ascii_case(name));
    let (_, value) = found.next()?;
    found.next().is_none().then(|| value.trim().trim_matches('"'))
}

/// An address with or without a port; an IPv6 address may be in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let alone = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    alone.parse::<IpAddr>().ok().or_else(with_port).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::values::network;

    fn front() -> Front {
        let proxies = ["10.0.0.0/8", "fd00::/8"].map(|text| network(text).expect("a network")).into();
        Front { proxies, is_https_only: false }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        headers
    }

    fn came(peer: &str, pairs: &[(&'static str, &str)]) -> (String, bool) {
        let mut headers = headers(pairs);
        let peer = SocketAddr::new(peer.parse().expect("an address"), 7);
        let arrival = front().receive(peer, false, &mut headers);
        let is_https = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
        assert!(headers.len() <= usize::from(is_https), "{headers:?}");
        (arrival.client.ip().to_string(), is_https)
    }

    /// The peer, the headers of the request, and the expected client.
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);

    #[test]
    fn a_client_is_as_its_nearest_proxy_says() {
        let cases: [Case; 23] = [
            ("192.0.2.1", &[("x-forwarded-for", "198.51.100.7")], "192.0.2.1"),
            ("192.0.2.1", &[("forwarded", "for=198.51.100.7")], "192.0.2.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "198.51.100.7")], "198.51.100.7"),
            ("10.0.0.1", &[("x-forwarded-for", "203.0.113.9, 198.51.100.7")], "198.51.100.7"),
            ("10.0.0.1", &[("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "198.51.100.7")], "198.51.100.7"),
            ("10.0.0.1", &[("x-forwarded-for", "203.0.113.9, 198.51.100.7, 10.2.3.4")], "198.51.100.7"),
            ("10.0.0.1", &[("x-forwarded-for", "10.2.3.4")], "10.2.3.4"),
            ("10.0.0.1", &[("x-forwarded-for", "198.51.100.7, unknown")], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "2001:db8::7")], "2001:db8::7"),
            ("fd00::1", &[("forwarded", "for=\"[2001:db8::7]:4711\";proto=https")], "2001:db8::7"),
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9, For=198.51.100.7:80;by=10.0.0.1")], "198.51.100.7"),
            ("10.0.0.1", &[("x-forwarded-for", "198.51.100.7"), ("forwarded", "for=203.0.113.9")], "10.0.0.1"),
            // An element without `for` is a hop of unknown address; the client may have written those before it.
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9, proto=https")], "10.0.0.1"),
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9"), ("forwarded", "by=10.0.0.1;proto=https")], "10.0.0.1"),
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9, proto=https, for=10.2.3.4")], "10.2.3.4"),
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9;proto=http, for=unknown")], "10.0.0.1"),
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9, for=_hidden;proto=https")], "10.0.0.1"),
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9, ")], "10.0.0.1"),
            ("10.0.0.1", &[("forwarded", "for=203.0.113.9;for=198.51.100.7")], "10.0.0.1"),
            ("10.0.0.1", &[("forwarded", "proto=https, for=198.51.100.7")], "198.51.100.7"),
            ("10.0.0.1", &[("x-forwarded-for", "203.0.113.9"), ("forwarded", "proto=https")], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "198.51.100.7"), ("forwarded", "")], "198.51.100.7"),
        ];
        for (peer, pairs, expected) in cases {
            assert_eq!(came(peer, pairs).0, expected, "{peer} {pairs:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_hide_nothing() {
        let from = |listed: &[u8]| {
            let mut headers = headers(&[("forwarded", "for=203.0.113.9")]);
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(listed).expect("a value"));
            front().receive(SocketAddr::new([10, 0, 0, 1].into(), 7), false, &mut headers).client.ip().to_string()
        };
        assert_eq!(from(b"\xff, 198.51.100.7"), "10.0.0.1", "the headers name different clients");
        assert_eq!(from(b"\xff"), "10.0.0.1", "and so here");
        assert_eq!(from(b"\xff, 203.0.113.9"), "203.0.113.9");
    }

    #[test]
    fn https_is_as_a_proxy_says_and_as_nobody_else_does() {
        assert!(!came("192.0.2.1", &[("x-forwarded-proto", "https")]).1);
        assert!(came("10.0.0.1", &[("x-forwarded-proto", "https")]).1);
        assert!(came("10.0.0.1", &[("forwarded", "for=192.0.2.7;proto=https")]).1);
        assert!(!came("10.0.0.1", &[("x-forwarded-proto", "https, http")]).1);
        let (mut none, peer) = (HeaderMap::new(), SocketAddr::new([192, 0, 2, 1].into(), 7));
        front().receive(peer, true, &mut none);
        assert_eq!(none.get("x-forwarded-proto").expect("TLS is https"), "https");
    }
}

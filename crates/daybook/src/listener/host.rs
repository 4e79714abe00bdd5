//! Refuses HTTP/1.1 requests that do not name their host, or name it in more than one way.
//!
//! RFC 9112, section 3.2: such a request gets 400. Otherwise a proxy and this server could act on different
//! hosts for one request. The header is examined as it arrived: later, the listener sets `Host` from the target
//! of the request where there is none ([`super::request_handler`]). HTTP/1.0 has no such rule, and HTTP/2 has its own
//! field.

use super::refusal;
use axum::Router;
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{self, HeaderMap, StatusCode, Version};
use axum::middleware::{Next, from_fn};
use axum::response::Response;

/// Marks a request that is to be refused. The sentence says why.
#[derive(Clone, Copy, Debug)]
struct BadHost(&'static str);

/// Examines a request before anything changes its headers.
pub fn examine<B>(request: &mut http::Request<B>) {
    if request.version() == Version::HTTP_11
        && let Some(bad) = fault(request.headers())
    {
        request.extensions_mut().insert(bad);
    }
}

fn fault(headers: &HeaderMap) -> Option<BadHost> {
    let mut hosts = headers.get_all(HOST).iter();
    let Some(host) = hosts.next() else { return Some(BadHost("the request has no Host header")) };
    if hosts.next().is_some() {
        return Some(BadHost("the request has more than one Host header"));
    }
    // An empty value is allowed: it names no host.
    let is_host =
        host.is_empty() || host.to_str().is_ok_and(|host| !host.contains('@') && host.parse::<Authority>().is_ok());
    (!is_host).then_some(BadHost("the Host header is not a host with an optional port"))
}

/// A router that answers marked requests with 400.
pub fn refuse_bad(router: Router) -> Router {
    router.layer(from_fn(async |request: Request, next: Next| -> Response {
        match request.extensions().get::<BadHost>() {
            Some(BadHost(sentence)) => refusal(StatusCode::BAD_REQUEST, "malformed_request", sentence),
            None => next.run(request).await,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn is_refused(version: Version, hosts: &[&'static str]) -> bool {
        let mut request = http::Request::builder().version(version).body(()).expect("a request");
        for host in hosts {
            request.headers_mut().append(HOST, HeaderValue::from_static(host));
        }
        examine(&mut request);
        request.extensions().get::<BadHost>().is_some()
    }

    #[test]
    fn a_request_names_one_host() {
        let good =
            ["books.example.com", "books.example.com:8443", "127.0.0.1:8080", "[::1]:8080", "my_service", "x", ""];
        for host in good {
            assert!(!is_refused(Version::HTTP_11, &[host]), "{host}");
        }
        let bad: [&[&str]; 7] = [&[], &["x", "x"], &["x", "y"], &["a b"], &["user@x"], &["x/path"], &["x, y"]];
        for hosts in bad {
            assert!(is_refused(Version::HTTP_11, hosts), "{hosts:?}");
        }
        assert!(!is_refused(Version::HTTP_10, &[]));
        assert!(!is_refused(Version::HTTP_2, &[]));
    }
}

//! The addresses of a server: for callers, for operators, and for commands on the same machine.
//!
//! | listener | when | what it serves |
//! |---|---|---|
//! | `--listen` | always | everything; without metrics and control if `--admin-listen` is set |
//! | `--admin-listen` | if set | metrics, control, health |
//! | a free port on loopback | with TLS, on SQLite | everything, in plain HTTP, for commands on the same machine |

use super::{Failure, control};
use crate::config::Settings;
use crate::listener::tls::Tls;
use crate::listener::{self, HttpServer, Site};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use daybook_clock::{Clock, System};
use daybook_operations::Operation;
use daybook_service::Service;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Paths that only `--admin-listen` serves, if it is set.
const APART: [&str; 2] = [Operation::Metrics.path(), control::PATH];
/// Paths that `--admin-listen` serves in addition.
const HEALTH: [&str; 2] = [Operation::Healthz.path(), Operation::Readyz.path()];

/// The bound listeners.
#[derive(Debug)]
pub struct Listeners {
    main: (TcpListener, SocketAddr),
    admin: Option<(TcpListener, SocketAddr)>,
    local: Option<(TcpListener, SocketAddr)>,
    tls: Option<Arc<Tls>>,
}

impl Listeners {
    /// Reads the certificate and binds every port.
    pub fn open(settings: &Settings) -> Result<Listeners, Failure> {
        let tls = certificate(settings)?.map(Arc::new);
        if let Some(tls) = &tls {
            tls.warn_of_dates(System.now());
        }
        let main = listen(settings.listen)?;
        let admin = settings.admin_listen.map(listen).transpose()?;
        let needs_local = tls.is_some() && settings.sqlite_path().is_some();
        let local = needs_local.then(|| listen((Ipv4Addr::LOCALHOST, 0).into())).transpose()?;
        Ok(Listeners { main, admin, local, tls })
    }

    /// The address for callers.
    pub fn address(&self) -> SocketAddr {
        self.main.1
    }

    /// The certificate, if there is one.
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    /// The URL for callers.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.tls.is_some() { "https" } else { "http" }, self.main.1)
    }

    /// The URLs for commands on the same machine: of the API, and of the control endpoint.
    pub fn urls_of_commands(&self) -> (String, String) {
        let url = |address: SocketAddr| format!("http://{}", control::reachable(address));
        let calls = self.local.as_ref().map_or(self.main.1, |(_, address)| *address);
        let orders = self.admin.as_ref().map_or(calls, |(_, address)| *address);
        (url(calls), url(orders))
    }

    /// Serves all listeners until the server closes.
    pub async fn serve(self, http_server: Arc<HttpServer>, router: Router, closing: watch::Receiver<bool>) {
        let keeping_up = self.tls.clone().map(|tls| tokio::spawn(tls.keep_up()));
        let shown = if self.admin.is_some() { without_apart(router.clone()) } else { router.clone() };
        let plain = |router| Site { router, tls: None };
        let mut serving = tokio::task::JoinSet::new();
        if let Some((listener, _)) = self.admin {
            serving.spawn(http_server.clone().serve(listener, plain(apart_alone(router.clone())), closing.clone()));
        }
        if let Some((listener, _)) = self.local {
            serving.spawn(http_server.clone().serve(listener, plain(router), closing.clone()));
        }
        serving.spawn(http_server.serve(self.main.0, Site { router: shown, tls: self.tls }, closing));
        serving.join_all().await;
        if let Some(keeping_up) = keeping_up {
            keeping_up.abort();
        }
    }
}

/// Reads the certificate and its key, if they are set.
pub fn certificate(settings: &Settings) -> Result<Option<Tls>, Failure> {
    match (&settings.tls_cert, &settings.tls_key) {
        (Some(cert), Some(key)) => Tls::load(cert, key).map(Some).map_err(Failure::Failed),
        _ => Ok(None),
    }
}

/// Takes a port.
pub fn listen(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    listener::listen(wanted).map_err(|error| Failure::Failed(format!("cannot listen on {wanted}: {error}")))
}

/// The router without the administrative paths.
fn without_apart(router: Router) -> Router {
    router.layer(from_fn(async |request: Request, next: Next| {
        if APART.contains(&request.uri().path()) { no_such_page(&request) } else { next.run(request).await }
    }))
}

/// The administrative paths and health only.
fn apart_alone(router: Router) -> Router {
    router.layer(from_fn(async |request: Request, next: Next| {
        let is_there = [APART, HEALTH].concat().contains(&request.uri().path());
        if is_there { next.run(request).await } else { no_such_page(&request) }
    }))
}

fn no_such_page(request: &Request) -> Response {
    let sentence = format!("there is no page \"{}\" here", request.uri().path());
    listener::refusal(StatusCode::NOT_FOUND, "not_found", &sentence)
}

/// Whether other machines reach the server at an address, and neither TLS nor a trusted proxy protects it.
pub fn is_readable(settings: &Settings, address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback() && settings.tls_cert.is_none() && settings.trust_proxies.is_empty()
}

/// Whether other machines reach the server, directly or through a proxy, and links in the console begin with the host
/// that a request names.
pub fn has_links_by_host(settings: &Settings, address: SocketAddr) -> bool {
    let is_reachable = !address.ip().to_canonical().is_loopback() || !settings.trust_proxies.is_empty();
    is_reachable && settings.public_url.is_none()
}

/// Warns if invites of the console begin with the host that a request names.
pub fn warn_of_links_by_host(settings: &Settings, address: SocketAddr) {
    if has_links_by_host(settings, address) {
        tracing::warn!(
            %address,
            "other machines reach the server, and invite links begin with the host that a request names: set public-url"
        );
    }
}

/// Warns if LIVE loans are served unencrypted to a network.
pub async fn warn_if_readable(settings: &Settings, service: &Service, address: SocketAddr) -> Result<(), Failure> {
    if is_readable(settings, address) && service.organizations().await?.iter().any(|one| one.environment == "LIVE") {
        tracing::warn!(
            %address,
            "a LIVE organization is served to other machines without TLS: set tls-cert and tls-key, or trust-proxy"
        );
    }
    Ok(())
}

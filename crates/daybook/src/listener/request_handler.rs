//! Handles one request of a connection, from the parser to the router and back.

use super::HttpServer;
use super::bodies::{Fate, Missing, RequestBody};
use super::connection::Connection;
use super::connection_slots::{ClientNetwork, SlotKind};
use super::front::Arrival;
use super::metrics::Refused;
use super::sending::ResponseBody;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, COOKIE, HOST, RETRY_AFTER};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use daybook_operations::Operation;
use daybook_service::budget::{BODIES, BudgetHolder, CallMemory, Full, RESPONSES, Reservation, SharedMemory};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Incoming};
use serde_json::json;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tower::Service;

/// The paths that reserve connections may request.
const HEALTH_PATHS: [&str; 3] = [Operation::Healthz.path(), Operation::Readyz.path(), Operation::Metrics.path()];
/// The bytes of a refused body that are read, and for how long, so that the sender reads the response.
const REFUSED_BODY_BYTES: usize = 1 << 20;
const REFUSED_BODY_PATIENCE: Duration = Duration::from_secs(2);
/// The most that counts of a response whose bytes are in shared memory.
const SHARED_RESPONSE_BYTES: usize = 1 << 10;

const TOO_MANY_OF_ADDRESS: &str = "too many connections from this address are in use; retry in a moment";
const TOO_MANY: &str = "the server has reached its maximum number of connections; retry in a moment";

/// Handles the requests of one connection.
#[derive(Clone, Debug)]
pub struct RequestHandler {
    /// The listener that accepted it.
    pub http_server: Arc<HttpServer>,
    /// The connection.
    pub connection: Arc<Connection>,
    /// Whether the connection is within the caps or in the reserve.
    pub kind: SlotKind,
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_tls: bool,
    /// Whether a request stated its length in two ways.
    pub is_ambiguous: Arc<AtomicBool>,
    /// The router.
    pub router: Router,
}

/// The connection was closed before its request began.
#[derive(Debug)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was closed")
    }
}

impl std::error::Error for Closed {}

impl RequestHandler {
    /// Handles a request.
    pub async fn answer(self, request: Request<Incoming>) -> Result<Response<ResponseBody>, Closed> {
        let has_body = !request.body().is_end_stream();
        if !self.connection.begin(has_body, self.http_server.now()) {
            return Err(Closed);
        }
        let (mut parts, body) = request.into_parts();
        let (version, is_read) = (parts.version, parts.method.is_safe());
        let arrival = self.http_server.front.receive(self.peer, self.is_tls, &mut parts.headers);
        let holder = BudgetHolder::Address(ClientNetwork::of(arrival.client.ip()).address());
        let memory = CallMemory::new(&self.http_server.bodies, &self.http_server.responses, holder);
        // The API and the console count an authenticated call for its organization.
        parts.extensions.insert(memory.clone());
        let has_credentials = [AUTHORIZATION, COOKIE].iter().any(|name| parts.headers.contains_key(name));
        let (fate, patience) = (Fate::default(), self.http_server.limits.body_timeout);
        let body = RequestBody::new(body, self.connection.clone(), patience, fate.clone(), memory.body.clone());
        let request = Request::from_parts(parts, body);
        let is_ambiguous = self.is_ambiguous.load(Relaxed);
        let is_health_check = is_health_check(&request);
        let mut response = match self.refusal(is_health_check, has_credentials, &memory.response) {
            _ if is_ambiguous => ambiguous(),
            Some((refused, sentence)) => {
                memory.body.discard();
                self.refuse(refused, &sentence, request.into_body()).await
            }
            None => self.pass_on(request, arrival, &memory.response).await,
        };
        match fate.missing() {
            Some(Missing::Late) => {
                self.http_server.metrics.body_late();
                response = late(patience);
            }
            // If the response reaches the caller, it tells the caller to retry.
            Some(Missing::Closed) => response = made_room(),
            Some(Missing::Full) => response = self.without_room(response, &memory.body),
            None => {}
        }
        // The call's work with its body is done.
        drop(memory.body);
        let unsent = memory.response;
        // A call that was refused for its unsent responses is not refused, and not counted, a second time.
        let is_refused = unsent.refused().is_some();
        let may_drop = !is_health_check && !is_refused && (is_read || response.status().is_client_error());
        let mut response = self.count(response, &unsent, may_drop);
        self.http_server.front.send(response.headers_mut());
        let is_cut_off = matches!(fate.missing(), Some(Missing::Late | Missing::Closed));
        let is_last = self.kind != SlotKind::Regular || is_ambiguous || is_cut_off;
        if is_last && version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let clock = self.http_server.clock;
        Ok(response.map(|body| ResponseBody::new(body, self.connection, unsent, clock)))
    }

    async fn pass_on(&self, request: Request<RequestBody>, arrival: Arrival, memory: &Reservation) -> Response<Body> {
        let mut request = request.map(Body::new);
        let mut _counted = None;
        if arrival.is_by_proxy {
            match self.http_server.clients.admit(arrival.client.ip()) {
                Some(counted) => _counted = Some(counted),
                None => return self.too_many(Refused::Address, TOO_MANY_OF_ADDRESS),
            }
        }
        name_host(&mut request);
        request.extensions_mut().insert(ConnectInfo(arrival.client));
        let Ok(response) = self.router.clone().call(request).await;
        match memory.refused() {
            // The organization of the call does not read its responses.
            Some(full) => self.too_many(Refused::Responses, &full.sentence(RESPONSES)),
            None => response,
        }
    }

    /// Why a request is refused before it begins, and the error message. A request with credentials is checked when it
    /// is authenticated.
    fn refusal(&self, is_health_check: bool, has_credentials: bool, unsent: &Reservation) -> Option<(Refused, String)> {
        if is_health_check {
            return None;
        }
        match self.kind {
            SlotKind::Reserve(Refused::Address) => Some((Refused::Address, TOO_MANY_OF_ADDRESS.to_owned())),
            SlotKind::Reserve(refused) => Some((refused, TOO_MANY.to_owned())),
            SlotKind::Regular if has_credentials => None,
            SlotKind::Regular => {
                let full = unsent.check().err()?;
                Some((Refused::Responses, full.sentence(RESPONSES)))
            }
        }
    }

    async fn refuse(&self, refused: Refused, sentence: &str, body: RequestBody) -> Response<Body> {
        // Reads the body, however much arrives: a response sent before the body is read may not reach the caller.
        let mut body = Limited::new(body, REFUSED_BODY_BYTES);
        let read = async { while let Some(Ok(_)) = body.frame().await {} };
        let _ = tokio::time::timeout(REFUSED_BODY_PATIENCE, read).await;
        self.too_many(refused, sentence)
    }

    fn too_many(&self, refused: Refused, sentence: &str) -> Response<Body> {
        self.http_server.metrics.refused(refused, self.http_server.now());
        come_again(sentence)
    }

    /// The response to a call whose body is too large or does not fit into the budget: the API's own, or one in its
    /// place.
    fn without_room(&self, response: Response<Body>, body: &Reservation) -> Response<Body> {
        let Some(full) = body.refused() else { return response };
        let sentence = full.sentence(BODIES);
        let in_its_place = if matches!(full, Full::Body(_)) {
            refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &sentence)
        } else {
            self.http_server.metrics.refused(Refused::Bodies, self.http_server.now());
            come_again(&sentence)
        };
        if response.status() == in_its_place.status() { response } else { in_its_place }
    }

    /// Counts the memory of a response until it is sent. A response that only shows something, or reports that nothing
    /// was done, is dropped if it does not fit; one that reports a change is always sent.
    fn count(&self, response: Response<Body>, unsent: &Reservation, may_drop: bool) -> Response<Body> {
        let bytes = |response: &Response<Body>| {
            let length = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
            let is_shared = response.extensions().get::<SharedMemory>().is_some();
            length.unwrap_or_default().min(if is_shared { SHARED_RESPONSE_BYTES } else { usize::MAX })
        };
        if may_drop && let Err(full) = unsent.take(bytes(&response)) {
            drop(response);
            let refusal = self.too_many(Refused::Responses, &full.sentence(RESPONSES));
            unsent.take_anyway(bytes(&refusal));
            return refusal;
        }
        if !may_drop {
            unsent.take_anyway(bytes(&response));
        }
        response
    }
}

/// Whether reserve connections may make this request.
fn is_health_check(request: &Request<RequestBody>) -> bool {
    [Method::GET, Method::HEAD].contains(request.method()) && HEALTH_PATHS.contains(&request.uri().path())
}

fn made_room() -> Response<Body> {
    come_again("the connection was closed before its request arrived, to make room for others; nothing was changed")
}

fn come_again(sentence: &str) -> Response<Body> {
    let mut response = refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// HTTP/2 sends the host with the path; the routers read it from the `Host` header.
fn name_host(request: &mut Request<Body>) {
    let host = request.uri().authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
    if let (None, Some(host)) = (request.headers().get(HOST), host) {
        request.headers_mut().insert(HOST, host);
    }
}

fn ambiguous() -> Response<Body> {
    let sentence = "the request has both Content-Length and Transfer-Encoding: send only one of them";
    refusal(StatusCode::BAD_REQUEST, "malformed_request", sentence)
}

fn late(patience: Duration) -> Response<Body> {
    let sentence = format!("the body did not arrive within {patience:?}; nothing was changed");
    refusal(StatusCode::REQUEST_TIMEOUT, "malformed_request", &sentence)
}

/// A response in the error format of the API.
pub fn refusal(status: StatusCode, code: &str, sentence: &str) -> Response<Body> {
    let help_url = format!("/docs/errors/{code}");
    let error = json!({ "code": code, "message": sentence, "details": [], "help_url": help_url });
    let mut response = Response::new(Body::from(json!({ "error": error }).to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

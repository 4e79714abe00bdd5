//! Wraps every call: its limits, its id, its log line, its metrics.
//!
//! ```text
//! request ─► request id ─► stopwatch ─► time limit ─► panics caught ─► handler ─► response
//!                                                                                     │
//!                       one log line, metrics, x-request-id, security headers ◄───────┘
//! ```
//!
//! A log line states what was called, by which key, and the result. It never contains a body, a query or a credential.

use crate::Api;
use crate::error::{Refusal, Unforeseen};
use crate::leftover::Leftover;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use daybook_clock::Stopwatch;
use daybook_metrics::Families;
use daybook_service::ids::mint_id;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The header that identifies a call.
pub const REQUEST_ID: &str = "x-request-id";
/// The longest id that a caller may give a call.
const LONGEST_REQUEST_ID: usize = 128;
/// The most keys whose calls are counted; beyond that, idle ones are dropped.
const MOST_BUCKETS: usize = 10_000;

/// Further metrics that the API shows with its own.
#[derive(Clone)]
pub struct ExtraMetrics(pub Arc<dyn Fn() -> Families + Send + Sync>);

impl fmt::Debug for ExtraMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExtraMetrics")
    }
}

/// Limits of the API.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// How many calls per second each key may make; `None` for no limit.
    pub rate_limit_per_second: Option<u32>,
    /// The largest body.
    pub body_limit_bytes: usize,
    /// The largest body of `/bulk`.
    pub bulk_limit_bytes: usize,
    /// How long a call may take.
    pub timeout: Duration,
    /// Metrics of the surrounding server, for `/metrics`.
    pub extra_metrics: Option<ExtraMetrics>,
}

impl Default for ApiSettings {
    fn default() -> ApiSettings {
        ApiSettings {
            rate_limit_per_second: None,
            body_limit_bytes: 1 << 20,
            bulk_limit_bytes: 16 << 20,
            timeout: Duration::from_secs(60),
            extra_metrics: None,
        }
    }
}

/// The context of a call while it runs.
#[derive(Clone, Debug)]
pub struct Context(Arc<(String, OnceLock<String>)>);

impl Context {
    fn new(headers: &HeaderMap) -> Context {
        let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(|id| is_sane(id));
        Context(Arc::new((given.map_or_else(|| mint_id("req"), str::to_owned), OnceLock::new())))
    }

    /// Stores the key that made the call.
    pub fn called_by(&self, client_id: &str) {
        self.0.1.get_or_init(|| client_id.to_owned());
    }

    /// The id of the call.
    pub fn request_id(&self) -> &str {
        &self.0.0
    }

    fn client_id(&self) -> &str {
        self.0.1.get().map_or("", String::as_str)
    }
}

fn is_sane(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:~-".contains(&byte);
    (1..=LONGEST_REQUEST_ID).contains(&id.len()) && id.bytes().all(is_plain)
}

/// Runs a call within its limits, and logs it.
pub async fn around(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let watch = Stopwatch::start();
    let context = Context::new(request.headers());
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map_or("", MatchedPath::as_str);
    let client = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|client| client.0.ip());
    request.extensions_mut().insert(context.clone());
    let (request, leftover) = Leftover::of(request);
    let mut response = match may_run(&api, &method) {
        Ok(()) => {
            let answer = tokio::time::timeout(api.settings.timeout, run(&api, request, next)).await;
            answer.unwrap_or_else(|_| Refusal::timed_out().into_response())
        }
        Err(refusal) => {
            // The rest of its body becomes readable here when the request is dropped.
            drop(request);
            refusal.into_response()
        }
    };
    if let Some(leftover) = leftover.filter(|_| !response.status().is_success()) {
        leftover.drain().await;
    }
    let took = watch.elapsed();
    api.request_metrics.count(&method, path, response.status().as_u16(), took);
    log(&context, client, &method, path, &response, took);
    finish(&mut response, &context);
    response
}

/// Runs the handler. A call that reads takes a slot, and uses its organization's share of the database's readers.
async fn run(api: &Api, request: Request, next: Next) -> Response {
    if request.method().is_safe() { api.service.reading(next.run(request)).await } else { next.run(request).await }
}

/// Refuses calls that change something once a newer build has migrated the database.
fn may_run(api: &Api, method: &Method) -> Result<(), Refusal> {
    if method.is_safe() { Ok(()) } else { Ok(api.service.check_tables()?) }
}

fn log(context: &Context, client: Option<IpAddr>, method: &Method, path: &str, response: &Response, took: Duration) {
    let (request_id, client_id) = (context.request_id(), context.client_id());
    if let Some(Unforeseen(message)) = response.extensions().get() {
        tracing::error!(request_id, method = method.as_str(), path, message, "a request failed");
    }
    let ms = took.as_micros() as f64 / 1_000.0;
    let status = response.status().as_u16();
    let client = client.map(tracing::field::display);
    tracing::info!(method = method.as_str(), path, status, ms, request_id, client_id, client, "call");
}

fn finish(response: &mut Response, context: &Context) {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(context.request_id()) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Limits the calls per second of each key.
#[derive(Debug)]
pub struct Limiter {
    per_second: Option<u32>,
    since_start: Stopwatch,
    buckets: Mutex<HashMap<String, Bucket>>,
}

impl Limiter {
    /// A limiter; without a number it has no limit.
    pub fn new(per_second: Option<u32>) -> Limiter {
        let per_second = per_second.filter(|number| *number > 0);
        Limiter { per_second, since_start: Stopwatch::start(), buckets: Mutex::default() }
    }

    /// Admits a call of a key, or returns a refusal with the time to wait.
    pub fn admit(&self, client_id: &str) -> Result<(), Refusal> {
        let Some(per_second) = self.per_second else { return Ok(()) };
        let now = self.since_start.elapsed();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(client_id) {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let bucket = buckets.entry(client_id.to_owned()).or_insert_with(|| Bucket::new(per_second, now));
        bucket.take(now).map_err(|wait| Refusal::rate_limited(per_second, wait))
    }
}

/// A token bucket: it holds one second's worth of calls and refills at the same rate. Counted in billionths of a call,
/// so that no fraction is lost between calls.
#[derive(Debug)]
struct Bucket {
    per_second: u32,
    billionths: u128,
    filled_at: Duration,
}

const ONE_CALL: u128 = 1_000_000_000;

impl Bucket {
    fn new(per_second: u32, now: Duration) -> Bucket {
        Bucket { per_second, billionths: u128::from(per_second) * ONE_CALL, filled_at: now }
    }

    fn fill(&mut self, now: Duration) {
        let more = now.saturating_sub(self.filled_at).as_nanos() * u128::from(self.per_second);
        self.billionths = (self.billionths + more).min(u128::from(self.per_second) * ONE_CALL);
        self.filled_at = now;
    }

    fn is_full(&mut self, now: Duration) -> bool {
        self.fill(now);
        self.billionths == u128::from(self.per_second) * ONE_CALL
    }

    /// Takes a call out, or returns in how many seconds one will be available.
    fn take(&mut self, now: Duration) -> Result<(), u64> {
        self.fill(now);
        if self.billionths >= ONE_CALL {
            self.billionths -= ONE_CALL;
            return Ok(());
        }
        let wait_nanos = (ONE_CALL - self.billionths).div_ceil(u128::from(self.per_second));
        Err(wait_nanos.div_ceil(1_000_000_000) as u64)
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.request_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_a_seconds_worth_and_fills_at_that_pace() {
        let ms = Duration::from_millis;
        let mut bucket = Bucket::new(2, ms(0));
        assert_eq!((bucket.take(ms(0)), bucket.take(ms(0)), bucket.take(ms(0))), (Ok(()), Ok(()), Err(1)));
        assert_eq!(bucket.take(ms(499)), Err(1));
        assert_eq!(bucket.take(ms(500)), Ok(()));
        assert_eq!(bucket.take(ms(500)), Err(1));
        assert!(!bucket.is_full(ms(1_499)));
        assert!(bucket.is_full(ms(1_500)));
        assert!(bucket.is_full(ms(60_000)));
        assert_eq!(
            (bucket.take(ms(60_000)), bucket.take(ms(60_000)), bucket.take(ms(60_000))),
            (Ok(()), Ok(()), Err(1))
        );
    }

    #[test]
    fn each_key_has_its_own_bucket_and_none_is_no_limit() {
        let limiter = Limiter::new(Some(1));
        assert!(limiter.admit("a").is_ok() && limiter.admit("b").is_ok());
        let free = Limiter::new(None);
        assert!((0..1_000).all(|_| free.admit("a").is_ok()));
    }

    #[test]
    fn a_callers_request_id_is_taken_if_it_is_plain() {
        let named = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(id).expect("a header"));
            Context::new(&headers).request_id().to_owned()
        };
        assert_eq!(named("abc-123"), "abc-123");
        assert!(named("two words").starts_with("dbk_req_"));
        assert!(named(&"x".repeat(129)).starts_with("dbk_req_"));
    }
}

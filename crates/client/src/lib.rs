//! A client for the API: signs in with a key, sends requests, and explains refusals in a sentence.
//!
//! Command-line tools that work against a running server use it: test cases with `--url`, imports, the local receiver.
//! It is independent of loans: requests come from the table of operations, and bodies are JSON, as the API describes
//! them.
//!
//! The client retries on its own in two cases: it waits and retries after a 429 or 503, and it replaces an expired
//! token. All other errors are returned to the caller. Many threads may use a client at the same time.

mod trouble;

pub use trouble::{Detail, Trouble};

use daybook_operations::{Operation, RequestLine};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// A long release or a roll over years takes a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Larger than any response.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// How often to retry a busy server, and how long to wait if it sends no `retry-after`.
const ASKS_MAX: u32 = 30;
const BETWEEN_ASKS: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A key of an organization: `client_id:client_secret`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    client_id: String,
    client_secret: String,
}

impl ApiKey {
    /// A key from its two parts.
    pub fn new(client_id: impl Into<String>, client_secret: impl Into<String>) -> ApiKey {
        ApiKey { client_id: client_id.into(), client_secret: client_secret.into() }
    }

    /// Parses `client_id:client_secret`.
    pub fn parse(text: &str) -> Option<ApiKey> {
        let (id, secret) = text.split_once(':')?;
        (!id.is_empty() && !secret.is_empty()).then(|| ApiKey::new(id, secret))
    }

    /// The part that is not secret.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }
}

/// Leaves the secret out, so that it cannot get into a log by mistake.
impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// A client of one server, with one key. Clones share connections and token.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    url: Arc<str>,
    key: Arc<ApiKey>,
    token: Arc<Mutex<Option<String>>>,
}

impl Client {
    /// A client of the server at this URL. Sends no request yet.
    pub fn new(url: &str, key: ApiKey) -> Client {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(ANSWER_TIMEOUT))
            .max_idle_connections_per_host(64)
            .tls_config(TlsConfig::builder().root_certs(machine_certificates()).build())
            .build();
        Client {
            agent: Agent::new_with_config(config),
            url: url.trim_end_matches('/').into(),
            key: Arc::new(key),
            token: Arc::default(),
        }
    }

    /// The server's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All results of a list, over all pages.
    pub fn list(&self, request: &RequestLine) -> Result<Vec<Value>, Trouble> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = request.clone().with("limit", 100).with_some("starting_after", after.take());
            let mut page = self.call(&page, None)?;
            if let Some(results) = page["results"].as_array_mut() {
                found.append(results);
            }
            match page["paging"]["starting_after"].as_str() {
                Some(next) if page["paging"]["has_more"] == true => after = Some(next.to_owned()),
                _ => return Ok(found),
            }
        }
    }

    /// A request with a JSON body, if it has one.
    pub fn call(&self, request: &RequestLine, body: Option<&Value>) -> Result<Value, Trouble> {
        let body = body.map(Value::to_string);
        let answer = self.send(request, "application/json", body.as_deref().unwrap_or_default().as_bytes())?;
        match answer.as_slice() {
            [] => Ok(Value::Null),
            text => serde_json::from_slice(text).map_err(|_| Trouble::no_json(&self.url, request.target())),
        }
    }

    /// A request with any body. Returns the raw response body.
    pub fn send(&self, request: &RequestLine, content_type: &str, body: &[u8]) -> Result<Vec<u8>, Trouble> {
        let mut asked = 0;
        let mut signed_in = false;
        loop {
            asked += 1;
            let token = self.token()?;
            let mut answer = self.exchange(request, content_type, Some(&token), body)?;
            let status = answer.status().as_u16();
            match status {
                200..300 => return self.read(request, &mut answer),
                // Another thread may have fetched a new token meanwhile.
                401 | 403 if !signed_in => {
                    signed_in = true;
                    let refused = self.refusal(request, &mut answer);
                    if !refused.has_code("not_authorized") && !refused.has_code("unauthenticated") {
                        return Err(refused);
                    }
                    self.forget(&token);
                }
                429 | 503 if asked < ASKS_MAX => thread::sleep(wait_of(&answer)),
                _ => return Err(self.refusal(request, &mut answer)),
            }
        }
    }

    fn token(&self) -> Result<String, Trouble> {
        let mut token = self.lock();
        if let Some(token) = &*token {
            return Ok(token.clone());
        }
        let request = Operation::CreateToken.request([]);
        let body = json!({ "client_id": self.key.client_id, "client_secret": self.key.client_secret }).to_string();
        for asked in 1.. {
            let mut answer = self.exchange(&request, "application/json", None, body.as_bytes())?;
            match answer.status().as_u16() {
                200 => {
                    let shown: Value = serde_json::from_slice(&self.read(&request, &mut answer)?).unwrap_or_default();
                    let drawn =
                        shown["access_token"].as_str().ok_or_else(|| Trouble::no_json(&self.url, request.target()))?;
                    *token = Some(drawn.to_owned());
                    break;
                }
                429 | 503 if asked < ASKS_MAX => thread::sleep(wait_of(&answer)),
                _ => return Err(self.refusal(&request, &mut answer)),
            }
        }
        Ok(token.clone().unwrap_or_default())
    }

    fn forget(&self, over: &str) {
        let mut token = self.lock();
        if token.as_deref() == Some(over) {
            *token = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exchange(
        &self,
        line: &RequestLine,
        content_type: &str,
        token: Option<&str>,
        body: &[u8],
    ) -> Result<Response<Body>, Trouble> {
        let mut request = Request::builder().method(line.method()).uri(format!("{}{}", self.url, line.target()));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let failed = |error: &dyn std::fmt::Display| Trouble::unreachable(&self.url, error);
        let sent = if body.is_empty() {
            let request = request.body(()).map_err(|error| failed(&error))?;
            self.agent.run(request)
        } else {
            let request = request.header("content-type", content_type).body(body).map_err(|error| failed(&error))?;
            // Some requests delete what their body names.
            let request = self.agent.configure_request(request).allow_non_standard_methods(true).build();
            self.agent.run(request)
        };
        sent.map_err(|error| failed(&error))
    }

    fn read(&self, request: &RequestLine, answer: &mut Response<Body>) -> Result<Vec<u8>, Trouble> {
        let read = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        read.map_err(|error| {
            let target = request.target();
            Trouble::unreachable(&self.url, &format!("the response to {target} was cut off: {error}"))
        })
    }

    fn refusal(&self, request: &RequestLine, answer: &mut Response<Body>) -> Trouble {
        let status = answer.status().as_u16();
        match self.read(request, answer) {
            Ok(body) => Trouble::refused(&self.url, request.target(), status, &body),
            Err(trouble) => trouble,
        }
    }
}

/// How long to wait before retrying a busy server.
fn wait_of(answer: &Response<Body>) -> Duration {
    let said = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    said.map_or(BETWEEN_ASKS, Duration::from_secs).min(LONGEST_WAIT)
}

/// The certificates that this machine trusts.
fn machine_certificates() -> RootCerts {
    let found = rustls_native_certs::load_native_certs().certs;
    let certificates: Vec<_> = found.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
    RootCerts::Specific(Arc::new(certificates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_two_parts() {
        assert_eq!(ApiKey::parse("client_1:s:ecret"), Some(ApiKey::new("client_1", "s:ecret")));
        for text in ["", "client_1", "client_1:", ":secret"] {
            assert_eq!(ApiKey::parse(text), None, "{text}");
        }
        assert_eq!(format!("{:?}", ApiKey::new("client_1", "s3cret")), "Key { client_id: \"client_1\", .. }");
    }

    #[test]
    fn a_server_that_is_not_there_is_told() {
        let client = Client::new("http://127.0.0.1:1/", ApiKey::new("a", "b"));
        let trouble = client.call(&Operation::ListProducts.request([]), None).expect_err("no server listens on port 1");
        assert!(trouble.to_string().starts_with("the server at http://127.0.0.1:1 cannot be reached: "), "{trouble}");
    }
}

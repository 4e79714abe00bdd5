//! A client for a server that may stop and restart at another address.
//!
//! A call ends in one of three ways: a response; no response, so that it is unknown whether the call was executed; or a
//! failed test, if the caller insists on success. Clones share the address: [`ApiClient::lead_to`] redirects all of
//! them.

use super::installation::SECRET;
use serde_json::Value;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

/// The time limit of a call: longer than the server's own limits.
const LONGEST_CALL: Duration = Duration::from_secs(90);
/// The number of checks for an expected state, and the pause between them: 10 minutes.
const LOOKS: u32 = 12_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A client.
#[derive(Clone, Debug)]
pub struct ApiClient {
    url: Arc<RwLock<String>>,
    agent: ureq::Agent,
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub retry_after: Option<String>,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The body of a call that must have succeeded.
    pub fn good(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()
    }

    /// The error code of a call that must have failed with this status.
    pub fn refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()["error"]["code"].as_str().expect("an error has a code").to_owned()
    }
}

impl ApiClient {
    pub fn to(url: &str) -> ApiClient {
        let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(LONGEST_CALL));
        ApiClient { url: Arc::new(RwLock::new(url.to_owned())), agent: config.build().new_agent() }
    }

    /// The same client with its own connections.
    pub fn another(&self) -> ApiClient {
        ApiClient { url: self.url.clone(), ..ApiClient::to("") }
    }

    /// Redirects to another server.
    pub fn lead_to(&self, url: &str) {
        *self.url.write().expect("no caller panicked") = url.to_owned();
    }

    pub fn url(&self) -> String {
        self.url.read().expect("no caller panicked").clone()
    }

    /// Makes a call; no response is an error.
    pub fn try_call(&self, method: &str, path: &str, content_type: &str, body: String) -> Result<Reply, ureq::Error> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url()))
            .header("authorization", format!("Bearer {SECRET}"))
            .header("content-type", content_type);
        let mut response = if method == "GET" {
            self.agent.run(request.body(()).expect("a request"))?
        } else {
            self.agent.run(request.body(body).expect("a request"))?
        };
        let header = response.headers().get("retry-after");
        let retry_after = header.map(|value| value.to_str().expect("a header is text").to_owned());
        let text = response.body_mut().with_config().limit(1 << 30).read_to_string()?;
        Ok(Reply { status: response.status().as_u16(), retry_after, text })
    }

    pub fn try_post(&self, path: &str, body: &Value) -> Result<Reply, ureq::Error> {
        self.try_call("POST", path, "application/json", body.to_string())
    }

    fn must(&self, method: &str, path: &str, content_type: &str, body: String) -> Reply {
        let reply = self.try_call(method, path, content_type, body);
        reply.unwrap_or_else(|error| panic!("{method} {path} has no answer: {error}"))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.must("GET", path, "application/json", String::new())
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.must("POST", path, "application/json", body.to_string())
    }

    pub fn put(&self, path: &str, body: &Value) -> Reply {
        self.must("PUT", path, "application/json", body.to_string())
    }

    /// Makes many calls through `/bulk` and returns their responses, each of which must be good.
    pub fn bulk(&self, lines: &[Value]) -> Vec<Value> {
        let mut answers: Vec<Value> = Vec::new();
        for some in lines.chunks(1_000) {
            let body: String = some.iter().map(|line| format!("{line}\n")).collect();
            let reply = self.must("POST", "/bulk", "application/x-ndjson", body);
            assert_eq!(reply.status, 200, "{}", reply.text);
            answers.extend(reply.text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")));
        }
        assert_eq!(answers.len(), lines.len());
        for (line, answer) in lines.iter().zip(&answers) {
            assert_eq!(answer["status"], 200, "{line}: {answer}");
        }
        answers
    }

    /// All results of a list, page by page.
    pub fn all(&self, path: &str) -> Vec<Value> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let first = format!("{path}{joint}limit=200");
        let mut results = Vec::new();
        let mut page = self.get(&first).good();
        loop {
            results.extend(page["results"].as_array().expect("a page has results").iter().cloned());
            if page["paging"]["has_more"] != true {
                return results;
            }
            let after = page["paging"]["starting_after"].as_str().expect("a page says where it ends").to_owned();
            page = self.get(&format!("{first}&starting_after={after}")).good();
        }
    }
}

/// Waits for a condition. `look` returns the awaited value, or a description of the current state.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let mut last = String::new();
    for _ in 0..LOOKS {
        match look() {
            Ok(there) => return there,
            Err(instead) => last = instead,
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    panic!("{what} has not come about; instead: {last}")
}

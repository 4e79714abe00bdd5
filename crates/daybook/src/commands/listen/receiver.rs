//! The receiver: checks each request, responds, and prints a line.

use super::forward::Forward;
use super::judge::{Answered, Finding, Judge, WebhookRequest, json_line, line};
use super::{ask, signing_key};
use crate::commands::{Failure, print, say};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use daybook_client::Client;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Larger than any message.
const BODY_BYTES_MAX: usize = 64 << 20;
/// The time limit for responses in progress at the end.
const FAREWELL: Duration = Duration::from_secs(5);

/// The source of responses.
#[derive(Clone, Debug)]
pub enum ResponseSource {
    /// A list of statuses, by attempt; the last one repeats.
    Listed(Vec<u16>),
    /// Another server.
    Forwarded(Forward),
}

/// The totals at the end.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The number of attempts, one printed line each.
    pub attempts: u64,
    /// The number of messages answered with 200 or 202.
    pub taken: u64,
    /// The number of attempts with an invalid signature.
    pub wrong: u64,
    /// Why the receiver had to stop.
    output: Option<String>,
}

impl Ended {
    /// The number of attempts, in words.
    pub fn lines(&self) -> String {
        if self.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", self.attempts) }
    }
}

/// The receiver.
#[derive(Clone, Debug)]
pub struct ListenReceiver(Arc<ReceiverContext>);

#[derive(Debug)]
struct ReceiverContext {
    client: Client,
    judge: Mutex<Judge>,
    answering: ResponseSource,
    is_json: bool,
    wanted: Option<u64>,
    ended: Mutex<Ended>,
    enough: Notify,
}

impl ListenReceiver {
    /// Creates a receiver that is not listening yet.
    pub fn new(
        client: Client,
        judge: Judge,
        answering: ResponseSource,
        is_json: bool,
        wanted: Option<u64>,
    ) -> ListenReceiver {
        ListenReceiver(Arc::new(ReceiverContext {
            client,
            judge: Mutex::new(judge),
            answering,
            is_json,
            wanted,
            ended: Mutex::default(),
            enough: Notify::new(),
        }))
    }

    /// Receives messages until it is stopped or has received enough.
    pub async fn serve(&self, listener: TcpListener, told: impl Future<Output = ()>) -> Result<Ended, Failure> {
        let router = Router::new().fallback(receive).with_state(self.clone());
        let (closing, mut closed) = tokio::sync::watch::channel(false);
        let is_closed = async move {
            // The sender lives in this function: an error means that the receiver is ending anyway.
            let _ = closed.wait_for(|closed| *closed).await;
        };
        let serving = axum::serve(listener, router).with_graceful_shutdown(is_closed).into_future();
        let mut serving = Box::pin(serving);
        tokio::select! {
            ended = &mut serving => ended.map_err(|error| Failure::Failed(format!("listening failed: {error}")))?,
            () = told => {}
            () = self.0.enough.notified() => {}
        }
        closing.send_replace(true);
        // A message whose response is lost now needs no retry: its subscription is about to be removed.
        let _ = tokio::time::timeout(FAREWELL, serving).await;
        let ended = lock(&self.0.ended).clone();
        match &ended.output {
            Some(why) => Err(Failure::Failed(why.clone())),
            None => Ok(ended),
        }
    }

    /// Checks a request. If the signature is unknown, fetches the signing key again, as it may have been rotated.
    async fn judge(&self, request: &WebhookRequest) -> Result<Finding, String> {
        let is_known = lock(&self.0.judge).knows_who_signed(request);
        if !is_known && let Ok(key) = ask(&self.0.client, signing_key).await {
            lock(&self.0.judge).learn(key);
        }
        lock(&self.0.judge).judge(request)
    }

    async fn answer(&self, finding: &Finding, headers: HeaderMap, body: Vec<u8>) -> (Answered, Option<String>) {
        match &self.0.answering {
            ResponseSource::Listed(statuses) => {
                let status = statuses.get(finding.attempt - 1).or(statuses.last()).copied().unwrap_or(200);
                (Answered { status, is_forwarded: false, trouble: None }, None)
            }
            ResponseSource::Forwarded(forward) => {
                let forward = forward.clone();
                let passed = tokio::task::spawn_blocking(move || forward.pass(&headers, &body)).await;
                passed.unwrap_or_else(|error| {
                    (Answered { status: 502, is_forwarded: true, trouble: Some(error.to_string()) }, None)
                })
            }
        }
    }

    /// Prints the line and updates the totals.
    fn tell(&self, finding: &Finding, answered: &Answered) {
        let text = if self.0.is_json { json_line(finding, answered) } else { line(finding, answered) };
        let printed = print(&text);
        let mut ended = lock(&self.0.ended);
        ended.attempts += 1;
        ended.taken += u64::from(matches!(answered.status, 200 | 202));
        ended.wrong += u64::from(!finding.is_signed());
        if let Err(failure) = printed {
            // The reader of stdout has gone away.
            ended.output = Some(failure.to_string());
        }
        if ended.output.is_some() || self.0.wanted.is_some_and(|wanted| ended.taken >= wanted) {
            self.0.enough.notify_one();
        }
    }
}

async fn receive(State(receiver): State<ListenReceiver>, headers: HeaderMap, body: Body) -> Response {
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else { return answer_of(413, None) };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let request = WebhookRequest {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signatures: header("webhook-signature"),
        body: body.to_vec(),
    };
    match receiver.judge(&request).await {
        Ok(finding) => {
            let (answered, retry_after) = receiver.answer(&finding, headers, request.body).await;
            receiver.tell(&finding, &answered);
            answer_of(answered.status, retry_after)
        }
        Err(why) => {
            say(&format!("Received a request that is not a webhook: {why}. It was answered with 400.\n"));
            answer_of(400, None)
        }
    }
}

fn answer_of(status: u16, retry_after: Option<String>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    if let Some(value) = retry_after.and_then(|text| text.parse().ok()) {
        response.headers_mut().insert("retry-after", value);
    }
    response
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

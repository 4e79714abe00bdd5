//! The receiver: checks each request, responds, and prints a line.

use super::forward::Forward;
use super::judge::{Answered, Finding, Judge, json_line, line};
use super::{ask, signing_key};
use crate::commands::{Failure, print, say};
use daybook_client::Client;
use daybook_receiver::{PreparedResponse, ReceiverConnection, Request};
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

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
        let (closing, closed) = watch::channel(());
        let stop = async {
            tokio::select! {
                () = told => {}
                () = self.0.enough.notified() => {}
            }
        };
        let serve = |stream| self.clone().respond(stream, closed.clone());
        let mut connections = daybook_receiver::accept(listener, stop, serve).await;
        drop(closing);
        let responding = async { while connections.join_next().await.is_some() {} };
        // A message whose response is lost now needs no retry: its subscription is about to be removed.
        let _ = tokio::time::timeout(FAREWELL, responding).await;
        let ended = lock(&self.0.ended).clone();
        match &ended.output {
            Some(why) => Err(Failure::Failed(why.clone())),
            None => Ok(ended),
        }
    }

    /// Responds to the requests of one connection until it ends or the receiver is closing.
    async fn respond(self, stream: TcpStream, mut closed: watch::Receiver<()>) -> io::Result<()> {
        let mut connection = ReceiverConnection::new(stream);
        loop {
            let request = tokio::select! {
                biased;
                _ = closed.changed() => None,
                request = connection.next() => request?,
            };
            let Some(request) = request else { return Ok(()) };
            let response = self.response_to(request).await;
            connection.respond(&response).await?;
        }
    }

    async fn response_to(&self, request: Request) -> PreparedResponse {
        let finding = match self.judge(&request).await {
            Ok(finding) => finding,
            Err(why) => {
                say(&format!("Received a request that is not a webhook: {why}. It was answered with 400.\n"));
                return PreparedResponse::status(400);
            }
        };
        let (answered, retry_after) = self.answer(&finding, request).await;
        self.tell(&finding, &answered);
        let response = PreparedResponse::status(answered.status);
        retry_after.iter().fold(response, |response, value| response.with("retry-after", value))
    }

    /// Checks a request. If the signature is unknown, fetches the signing key again, as it may have been rotated.
    async fn judge(&self, request: &Request) -> Result<Finding, String> {
        let is_known = lock(&self.0.judge).knows_who_signed(request);
        if !is_known && let Ok(key) = ask(&self.0.client, signing_key).await {
            lock(&self.0.judge).learn(key);
        }
        lock(&self.0.judge).judge(request)
    }

    async fn answer(&self, finding: &Finding, request: Request) -> (Answered, Option<String>) {
        match &self.0.answering {
            ResponseSource::Listed(statuses) => {
                let status = statuses.get(finding.attempt - 1).or(statuses.last()).copied().unwrap_or(200);
                (Answered { status, is_forwarded: false, trouble: None }, None)
            }
            ResponseSource::Forwarded(forward) => {
                let forward = forward.clone();
                let passed = tokio::task::spawn_blocking(move || forward.pass(&request)).await;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

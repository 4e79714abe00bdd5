//! All connections to one URL.
//!
//! A post uses an idle connection, or opens a new one, and returns it to the idle ones when the response has been read.
//! The receiver may close a connection at any time, even while a request is on its way. A request on a connection that
//! had been used before is then sent once more on a new connection, within the same time limit.
//!
//! A new connection to a name waits for its turn to look up the name. That wait is not part of the attempt: it is not
//! the receiver's fault.

use crate::guard::{CheckedUrl, Host, UrlRefusal};
use crate::sender::connect::{self, Stream};
use crate::sender::connection::Connection;
use crate::sender::lookup_limits::{HostLookupTurns, LookupPermit};
use crate::sender::reply::{Fault, Post, Reply, RetryAfter};
use crate::sender::{Sender, headers, inside, shown_body};
use bytes::Bytes;
use daybook_clock::Stopwatch;
use daybook_store::records::OrgId;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio_rustls::rustls::pki_types::ServerName;

/// The most idle connections for one URL.
const MOST_IDLE: usize = 64;
/// The statuses that mean delivered. The rest of such a response is ignored.
const DELIVERED: [u16; 2] = [200, 202];

/// The head of a response, and the connection it was received on.
type ResponseHead = Result<(Connection, Response<Incoming>), Fault>;
/// The turn to look up a name: among the URL's messages, and among the organization's names.
type LookupPermits = (Result<OwnedSemaphorePermit, AcquireError>, LookupPermit);

/// Sends the messages for one URL.
#[derive(Debug)]
pub struct ConnectionPool {
    sender: Sender,
    target: Result<CheckedUrl, UrlRefusal>,
    /// For https: the name that the certificate must be for.
    server_name: Option<ServerName<'static>>,
    /// Allows one lookup of the URL's name at a time.
    lookup: Arc<Semaphore>,
    /// The turns of the URL's name; `None` for an address.
    turns: Option<HostLookupTurns>,
    idle: Mutex<Vec<Connection>>,
}

impl ConnectionPool {
    pub(super) fn new(sender: Sender, org: OrgId, url: &str) -> ConnectionPool {
        let target = sender.shared.guard.check_url(url);
        let server_name = target.as_ref().ok().and_then(|target| connect::server_name(&target.host));
        let turns = match target.as_ref().map(|target| &target.host) {
            Ok(Host::Name(name)) => Some(sender.shared.turns.of(org, name)),
            Ok(Host::Address(_)) | Err(_) => None,
        };
        ConnectionPool {
            sender,
            target,
            server_name,
            lookup: Arc::new(Semaphore::new(1)),
            turns,
            idle: Mutex::default(),
        }
    }

    /// Sends one message. Once it has its turn to look up the name, this takes at most the sender's timeout, plus a
    /// short time for the response body.
    pub async fn post(&self, post: Post<'_>) -> Reply {
        let stopwatch = Stopwatch::start();
        let target = match &self.target {
            Ok(target) => target,
            Err(refusal) => return Reply::without_answer(Fault::Forbidden(refusal.clone()), stopwatch.elapsed()),
        };
        if let Some(receiver) = &self.sender.shared.inside {
            return inside::hand_over(&**receiver, &post, stopwatch);
        }
        let attempt = SendAttempt { target, post, was_informed: Arc::default() };
        let limit = self.sender.shared.timeout;
        let kept = tokio::time::timeout(limit, self.answer_over_a_kept_line(&attempt)).await;
        let mut latency = stopwatch.elapsed();
        let answer = match kept.unwrap_or(Some(Err(Fault::TimedOut))) {
            Some(answer) => answer,
            None => {
                let turn = self.turn().await;
                let (stopwatch, left) = (Stopwatch::start(), limit.saturating_sub(latency));
                let answer = tokio::time::timeout(left, self.answer_over_a_new_line(&attempt, turn, left)).await;
                latency += stopwatch.elapsed();
                answer.unwrap_or(Err(Fault::TimedOut))
            }
        };
        let fault = match answer {
            Ok((connection, response)) => return self.reply(connection, response, latency).await,
            Err(fault) => fault,
        };
        // If the connection or the time ended after a 1XX response, that counts as a response.
        let ended_without_more = matches!(fault, Fault::Reset | Fault::TimedOut) && attempt.was_informed();
        Reply::without_answer(if ended_without_more { Fault::OnlyInformational } else { fault }, latency)
    }

    /// Gets the head of a response over an idle connection; `None` if a new connection is needed.
    async fn answer_over_a_kept_line(&self, attempt: &SendAttempt<'_>) -> Option<ResponseHead> {
        let mut connection = self.take().await?;
        let request = match attempt.request() {
            Ok(request) => request,
            Err(fault) => return Some(Err(fault)),
        };
        match connection.exchange(request).await {
            Ok(response) => Some(Ok((connection, response))),
            // It was closed while it was idle, which has nothing to do with this message.
            Err(Fault::Reset) if !attempt.was_informed() => None,
            Err(fault) => Some(Err(fault)),
        }
    }

    async fn answer_over_a_new_line(
        &self,
        attempt: &SendAttempt<'_>,
        turn: Option<LookupPermits>,
        time: Duration,
    ) -> ResponseHead {
        let mut connection = self.connect(attempt.target, turn, time).await?;
        let response = connection.exchange(attempt.request()?).await?;
        Ok((connection, response))
    }

    /// Waits until the URL's name may be looked up; `None` for an address, which needs no lookup.
    async fn turn(&self) -> Option<LookupPermits> {
        let turns = self.turns.as_ref()?;
        let alone = self.lookup.clone().acquire_owned().await;
        Some((alone, turns.take().await))
    }

    async fn connect(
        &self,
        target: &CheckedUrl,
        turn: Option<LookupPermits>,
        time: Duration,
    ) -> Result<Connection, Fault> {
        let (shared, stopwatch) = (&self.sender.shared, Stopwatch::start());
        let addresses = {
            let (_alone, turn) = turn.unzip();
            connect::checked_addresses(&shared.guard, &*shared.resolver, target, turn).await?
        };
        let stream = connect::connect(&addresses, time.saturating_sub(stopwatch.elapsed())).await?;
        let stream = match target.is_tls {
            true => connect::secure(&shared.tls, self.server_name.as_ref(), stream).await?,
            false => Stream::Plain(stream),
        };
        Connection::new(stream).await
    }

    /// Converts a response to a reply, and keeps the connection if it can be reused.
    async fn reply(&self, mut connection: Connection, response: Response<Incoming>, latency: Duration) -> Reply {
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        let retry_after = RetryAfter::read(&head.headers);
        let mut body_start = Vec::new();
        let kept = (!DELIVERED.contains(&status)).then_some(&mut body_start);
        if connection.finish(body, kept).await {
            self.put_away(connection);
        }
        let body_start = shown_body::of(&head.headers, body_start);
        Reply { status: Some(status), fault: None, retry_after, body_start, latency }
    }

    /// The most recently used idle connection that still works.
    async fn take(&self) -> Option<Connection> {
        poll_fn(|cx| {
            while let Some(mut connection) = self.lines().pop() {
                if connection.idle.elapsed() < self.sender.shared.idle_limit && connection.is_usable(cx) {
                    return Poll::Ready(Some(connection));
                }
            }
            Poll::Ready(None)
        })
        .await
    }

    fn put_away(&self, mut connection: Connection) {
        connection.idle = Stopwatch::start();
        let mut lines = self.lines();
        if lines.len() < MOST_IDLE {
            lines.push(connection);
        }
    }

    /// Closes connections that have been idle too long or that the receiver has closed. To be called at intervals.
    pub fn sweep(&self) {
        let mut nobody = Context::from_waker(Waker::noop());
        let limit = self.sender.shared.idle_limit;
        self.lines().retain_mut(|connection| connection.idle.elapsed() < limit && connection.is_usable(&mut nobody));
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.lines().len()
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One attempt at a message: the parts of each of its requests.
#[derive(Debug)]
struct SendAttempt<'a> {
    target: &'a CheckedUrl,
    post: Post<'a>,
    /// Whether an informational response (1XX) has arrived.
    was_informed: Arc<AtomicBool>,
}

impl SendAttempt<'_> {
    fn was_informed(&self) -> bool {
        self.was_informed.load(Ordering::Relaxed)
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, Fault> {
        let mut request = Request::new(Full::new(self.post.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.uri.clone();
        *request.headers_mut() = self.headers().ok_or(Fault::Unsendable)?;
        let was_informed = self.was_informed.clone();
        hyper::ext::on_informational(&mut request, move |_| was_informed.store(true, Ordering::Relaxed));
        Ok(request)
    }

    /// The headers; hyper adds `content-length`. `None` if one of the message's texts is not a valid header value.
    fn headers(&self) -> Option<HeaderMap> {
        let mut all = HeaderMap::with_capacity(headers::COUNT);
        all.insert(http::header::HOST, self.target.authority.clone());
        all.insert(http::header::CONTENT_TYPE, headers::JSON);
        all.insert(http::header::USER_AGENT, headers::DAYBOOK);
        all.insert(headers::WEBHOOK_ID, HeaderValue::from_str(self.post.id).ok()?);
        all.insert(headers::WEBHOOK_TIMESTAMP, HeaderValue::from(self.post.timestamp_s));
        all.insert(headers::WEBHOOK_SIGNATURE, HeaderValue::from_str(&self.post.signature).ok()?);
        Some(all)
    }
}

//! All connections to one URL.
//!
//! A post takes up a line that was put away, or makes a new one, and puts it away again when the answer has been read.
//! The receiver may close a line at any time, even while a request is on its way to it; a request on a line that had
//! been used before is then sent once more on a new line, within the same time.

use crate::guard::{Refusal, Target};
use crate::sender::connect::{self, Stream};
use crate::sender::line::Line;
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
use tokio::sync::Semaphore;
use tokio_rustls::rustls::pki_types::ServerName;

/// The most lines that are put away for one URL.
const MOST_IDLE: usize = 64;
/// The statuses that mean: delivered. Nobody asks what else the answer said.
const DELIVERED: [u16; 2] = [200, 202];

/// Where messages for one URL go out.
#[derive(Debug)]
pub struct Door {
    sender: Sender,
    target: Result<Target, Refusal>,
    /// For https: whom the certificate must be for.
    server_name: Option<ServerName<'static>>,
    /// One lookup of the URL's name at a time, and so many of the organization's names.
    lookup: Semaphore,
    lookups: Arc<Semaphore>,
    idle: Mutex<Vec<Line>>,
}

impl Door {
    pub(super) fn new(sender: Sender, org: OrgId, url: &str) -> Door {
        let target = sender.shared.guard.check_url(url);
        let server_name = target.as_ref().ok().and_then(|target| connect::server_name(&target.host));
        let lookups = sender.shared.lookups.of(org);
        Door { sender, target, server_name, lookup: Semaphore::new(1), lookups, idle: Mutex::default() }
    }

    /// Sends one message. It takes as long as the sender's timeout at most, and a moment for the answer's body.
    pub async fn post(&self, post: Post<'_>) -> Reply {
        let stopwatch = Stopwatch::start();
        let target = match &self.target {
            Ok(target) => target,
            Err(refusal) => return Reply::without_answer(Fault::Forbidden(refusal.clone()), stopwatch.elapsed()),
        };
        if let Some(receiver) = &self.sender.shared.inside {
            return inside::hand_over(&**receiver, &post, stopwatch);
        }
        let attempt = Attempt { target, post, was_informed: Arc::default(), stopwatch };
        let answer = tokio::time::timeout(self.sender.shared.timeout, self.answer(&attempt)).await;
        let latency = stopwatch.elapsed();
        let fault = match answer {
            Ok(Ok((line, response))) => return self.reply(line, response, latency).await,
            Ok(Err(fault)) => fault,
            Err(_) => Fault::TimedOut,
        };
        // What came until the connection or the time ended was an answer, if only a 1XX.
        let ended_without_more = matches!(fault, Fault::Reset | Fault::TimedOut) && attempt.was_informed();
        Reply::without_answer(if ended_without_more { Fault::OnlyInformational } else { fault }, latency)
    }

    /// Gets the head of an answer, over a line that was put away or else over a new one.
    async fn answer(&self, attempt: &Attempt<'_>) -> Result<(Line, Response<Incoming>), Fault> {
        if let Some(mut line) = self.take().await {
            match line.exchange(attempt.request()?).await {
                Ok(response) => return Ok((line, response)),
                // It was closed while it was put away: that says nothing about this message.
                Err(Fault::Reset) if !attempt.was_informed() => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut line = self.connect(attempt).await?;
        let response = line.exchange(attempt.request()?).await?;
        Ok((line, response))
    }

    async fn connect(&self, attempt: &Attempt<'_>) -> Result<Line, Fault> {
        let (shared, target) = (&self.sender.shared, attempt.target);
        let addresses = {
            let _turns = (self.lookup.acquire().await, self.lookups.acquire().await);
            connect::checked_addresses(&shared.guard, &*shared.resolver, target).await?
        };
        let time_left = shared.timeout.saturating_sub(attempt.stopwatch.elapsed());
        let stream = connect::connect(&addresses, time_left).await?;
        let stream = match target.is_tls {
            true => connect::secure(&shared.tls, self.server_name.as_ref(), stream).await?,
            false => Stream::Plain(stream),
        };
        Line::new(stream).await
    }

    /// Makes a reply of an answer, and puts the line away if it can be used again.
    async fn reply(&self, mut line: Line, response: Response<Incoming>, latency: std::time::Duration) -> Reply {
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        let retry_after = RetryAfter::read(&head.headers);
        let mut body_start = Vec::new();
        let kept = (!DELIVERED.contains(&status)).then_some(&mut body_start);
        if line.finish(body, kept).await {
            self.put_away(line);
        }
        let body_start = shown_body::of(&head.headers, body_start);
        Reply { status: Some(status), fault: None, retry_after, body_start, latency }
    }

    /// The line that was put away last and still works.
    async fn take(&self) -> Option<Line> {
        poll_fn(|cx| {
            while let Some(mut line) = self.lines().pop() {
                if line.idle.elapsed() < self.sender.shared.idle_limit && line.is_usable(cx) {
                    return Poll::Ready(Some(line));
                }
            }
            Poll::Ready(None)
        })
        .await
    }

    fn put_away(&self, mut line: Line) {
        line.idle = Stopwatch::start();
        let mut lines = self.lines();
        if lines.len() < MOST_IDLE {
            lines.push(line);
        }
    }

    /// Closes the lines that were not used for a while or that the receiver has closed. Call it now and then.
    pub fn sweep(&self) {
        let mut nobody = Context::from_waker(Waker::noop());
        let limit = self.sender.shared.idle_limit;
        self.lines().retain_mut(|line| line.idle.elapsed() < limit && line.is_usable(&mut nobody));
    }

    /// How many lines are put away.
    pub fn idle(&self) -> usize {
        self.lines().len()
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One attempt at a message: what each request of it is made of.
#[derive(Debug)]
struct Attempt<'a> {
    target: &'a Target,
    post: Post<'a>,
    /// Whether an informational answer has come.
    was_informed: Arc<AtomicBool>,
    stopwatch: Stopwatch,
}

impl Attempt<'_> {
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

    /// The headers; hyper adds `content-length`. Nothing if one of the message's texts is no header value.
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

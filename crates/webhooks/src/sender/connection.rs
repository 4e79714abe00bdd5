//! One connection to a receiver, over which requests are sent one after another.
//!
//! The task that awaits a response drives the connection; it has no task of its own. An idle line costs nothing and
//! does nothing; whether the receiver has closed it meanwhile is checked when it is used again. Dropping a line closes
//! it.

use crate::sender::connect::Stream;
use crate::sender::reply::Fault;
use bytes::Bytes;
use daybook_clock::Stopwatch;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Builder, Connection as HttpConnection, SendRequest};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

/// The largest head of a response; hyper's own limit of 100 headers also applies.
const MOST_HEAD_BYTES: usize = 64 * 1024;
/// How much of a response body is read so that the connection can be reused.
const MOST_BODY_BYTES: usize = 64 * 1024;
/// How long to wait for a response body, for the same reason.
const BODY_LIMIT: Duration = Duration::from_millis(250);
/// How much of a body is kept for display.
const KEPT_BODY_BYTES: usize = 512;

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    requests: SendRequest<Full<Bytes>>,
    /// `None` once it has ended. Dropping it ends any wait for a response or a body with an error.
    connection: Option<HttpConnection<TokioIo<Stream>, Full<Bytes>>>,
    /// Since when it has been idle.
    pub idle: Stopwatch,
}

impl Connection {
    /// A line over a new stream.
    pub async fn new(stream: Stream) -> Result<Connection, Fault> {
        let (requests, connection) = Builder::new()
            .max_buf_size(MOST_HEAD_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Fault::of_http(&error))?;
        Ok(Connection { requests, connection: Some(connection), idle: Stopwatch::start() })
    }

    /// Sends a request and waits for the head of its response.
    pub async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault> {
        let mut answer = pin!(self.requests.send_request(request));
        let mut end = Ok(());
        poll_fn(|cx| {
            if let Poll::Ready(ended) = drive(&mut self.connection, cx) {
                end = ended;
            }
            answer.as_mut().poll(cx).map_err(|error| match &end {
                // The connection's error is more precise than that of the missing response.
                Err(cause) => Fault::of_http(cause),
                Ok(()) => Fault::of_http(&error),
            })
        })
        .await
    }

    /// Reads the rest of a response within limits, storing the first bytes in `kept` if given. Returns whether the line
    /// can be reused.
    pub async fn finish(&mut self, body: Incoming, kept: Option<&mut Vec<u8>>) -> bool {
        if body.is_end_stream() && self.connection.is_some() && self.requests.is_ready() {
            return true;
        }
        let rest = self.read_to_the_end(body, kept);
        tokio::time::timeout(BODY_LIMIT, rest).await.unwrap_or(false)
    }

    async fn read_to_the_end(&mut self, mut body: Incoming, mut kept: Option<&mut Vec<u8>>) -> bool {
        let mut left_bytes = MOST_BODY_BYTES;
        let mut is_read = body.is_end_stream();
        poll_fn(|cx| {
            loop {
                let _ = drive(&mut self.connection, cx);
                if is_read {
                    return self.poll_usable(cx);
                }
                match Pin::new(&mut body).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => {
                        let data = frame.data_ref().map_or(&[][..], |data| data);
                        if let Some(kept) = kept.as_mut() {
                            let wanted = KEPT_BODY_BYTES.saturating_sub(kept.len()).min(data.len());
                            kept.extend_from_slice(&data[..wanted]);
                        }
                        match left_bytes.checked_sub(data.len()) {
                            Some(left) => left_bytes = left,
                            None => return Poll::Ready(false),
                        }
                    }
                    Poll::Ready(None) => is_read = true,
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(false),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Whether the next request can be sent.
    fn poll_usable(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        match self.connection {
            Some(_) => self.requests.poll_ready(cx).map(|ready| ready.is_ok()),
            None => Poll::Ready(false),
        }
    }

    /// Whether an idle line can be used: the receiver may have closed it since.
    pub fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        let _ = drive(&mut self.connection, cx);
        self.connection.is_some() && self.requests.is_ready()
    }
}

/// Lets a connection read and write what it can; drops it when it has ended, and returns its result then, once.
fn drive(
    connection: &mut Option<HttpConnection<TokioIo<Stream>, Full<Bytes>>>,
    cx: &mut Context<'_>,
) -> Poll<hyper::Result<()>> {
    let Some(open) = connection else { return Poll::Pending };
    let ended = Pin::new(open).poll(cx);
    if ended.is_ready() {
        *connection = None;
    }
    ended
}

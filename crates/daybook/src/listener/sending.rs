//! Responses that are being sent, and whether their clients read them.
//!
//! HTTP/2 sends a response only as far as its client's flow-control window allows. The socket does not show that the
//! window is closed: it stays writable, and other frames, such as acknowledgements of pings, are written. So each
//! response records when its own bytes were last written, and how many are left. A client that reads single bytes makes
//! no progress: within the time limit, it must read [`PROGRESS_BYTES`] or all that is ready. The memory of a response is
//! counted until the last byte is written.

use super::connection::Connection;
use bytes::{Buf, Bytes};
use daybook_clock::Stopwatch;
use daybook_service::budget::Reservation;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::task::{Context, Poll};
use std::time::Duration;

/// The bytes of a response that its client must read within the time limit, unless fewer are left.
pub const PROGRESS_BYTES: usize = 16 << 10;

/// The progress of a response.
#[derive(Debug)]
pub struct Sending {
    /// Bytes handed over for sending and not written yet.
    unsent: AtomicUsize,
    /// When bytes were last handed over or written, in nanoseconds of the listener's clock.
    moved_at: AtomicU64,
    /// When the client last made progress: it had read [`PROGRESS_BYTES`] more, or all that was ready.
    progress_at: AtomicU64,
    /// Bytes written since then.
    since_progress: AtomicUsize,
    /// Whether the body is handed over completely.
    is_handed_over: AtomicBool,
    /// The memory of the response.
    _memory: Arc<Reservation>,
}

impl Sending {
    /// A response of which nothing is handed over yet.
    pub fn new(memory: Arc<Reservation>) -> Sending {
        Sending {
            unsent: AtomicUsize::new(0),
            moved_at: AtomicU64::new(0),
            progress_at: AtomicU64::new(0),
            since_progress: AtomicUsize::new(0),
            is_handed_over: AtomicBool::new(false),
            _memory: memory,
        }
    }

    /// Records that bytes were handed over for sending.
    pub fn hand_over(&self, bytes: usize, now: Duration) {
        self.moved_at.store(nanoseconds(now), Relaxed);
        // Before the bytes count: another thread looks for connections that are overdue.
        if self.unsent.load(Relaxed) == 0 {
            self.progress(now);
        }
        self.unsent.fetch_add(bytes, Release);
    }

    /// Records that bytes were written, or that their stream has ended.
    pub fn written(&self, bytes: usize, now: Duration) {
        self.moved_at.store(nanoseconds(now), Relaxed);
        let is_all = self.unsent.fetch_sub(bytes, Relaxed) == bytes;
        if self.since_progress.fetch_add(bytes, Relaxed) + bytes >= PROGRESS_BYTES || is_all {
            self.progress(now);
        }
    }

    fn progress(&self, now: Duration) {
        self.since_progress.store(0, Relaxed);
        self.progress_at.store(nanoseconds(now), Relaxed);
    }

    /// Records that no more bytes will be handed over.
    pub fn end(&self) {
        self.is_handed_over.store(true, Relaxed);
    }

    /// Whether the body is handed over completely.
    pub fn is_handed_over(&self) -> bool {
        self.is_handed_over.load(Relaxed)
    }

    /// How long its client has not read the bytes that are ready; `None` if none are.
    pub fn unread_for(&self, now: Duration) -> Option<Duration> {
        self.waiting_since(&self.moved_at, now)
    }

    /// How long its client has made no progress with the bytes that are ready; `None` if none are.
    pub fn without_progress_for(&self, now: Duration) -> Option<Duration> {
        self.waiting_since(&self.progress_at, now)
    }

    fn waiting_since(&self, since: &AtomicU64, now: Duration) -> Option<Duration> {
        let is_ready = self.unsent.load(Acquire) > 0;
        is_ready.then(|| now.saturating_sub(Duration::from_nanos(since.load(Relaxed))))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The body of a response.
#[derive(Debug)]
pub struct ResponseBody {
    body: axum::body::Body,
    connection: Arc<Connection>,
    sending: Arc<Sending>,
    clock: Stopwatch,
}

impl ResponseBody {
    /// A response body of a connection.
    pub fn new(
        body: axum::body::Body,
        connection: Arc<Connection>,
        memory: Arc<Reservation>,
        clock: Stopwatch,
    ) -> ResponseBody {
        let sending = Arc::new(Sending::new(memory));
        connection.send(&sending);
        ResponseBody { body, connection, sending, clock }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.sending.end();
        self.connection.leaving();
    }
}

impl Body for ResponseBody {
    type Data = ResponsePiece;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<ResponsePiece>, axum::Error>>> {
        let this = self.get_mut();
        let piece = |bytes: Bytes| {
            this.sending.hand_over(bytes.len(), this.clock.elapsed());
            ResponsePiece { bytes, sending: this.sending.clone(), clock: this.clock }
        };
        Pin::new(&mut this.body).poll_frame(cx).map_ok(|frame| frame.map_data(piece))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A piece of a response body. It records when its bytes are written.
#[derive(Debug)]
pub struct ResponsePiece {
    bytes: Bytes,
    sending: Arc<Sending>,
    clock: Stopwatch,
}

impl Buf for ResponsePiece {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.sending.written(count, self.clock.elapsed());
    }
}

impl Drop for ResponsePiece {
    fn drop(&mut self) {
        self.sending.written(self.bytes.len(), self.clock.elapsed());
    }
}

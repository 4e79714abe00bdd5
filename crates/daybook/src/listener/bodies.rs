//! Request bodies, which have a time limit and a budget of memory.

use super::connection::Connection;
use bytes::Bytes;
use daybook_service::budget::{Full, Reservation};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Why a body did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It timed out.
    Late,
    /// The listener closed the connection in the meantime.
    Closed,
    /// It is too large for a request without credentials, or does not fit into the budget.
    Full,
}

/// Shared between a request body and its response: why the body did not arrive.
#[derive(Clone, Debug, Default)]
pub struct Fate(Arc<AtomicU8>);

impl Fate {
    /// Why the body did not arrive; `None` if it did, or was not needed.
    pub fn missing(&self) -> Option<Missing> {
        match self.0.load(Relaxed) {
            1 => Some(Missing::Late),
            2 => Some(Missing::Closed),
            3 => Some(Missing::Full),
            _ => None,
        }
    }

    fn set(&self, missing: Missing) {
        let number = match missing {
            Missing::Late => 1,
            Missing::Closed => 2,
            Missing::Full => 3,
        };
        self.0.store(number, Relaxed);
    }
}

/// The body of a request.
#[derive(Debug)]
pub struct RequestBody {
    body: Incoming,
    connection: Arc<Connection>,
    patience: Duration,
    /// Created when the body is first awaited: most bodies arrive with their heads.
    sleep: Option<Pin<Box<Sleep>>>,
    has_arrived: bool,
    fate: Fate,
    memory: Arc<Reservation>,
    declared: Option<usize>,
    /// The bytes that have arrived.
    arrived: usize,
    /// The bytes that are counted: the reader reserves memory for more than has arrived.
    counted: usize,
}

impl RequestBody {
    /// A body with a time limit, counted as `memory`. `fate` receives the outcome.
    pub fn new(
        body: Incoming,
        connection: Arc<Connection>,
        patience: Duration,
        fate: Fate,
        memory: Arc<Reservation>,
    ) -> RequestBody {
        let has_arrived = body.is_end_stream();
        let declared = body.size_hint().exact().and_then(|length| usize::try_from(length).ok());
        RequestBody {
            body,
            connection,
            patience,
            sleep: None,
            has_arrived,
            fate,
            memory,
            declared,
            arrived: 0,
            counted: 0,
        }
    }

    /// Counts the bytes of a piece. A declared length counts only as far as the reader reserves memory for it: up to
    /// twice the bytes that have arrived.
    fn count(&mut self, bytes: usize) -> Result<(), Full> {
        self.arrived += bytes;
        self.memory.check_body(self.arrived)?;
        if self.arrived > self.counted {
            let reserved = (2 * self.arrived).min(self.declared.unwrap_or(usize::MAX)).max(self.arrived);
            self.memory.take(reserved - self.counted)?;
            self.counted = reserved;
        }
        Ok(())
    }

    fn refuse(&self) -> Poll<Option<Result<Frame<Bytes>, AnyError>>> {
        self.fate.set(Missing::Full);
        Poll::Ready(Some(Err("the body takes too much memory".into())))
    }

    /// Records that the body is complete. Returns `false` if the connection was closed before.
    fn arrive(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.has_arrived, true);
        !is_first || self.connection.body_arrived()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.arrive();
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = AnyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, AnyError>>> {
        let this = self.get_mut();
        if this.memory.check_body(this.declared.unwrap_or_default()).is_err() {
            return this.refuse();
        }
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            if let Some(Ok(piece)) = &frame
                && this.count(piece.data_ref().map_or(0, Bytes::len)).is_err()
            {
                return this.refuse();
            }
            let is_over = frame.is_none() || this.body.is_end_stream();
            if is_over && !this.arrive() {
                this.fate.set(Missing::Closed);
                return Poll::Ready(Some(Err("the connection was closed".into())));
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(AnyError::from)));
        }
        let patience = this.patience;
        let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(sleep.as_mut().poll(cx));
        this.fate.set(Missing::Late);
        Poll::Ready(Some(Err("the body did not arrive in time".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

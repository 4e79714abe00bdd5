//! Bodies on their way: a request's, which must arrive in time, and an answer's, which says when it has left.

use super::connection::Connection;
use bytes::Bytes;
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
    /// It took too long.
    Late,
    /// The door closed its connection meanwhile.
    Closed,
}

/// Why the body of a request did not arrive, for its answer.
#[derive(Clone, Debug, Default)]
pub struct Fate(Arc<AtomicU8>);

impl Fate {
    /// Why it did not arrive; `None` if it did, or was not needed.
    pub fn missing(&self) -> Option<Missing> {
        match self.0.load(Relaxed) {
            1 => Some(Missing::Late),
            2 => Some(Missing::Closed),
            _ => None,
        }
    }

    fn set(&self, missing: Missing) {
        let number = match missing {
            Missing::Late => 1,
            Missing::Closed => 2,
        };
        self.0.store(number, Relaxed);
    }
}

/// The body of a request.
#[derive(Debug)]
pub struct Arriving {
    body: Incoming,
    connection: Arc<Connection>,
    patience: Duration,
    /// Made when the body is first waited for: most are there with their heads.
    sleep: Option<Pin<Box<Sleep>>>,
    has_arrived: bool,
    fate: Fate,
}

impl Arriving {
    /// A body that may take so long. What becomes of it is told to `fate`.
    pub fn new(body: Incoming, connection: Arc<Connection>, patience: Duration, fate: Fate) -> Arriving {
        let has_arrived = body.is_end_stream();
        Arriving { body, connection, patience, sleep: None, has_arrived, fate }
    }

    /// `false`: the connection was closed before.
    fn arrive(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.has_arrived, true);
        !is_first || self.connection.body_arrived()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.arrive();
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = AnyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, AnyError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
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

/// The body of an answer.
#[derive(Debug)]
pub struct Leaving {
    body: axum::body::Body,
    connection: Arc<Connection>,
}

impl Leaving {
    /// A body of an answer of a connection.
    pub fn new(body: axum::body::Body, connection: Arc<Connection>) -> Leaving {
        Leaving { body, connection }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.connection.leaving();
    }
}

impl Body for Leaving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

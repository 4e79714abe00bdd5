//! Bodies in transit: request bodies, which have a time limit, and response bodies, which report when they are sent.

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
    /// It timed out.
    Late,
    /// The door closed the connection in the meantime.
    Closed,
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
    /// Created when the body is first awaited: most bodies arrive with their heads.
    sleep: Option<Pin<Box<Sleep>>>,
    has_arrived: bool,
    fate: Fate,
}

impl Arriving {
    /// A body with a time limit. `fate` receives the outcome.
    pub fn new(body: Incoming, connection: Arc<Connection>, patience: Duration, fate: Fate) -> Arriving {
        let has_arrived = body.is_end_stream();
        Arriving { body, connection, patience, sleep: None, has_arrived, fate }
    }

    /// Records that the body is complete. Returns `false` if the connection was closed before.
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

/// The body of a response.
#[derive(Debug)]
pub struct Leaving {
    body: axum::body::Body,
    connection: Arc<Connection>,
}

impl Leaving {
    /// A response body of a connection.
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

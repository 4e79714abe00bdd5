//! A stream that reports to its connection when bytes arrive, when everything is sent, and when the client does not
//! read.

use super::connection::Connection;
use super::framing::Framing;
use daybook_clock::Stopwatch;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A tracked stream.
#[derive(Debug)]
pub struct WatchedStream<S> {
    stream: S,
    connection: Arc<Connection>,
    clock: Stopwatch,
    is_unread: bool,
    /// The position within HTTP/1 requests; `None` for HTTP/2.
    framing: Option<Framing>,
}

impl<S> WatchedStream<S> {
    /// Tracks a stream for its connection.
    pub fn new(stream: S, connection: Arc<Connection>, clock: Stopwatch, framing: Option<Framing>) -> WatchedStream<S> {
        WatchedStream { stream, connection, clock, is_unread: false, framing }
    }

    fn note(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => {
                self.is_unread = true;
                self.connection.unread(self.clock.elapsed());
            }
            Poll::Ready(_) if self.is_unread => {
                self.is_unread = false;
                self.connection.written();
            }
            Poll::Ready(_) => {}
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            this.connection.received(this.clock.elapsed());
            if let Some(framing) = &mut this.framing {
                framing.follow(&buffer.filled()[before..]);
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.note(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        match &flushed {
            Poll::Pending => {
                this.is_unread = true;
                this.connection.unread(this.clock.elapsed());
            }
            Poll::Ready(_) => {
                this.is_unread = false;
                this.connection.flushed(this.clock.elapsed());
            }
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

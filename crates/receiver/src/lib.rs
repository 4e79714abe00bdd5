//! A small HTTP/1.1 server that receives webhooks, for the commands that receive them and for tests.
//!
//! ```text
//! listener ─► accept ─► a task per connection: ReceiverConnection::next ─────► Request
//!                                              ReceiverConnection::respond ◄── PreparedResponse
//! ```
//!
//! Each user writes the loop of a connection itself, so it may respond late, wrongly or not at all. [`accept`] runs in
//! the caller's runtime, a [`ReceiverThread`] on its own thread.

mod connection;
mod message;

pub use connection::ReceiverConnection;
pub use message::{PreparedResponse, Request};

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Serves each connection in its own task until `stop` is ready. Returns the tasks that have not ended; dropping them
/// closes their connections.
pub async fn accept<F>(
    listener: TcpListener,
    stop: impl Future<Output = ()>,
    serve: impl Fn(TcpStream) -> F,
) -> JoinSet<()>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return connections,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            // All file descriptors may be in use.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // Without it, responses are only slower.
        let _ = stream.set_nodelay(true);
        let served = serve(stream);
        connections.spawn(async move {
            // The sender notices a broken connection, and retries.
            let _ = served.await;
        });
    }
}

/// A listener on its own thread. Dropping it closes its port and its connections.
#[derive(Debug)]
pub struct ReceiverThread {
    address: SocketAddr,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl ReceiverThread {
    /// Listens on an address and serves each connection in its own task.
    pub fn start<F>(address: SocketAddr, serve: impl Fn(TcpStream) -> F + Send + 'static) -> io::Result<ReceiverThread>
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _runtime = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            let stop = async {
                // An error means that the receiver was dropped, too.
                let _ = stopped.await;
            };
            drop(runtime.block_on(accept(listener, stop, serve)));
        };
        let thread = thread::Builder::new().name("webhook receiver".to_owned()).spawn(run)?;
        Ok(ReceiverThread { address, running: Some((stop, thread)) })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ReceiverThread {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // A panic of the thread is on stderr already.
            let _ = thread.join();
        }
    }
}

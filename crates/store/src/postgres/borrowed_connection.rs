//! A connection that was taken from the pool.
//!
//! A future may be dropped while it waits for the server, for example because its caller hung up or a readiness check
//! timed out. The statement is then still running on the connection, and the next user of the connection would wait for
//! it. So a connection returns to the pool only after the server has responded to every statement
//! ([`BorrowedConnection::give_back`]). Otherwise it is closed, and a cancel request is sent: a server that waits for a
//! lock does not notice that its client is gone.

use crate::sharing::ReadPermit;
use deadpool_postgres::{Client, Object};
use std::ops::{Deref, DerefMut};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The longest time for a cancel request.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(4);

/// A connection that is closed when it is dropped, unless it was given back.
pub(super) struct BorrowedConnection {
    /// `None` only while this is dropped.
    client: Option<Client>,
    tls: MakeRustlsConnect,
    is_answered: bool,
    /// The organization's turn to use a connection, if it takes turns.
    _turn: Option<ReadPermit>,
}

impl BorrowedConnection {
    pub fn new(client: Client, tls: MakeRustlsConnect, turn: Option<ReadPermit>) -> BorrowedConnection {
        BorrowedConnection { client: Some(client), tls, is_answered: false, _turn: turn }
    }

    /// Returns the connection to the pool. The server has responded to every statement.
    pub fn give_back(mut self) {
        self.all_is_answered();
    }

    /// Marks the connection so that it returns to the pool when this is dropped.
    pub fn all_is_answered(&mut self) {
        self.is_answered = true;
    }
}

#[expect(clippy::expect_used, reason = "only dropping takes the connection out")]
impl Deref for BorrowedConnection {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client.as_ref().expect("a connection until it is dropped")
    }
}

#[expect(clippy::expect_used, reason = "only dropping takes the connection out")]
impl DerefMut for BorrowedConnection {
    fn deref_mut(&mut self) -> &mut Client {
        self.client.as_mut().expect("a connection until it is dropped")
    }
}

impl Drop for BorrowedConnection {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        if self.is_answered {
            return;
        }
        // Taken out of the pool, and closed at the end of this function.
        let client = Object::take(client);
        if client.is_closed() {
            return;
        }
        let (token, tls) = (client.cancel_token(), self.tls.clone());
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                match tokio::time::timeout(CANCEL_TIMEOUT, token.cancel_query(tls)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "an abandoned statement could not be cancelled"),
                    Err(_) => tracing::debug!("an abandoned statement was not cancelled in time"),
                }
            });
        }
    }
}

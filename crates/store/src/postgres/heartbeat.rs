//! The heartbeat of the server: whether it still responds.
//!
//! A server that is stopped or hangs keeps its connections open without responding, and a call would wait for as long
//! as its caller does. So a dedicated connection queries the server every half a second. If no response arrives in
//! time, every connection is cut, callers that wait on one get an error, and no new ones are opened until the server
//! responds again. A slow statement is not cut: the server still responds to the heartbeat. Time during which this
//! machine was suspended, or had no time for this process, does not count as silence of the server.

use deadpool_postgres::Connect;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The pause between a response and the next query.
const BETWEEN: Duration = Duration::from_millis(500);
/// How long the server may take to respond on an open connection.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long it may take to open that connection: a machine that is busy starting is slow.
const PATIENCE_CONNECTING: Duration = Duration::from_secs(15);

/// Silence is counted in ticks. A tick that took more than twice as long shows that this process had no time.
const TICK: Duration = Duration::from_millis(250);

/// Whether the server responds.
#[derive(Clone)]
pub(super) struct Heartbeat {
    is_away: watch::Receiver<bool>,
    tls: MakeRustlsConnect,
    _asking: Arc<Asking>,
}

impl fmt::Debug for Heartbeat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pulse").field("is_away", &self.is_away()).finish_non_exhaustive()
    }
}

/// Stops the queries when the last [`Heartbeat`] is dropped.
#[derive(Debug)]
struct Asking(AbortHandle);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Heartbeat {
    /// Starts the queries.
    pub fn of(config: &Config, tls: MakeRustlsConnect) -> Heartbeat {
        let (tell, is_away) = watch::channel(false);
        let asking = tokio::spawn(ask(config.clone(), tls.clone(), tell));
        Heartbeat { is_away, tls, _asking: Arc::new(Asking(asking.abort_handle())) }
    }

    /// Whether the server does not respond.
    pub fn is_away(&self) -> bool {
        *self.is_away.borrow()
    }

    /// How a connection to the server is encrypted.
    pub fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    /// A connector whose connections are cut when the server does not respond.
    pub fn connections(&self) -> Connections {
        Connections { is_away: self.is_away.clone(), tls: self.tls.clone() }
    }
}

/// Opens connections that are cut when the server does not respond.
pub(super) struct Connections {
    is_away: watch::Receiver<bool>,
    tls: MakeRustlsConnect,
}

type Connecting<'a> = Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + 'a>>;

impl Connect for Connections {
    fn connect(&self, config: &Config) -> Connecting<'_> {
        let (config, tls, mut is_away) = (config.clone(), self.tls.clone(), self.is_away.clone());
        Box::pin(async move {
            let (client, connection) = config.connect(tls).await?;
            let task = tokio::spawn(async move {
                tokio::select! {
                    ended = connection => {
                        if let Err(error) = ended {
                            tracing::debug!(%error, "a connection to the database ended");
                        }
                    }
                    // Dropping the connection closes it: a caller that waits for a response gets an error.
                    _ = is_away.wait_for(|is_away| *is_away) => {}
                }
            });
            Ok((client, task))
        })
    }
}

async fn ask(config: Config, tls: MakeRustlsConnect, tell: watch::Sender<bool>) {
    let mut client: Option<Client> = None;
    loop {
        // If the server is already known to be away, opening a connection gets no extra time.
        let patience = if client.is_some() || *tell.borrow() { PATIENCE } else { PATIENCE_CONNECTING };
        let is_away = match within(patience, answer(&config, &tls, client.take())).await {
            Some(Ok(same)) => {
                client = Some(same);
                false
            }
            // It responded, even if with an error: a server that is starting or has no connection left is not silent.
            Some(Err(_)) => false,
            None => true,
        };
        if tell.send_replace(is_away) != is_away {
            if is_away {
                tracing::warn!(
                    seconds = PATIENCE.as_secs(),
                    "the database does not respond; its connections are closed"
                );
            } else {
                tracing::info!("the database responds again");
            }
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// The result of `answer`, or `None` if it took longer than `patience`, not counting time in which this process did not
/// run.
#[expect(clippy::disallowed_methods, reason = "how long a tick took decides nothing but whether it counts as silence")]
async fn within<T>(patience: Duration, answer: impl Future<Output = T>) -> Option<T> {
    let mut answer = pin!(answer);
    let mut silence = Duration::ZERO;
    while silence < patience {
        let tick = Instant::now();
        tokio::select! {
            biased;
            answer = answer.as_mut() => return Some(answer),
            () = tokio::time::sleep(TICK) => {}
        }
        if tick.elapsed() < TICK * 2 {
            silence += TICK;
        }
    }
    None
}

async fn answer(config: &Config, tls: &MakeRustlsConnect, client: Option<Client>) -> Result<Client, Error> {
    let client = match client.filter(|client| !client.is_closed()) {
        Some(client) => client,
        None => {
            let (client, connection) = config.connect(tls.clone()).await?;
            // Ends when its client is dropped.
            tokio::spawn(connection);
            client
        }
    };
    client.simple_query("SELECT 1").await?;
    Ok(client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_given_up() {
        assert_eq!(within(PATIENCE, pending::<()>()).await, None);
        assert_eq!(within(PATIENCE, async { 7 }).await, Some(7));
    }

    /// The machine is suspended for an hour, and the response arrives shortly after it resumes.
    #[tokio::test(start_paused = true)]
    async fn time_in_which_this_process_stood_still_does_not_count() {
        let answer = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            tokio::time::advance(Duration::from_secs(3_600)).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            7
        };
        assert_eq!(within(PATIENCE, answer).await, Some(7));
    }
}

//! The pulse of the server: whether it still answers.
//!
//! A server that is stopped or hangs keeps its connections open and says nothing, and a call would wait for as long as its
//! caller does. So a connection of its own asks every half a second whether the server is there. When no answer comes in
//! time, every connection is cut, callers that wait on one get an error, and new ones are not tried until
//! the server answers again. A statement that is slow is not cut: the server answers the pulse meanwhile. Nor is a machine
//! that stood still, or had no time for this process, taken for a silent server: its time does not count.

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

/// How long between an answer and the next question.
const BETWEEN: Duration = Duration::from_millis(500);
/// How long the server may take to answer on a connection that is there.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long it may take to make that connection: a machine that is busy starting takes its time.
const PATIENCE_CONNECTING: Duration = Duration::from_secs(15);

/// Silence is counted in ticks. One that took more than twice as long says that this process had no time.
const TICK: Duration = Duration::from_millis(250);

/// Whether the server answers.
#[derive(Clone)]
pub(super) struct Pulse {
    is_away: watch::Receiver<bool>,
    tls: MakeRustlsConnect,
    _asking: Arc<Asking>,
}

impl fmt::Debug for Pulse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pulse").field("is_away", &self.is_away()).finish_non_exhaustive()
    }
}

/// Ends with the last one who wants to know.
#[derive(Debug)]
struct Asking(AbortHandle);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pulse {
    /// Starts to ask.
    pub fn of(config: &Config, tls: MakeRustlsConnect) -> Pulse {
        let (tell, is_away) = watch::channel(false);
        let asking = tokio::spawn(ask(config.clone(), tls.clone(), tell));
        Pulse { is_away, tls, _asking: Arc::new(Asking(asking.abort_handle())) }
    }

    /// Whether the server does not answer.
    pub fn is_away(&self) -> bool {
        *self.is_away.borrow()
    }

    /// How a connection to the server is encrypted.
    pub fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    /// What makes connections that are cut when the server does not answer.
    pub fn connections(&self) -> Connections {
        Connections { is_away: self.is_away.clone(), tls: self.tls.clone() }
    }
}

/// Makes connections that are cut when the server does not answer.
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
                    // Dropping the connection closes it: a caller that waits for an answer gets an error.
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
        // Of a server that is away, a new connection that hangs says nothing new.
        let patience = if client.is_some() || *tell.borrow() { PATIENCE } else { PATIENCE_CONNECTING };
        let is_away = match within(patience, answer(&config, &tls, client.take())).await {
            Some(Ok(same)) => {
                client = Some(same);
                false
            }
            // It said something, be it no: a server that is being started or has no connection left is no silent one.
            Some(Err(_)) => false,
            None => true,
        };
        if tell.send_replace(is_away) != is_away {
            if is_away {
                tracing::warn!(seconds = PATIENCE.as_secs(), "the database does not answer: its connections are cut");
            } else {
                tracing::info!("the database answers again");
            }
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// What comes within a time during which this process had time to notice.
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

    /// The machine stands still for an hour, and the answer is there a moment after it goes on.
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

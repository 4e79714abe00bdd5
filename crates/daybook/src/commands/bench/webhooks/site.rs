//! The setup of the benchmark: a database, a service that may send to this machine, and the receiver.

use super::receiving::ReceiverProcess;
use crate::commands::Failure;
use crate::commands::bench::portfolio::{Bench, said};
use daybook_clock::{Clock, System};
use daybook_store::outbox::{OutOfOrder, Subscription, SuppliedSettings};
use daybook_store::records::OrgId;
use daybook_webhooks::dispatcher::DispatcherSettings;
use daybook_webhooks::guard::{self, Guard};
use daybook_webhooks::sender::{Sender, SenderSettings};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The setup.
#[derive(Debug)]
pub struct Site {
    /// The service and its store.
    pub bench: Bench,
    /// The organization of the messages.
    pub org: OrgId,
    /// The receiver of the messages.
    pub receiver: ReceiverProcess,
    /// The number of the next message.
    pub next_message: u64,
    address: String,
}

/// A running dispatcher.
#[derive(Debug)]
pub struct Running {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    /// Stops it and waits for its deliveries in progress.
    pub async fn stop(self) -> Result<(), Failure> {
        self.stop.send_replace(true);
        self.task.await.map_err(|error| Failure::Failed(error.to_string()))
    }
}

impl Site {
    /// A setup on a database, which must be empty.
    pub async fn start(address: String, receiver: ReceiverProcess) -> Result<Site, Failure> {
        let mut bench = Bench::start(&address).await?;
        let guard = Guard { dev: true, networks: Vec::new() };
        let settings = SenderSettings { guard, ..SenderSettings::default() };
        let sender = Sender::new(settings, Arc::new(guard::System::default())).map_err(Failure::Output)?;
        bench.service = bench.service.with_sender(sender);
        let org = bench.organization().await?;
        Ok(Site { bench, org, receiver, next_message: 0, address })
    }

    /// Subscribes exactly these paths of the receiver.
    pub async fn subscribe(&self, paths: &[String]) -> Result<(), Failure> {
        for old in self.bench.store.subscriptions(self.org).await? {
            self.bench.store.unsubscribe(self.org, &old.uuid, None).await?;
        }
        for path in paths {
            let subscription = Subscription {
                org: self.org,
                id: 0,
                uuid: format!("bench-{}-{path}", self.next_message),
                url: format!("http://{}{path}", self.receiver.address),
                filter: None,
                paused: None,
                consecutive_errors: 0,
                streak: 0,
                created_at: System.now(),
                last_success_at: None,
                cursor: 0,
                version: 0,
                from_console: false,
                max_per_second: None,
                max_in_flight: None,
                held_until: None,
                ahead: OutOfOrder::default(),
            };
            self.bench.store.subscribe(&subscription, SuppliedSettings::default(), usize::MAX, None).await?;
        }
        Ok(())
    }

    /// Starts a dispatcher that sends messages at once, without batches.
    pub fn dispatch(&self) -> Result<Running, Failure> {
        let settings = DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() };
        let dispatcher = self.bench.service.dispatcher(settings).map_err(said)?;
        let (stop, stopped) = watch::channel(false);
        Ok(Running { stop, task: tokio::spawn(dispatcher.run(stopped)) })
    }

    /// The size of the database, in bytes.
    pub async fn database_bytes(&self) -> Result<i64, Failure> {
        let failed = |error: String| Failure::Failed(format!("the size of the database is not known: {error}"));
        if let Some(file) = self.address.strip_prefix("sqlite:") {
            let size = || -> rusqlite::Result<i64> {
                let pages = |connection: &rusqlite::Connection, name: &str| {
                    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
                };
                let connection = rusqlite::Connection::open(file)?;
                Ok(pages(&connection, "page_count")? * pages(&connection, "page_size")?)
            };
            return size().map_err(|error| failed(error.to_string()));
        }
        let size = async || -> Result<i64, tokio_postgres::Error> {
            let (client, connection) = tokio_postgres::connect(&self.address, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            Ok(client.query_one("SELECT pg_database_size(current_database())", &[]).await?.get(0))
        };
        size().await.map_err(|error| failed(error.to_string()))
    }
}

//! The nodes of a campaign. Each has its own runtime, and on PostgreSQL its own connections, so that one can be lost as
//! by a `kill -9`: in the middle of its work, without telling the database.

use super::receivers::Names;
use crate::support::{Home, Trial};
use daybook_service::webhooks::guard::Guard;
use daybook_store::error::StoreError;
use daybook_webhooks::dispatcher::{Dispatcher, DispatcherSettings};
use daybook_webhooks::sender::{Roots, Sender, SenderSettings};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a receiver may take. Only one that never answers takes this long.
const TIMEOUT: Duration = Duration::from_millis(250);
/// Much longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(90);

/// A node that sends, and may be lost.
#[derive(Debug)]
pub struct Node {
    pub number: usize,
    runtime: Runtime,
    dispatcher: Dispatcher,
    /// The task that runs it, if it runs in the background.
    running: Option<(watch::Sender<bool>, JoinHandle<()>)>,
}

/// A sender to the URLs of a campaign.
pub fn sender(names: &Arc<Names>) -> Sender {
    let settings = SenderSettings {
        guard: Guard { dev: true, networks: Vec::new() },
        timeout: TIMEOUT,
        roots: Roots::Only(Vec::new()),
        ..SenderSettings::default()
    };
    Sender::new(settings, names.clone()).expect("a sender")
}

impl Node {
    /// Starts a node that sends when it is triggered, or in the background.
    pub async fn start(
        number: usize,
        home: Home,
        trial: &Trial,
        sender: Sender,
        settings: DispatcherSettings,
        runs: bool,
    ) -> Node {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let trial = trial.clone();
        let made = runtime.spawn(async move {
            // Only one process at a time uses an SQLite database, so its nodes run one after another.
            let trial = if home == Home::Postgres { trial.node().await } else { trial };
            trial.service.with_sender(sender).dispatcher(settings).expect("it has a sender")
        });
        let dispatcher = made.await.expect("the node starts");
        let running = runs.then(|| {
            let (stop, stopped) = watch::channel(false);
            (stop, runtime.spawn(dispatcher.clone().run(stopped)))
        });
        Node { number, runtime, dispatcher, running }
    }

    /// Starts to send everything due, and does not wait for it.
    pub fn stir(&self) -> JoinHandle<Result<usize, StoreError>> {
        let dispatcher = self.dispatcher.clone();
        self.runtime.spawn(async move { dispatcher.settle().await })
    }

    /// Whether it runs in the background.
    pub fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// Deletes rows whose retention has ended.
    pub async fn tidy(&self) {
        let dispatcher = self.dispatcher.clone();
        let tidied = self.runtime.spawn(async move { dispatcher.tidy().await });
        tidied.await.expect("it does not panic").expect("it is tidied");
    }

    /// Stops as by a SIGTERM.
    pub async fn stop(self) {
        let Node { runtime, dispatcher, running, .. } = self;
        let stopping = match running {
            Some((stop, running)) => {
                stop.send_replace(true);
                running
            }
            None => runtime.spawn(async move { dispatcher.stop().await }),
        };
        let stopped = tokio::time::timeout(PATIENCE, stopping).await.expect("a node stops in time");
        stopped.expect("stopping does not panic");
        runtime.shutdown_background();
    }

    /// Disappears at once.
    pub fn lose(self) {
        self.runtime.shutdown_background();
    }
}

/// Waits until some nodes have sent everything due.
pub async fn rest(nodes: impl Iterator<Item = &Node>) {
    let stirred: Vec<_> = nodes.map(|node| (node.number, node.stir())).collect();
    for (number, settling) in stirred {
        let settled = tokio::time::timeout(PATIENCE, settling).await;
        let settled = settled.unwrap_or_else(|_| panic!("node {number} does not come to rest"));
        settled.expect("sending does not panic").expect("the database is there");
    }
}

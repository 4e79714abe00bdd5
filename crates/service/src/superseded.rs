//! Watching the tables: once a newer build has changed them, a node of this one does nothing more.
//!
//! Several nodes share a database, and they are upgraded one after the other. The first node of the newer build brings the
//! tables up to date while nodes of the earlier build run. Those do not know what the newer build relies on, so each looks at
//! the version every second ([`Service::look_at_tables`]). Once it is newer than what this build knows, or once another
//! node has taken up other time-zone data ([`crate::zones`]), the node is superseded, for good: timers stand still, nothing is sent, everything that changes something is refused with 503, and
//! `/readyz` says why. Reading goes on, for callers that are on their way.

use crate::Service;
use crate::lock::lock;
use crate::problem::Problem;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::watch;

/// What the reason begins with that callers get.
pub const SUPERSEDED: &str = "this node does nothing more";

/// How often the version of the tables is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why this node does nothing more, once that is so.
#[derive(Debug, Default)]
pub(crate) struct Superseded(OnceLock<String>);

impl Superseded {
    /// Whether it does nothing more.
    pub fn is_so(&self) -> bool {
        self.0.get().is_some()
    }

    /// Refuses what must not be done any more.
    pub fn check(&self) -> Result<(), Problem> {
        self.0.get().map_or(Ok(()), |why| Err(Problem::unavailable(why.clone())))
    }
}

impl Service {
    /// Refuses what a node must not do once a newer build has changed the tables.
    pub fn check_tables(&self) -> Result<(), Problem> {
        self.superseded.check()
    }

    /// Looks which version the tables are of. A newer one than this build knows supersedes this node.
    pub async fn look_at_tables(&self) -> Result<(), Problem> {
        self.look_at_zones().await?;
        let standing = self.store.tables().await?;
        if standing.is_newer() {
            self.supersede(&format!(
                "a newer build has changed the database's tables to version {}, and this one knows versions up to {}: \
                 stop this server, and start the newer build",
                standing.at, standing.known
            ));
        }
        Ok(())
    }

    /// Does nothing more from now on.
    pub(crate) fn supersede(&self, why: &str) {
        let sentence = format!("{SUPERSEDED}: {why}");
        if self.superseded.0.set(sentence.clone()).is_ok() {
            self.nudge.mute(true);
            tracing::error!("{sentence}; it processes, sends and changes nothing");
        }
    }

    /// Looks every second from now on.
    pub fn run_tables_watch(&self) {
        let watching = keep_looking(self.clone(), self.stop.subscribe());
        lock(&self.running).push(tokio::spawn(watching));
    }
}

async fn keep_looking(service: Service, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() && !service.superseded.is_so() {
        if let Err(problem) = service.look_at_tables().await {
            tracing::debug!(%problem, "the version of the tables was not looked at");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stop.changed() => {}
        }
    }
}

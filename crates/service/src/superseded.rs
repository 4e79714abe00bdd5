//! Watches the version of the tables: once a newer build has changed them, a node of this build stops working.
//!
//! Several nodes share a database and are upgraded one after the other. The first node of the newer build migrates the
//! tables while nodes of the earlier build still run. Those do not know what the newer build relies on, so each checks
//! the version every second ([`Service::look_at_tables`]). Once the version is newer than this build knows, or another
//! node has adopted other time-zone data ([`crate::zones`]), the node is superseded for good: timers stop, nothing is
//! sent, all changes are refused with 503, and `/readyz` reports the reason. Reads continue, for requests in progress.

use crate::Service;
use crate::boxed;
use crate::lock::lock;
use crate::problem::Problem;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::watch;

/// The prefix of the reason that callers get.
pub const SUPERSEDED: &str = "this node has stopped processing";

/// How often the version of the tables is checked.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why this node is superseded; unset while it is not.
#[derive(Debug, Default)]
pub(crate) struct Superseded(OnceLock<String>);

impl Superseded {
    /// Whether this node is superseded.
    pub fn is_so(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns an error if this node is superseded.
    pub fn check(&self) -> Result<(), Problem> {
        self.0.get().map_or(Ok(()), |why| Err(Problem::unavailable(why.clone())))
    }
}

impl Service {
    /// Returns an error if this node is superseded, for operations it must no longer do.
    pub fn check_tables(&self) -> Result<(), Problem> {
        self.superseded.check()
    }

    /// Checks the version of the tables. A newer one than this build knows supersedes this node.
    #[boxed]
    pub async fn look_at_tables(&self) -> Result<(), Problem> {
        self.look_at_zones().await?;
        let standing = self.store.tables().await?;
        if standing.is_newer() {
            self.supersede(&format!(
                "a newer build has changed the database's tables to version {}, and this one knows versions up to {}. \
                 Stop this server, and start the newer build",
                standing.at, standing.known
            ));
        }
        Ok(())
    }

    /// Marks this node as superseded.
    pub(crate) fn supersede(&self, why: &str) {
        let sentence = format!("{SUPERSEDED}: {why}");
        if self.superseded.0.set(sentence.clone()).is_ok() {
            self.nudge.mute(true);
            tracing::error!(
                "{sentence}. Until then, this node does not process accounts, send webhooks or accept changes"
            );
        }
    }

    /// Starts to check the tables every second.
    pub fn run_tables_watch(&self) {
        let watching = keep_looking(self.clone(), self.stop.subscribe());
        lock(&self.running).push(tokio::spawn(watching));
    }
}

async fn keep_looking(service: Service, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() && !service.superseded.is_so() {
        if let Err(problem) = service.look_at_tables().await {
            tracing::debug!(%problem, "the version of the tables could not be checked");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = stop.changed() => {}
        }
    }
}

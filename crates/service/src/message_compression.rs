//! Compresses the messages that an earlier build wrote, while the server serves.
//!
//! A migration marks a database that has such messages. They are compressed in small steps, with a pause after each, so
//! that callers hardly notice; on several nodes, one at a time does it. It goes on after a restart where it stopped. Both
//! forms are read meanwhile, and receivers get the same bytes.

use crate::Service;
use crate::boxed;
use crate::lock::lock;
use crate::problem::Problem;
use std::time::Duration;
use tokio::sync::watch;

/// Messages compressed in one transaction: some milliseconds.
const STEP: usize = 256;
/// The pause after each step.
const PAUSE: Duration = Duration::from_millis(10);
/// The pause after a step that failed, or that another node is doing.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// The progress is logged each time this many messages are done.
const LOG_EVERY: u64 = 100_000;

impl Service {
    /// How many messages are still to be looked at; `None` if all are compressed.
    #[boxed]
    pub async fn messages_to_compress(&self) -> Result<Option<u64>, Problem> {
        Ok(self.store.earlier_messages_left().await?)
    }

    /// Looks at the next messages, and returns how many of them it compressed. `None` if all are compressed, or another
    /// node compresses at this moment.
    #[boxed]
    pub async fn compress_messages(&self) -> Result<Option<u64>, Problem> {
        self.check_tables()?;
        Ok(self.store.compress_earlier_messages(STEP).await?)
    }

    /// Starts to compress them in the background.
    pub fn run_message_compression(&self) {
        let compressing = compress(self.clone(), self.stop.subscribe());
        lock(&self.running).push(tokio::spawn(compressing));
    }
}

async fn compress(service: Service, mut stop: watch::Receiver<bool>) {
    let mut logged = None;
    while !*stop.borrow() && !service.superseded.is_so() {
        let pause = match step(&service, &mut logged).await {
            Ok(true) => PAUSE,
            Ok(false) => return,
            Err(problem) => {
                tracing::warn!(%problem, "messages of an earlier build could not be compressed; trying again");
                PAUSE_AFTER_FAILURE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}

/// One step. Returns whether messages are left, on this node or another.
async fn step(service: &Service, logged: &mut Option<u64>) -> Result<bool, Problem> {
    let Some(left) = service.messages_to_compress().await? else {
        if logged.is_some() {
            tracing::info!("all messages of earlier builds are compressed");
        }
        return Ok(false);
    };
    if logged.is_none_or(|logged| left + LOG_EVERY <= logged) {
        tracing::info!(left, "compressing messages of an earlier build, in the background");
        *logged = Some(left);
    }
    if service.compress_messages().await?.is_none() {
        // It is done, or another node does it.
        tokio::time::sleep(PAUSE_AFTER_FAILURE / 10).await;
    }
    Ok(true)
}

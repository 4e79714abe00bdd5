//! Readiness: whether the database accepts a write.
//!
//! `/readyz` needs no key, so any number of callers may request it at the same time. One write is tried at a time. Its
//! result answers all requests that arrived before it finished, and a success remains valid a little longer.

use crate::problem::Problem;
use daybook_clock::Stopwatch;
use daybook_store::Store;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long the database may take to write.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long a success remains valid.
const GOOD_FOR: Duration = Duration::from_millis(250);

/// The last attempt's result, and when it ended.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<(Stopwatch, Result<(), Problem>)>>);

impl Readiness {
    /// Tries a write, unless one was tried just now.
    pub async fn check(&self, store: &dyn Store) -> Result<(), Problem> {
        let asked = Stopwatch::start();
        let mut last = self.0.lock().await;
        if let Some((ended, result)) = &*last {
            let age = ended.elapsed();
            if age <= asked.elapsed() || (result.is_ok() && age < GOOD_FOR) {
                return result.clone();
            }
        }
        let result = match tokio::time::timeout(PATIENCE, store.try_write()).await {
            Ok(written) => written.map_err(Problem::from),
            Err(_) => Err(Problem::unavailable(format!("the database accepted no write within {PATIENCE:?}"))),
        };
        *last = Some((Stopwatch::start(), result.clone()));
        result
    }
}

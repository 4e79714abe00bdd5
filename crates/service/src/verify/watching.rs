//! Verifies accounts in the background: one after the other, slowly, round after round.
//!
//! After each account it pauses at least as long as that account took, so it never uses more than half of one
//! processor. A difference is checked again before it is reported: the server is working, and an account that changes
//! during the check seems to differ.

use super::Verified;
use crate::Service;
use crate::boxed;
use crate::lock::lock;
use crate::problem::Problem;
use daybook_clock::Stopwatch;
use daybook_store::records::{AccountKey, PageRequest};
use std::num::NonZeroU32;
use std::time::Duration;

/// The number of account ids read at once.
const STEP: usize = 200;
/// How often a difference must be found to be reported.
const LOOKS: usize = 3;
/// The time between two rounds.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(60);

impl Service {
    /// Verifies accounts, at most this many per second, until the service stops. Differences are logged and counted in
    /// a metric.
    pub fn run_verifying(&self, accounts_per_second: NonZeroU32) {
        let (service, mut stop) = (self.clone(), self.stop.subscribe());
        let pause = Duration::from_secs(1) / accounts_per_second.get();
        lock(&self.running).push(tokio::spawn(async move {
            loop {
                tokio::select! {
                    done = service.verify_round(pause) => {
                        if let Err(problem) = done {
                            tracing::warn!(
                                %problem,
                                "background verification was interrupted; the next round follows in a minute"
                            );
                        }
                    }
                    _ = stop.wait_for(|stopped| *stopped) => return,
                }
                tokio::select! {
                    () = tokio::time::sleep(BETWEEN_ROUNDS) => {}
                    _ = stop.wait_for(|stopped| *stopped) => return,
                }
            }
        }));
    }

    /// Verifies every account once, with a pause after each. Returns the number of differences.
    #[boxed]
    pub async fn verify_round(&self, pause: Duration) -> Result<u64, Problem> {
        let mut differences = 0;
        for organization in self.store.organizations().await? {
            let mut page = PageRequest { limit: STEP, ..PageRequest::default() };
            loop {
                let rows = self.store.accounts(organization.org, &page).await?;
                let Some(last) = rows.last() else { break };
                page.after = Some(last.key.account.clone());
                for row in rows {
                    let watch = Stopwatch::start();
                    differences += self.verify_again_and_again(&row.key).await?;
                    self.metrics.verified.add(1);
                    tokio::time::sleep(pause.max(watch.elapsed())).await;
                }
            }
        }
        differences += self.verify_trails_again_and_again().await?;
        self.metrics.differences.set(differences);
        self.metrics.verify_rounds.add(1);
        Ok(differences)
    }

    /// Verifies the audit trails several times, and counts the differences found every time.
    async fn verify_trails_again_and_again(&self) -> Result<u64, Problem> {
        let mut differ: Option<Vec<String>> = None;
        for _ in 0..LOOKS {
            let mut verified = Verified::default();
            self.verify_guards(false, &mut verified).await?;
            self.verify_audit(true, &mut verified).await?;
            let found = verified.differences;
            let both: Vec<String> = match differ {
                None => found,
                Some(before) => before.into_iter().filter(|sentence| found.contains(sentence)).collect(),
            };
            if both.is_empty() {
                return Ok(0);
            }
            differ = Some(both);
        }
        let differ = differ.unwrap_or_default();
        for difference in &differ {
            tracing::error!(difference, "the audit trail was changed: see `daybook verify`");
        }
        Ok(differ.len() as u64)
    }

    /// Verifies an account several times, and counts the differences found every time.
    async fn verify_again_and_again(&self, key: &AccountKey) -> Result<u64, Problem> {
        let keys = self.stored_keys(key.org).await?;
        let mut differ: Option<Vec<String>> = None;
        for _ in 0..LOOKS {
            let mut verified = Verified::default();
            self.verify_one(key, &keys, false, &mut verified).await?;
            let found = verified.differences;
            let both = match differ {
                None => found,
                Some(before) => before.into_iter().filter(|sentence| found.contains(sentence)).collect(),
            };
            if both.is_empty() {
                return Ok(0);
            }
            differ = Some(both);
        }
        let differ = differ.unwrap_or_default();
        for difference in &differ {
            tracing::error!(difference, "stored data differ from the journal: see `daybook verify --fix`");
        }
        Ok(differ.len() as u64)
    }
}

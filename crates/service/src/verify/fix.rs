//! Corrects derived data. The journal is never changed, and nothing is announced or sent.

use super::around::of_guard;
use super::{Plan, Verified};
use crate::Service;
use crate::audit::Act;
use crate::boxed;
use crate::problem::Problem;
use daybook_store::batch::{AccountClaim, AccountWrite, Batch, Claimed, Unit};
use daybook_store::records::AccountKey;
use daybook_store::{AccountToLoad, Inputs};
use std::collections::BTreeSet;

/// The corrections made, and the remaining differences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// Differences that were corrected, as sentences.
    pub fixed: Vec<String>,
    /// The result of verifying again.
    pub verified: Verified,
}

impl Service {
    /// Verifies everything, corrects derived data from the journals, and verifies again.
    #[boxed]
    pub async fn fix(&self, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Fixed, Problem> {
        self.record_first(&self.operator_of_none(), Act::on("verify_fix", "database", "")).await?;
        let guards = self.store.lost_guards().await?;
        let before = self.look(true, progress).await?;
        let verified = self.verify(progress).await?;
        let left: BTreeSet<&String> = verified.differences.iter().collect();
        let fixed = before.differences.into_iter().filter(|difference| !left.contains(difference));
        // What to do about a lost trigger is done: it was restored.
        let as_restored = |difference: String| match guards.iter().find(|lost| of_guard(lost) == difference) {
            Some(lost) => format!("audit trail: {}", lost.restored()),
            None => difference,
        };
        Ok(Fixed { fixed: fixed.map(as_restored).collect(), verified })
    }

    /// Writes the corrections of an account, if its version is still the one that was compared. An account that changed
    /// in the meantime is left to the next verification.
    pub(super) async fn apply(&self, key: &AccountKey, version: i64, plan: Plan) -> Result<(), Problem> {
        let Plan { now, items, customers, words, corrections } = plan;
        let is_written = now.is_some() || !items.is_empty() || customers.is_some() || !words.is_empty();
        if !is_written && corrections.is_empty() {
            return Ok(());
        }
        let now = match now {
            Some(now) => now,
            None => {
                let want = AccountToLoad { key: key.clone(), inputs: Inputs::None, names: Vec::new() };
                let loaded = self.store.load(&[want]).await?.into_iter().next().flatten();
                let Some(loaded) = loaded.filter(|loaded| loaded.row.version == version) else { return Ok(()) };
                loaded.row.now
            }
        };
        // The account is claimed even if only other rows are corrected, so that concurrent work on it is retried.
        let write = AccountWrite {
            claim: AccountClaim::Update { key: key.clone(), version, now: Box::new(now) },
            inputs: Vec::new(),
            removed_inputs: Vec::new(),
            items,
            item_changes: Vec::new(),
            customers,
            publish_until: None,
            cancel: None,
            refold: None,
        };
        let unit = Unit { accounts: vec![write], words, ..Unit::default() };
        let claimed = self.store.commit(Batch { units: vec![unit] }).await?;
        if claimed != [Claimed::Written] {
            tracing::info!(
                account = %key.account,
                "the account changed during the check and was not corrected; run `daybook verify --fix` again"
            );
            return Ok(());
        }
        Ok(self.store.correct(&corrections).await?)
    }
}

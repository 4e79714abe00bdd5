//! Correcting derived data. The journal is never touched, and nothing is announced or sent.

use super::{Plan, Verified};
use crate::Service;
use crate::audit::Act;
use crate::problem::Problem;
use daybook_store::batch::{AccountClaim, AccountWrite, Batch, Claimed, Unit};
use daybook_store::records::AccountKey;
use daybook_store::{Inputs, Want};
use std::collections::BTreeSet;

/// What was corrected, and what is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// What differed and does no more, as sentences.
    pub fixed: Vec<String>,
    /// Everything as it is now.
    pub verified: Verified,
}

impl Service {
    /// Verifies everything, makes derived data what the journals give, and verifies again.
    pub async fn fix(&self, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Fixed, Problem> {
        self.record_first(&self.operator_of_none(), Act::on("verify_fix", "database", "")).await?;
        let before = self.look(true, progress).await?;
        let verified = self.verify(progress).await?;
        let left: BTreeSet<&String> = verified.differences.iter().collect();
        let fixed = before.differences.into_iter().filter(|difference| !left.contains(difference)).collect();
        Ok(Fixed { fixed, verified })
    }

    /// Writes what corrects an account, if it is still the version that was compared. One that was changed meanwhile is
    /// left to the next look.
    pub(super) async fn apply(&self, key: &AccountKey, version: i64, plan: Plan) -> Result<(), Problem> {
        let Plan { now, items, customers, words, corrections } = plan;
        let is_written = now.is_some() || !items.is_empty() || customers.is_some() || !words.is_empty();
        if !is_written && corrections.is_empty() {
            return Ok(());
        }
        let now = match now {
            Some(now) => now,
            None => {
                let want = Want { key: key.clone(), inputs: Inputs::None, names: Vec::new() };
                let loaded = self.store.load(&[want]).await?.into_iter().next().flatten();
                let Some(loaded) = loaded.filter(|loaded| loaded.row.version == version) else { return Ok(()) };
                loaded.row.now
            }
        };
        // Claimed also where only other rows are corrected: work on the account that runs meanwhile is done again.
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
            tracing::info!(account = %key.account, "the account was changed meanwhile and is not corrected now");
            return Ok(());
        }
        Ok(self.store.correct(&corrections).await?)
    }
}

//! Accounts that are to be folded again by newer rules, and the list of what that changed.
//!
//! The migration that introduces newer rules puts every account into `accounts_to_refold`. The transaction that writes
//! a refolded account removes it from there ([`RefoldWrite`](crate::batch::RefoldWrite)), so that a crash neither loses
//! an account nor processes it twice.

use crate::Result;
use crate::dialect::{Dialect, sql};
use crate::records::{AccountKey, OrgId};
use crate::rows::{self, Cells};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// An account whose balances or status changed when it was folded again, or that could not be folded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefoldRow {
    /// The account.
    pub key: AccountKey,
    /// The version of the rules.
    pub rules_version: i64,
    /// When it was folded again.
    pub recorded_at: Time,
    /// Its balances and status before, as JSON.
    pub before: Option<String>,
    /// Its balances and status after, as JSON.
    pub after: Option<String>,
    /// Why it could not be folded again.
    pub failure: Option<String>,
}

/// Folding accounts again by newer rules.
#[async_trait]
pub trait Refolds: Send + Sync + std::fmt::Debug {
    /// Accounts to be folded again, by organization and id: those after `after`, at most `limit`.
    async fn accounts_to_refold(&self, after: Option<&AccountKey>, limit: usize) -> Result<Vec<AccountKey>>;

    /// How many accounts are to be folded again.
    async fn count_to_refold(&self) -> Result<i64>;

    /// The refolded accounts of an organization, by id: those after `after`, at most `limit`.
    async fn refolds(&self, org: OrgId, after: Option<&str>, limit: usize) -> Result<Vec<RefoldRow>>;
}

fn refold(cells: &mut Cells<'_>) -> Result<RefoldRow> {
    Ok(RefoldRow {
        key: rows::account_key(cells)?,
        rules_version: cells.next()?,
        recorded_at: cells.time()?,
        before: cells.next()?,
        after: cells.next()?,
        failure: cells.next()?,
    })
}

#[async_trait]
impl<D: Dialect> Refolds for D {
    async fn accounts_to_refold(&self, after: Option<&AccountKey>, limit: usize) -> Result<Vec<AccountKey>> {
        let (org, account) = after.map_or((0, ""), |key| (key.org, &*key.account));
        let text = "SELECT org, account FROM accounts_to_refold WHERE (org, account) > ($1, $2)
                    ORDER BY org, account LIMIT $3";
        self.all(sql!(text, org, account, limit), rows::account_key).await
    }

    async fn count_to_refold(&self) -> Result<i64> {
        let count = self.one(sql!("SELECT count(*) FROM accounts_to_refold"), |cells| cells.next()).await?;
        Ok(count.unwrap_or(0))
    }

    async fn refolds(&self, org: OrgId, after: Option<&str>, limit: usize) -> Result<Vec<RefoldRow>> {
        let text = "SELECT org, account, rules_version, recorded_at, state_before, state_after, failure FROM refolds
                    WHERE org = $1 AND account > $2 ORDER BY account, rules_version LIMIT $3";
        self.all(sql!(text, org, after.unwrap_or_default(), limit), refold).await
    }
}

//! Accounts that are to be folded again by newer rules, and the list of what that changed.
//!
//! The migration that introduces newer rules puts every account into `accounts_to_refold`. The transaction that writes
//! a refolded account removes it from there ([`RefoldWrite`](crate::batch::RefoldWrite)), so that a crash neither loses
//! an account nor processes it twice.

use crate::Result;
use crate::records::{AccountKey, ItemRow, OrgId};
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

    /// The line items of several accounts, each by id; in the order of the request.
    async fn items_of(&self, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>>;
}

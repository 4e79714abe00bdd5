//! Accounts that wait to be folded again by newer rules, and the list of what that moved.
//!
//! The migration that comes with newer rules puts every account into `accounts_to_refold`. The transaction that writes an
//! account folded again takes it out ([`RefoldWrite`](crate::batch::RefoldWrite)), so that a crash loses nothing and does
//! nothing twice.

use crate::Result;
use crate::records::{AccountKey, ItemRow, OrgId};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// An account whose balances or status moved when it was folded again, or that could not be folded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefoldRow {
    /// Which.
    pub key: AccountKey,
    /// The version of the rules it was folded by.
    pub rules_version: i64,
    /// When.
    pub recorded_at: Time,
    /// How it stood before, as JSON.
    pub before: Option<String>,
    /// How it stands after, as JSON.
    pub after: Option<String>,
    /// Why it could not be folded again.
    pub failure: Option<String>,
}

/// What concerns folding again.
#[async_trait]
pub trait Refolds: Send + Sync + std::fmt::Debug {
    /// Accounts that wait, by organization and id: those after one, at most `limit`.
    async fn accounts_to_refold(&self, after: Option<&AccountKey>, limit: usize) -> Result<Vec<AccountKey>>;

    /// How many wait.
    async fn count_to_refold(&self) -> Result<i64>;

    /// What is listed about the accounts of an organization, by id: those after one, at most `limit`.
    async fn refolds(&self, org: OrgId, after: Option<&str>, limit: usize) -> Result<Vec<RefoldRow>>;

    /// The line items of several accounts, each by id; in the order asked.
    async fn items_of(&self, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>>;
}

//! Accounts to be folded again, and what that changed.

use super::Sqlite;
use super::read::{all, count, items, one};
use super::rows::{text, time};
use crate::Result;
use crate::batch::RefoldWrite;
use crate::records::{AccountKey, ItemRow, OrgId};
use crate::refolds::{RefoldRow, Refolds};
use async_trait::async_trait;
use rusqlite::{Connection, params};

const TERMS: &str = "UPDATE accounts SET terms = ?3 WHERE org = ?1 AND account = ?2";
const DONE: &str = "DELETE FROM accounts_to_refold WHERE org = ?1 AND account = ?2";
const LIST: &str = "
    INSERT INTO refolds (org, account, rules_version, recorded_at, state_before, state_after, failure)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (org, account, rules_version) DO UPDATE SET recorded_at = excluded.recorded_at,
        state_before = excluded.state_before, state_after = excluded.state_after, failure = excluded.failure";

#[async_trait]
impl Refolds for Sqlite {
    async fn accounts_to_refold(&self, after: Option<&AccountKey>, limit: usize) -> Result<Vec<AccountKey>> {
        let after = after.cloned();
        let sql = "SELECT org, account FROM accounts_to_refold WHERE (org, account) > (?1, ?2) \
                   ORDER BY org, account LIMIT ?3";
        self.read(move |connection| {
            let (org, account) = after.as_ref().map_or((0, ""), |key| (key.org, &key.account));
            let params = params![org, account, count(limit)];
            all(connection, sql, params, |row| Ok(AccountKey { org: row.get(0)?, account: text(row, 1)? }))
        })
        .await
    }

    async fn count_to_refold(&self) -> Result<i64> {
        let sql = "SELECT count(*) FROM accounts_to_refold";
        self.read(move |connection| Ok(one(connection, sql, [], |row| row.get(0))?.unwrap_or(0))).await
    }

    async fn refolds(&self, org: OrgId, after: Option<&str>, limit: usize) -> Result<Vec<RefoldRow>> {
        let after = after.unwrap_or_default().to_owned();
        let sql = "SELECT org, account, rules_version, recorded_at, state_before, state_after, failure FROM refolds \
                   WHERE org = ?1 AND account > ?2 ORDER BY account, rules_version LIMIT ?3";
        self.read(move |connection| {
            all(connection, sql, params![org, after, count(limit)], |row| {
                Ok(RefoldRow {
                    key: AccountKey { org: row.get(0)?, account: text(row, 1)? },
                    rules_version: row.get(2)?,
                    recorded_at: time(row, 3)?,
                    before: row.get(4)?,
                    after: row.get(5)?,
                    failure: row.get(6)?,
                })
            })
        })
        .await
    }

    async fn items_of(&self, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>> {
        let keys = keys.to_owned();
        self.read(move |connection| keys.iter().map(|key| items(connection, key)).collect()).await
    }
}

/// Writes the result of folding an account again. The account is claimed.
pub(super) fn write(connection: &Connection, key: &AccountKey, refold: &RefoldWrite) -> rusqlite::Result<()> {
    if let Some(terms) = &refold.terms {
        connection.prepare_cached(TERMS)?.execute(params![key.org, key.account, terms])?;
        connection.prepare_cached(DONE)?.execute(params![key.org, key.account])?;
    }
    if let Some(row) = &refold.listed {
        connection.prepare_cached(LIST)?.execute(params![
            key.org,
            key.account,
            row.rules_version,
            row.recorded_at.micros(),
            row.before,
            row.after,
            row.failure,
        ])?;
    }
    Ok(())
}

//! API keys.

use crate::dialect::{Dialect, sql};
use crate::records::{KeyRow, OrgId};
use crate::rows::Cells;
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::collections::BTreeMap;

/// API keys of a database.
#[async_trait]
pub trait Keys: std::fmt::Debug + Send + Sync {
    /// Creates a key; false if the client id is taken.
    async fn create_key(&self, key: &KeyRow, audit: Audited<'_>) -> Result<bool>;

    /// A key by its client id.
    async fn key(&self, client_id: &str) -> Result<Option<KeyRow>>;

    /// The key whose secret has this hash.
    async fn key_by_secret(&self, secret_hash: &[u8]) -> Result<Option<KeyRow>>;

    /// An organization's keys, by time of creation.
    async fn keys(&self, org: OrgId) -> Result<Vec<KeyRow>>;

    /// Revokes a key, unless it is revoked already; false if it does not exist.
    async fn revoke_key(&self, org: OrgId, client_id: &str, at: Time, audit: Audited<'_>) -> Result<bool>;

    /// Records when keys were last used. Never moves a time back.
    async fn touch_keys(&self, used: &[(String, Time)]) -> Result<()>;
}

const KEY: &str = "org, client_id, secret_hash, name, role, created_at, last_used_at, revoked_at";

fn key(cells: &mut Cells<'_>) -> Result<KeyRow> {
    Ok(KeyRow {
        org: cells.next()?,
        client_id: cells.next()?,
        secret_hash: cells.next()?,
        name: cells.next()?,
        role: cells.next()?,
        created_at: cells.time()?,
        last_used_at: cells.time_or_none()?,
        revoked_at: cells.time_or_none()?,
    })
}

#[async_trait]
impl<D: Dialect> Keys for D {
    async fn create_key(&self, new: &KeyRow, audit: Audited<'_>) -> Result<bool> {
        let KeyRow { org, client_id, secret_hash, name, role, created_at, last_used_at, revoked_at } = new;
        let text = format!(
            "INSERT INTO keys ({KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (client_id) DO NOTHING"
        );
        let write = sql!(text, *org, client_id, secret_hash, name, role, *created_at, *last_used_at, *revoked_at);
        Ok(self.transact(vec![write.must_change()], audit).await?.is_done())
    }

    async fn key(&self, client_id: &str) -> Result<Option<KeyRow>> {
        self.one(sql!(format!("SELECT {KEY} FROM keys WHERE client_id = $1"), client_id), key).await
    }

    async fn key_by_secret(&self, secret_hash: &[u8]) -> Result<Option<KeyRow>> {
        self.one(sql!(format!("SELECT {KEY} FROM keys WHERE secret_hash = $1"), secret_hash), key).await
    }

    async fn keys(&self, org: OrgId) -> Result<Vec<KeyRow>> {
        let text = format!("SELECT {KEY} FROM keys WHERE org = $1 ORDER BY created_at, client_id");
        self.all(sql!(text, org), key).await
    }

    async fn revoke_key(&self, org: OrgId, client_id: &str, at: Time, audit: Audited<'_>) -> Result<bool> {
        let text = "UPDATE keys SET revoked_at = coalesce(revoked_at, $3) WHERE org = $1 AND client_id = $2";
        Ok(self.transact(vec![sql!(text, org, client_id, at).must_change()], audit).await?.is_done())
    }

    /// Nodes record the same keys at the same time: in the order of the keys, which avoids deadlocks.
    async fn touch_keys(&self, used: &[(String, Time)]) -> Result<()> {
        let mut latest: BTreeMap<&str, Time> = BTreeMap::new();
        for (client_id, at) in used {
            let known = latest.entry(client_id).or_insert(*at);
            *known = (*at).max(*known);
        }
        if latest.is_empty() {
            return Ok(());
        }
        let text = "UPDATE keys SET last_used_at = $2
                    WHERE client_id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
        let writes = latest.into_iter().map(|(client_id, at)| sql!(text, client_id, at)).collect();
        self.transact(writes, None).await.map(drop)
    }
}

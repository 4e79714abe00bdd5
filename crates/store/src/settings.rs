//! Values about the database itself, and the latest known moment.

use crate::dialect::{Dialect, Statement, sql};
use crate::error::StoreError;
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// The setting that holds the latest known moment: microseconds in eight bytes, big-endian, so that the bytes sort like
/// the moments.
const LATEST_MOMENT: &str = "latest_moment";

/// Settings of a database.
#[async_trait]
pub trait DatabaseSettings: std::fmt::Debug + Send + Sync {
    /// A value about the database itself.
    async fn setting(&self, name: &str) -> Result<Option<Vec<u8>>>;

    /// Stores a value unless one exists; returns the stored one.
    async fn keep_setting(&self, name: &str, value: &[u8]) -> Result<Vec<u8>>;

    /// Stores a value, replacing an existing one.
    async fn put_setting(&self, name: &str, value: &[u8], audit: Audited<'_>) -> Result<()>;

    /// Removes a value; returns whether it existed.
    async fn remove_setting(&self, name: &str, audit: Audited<'_>) -> Result<bool>;

    /// The latest moment that a running server recorded here.
    async fn latest_moment(&self) -> Result<Option<Time>>;

    /// Records a moment unless a later one is recorded; with `even_back`, records it in any case.
    async fn note_moment(&self, at: Time, even_back: bool) -> Result<()>;
}

/// Stores a value, replacing an existing one.
pub(crate) fn put(name: &str, value: &[u8]) -> Statement {
    let text = "INSERT INTO settings (name, value) VALUES ($1, $2)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    sql!(text, name, value)
}

#[async_trait]
impl<D: Dialect> DatabaseSettings for D {
    async fn setting(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.one(sql!("SELECT value FROM settings WHERE name = $1", name), |cells| cells.next()).await
    }

    async fn keep_setting(&self, name: &str, value: &[u8]) -> Result<Vec<u8>> {
        let text = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.execute(sql!(text, name, value)).await?;
        let stored = self.setting(name).await?;
        stored.ok_or_else(|| StoreError::Broken(format!("the setting {name} was not stored")))
    }

    async fn put_setting(&self, name: &str, value: &[u8], audit: Audited<'_>) -> Result<()> {
        self.transact(vec![put(name, value)], audit).await.map(drop)
    }

    async fn remove_setting(&self, name: &str, audit: Audited<'_>) -> Result<bool> {
        let write = sql!("DELETE FROM settings WHERE name = $1", name);
        Ok(self.transact(vec![write.must_change()], audit).await?.is_done())
    }

    async fn latest_moment(&self) -> Result<Option<Time>> {
        let bytes = self.setting(LATEST_MOMENT).await?.and_then(|bytes| bytes.try_into().ok());
        Ok(bytes.map(|bytes| Time::from_micros(i64::from_be_bytes(bytes))))
    }

    async fn note_moment(&self, at: Time, even_back: bool) -> Result<()> {
        let text = "INSERT INTO settings AS s (name, value) VALUES ($1, $2)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE $3 OR s.value < excluded.value";
        let bytes = at.micros().max(0).to_be_bytes();
        self.execute(sql!(text, LATEST_MOMENT, &bytes[..], even_back)).await.map(drop)
    }
}

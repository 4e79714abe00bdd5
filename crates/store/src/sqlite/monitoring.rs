//! The state of the database, for operators.

use super::connection::broken;
use super::read::{all, one};
use super::rows::text;
use super::{Sqlite, migrations};
use crate::Result;
use crate::error::StoreError;
use crate::monitoring::{DiskSpace, MOST_FAILED_COUNTED, Monitoring, OverdueWork, Releases, StorageSpace};
use crate::records::ProductKey;
use async_trait::async_trait;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::ffi::OsString;
use std::path::Path;

/// Reads each product's first moment through the index.
const OLDEST_DUE: &str = "
    SELECT min((SELECT min(a.next_moment) FROM accounts a INDEXED BY accounts_due
                WHERE a.org = p.org AND a.product = p.product AND a.next_moment <= ?1))
    FROM products p INDEXED BY products_not_holding WHERE p.holding = 0 AND p.releasing = 0";

const OLDEST_UNPUBLISHED: &str = "
    SELECT min(due_at) FROM waiting_messages INDEXED BY waiting_messages_due
    WHERE due_at <= ?1 AND cancelled_at IS NULL";

const FAILED: &str = "
    SELECT count(*) FROM (SELECT 1 FROM accounts INDEXED BY accounts_failed WHERE failure IS NOT NULL LIMIT ?1)";

const RELEASING: &str = "
    SELECT org, product, events_total FROM products INDEXED BY products_releasing WHERE releasing = 1";

const HELD: &str = "
    SELECT count(*), coalesce(sum(held_events), 0) FROM accounts INDEXED BY accounts_held
    WHERE org = ?1 AND product = ?2 AND held_events > 0 AND failure IS NULL";

const FAILED_OF_RELEASE: &str = "
    SELECT count(*), coalesce(sum(held_events), 0) FROM accounts INDEXED BY accounts_failed
    WHERE org = ?1 AND product = ?2 AND failure IS NOT NULL";

#[async_trait]
impl Monitoring for Sqlite {
    fn schema(&self) -> i64 {
        migrations::last_known()
    }

    async fn overdue_work(&self, now: Time) -> Result<OverdueWork> {
        self.read(move |connection| overdue_work(connection, now)).await
    }

    async fn releases(&self) -> Result<Releases> {
        self.read(releases).await
    }

    async fn storage_space(&self) -> Result<Option<StorageSpace>> {
        if self.identity.is_none() {
            return Ok(None);
        }
        let path = self.path.clone();
        // A file system that hangs must not block the server's threads.
        let looking = tokio::task::spawn_blocking(move || storage_space(Path::new(&path)));
        let failed = |why: String| StoreError::Unavailable(format!("its file cannot be checked: {why}"));
        let looked = looking.await.map_err(|error| failed(error.to_string()))?;
        looked.map(Some).map_err(|error| failed(error.to_string()))
    }
}

fn overdue_work(connection: &Connection, now: Time) -> Result<OverdueWork> {
    let first = |sql: &str| {
        let moment: Option<Option<i64>> = one(connection, sql, [now.micros()], |row| row.get(0))?;
        Ok(moment.flatten().map(Time::from_micros))
    };
    let failed: Option<i64> = one(connection, FAILED, [MOST_FAILED_COUNTED], |row| row.get(0))?;
    Ok(OverdueWork {
        oldest_due: first(OLDEST_DUE)?,
        oldest_unpublished: first(OLDEST_UNPUBLISHED)?,
        failed_accounts: failed.unwrap_or(0).unsigned_abs(),
    })
}

fn releases(connection: &Connection) -> Result<Releases> {
    let releasing = all(connection, RELEASING, [], |row| {
        Ok((ProductKey { org: row.get(0)?, product: text(row, 1)? }, row.get::<_, i64>(2)?))
    })?;
    let counted = |sql: &str, key: &ProductKey| -> Result<(u64, u64)> {
        let mut statement = connection.prepare_cached(sql).map_err(broken)?;
        let counts = statement.query_row(params![key.org, key.product], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
        let (accounts, events): (i64, i64) = counts.map_err(broken)?;
        Ok((accounts.unsigned_abs(), events.unsigned_abs()))
    };
    let mut all = Releases::default();
    for (key, events) in releasing {
        let (held_accounts, held_events) = counted(HELD, &key)?;
        let (failed_accounts, failed_events) = counted(FAILED_OF_RELEASE, &key)?;
        all.products += 1;
        all.events += events.unsigned_abs();
        all.held_accounts += held_accounts;
        all.held_events += held_events + failed_events;
        all.failed_accounts += failed_accounts;
    }
    Ok(all)
}

/// Opens no file: closing the handle would release the locks of the database.
fn storage_space(path: &Path) -> std::io::Result<StorageSpace> {
    let database_bytes = std::fs::metadata(path)?.len();
    let mut log = OsString::from(path);
    log.push("-wal");
    // The log does not exist until the first write.
    let log_bytes = std::fs::metadata(log).map_or(0, |found| found.len());
    let disk = rustix::fs::statvfs(path)?;
    let (free_bytes, disk_bytes) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
    Ok(StorageSpace { database_bytes, files: Some(DiskSpace { log_bytes, free_bytes, disk_bytes }) })
}

//! The state of the database, for operators.

use super::cells::maybe;
use super::{Postgres, migrate};
use crate::Result;
use crate::monitoring::{Connections, MOST_FAILED_COUNTED, Monitoring, OverdueWork, Releases, StorageSpace};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// Reads each product's first moment through the index.
const STANDING: &str = "
    SELECT (SELECT min(first.next_moment)
            FROM products p
            CROSS JOIN LATERAL (
                SELECT a.next_moment FROM accounts a
                WHERE a.org = p.org AND a.product = p.product AND a.next_moment <= $1
                ORDER BY a.next_moment LIMIT 1) first
            WHERE NOT p.holding AND NOT p.releasing),
           (SELECT m.due_at FROM waiting_messages m
            WHERE m.due_at <= $1 AND m.cancelled_at IS NULL ORDER BY m.due_at, m.arrival LIMIT 1),
           (SELECT count(*) FROM (SELECT FROM accounts a WHERE a.failure IS NOT NULL LIMIT $2) failed)";

const RELEASES: &str = "
    SELECT count(*), COALESCE(sum(p.events_total), 0)::bigint,
           COALESCE(sum(held.events + failed.events), 0)::bigint, COALESCE(sum(held.accounts), 0)::bigint,
           COALESCE(sum(failed.accounts), 0)::bigint
    FROM products p
    CROSS JOIN LATERAL (
        SELECT count(*) AS accounts, COALESCE(sum(a.held_events), 0)::bigint AS events FROM accounts a
        WHERE a.org = p.org AND a.product = p.product AND a.held_events > 0 AND a.failure IS NULL) held
    CROSS JOIN LATERAL (
        SELECT count(*) AS accounts, COALESCE(sum(a.held_events), 0)::bigint AS events FROM accounts a
        WHERE a.org = p.org AND a.product = p.product AND a.failure IS NOT NULL) failed
    WHERE p.releasing";

#[async_trait]
impl Monitoring for Postgres {
    fn schema(&self) -> i64 {
        migrate::last_known()
    }

    fn connections(&self) -> Option<Connections> {
        Some(self.server.connections())
    }

    async fn overdue_work(&self, now: Time) -> Result<OverdueWork> {
        let row = self.server.query_opt(STANDING, &[&now.micros(), &MOST_FAILED_COUNTED]).await?;
        let overdue_work = maybe(row, |cells| {
            Ok(OverdueWork {
                oldest_due: cells.time_or_none()?,
                oldest_unpublished: cells.time_or_none()?,
                failed_accounts: cells.next::<i64>()?.unsigned_abs(),
            })
        })?;
        Ok(overdue_work.unwrap_or_default())
    }

    async fn releases(&self) -> Result<Releases> {
        let releases = maybe(self.server.query_opt(RELEASES, &[]).await?, |cells| {
            let mut next = || Ok::<_, crate::error::StoreError>(cells.next::<i64>()?.unsigned_abs());
            Ok(Releases {
                products: next()?,
                events: next()?,
                held_events: next()?,
                held_accounts: next()?,
                failed_accounts: next()?,
            })
        })?;
        Ok(releases.unwrap_or_default())
    }

    async fn storage_space(&self) -> Result<Option<StorageSpace>> {
        let sql = "SELECT pg_database_size(current_database())";
        let bytes = maybe(self.server.query_opt(sql, &[]).await?, |cells| cells.next::<i64>())?;
        Ok(bytes.map(|bytes| StorageSpace { database_bytes: bytes.unsigned_abs(), files: None }))
    }
}

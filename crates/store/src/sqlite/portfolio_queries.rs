//! Counts and sums for charts.

use super::Sqlite;
use super::connection::broken;
use super::read::{all, one};
use super::rows::{optional_time, text, time};
use super::search_index;
use crate::Result;
use crate::outbox::Attempt;
use crate::portfolio_queries::{
    AccountSearch, Attention, FoundAccount, HourFigure, LateFigure, OrgSubscription, PortfolioQueries, SearchText,
    SearchedKind, StatusFigure, Sum, Summed, by_hour, hour_of,
};
use crate::records::{CustomerRow, OrgId, PageRequest};
use async_trait::async_trait;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};
use std::sync::Arc;

/// The account's clock, if that is not the present (`?2`). Columns that are not in the index are read only if the other
/// conditions do not decide.
pub(super) const STANDS_AT: &str = "
    CASE WHEN a.rolled_to > ?2 OR a.held_events > 0 OR a.failure IS NOT NULL
              OR a.product IN (SELECT p.product FROM products p WHERE p.org = ?1 AND p.holding = 1)
         THEN coalesce(a.processed_through, a.rolled_to) END";

#[async_trait]
impl PortfolioQueries for Sqlite {
    async fn has_accounts(&self, org: OrgId, at_least: u32) -> Result<bool> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM accounts INDEXED BY accounts_counted WHERE org = ?1 LIMIT ?2)";
        let many = i64::from(at_least);
        self.read(move |connection| Ok(one(connection, sql, params![org, many], |row| row.get(0))? >= Some(many))).await
    }

    async fn status_counts(&self, org: OrgId) -> Result<Vec<StatusFigure>> {
        let sql = "SELECT status, substatus, count(*) FROM accounts INDEXED BY accounts_counted WHERE org = ?1 \
                   GROUP BY status, substatus ORDER BY status, substatus";
        self.read(move |connection| by_status(connection, sql, org)).await
    }

    async fn status_balances(&self, org: OrgId) -> Result<Vec<StatusFigure>> {
        // Not by an index: the table is read from beginning to end.
        let sql = "SELECT status, substatus, sum(balance) FROM accounts NOT INDEXED WHERE org = ?1 \
                   GROUP BY status, substatus ORDER BY status, substatus";
        self.read(move |connection| by_status(connection, sql, org)).await
    }

    async fn late_counts(&self, org: OrgId, now: Time) -> Result<Vec<LateFigure>> {
        self.read(move |connection| late_counts(connection, org, now)).await
    }

    async fn items_between(&self, org: OrgId, what: Summed, status: &str, bounds: &[Time]) -> Result<Vec<Sum>> {
        let (status, bounds) = (status.to_owned(), bounds.to_vec());
        self.read(move |connection| items_between(connection, org, what, &status, &bounds)).await
    }

    async fn delivery_hours(&self, org: OrgId, since: Time) -> Result<Vec<HourFigure>> {
        let sql = "SELECT hour, sum(delivered), sum(failed) FROM delivery_hours WHERE org = ?1 AND hour >= ?2 \
                   GROUP BY hour ORDER BY hour";
        self.read(move |connection| {
            all(connection, sql, params![org, hour_of(since)], |row| {
                Ok(HourFigure { hour: time(row, 0)?, delivered: row.get(1)?, failed: row.get(2)? })
            })
        })
        .await
    }

    async fn attention(&self, org: OrgId) -> Result<Attention> {
        self.read(move |connection| attention(connection, org)).await
    }

    async fn search_accounts(
        &self,
        org: OrgId,
        search: &AccountSearch,
        page: &PageRequest,
    ) -> Result<Vec<FoundAccount>> {
        let (search, page) = (search.clone(), page.clone());
        self.read(move |connection| search_index::accounts(connection, org, &search, &page)).await
    }

    async fn search_customers(&self, org: OrgId, text: &SearchText, page: &PageRequest) -> Result<Vec<CustomerRow>> {
        let (text, page) = (text.clone(), page.clone());
        self.read(move |connection| search_index::customers(connection, org, &text, &page)).await
    }

    async fn find(&self, org: OrgId, kind: SearchedKind, text: &SearchText, limit: usize) -> Result<Vec<Arc<str>>> {
        let text = text.clone();
        self.read(move |connection| search_index::find(connection, org, kind, &text, limit)).await
    }
}

fn by_status(connection: &Connection, sql: &str, org: OrgId) -> Result<Vec<StatusFigure>> {
    all(connection, sql, [org], |row| {
        Ok(StatusFigure { status: row.get(0)?, substatus: row.get(1)?, figure: row.get(2)? })
    })
}

fn late_counts(connection: &Connection, org: OrgId, now: Time) -> Result<Vec<LateFigure>> {
    let sql = format!(
        "SELECT a.product, a.status, a.oldest_unpaid_due, {STANDS_AT} AS stands_at, count(*)
         FROM accounts a INDEXED BY accounts_past_due
         WHERE a.org = ?1 AND a.oldest_unpaid_due IS NOT NULL
         GROUP BY a.product, a.status, a.oldest_unpaid_due, stands_at
         ORDER BY a.product, a.status, a.oldest_unpaid_due, stands_at"
    );
    all(connection, &sql, params![org, now.micros()], |row| {
        Ok(LateFigure {
            product: text(row, 0)?,
            status: row.get(1)?,
            due: time(row, 2)?,
            stands_at: optional_time(row, 3)?,
            accounts: row.get(4)?,
        })
    })
}

fn items_between(connection: &Connection, org: OrgId, what: Summed, status: &str, bounds: &[Time]) -> Result<Vec<Sum>> {
    let sql = format!(
        "SELECT count(*), coalesce(sum(amount), 0) FROM line_items INDEXED BY line_items_by_day
         WHERE org = ?1 AND kind = '{}' AND effective_at >= ?2 AND effective_at < ?3 AND status = ?4
           AND reversed_by IS NULL",
        what.name()
    );
    let mut statement = connection.prepare_cached(&sql).map_err(broken)?;
    let mut sums = Vec::with_capacity(bounds.len());
    for pair in bounds.windows(2) {
        let params = params![org, pair[0].micros(), pair[1].micros(), status];
        let sum = statement.query_row(params, |row| Ok(Sum { count: row.get(0)?, amount: row.get(1)? }));
        sums.push(sum.map_err(broken)?);
    }
    Ok(sums)
}

fn attention(connection: &Connection, org: OrgId) -> Result<Attention> {
    let sql = "
        SELECT (SELECT count(*) FROM subscriptions WHERE org = ?1 AND paused_at IS NOT NULL),
            (SELECT count(*) FROM accounts INDEXED BY accounts_failed WHERE org = ?1 AND failure IS NOT NULL),
            (SELECT count(*) FROM products WHERE org = ?1 AND holding = 1),
            (SELECT count(*) FROM products INDEXED BY products_releasing WHERE org = ?1 AND releasing = 1)";
    let found = one(connection, sql, [org], |row| {
        Ok(Attention {
            paused_subscriptions: row.get(0)?,
            failed_accounts: row.get(1)?,
            holding_products: row.get(2)?,
            releasing_products: row.get(3)?,
        })
    })?;
    Ok(found.unwrap_or_default())
}

/// Adds attempts to the counts of their hours: usually one row.
pub(super) fn count_hours(
    connection: &Connection,
    (org, subscription): OrgSubscription,
    attempts: &[Attempt],
) -> Result<()> {
    let sql = "INSERT INTO delivery_hours (org, hour, subscription, delivered, failed) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT DO UPDATE SET delivered = delivered + excluded.delivered, failed = failed + excluded.failed";
    let mut add = connection.prepare_cached(sql).map_err(broken)?;
    for (hour, (delivered, failed)) in by_hour(attempts) {
        add.execute(params![org, hour, subscription, delivered, failed]).map_err(broken)?;
    }
    Ok(())
}

/// Deletes hours that ended before a moment.
pub(super) fn forget_hours(connection: &Connection, before: Time) -> Result<()> {
    let sql = "DELETE FROM delivery_hours WHERE org IN (SELECT org FROM organizations) AND hour < ?1";
    let mut forget = connection.prepare_cached(sql).map_err(broken)?;
    forget.execute([hour_of(before)]).map_err(broken)?;
    Ok(())
}

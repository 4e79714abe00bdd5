//! Counts and sums for charts.

use super::Sqlite;
use super::connection::broken;
use super::read::all;
use super::rows::by_cells;
use super::search_index;
use crate::Result;
use crate::outbox::DeliveryAttempt;
use crate::portfolio_queries::{
    AccountSearch, FoundAccount, LateFigure, OrgSubscription, PortfolioQueries, SearchText, Sum, Summed, by_hour,
    hour_of, late_figure,
};
use crate::records::{CustomerRow, OrgId, PageRequest};
use async_trait::async_trait;
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

/// The account's clock, if that is not the present (`?2`). Columns that are not in the index are read only if the other
/// conditions do not decide.
pub(super) const STANDS_AT: &str = "
    CASE WHEN a.rolled_to > ?2 OR a.held_events > 0 OR a.failure IS NOT NULL
              OR a.product IN (SELECT p.product FROM products p WHERE p.org = ?1 AND p.holding = 1)
         THEN coalesce(a.processed_through, a.rolled_to) END";

#[async_trait]
impl PortfolioQueries for Sqlite {
    async fn late_counts(&self, org: OrgId, now: Time) -> Result<Vec<LateFigure>> {
        self.read(move |connection| late_counts(connection, org, now)).await
    }

    async fn items_between(&self, org: OrgId, what: Summed, status: &str, bounds: &[Time]) -> Result<Vec<Sum>> {
        let (status, bounds) = (status.to_owned(), bounds.to_vec());
        self.read(move |connection| items_between(connection, org, what, &status, &bounds)).await
    }

    async fn search_accounts(
        &self,
        org: OrgId,
        search: &AccountSearch,
        page: &PageRequest,
    ) -> Result<Vec<FoundAccount>> {
        search_index::accounts(self, org, search, page).await
    }

    async fn search_customers(&self, org: OrgId, text: &SearchText, page: &PageRequest) -> Result<Vec<CustomerRow>> {
        search_index::customers(self, org, text, page).await
    }
}

fn late_counts(connection: &Connection, org: OrgId, now: Time) -> Result<Vec<LateFigure>> {
    let sql = format!(
        "SELECT a.product, a.status, a.oldest_unpaid_due, {STANDS_AT} AS stands_at, count(*)
         FROM accounts a INDEXED BY accounts_past_due
         WHERE a.org = ?1 AND a.oldest_unpaid_due IS NOT NULL
         GROUP BY a.product, a.status, a.oldest_unpaid_due, stands_at
         ORDER BY a.product, a.status, a.oldest_unpaid_due, stands_at"
    );
    all(connection, &sql, params![org, now.micros()], by_cells(late_figure))
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

/// Adds attempts to the counts of their hours: usually one row.
pub(super) fn count_hours(
    connection: &Connection,
    (org, subscription): OrgSubscription,
    attempts: &[DeliveryAttempt],
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

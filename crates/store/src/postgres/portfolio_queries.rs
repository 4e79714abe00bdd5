//! Counts and sums for charts.

use super::Postgres;
use super::arrays::column;
use super::cells::each;
use super::flight::Query;
use super::search_index;
use super::server::PostgresServer;
use crate::Result;
use crate::outbox::DeliveryAttempt;
use crate::portfolio_queries::{
    AccountSearch, FoundAccount, LateFigure, OrgSubscription, PortfolioQueries, SearchText, Sum, Summed, by_hour,
    hour_of, late_figure,
};
use crate::records::{CustomerRow, OrgId, PageRequest};
use async_trait::async_trait;
use daybook_engine::time::Time;

/// The account's clock, if that is not the present (`$2`).
pub(super) const STANDS_AT: &str = "
    CASE WHEN a.rolled_to > $2 OR a.held_events > 0 OR a.failure IS NOT NULL
              OR a.product IN (SELECT p.product FROM products p WHERE p.org = $1 AND p.holding)
         THEN COALESCE(a.processed_through, a.rolled_to) END";

#[async_trait]
impl PortfolioQueries for Postgres {
    async fn late_counts(&self, org: OrgId, now: Time) -> Result<Vec<LateFigure>> {
        let sql = format!(
            "SELECT l.product, l.status, l.oldest_unpaid_due, l.stands_at, count(*)
             FROM (SELECT a.product, a.status, a.oldest_unpaid_due, {STANDS_AT} AS stands_at
                   FROM accounts a WHERE a.org = $1 AND a.oldest_unpaid_due IS NOT NULL
                   ORDER BY a.oldest_unpaid_due OFFSET 0) l
             GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 NULLS FIRST"
        );
        each(&self.server.query(&sql, &[&org, &now.micros()]).await?, late_figure)
    }

    async fn items_between(&self, org: OrgId, what: Summed, status: &str, bounds: &[Time]) -> Result<Vec<Sum>> {
        let from: Vec<i64> = bounds.windows(2).map(|pair| pair[0].micros()).collect();
        let to: Vec<i64> = bounds.windows(2).map(|pair| pair[1].micros()).collect();
        let sql = format!(
            "SELECT s.items, s.amount
             FROM (SELECT unnest($2::bigint[]) AS since, unnest($3::bigint[]) AS until) d
             CROSS JOIN LATERAL (
                 SELECT count(*) AS items, COALESCE(sum(l.amount), 0)::bigint AS amount
                 FROM line_items l
                 WHERE l.org = $1 AND l.kind = '{}' AND l.effective_at >= d.since AND l.effective_at < d.until
                   AND l.status = $4 AND l.reversed_by IS NULL) s
             ORDER BY d.since",
            what.name()
        );
        each(&self.server.query(&sql, &[&org, &from, &to, &status]).await?, |cells| {
            Ok(Sum { count: cells.next()?, amount: cells.next()? })
        })
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

/// Adds attempts to the counts of their hours: usually one row.
pub(super) fn count_hours(of: OrgSubscription, attempts: &[DeliveryAttempt]) -> Query<'static> {
    let sql = "INSERT INTO delivery_hours (org, subscription, hour, delivered, failed)
               SELECT $1, $2, unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[])
               ON CONFLICT (org, hour, subscription) DO UPDATE
               SET delivered = delivery_hours.delivered + excluded.delivered,
                   failed = delivery_hours.failed + excluded.failed";
    let (org, subscription) = of;
    let hours: Vec<(i64, (i64, i64))> = by_hour(attempts).into_iter().collect();
    Query::new(
        sql,
        vec![
            Box::new(org),
            Box::new(subscription),
            column(&hours, |(hour, _)| *hour),
            column(&hours, |(_, (delivered, _))| *delivered),
            column(&hours, |(_, (_, failed))| *failed),
        ],
    )
}

/// Deletes hours that ended before a moment. Two nodes that do so at once skip each other's rows.
pub(super) async fn forget_hours(server: &PostgresServer, before: Time) -> Result<()> {
    let sql = "WITH expired AS MATERIALIZED (
                   SELECT h.org, h.hour, h.subscription
                   FROM organizations o
                   CROSS JOIN LATERAL (
                       SELECT h.org, h.hour, h.subscription FROM delivery_hours h
                       WHERE h.org = o.org AND h.hour < $1 OFFSET 0 FOR UPDATE SKIP LOCKED) h)
               DELETE FROM delivery_hours h USING expired e
               WHERE h.org = e.org AND h.hour = e.hour AND h.subscription = e.subscription";
    server.execute(sql, &[&hour_of(before)]).await.map(drop)
}

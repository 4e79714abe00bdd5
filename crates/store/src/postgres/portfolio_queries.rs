//! Counts and sums for charts.

use super::Postgres;
use super::arrays::column;
use super::cells::{each, maybe};
use super::flight::Query;
use super::search_index;
use super::server::Server;
use crate::Result;
use crate::outbox::Attempt;
use crate::portfolio_queries::{
    AccountSearch, Attention, FoundAccount, HourFigure, LateFigure, OrgSubscription, PortfolioQueries, SearchText,
    SearchedKind, StatusFigure, Sum, Summed, by_hour, hour_of,
};
use crate::records::{CustomerRow, OrgId, PageRequest};
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::sync::Arc;

/// The account's clock, if that is not the present (`$2`).
pub(super) const STANDS_AT: &str = "
    CASE WHEN a.rolled_to > $2 OR a.held_events > 0 OR a.failure IS NOT NULL
              OR a.product IN (SELECT p.product FROM products p WHERE p.org = $1 AND p.holding)
         THEN COALESCE(a.processed_through, a.rolled_to) END";

#[async_trait]
impl PortfolioQueries for Postgres {
    async fn has_accounts(&self, org: OrgId, at_least: u32) -> Result<bool> {
        let sql = "SELECT count(*) >= $2 FROM (SELECT 1 FROM accounts WHERE org = $1 LIMIT $2) a";
        let row = self.server.query_opt(sql, &[&org, &i64::from(at_least)]).await?;
        Ok(maybe(row, |cells| cells.next())?.unwrap_or_default())
    }

    async fn status_counts(&self, org: OrgId) -> Result<Vec<StatusFigure>> {
        let sql = "SELECT status, substatus, count(*) FROM accounts WHERE org = $1 GROUP BY status, substatus";
        by_status(&self.server, sql, org).await
    }

    async fn status_balances(&self, org: OrgId) -> Result<Vec<StatusFigure>> {
        let sql =
            "SELECT status, substatus, sum(balance)::bigint FROM accounts WHERE org = $1 GROUP BY status, substatus";
        by_status(&self.server, sql, org).await
    }

    async fn late_counts(&self, org: OrgId, now: Time) -> Result<Vec<LateFigure>> {
        let sql = format!(
            "SELECT l.product, l.status, l.oldest_unpaid_due, l.stands_at, count(*)
             FROM (SELECT a.product, a.status, a.oldest_unpaid_due, {STANDS_AT} AS stands_at
                   FROM accounts a WHERE a.org = $1 AND a.oldest_unpaid_due IS NOT NULL
                   ORDER BY a.oldest_unpaid_due OFFSET 0) l
             GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 NULLS FIRST"
        );
        each(&self.server.query(&sql, &[&org, &now.micros()]).await?, |cells| {
            Ok(LateFigure {
                product: cells.text()?,
                status: cells.next()?,
                due: cells.time()?,
                stands_at: cells.time_or_none()?,
                accounts: cells.next()?,
            })
        })
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

    async fn delivery_hours(&self, org: OrgId, since: Time) -> Result<Vec<HourFigure>> {
        let sql = "SELECT hour, sum(delivered)::bigint, sum(failed)::bigint FROM delivery_hours
                   WHERE org = $1 AND hour >= $2 GROUP BY hour ORDER BY hour";
        each(&self.server.query(sql, &[&org, &hour_of(since)]).await?, |cells| {
            Ok(HourFigure { hour: cells.time()?, delivered: cells.next()?, failed: cells.next()? })
        })
    }

    async fn attention(&self, org: OrgId) -> Result<Attention> {
        let sql = "SELECT (SELECT count(*) FROM subscriptions WHERE org = $1 AND paused_at IS NOT NULL),
                          (SELECT count(*) FROM accounts WHERE org = $1 AND failure IS NOT NULL),
                          (SELECT count(*) FROM products WHERE org = $1 AND holding),
                          (SELECT count(*) FROM products WHERE org = $1 AND releasing)";
        let found = maybe(self.server.query_opt(sql, &[&org]).await?, |cells| {
            Ok(Attention {
                paused_subscriptions: cells.next()?,
                failed_accounts: cells.next()?,
                holding_products: cells.next()?,
                releasing_products: cells.next()?,
            })
        })?;
        Ok(found.unwrap_or_default())
    }

    async fn search_accounts(
        &self,
        org: OrgId,
        search: &AccountSearch,
        page: &PageRequest,
    ) -> Result<Vec<FoundAccount>> {
        search_index::accounts(&self.server, org, search, page).await
    }

    async fn search_customers(&self, org: OrgId, text: &SearchText, page: &PageRequest) -> Result<Vec<CustomerRow>> {
        search_index::customers(&self.server, org, text, page).await
    }

    async fn find(&self, org: OrgId, kind: SearchedKind, text: &SearchText, limit: usize) -> Result<Vec<Arc<str>>> {
        search_index::find(&self.server, org, kind, text, limit).await
    }
}

/// Sorted here: the server would sort all accounts, because its index does not have "no reason" first.
async fn by_status(server: &Server, sql: &str, org: OrgId) -> Result<Vec<StatusFigure>> {
    let mut figures = each(&server.query(sql, &[&org]).await?, |cells| {
        Ok(StatusFigure { status: cells.next()?, substatus: cells.next()?, figure: cells.next()? })
    })?;
    figures.sort_by(|one, other| (&one.status, &one.substatus).cmp(&(&other.status, &other.substatus)));
    Ok(figures)
}

/// Adds attempts to the counts of their hours: usually one row.
pub(super) fn count_hours(of: OrgSubscription, attempts: &[Attempt]) -> Query<'static> {
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
pub(super) async fn forget_hours(server: &Server, before: Time) -> Result<()> {
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

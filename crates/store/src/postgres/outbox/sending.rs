//! A node leases subscriptions and reads what to send for them.

use super::super::arrays::limit as most;
use super::super::cells::{each, maybe};
use super::super::flight::{Frame, Query, Transaction};
use super::super::grouped_messages::each_message;
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::SUBSCRIPTION;
use crate::Result;
use crate::outbox::rows::{ahead, outgoing, status, subscription};
use crate::outbox::{
    Failure, Fate, Head, Leased, Outgoing, Overdue, Range, SubscriptionFilter, SubscriptionId, TO_EVERYBODY,
    TO_THE_OTHERS,
};
use crate::records::OrgId;
use daybook_engine::time::Time;

/// Waits for locks on rows that the token holds, because this node itself may be recording; skips locked free rows.
pub(super) async fn lease(
    server: &PostgresServer,
    token: &str,
    now: Time,
    until: Time,
    limit: usize,
) -> Result<Leased> {
    let alive = "INSERT INTO sending_nodes (token, until) VALUES ($1, $2)
                 ON CONFLICT (token) DO UPDATE SET until = excluded.until";
    server.execute(alive, &[&token, &until.micros()]).await?;
    // The ids are passed as an array, not joined: after waiting for a row that was being recorded, the server evaluates
    // the conditions again, and a join with the result of another query would then find nothing.
    let sql = format!(
        "WITH mine AS MATERIALIZED (
             SELECT id FROM subscriptions WHERE lease_token = $1 AND paused_at IS NULL ORDER BY id FOR UPDATE),
         share AS MATERIALIZED (
             SELECT (SELECT count(*) FROM subscriptions WHERE paused_at IS NULL) AS active,
                    GREATEST(1, (SELECT count(*) FROM sending_nodes WHERE until > $2)) AS nodes),
         free AS MATERIALIZED (
             SELECT id FROM subscriptions
             WHERE paused_at IS NULL AND lease_token IS DISTINCT FROM $1 AND (lease_token IS NULL OR leased_until <= $2)
             ORDER BY id
             LIMIT LEAST($4, GREATEST(0, (SELECT (active + nodes - 1) / nodes FROM share) - (SELECT count(*) FROM mine)))
             FOR UPDATE SKIP LOCKED),
         taken AS (
             UPDATE subscriptions s SET lease_token = $1, leased_until = $3
             WHERE s.id = ANY (ARRAY(SELECT id FROM mine UNION ALL SELECT id FROM free))
             RETURNING {SUBSCRIPTION})
         SELECT (SELECT (active + nodes - 1) / nodes FROM share), t.* FROM taken t ORDER BY t.id"
    );
    retried!(server, transaction => lease_once(&mut transaction, &sql, token, (now, until), limit))
}

async fn lease_once(
    transaction: &mut Transaction,
    sql: &str,
    token: &str,
    (now, until): (Time, Time),
    limit: usize,
) -> Try<Leased> {
    let step =
        Query::new(sql, vec![Box::new(token), Box::new(now.micros()), Box::new(until.micros()), Box::new(most(limit))]);
    let rows = transaction.fly(Frame { begin: Some("BEGIN"), commit: true }, &[step]).await?;
    let rows = each(rows.first().map_or(&[], Vec::as_slice), |cells| Ok((cells.next::<i64>()?, subscription(cells)?)))?;
    let share = rows.first().map_or(usize::MAX, |(share, _)| usize::try_from(*share).unwrap_or(usize::MAX));
    Ok(Leased { held: rows.into_iter().map(|(_, held)| held).collect(), share })
}

pub(super) async fn give_back(server: &PostgresServer, token: &str, subscriptions: &[SubscriptionId]) -> Result<()> {
    let sql = "UPDATE subscriptions SET lease_token = NULL, leased_until = NULL
               WHERE lease_token = $1 AND id = ANY($2::bigint[])";
    server.execute(sql, &[&token, &subscriptions]).await.map(drop)
}

/// Active subscriptions with retries that were due before a moment.
pub(super) async fn overdue(server: &PostgresServer, before: Time, limit: usize) -> Result<Vec<Overdue>> {
    let sql = "SELECT s.org, s.id, s.uuid, f.retries, f.since
               FROM subscriptions s
               CROSS JOIN LATERAL (SELECT count(*) AS retries, min(f.retry_at) AS since FROM failures f
                                   WHERE f.org = s.org AND f.subscription = s.id AND f.retry_at < $1) f
               WHERE s.paused_at IS NULL AND f.retries > 0 ORDER BY f.since LIMIT $2";
    each(&server.query(sql, &[&before.micros(), &most(limit)]).await?, |cells| {
        let (org, id, uuid) = (cells.next()?, cells.next()?, cells.next()?);
        Ok(Overdue { org, id, uuid, retries: cells.next::<i64>()?.unsigned_abs(), since: cells.time()? })
    })
}

pub(super) async fn release(server: &PostgresServer, token: &str) -> Result<()> {
    let sql = "WITH mine AS MATERIALIZED (SELECT id FROM subscriptions WHERE lease_token = $1 ORDER BY id FOR UPDATE)
               UPDATE subscriptions s SET lease_token = NULL, leased_until = NULL FROM mine m WHERE s.id = m.id";
    server.execute(sql, &[&token]).await?;
    server.execute("DELETE FROM sending_nodes WHERE token = $1", &[&token]).await.map(drop)
}

/// Leaves out heads of empty logs, which exist only to be locked.
pub(super) async fn heads(server: &PostgresServer) -> Result<Vec<Head>> {
    let sql = "SELECT org, head, hurried FROM log_heads WHERE head > 0 ORDER BY org";
    each(&server.query(sql, &[]).await?, |cells| {
        Ok(Head { org: cells.next()?, head: cells.next()?, hurried: cells.next()? })
    })
}

/// The columns that [`outgoing`] reads.
const OUTGOING: &str = "m.position, m.account, m.event, m.event_id, m.content, m.signature";

/// With a filter, each event contributes its first positions; the messages at the first of all these are read.
pub(super) async fn feed(
    server: &PostgresServer,
    reader: SubscriptionFilter<'_>,
    after: i64,
    through: i64,
    limit: usize,
) -> Result<Vec<Outgoing>> {
    let SubscriptionFilter { org, filter, uuid, missed } = reader;
    let left_out = if missed { format!("AND m.event <> '{TO_EVERYBODY}'") } else { String::new() };
    let within = format!(
        "m.org = $1 AND m.position > $2 AND m.position <= $3
         AND NOT (m.event = '{TO_THE_OTHERS}' AND m.subject = $4) {left_out}"
    );
    let Some(filter) = filter else {
        let sql = format!("SELECT {OUTGOING} FROM messages m WHERE {within} ORDER BY m.position LIMIT $5");
        let rows = server.query(&sql, &[&org, &after, &through, &uuid, &most(limit)]).await?;
        return each_message(server, org, &rows, outgoing).await;
    };
    let sql = format!(
        "SELECT {OUTGOING}
         FROM (SELECT m.position FROM (SELECT DISTINCT unnest($6::text[]) AS event) e
               CROSS JOIN LATERAL (SELECT m.position FROM messages m
                                   WHERE m.event = e.event AND {within} ORDER BY m.position LIMIT $5) m
               ORDER BY m.position LIMIT $5) w
         CROSS JOIN LATERAL (
             SELECT {OUTGOING} FROM messages m WHERE m.org = $1 AND m.position = w.position OFFSET 0) m
         ORDER BY m.position"
    );
    let events: Vec<&str> = filter.iter().map(String::as_str).chain([TO_EVERYBODY]).collect();
    let rows = server.query(&sql, &[&org, &after, &through, &uuid, &most(limit), &events]).await?;
    each_message(server, org, &rows, outgoing).await
}

pub(super) async fn due_failures(
    server: &PostgresServer,
    org: OrgId,
    subscription: SubscriptionId,
    now: Time,
    limit: usize,
) -> Result<Vec<(Failure, Outgoing)>> {
    let sql = format!(
        "SELECT f.position, f.attempts, f.first_failed_at, f.retry_at, f.reason, f.status, f.streak, {OUTGOING}
         FROM (SELECT f.* FROM failures f
               WHERE f.org = $1 AND f.subscription = $2 AND f.retry_at <= $3
               ORDER BY f.retry_at, f.position LIMIT $4) f
         CROSS JOIN LATERAL (
             SELECT {OUTGOING} FROM messages m WHERE m.org = $1 AND m.position = f.position OFFSET 0) m
         ORDER BY f.retry_at, f.position"
    );
    let rows = server.query(&sql, &[&org, &subscription, &now.micros(), &most(limit)]).await?;
    each_message(server, org, &rows, |cells| {
        let failure = Failure {
            position: cells.next()?,
            attempts: cells.next()?,
            first_failed_at: cells.time_or_none()?,
            fate: Fate::Retry(cells.time()?),
            reason: cells.next()?,
            status: status(cells)?,
            streak: cells.next()?,
        };
        Ok((failure, outgoing(cells)?))
    })
    .await
}

pub(super) async fn next_retry(
    server: &PostgresServer,
    org: OrgId,
    subscription: SubscriptionId,
) -> Result<Option<Time>> {
    let sql = "SELECT retry_at FROM failures WHERE org = $1 AND subscription = $2 AND retry_at IS NOT NULL
               ORDER BY retry_at LIMIT 1";
    maybe(server.query_opt(sql, &[&org, &subscription]).await?, |cells| cells.time())
}

pub(super) async fn replaying(server: &PostgresServer, org: OrgId, subscription: SubscriptionId) -> Result<Vec<Range>> {
    let sql = "SELECT id, after, last, filter, reached, holes FROM ranges
               WHERE org = $1 AND subscription = $2 AND replaying ORDER BY id";
    each(&server.query(sql, &[&org, &subscription]).await?, |cells| {
        Ok(Range {
            id: cells.next()?,
            after: cells.next()?,
            last: cells.next()?,
            filter: cells.list_or_none()?,
            ahead: ahead(cells)?,
        })
    })
}

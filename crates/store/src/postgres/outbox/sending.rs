//! A node leases subscriptions and reads what to send for them.

use super::super::arrays::limit as most;
use super::super::cells::{each, maybe};
use super::super::flight::{Frame, Query, Transaction};
use super::super::grouped_messages::{
    ROW_ENDS_WITHIN, Reading, each_message, first_rows, messages_at, positions_of_event, stored,
};
use super::super::retry::{Setback, Try, retried};
use super::super::server::PostgresServer;
use super::SUBSCRIPTION;
use crate::Result;
use crate::outbox::rows::{ahead, status, subscription};
use crate::outbox::{
    Failure, Fate, Head, Leased, Outgoing, Overdue, Range, SubscriptionFilter, SubscriptionId, TO_EVERYBODY,
    TO_THE_OTHERS, with_messages,
};
use crate::records::{MessageRow, OrgId};
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

/// Without a filter, rows are read until there are enough messages. With one, each event contributes its first positions;
/// the messages at the first of all these are read.
pub(super) async fn feed(
    server: &PostgresServer,
    reader: SubscriptionFilter<'_>,
    after: i64,
    through: i64,
    limit: usize,
) -> Result<Vec<Outgoing>> {
    let through = through.min(i64::MAX - ROW_ENDS_WITHIN);
    let found = match reader.filter {
        Some(filter) => feed_of_events(server, reader, filter, (after, through), limit).await?,
        None => feed_of_all(server, reader, after, through, limit).await?,
    };
    Ok(found.into_iter().map(Outgoing::from).collect())
}

async fn feed_of_all(
    server: &PostgresServer,
    reader: SubscriptionFilter<'_>,
    after: i64,
    through: i64,
    limit: usize,
) -> Result<Vec<MessageRow>> {
    // Where a row begins is left to its content: its column may be wrong.
    let which = format!("org = $1 AND position > $2 AND position < $3::bigint + {ROW_ENDS_WITHIN}");
    let sql = format!(
        "SELECT {} FROM message_groups WHERE {which} AND {} ORDER BY position",
        stored(),
        first_rows("position", &which, "$4")
    );
    let mut found: Vec<MessageRow> = Vec::new();
    let mut read_through = after;
    // Some of the messages may be left out: then more are read.
    while read_through < through && found.len() < limit {
        let wanted = most(limit - found.len());
        let rows = server.query(&sql, &[&reader.org, &read_through, &through, &wanted]).await?;
        let messages = each_message(server, reader.org, &rows).await?;
        let Some(last) = messages.last().and_then(|message| message.position) else { break };
        read_through = last;
        let is_in = |at: i64| after < at && at <= through;
        found.extend(
            messages
                .into_iter()
                .filter(|message| message.position.is_some_and(is_in) && reader.gets(&message.event, &message.subject)),
        );
    }
    found.truncate(limit);
    Ok(found)
}

/// The lists of events may be wrong: of messages that can be read, only those that the reader gets are taken, and more are
/// read instead of the others.
async fn feed_of_events(
    server: &PostgresServer,
    reader: SubscriptionFilter<'_>,
    filter: &[String],
    (mut after, through): (i64, i64),
    limit: usize,
) -> Result<Vec<MessageRow>> {
    let mut found: Vec<MessageRow> = Vec::new();
    while found.len() < limit {
        let wanted = limit - found.len();
        let positions = positions_of_events(server, reader, filter, (after, through), wanted).await?;
        let Some(last) = positions.last() else { break };
        after = *last;
        let is_over = positions.len() < wanted;
        let positions = positions.into_iter().collect();
        let messages =
            messages_at(&mut Reading::Alone(server), reader.org, &positions).await.map_err(Setback::settled)?;
        found.extend(messages.into_iter().filter(|one| one.data.is_empty() || reader.gets(&one.event, &one.subject)));
        if is_over {
            break;
        }
    }
    Ok(found)
}

async fn positions_of_events(
    server: &PostgresServer,
    SubscriptionFilter { org, uuid, missed, .. }: SubscriptionFilter<'_>,
    filter: &[String],
    (after, through): (i64, i64),
    limit: usize,
) -> Result<Vec<i64>> {
    let left_out = if missed { format!("AND m.event <> '{TO_EVERYBODY}'") } else { String::new() };
    let sql = format!(
        "SELECT p.position FROM (SELECT DISTINCT unnest($6::text[]) AS event) e
         CROSS JOIN LATERAL (
             (SELECT m.position FROM message_groups m
              WHERE m.event = e.event AND m.event <> '' AND m.org = $1 AND m.position > $2 AND m.position <= $3
                AND NOT (m.event = '{TO_THE_OTHERS}' AND m.subject = $4) {left_out}
              ORDER BY m.position LIMIT $5)
             UNION ALL
             -- Rows that have the event only outside the stretch do not count towards the limit.
             (SELECT p.position
              FROM (SELECT v.position, v.mask FROM message_events v
                    WHERE v.org = $1 AND v.event = e.event AND v.position > $2
                      AND v.position < $3::bigint + {ROW_ENDS_WITHIN} AND EXISTS (SELECT FROM {positions})
                    ORDER BY v.position LIMIT $5) v
              CROSS JOIN {positions} ORDER BY p.position LIMIT $5)) p
         ORDER BY p.position LIMIT $5",
        positions = positions_of_event("$2::bigint", "$3::bigint"),
    );
    let events: Vec<&str> = filter.iter().map(String::as_str).chain([TO_EVERYBODY]).collect();
    let rows = server.query(&sql, &[&org, &after, &through, &uuid, &most(limit), &events]).await?;
    each(&rows, |cells| cells.next())
}

pub(super) async fn due_failures(
    server: &PostgresServer,
    org: OrgId,
    subscription: SubscriptionId,
    now: Time,
    limit: usize,
) -> Result<Vec<(Failure, Outgoing)>> {
    let sql = "SELECT f.position, f.attempts, f.first_failed_at, f.retry_at, f.reason, f.status, f.streak
               FROM failures f
               WHERE f.org = $1 AND f.subscription = $2 AND f.retry_at <= $3
               ORDER BY f.retry_at, f.position LIMIT $4";
    let rows = server.query(sql, &[&org, &subscription, &now.micros(), &most(limit)]).await?;
    let failures: Vec<Failure> = each(&rows, |cells| {
        Ok(Failure {
            position: cells.next()?,
            attempts: cells.next()?,
            first_failed_at: cells.time_or_none()?,
            fate: Fate::Retry(cells.time()?),
            reason: cells.next()?,
            status: status(cells)?,
            streak: cells.next()?,
        })
    })?;
    let positions = failures.iter().map(|failure| failure.position).collect();
    let messages = messages_at(&mut Reading::Alone(server), org, &positions).await.map_err(Setback::settled)?;
    Ok(with_messages(failures, messages))
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

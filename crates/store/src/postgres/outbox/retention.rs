//! Deletes expired rows, in small steps, each by one node: rows that another node has locked are left for the next run.

use super::super::arrays::limit as most;
use super::super::cells::each;
use super::super::flight::{Frame, Param, Query, Transaction};
use super::super::portfolio_queries::forget_hours;
use super::super::retry::{Try, retried};
use super::super::server::PostgresServer;
use super::stretch;
use crate::Result;
use crate::outbox::SubscriptionId;
use crate::records::OrgId;
use daybook_engine::time::Time;
use tokio_postgres::Row;

const FAILURES: &str = "
    WITH expired AS MATERIALIZED (
        SELECT org, subscription, position FROM failures WHERE dead_at <= $1
        ORDER BY dead_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    DELETE FROM failures f USING expired e
    WHERE f.org = e.org AND f.subscription = e.subscription AND f.position = e.position";

/// Subscriptions with a range that may contain expired messages.
const CANDIDATES: &str = "
    SELECT s.id FROM subscriptions s
    WHERE (s.paused_at <= $1 AND EXISTS (SELECT FROM log_heads h WHERE h.org = s.org AND h.head > s.cursor))
       OR EXISTS (SELECT FROM ranges r
                  WHERE r.org = s.org AND r.subscription = s.id AND r.since <= $1 AND NOT r.replaying)
    ORDER BY s.id";

const LOCK: &str = "SELECT s.org, s.uuid FROM subscriptions s WHERE s.id = $1 FOR UPDATE SKIP LOCKED";

/// The dead ranges of a subscription; the one after its cursor has no number.
const STRETCHES: &str = "
    SELECT r.id, r.after, r.last, r.since, r.filter FROM ranges r
    WHERE r.org = $1 AND r.subscription = $2 AND r.since <= $3 AND NOT r.replaying
    UNION ALL
    SELECT NULL, s.cursor, h.head, s.paused_at, s.filter FROM subscriptions s JOIN log_heads h ON h.org = s.org
    WHERE s.org = $1 AND s.id = $2 AND s.paused_at <= $3 AND h.head > s.cursor";

const MOVE_CURSOR: &str = "UPDATE subscriptions SET cursor = $2 WHERE id = $1 AND cursor < $2";
const MOVE_RANGE: &str = "UPDATE ranges SET after = $2 WHERE id = $1";
const END_RANGE: &str = "DELETE FROM ranges WHERE id = $1 AND last <= $2";

pub(super) async fn expire_dead_letters(server: &PostgresServer, before: Time, limit: usize) -> Result<u64> {
    let limit = limit as u64;
    let mut gone = server.execute(FAILURES, &[&before.micros(), &limit.cast_signed()]).await?;
    let candidates: Vec<SubscriptionId> =
        each(&server.query(CANDIDATES, &[&before.micros()]).await?, |cells| cells.next())?;
    for id in candidates {
        if gone >= limit {
            break;
        }
        gone += expire_stretches(server, id, before, (limit - gone) as usize).await?;
    }
    Ok(gone)
}

async fn expire_stretches(server: &PostgresServer, id: SubscriptionId, before: Time, limit: usize) -> Result<u64> {
    retried!(server, transaction => expire_stretches_once(&mut transaction, id, before, limit))
}

async fn expire_stretches_once(
    transaction: &mut Transaction,
    id: SubscriptionId,
    before: Time,
    limit: usize,
) -> Try<u64> {
    let step = Query::new(LOCK, vec![Box::new(id)]);
    let rows = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[step]).await?;
    let Some(row) = rows.iter().flatten().next() else { return Ok(0) };
    let (org, uuid): (OrgId, String) = (row.try_get(0)?, row.try_get(1)?);
    let step = Query::new(STRETCHES, vec![Box::new(org), Box::new(id), Box::new(before.micros())]);
    let stretches = transaction.fly(Frame::default(), &[step]).await?;
    let mut gone = 0;
    for stretch in stretches.iter().flatten() {
        let left = limit - gone;
        if left == 0 {
            break;
        }
        let first = first_members(transaction, (org, id, &uuid), stretch, before, left).await?;
        let old = first.iter().take_while(|(_, is_old)| *is_old).count();
        gone += old;
        let after = match first.get(old) {
            Some((alive, _)) => alive - 1,
            None if first.len() < left => stretch.try_get("last")?,
            None => first.last().map_or(stretch.try_get("after")?, |(position, _)| *position),
        };
        let step = |sql, id: i64| Query::new(sql, vec![Box::new(id) as Param<'_>, Box::new(after)]);
        let steps = match stretch.try_get::<_, Option<i64>>("id")? {
            Some(range) => vec![step(MOVE_RANGE, range), step(END_RANGE, range)],
            None => vec![step(MOVE_CURSOR, id)],
        };
        transaction.fly(Frame::default(), &steps).await?;
    }
    transaction.fly(Frame { begin: None, commit: true }, &[]).await?;
    Ok(gone as u64)
}

/// The first members of a range, and for each whether it has been dead since a moment or longer.
async fn first_members(
    transaction: &mut Transaction,
    (org, id, uuid): (OrgId, SubscriptionId, &str),
    stretch: &Row,
    before: Time,
    limit: usize,
) -> Try<Vec<(i64, bool)>> {
    let sql = format!(
        "SELECT m.position, GREATEST(t.since, m.recorded_at, m.effective_at) <= $8
         FROM ({given}) t CROSS JOIN LATERAL ({members}) m ORDER BY m.position LIMIT $9",
        given = stretch::given(),
        members = stretch::members(None, "true", Some("$9")),
    );
    let step = Query::new(
        &sql,
        vec![
            Box::new(org),
            Box::new(id),
            Box::new(uuid),
            Box::new(stretch.try_get::<_, i64>("after")?),
            Box::new(stretch.try_get::<_, i64>("last")?),
            Box::new(stretch.try_get::<_, i64>("since")?),
            Box::new(stretch.try_get::<_, Option<Vec<String>>>("filter")?),
            Box::new(before.micros()),
            Box::new(most(limit)),
        ],
    );
    let mut rows = transaction.fly(Frame::default(), &[step]).await?;
    Ok(each(&rows.pop().unwrap_or_default(), |cells| Ok((cells.next()?, cells.next()?)))?)
}

/// Numbers follow time except for attempts that ran in parallel, so slightly more than the limit is read.
const ATTEMPTS: &str = "
    WITH expired AS MATERIALIZED (
        SELECT a.org, a.id
        FROM organizations o
        CROSS JOIN LATERAL (
            SELECT a.org, a.id, a.at FROM attempts a WHERE a.org = o.org
            ORDER BY a.id LIMIT $2::bigint + 1000 FOR UPDATE SKIP LOCKED) a
        WHERE a.at < $1 ORDER BY a.at, a.id LIMIT $2)
    DELETE FROM attempts a USING expired e WHERE a.org = e.org AND a.id = e.id";

/// Also deletes the counts of expired hours.
pub(super) async fn expire_attempts(server: &PostgresServer, before: Time, limit: usize) -> Result<u64> {
    forget_hours(server, before).await?;
    server.execute(ATTEMPTS, &[&before.micros(), &most(limit).min(1 << 40)]).await
}

/// One node at a time: the letters "expiry" as bytes.
const ALONE: &str = "SELECT FROM (SELECT pg_try_advisory_xact_lock(111567956439673) AS mine) l WHERE l.mine";

/// The position up to which a log is no longer needed, and the expired rows at its beginning, with the one that reaches
/// the limit: fewer messages mean that there are no more. Returns the number of their messages.
const MESSAGES: &str = "
    WITH RECURSIVE logs AS MATERIALIZED (
        SELECT h.org,
               LEAST(h.head,
                     (SELECT min(s.cursor) FROM subscriptions s WHERE s.org = h.org),
                     (SELECT min(f.position) - 1 FROM subscriptions s
                      CROSS JOIN LATERAL (SELECT f.position FROM failures f
                                          WHERE f.org = s.org AND f.subscription = s.id
                                          ORDER BY f.position LIMIT 1) f
                      WHERE s.org = h.org),
                     (SELECT min(r.after) FROM ranges r WHERE r.org = h.org)) AS through
        FROM log_heads h),
    expired AS MATERIALIZED (
        SELECT m.org, m.position, m.size
        FROM logs l
        CROSS JOIN LATERAL (
            SELECT m.org, m.position, m.size, bool_and(m.recorded_at < $1) OVER (ORDER BY m.position) AS old,
                   sum(m.size) OVER (ORDER BY m.position) AS messages
            FROM (SELECT m.org, m.position, m.size, m.recorded_at FROM message_groups m
                  WHERE m.org = l.org AND m.position <= l.through ORDER BY m.position LIMIT $2) m) m
        WHERE m.old AND m.messages - m.size < $2),
    gone AS (
        DELETE FROM message_groups m USING expired e WHERE m.org = e.org AND m.position = e.position
        RETURNING m.size),
    names AS (
        SELECT l.org, (SELECT v.event FROM message_events v WHERE v.org = l.org ORDER BY v.event LIMIT 1) AS event
        FROM logs l
        UNION ALL
        SELECT n.org, (SELECT v.event FROM message_events v WHERE v.org = n.org AND v.event > n.event
                       ORDER BY v.event LIMIT 1)
        FROM names n WHERE n.event IS NOT NULL),
    -- Joined first: with a join of three tables on the organization, the whole table of events would be read.
    listed AS MATERIALIZED (
        SELECT e.org, n.event, e.position FROM expired e JOIN names n ON n.org = e.org
        WHERE e.size > 1 AND n.event IS NOT NULL),
    gone_events AS (
        DELETE FROM message_events v USING listed l
        WHERE v.org = l.org AND v.event = l.event AND v.position = l.position)
    SELECT COALESCE(sum(size), 0)::bigint FROM gone";

const CANCELLED: &str = "
    WITH expired AS MATERIALIZED (
        SELECT org, arrival FROM waiting_messages WHERE cancelled_at < $1 ORDER BY cancelled_at LIMIT $2),
    gone AS (
        DELETE FROM waiting_messages m USING expired e WHERE m.org = e.org AND m.arrival = e.arrival
        RETURNING m.arrival)
    SELECT count(*) FROM gone";

pub(super) async fn expire_messages(server: &PostgresServer, before: Time, limit: usize) -> Result<u64> {
    retried!(server, transaction => expire_messages_once(&mut transaction, before, limit))
}

async fn expire_messages_once(transaction: &mut Transaction, before: Time, limit: usize) -> Try<u64> {
    let begin = Frame { begin: Some("BEGIN"), commit: false };
    if transaction.fly(begin, &[Query::new(ALONE, Vec::new())]).await?.iter().all(Vec::is_empty) {
        return Ok(0);
    }
    let step = |sql| Query::new(sql, vec![Box::new(before.micros()) as Param<'_>, Box::new(most(limit))]);
    let gone = transaction.fly(Frame { begin: None, commit: true }, &[step(MESSAGES), step(CANCELLED)]).await?;
    let counts: Vec<i64> = gone.iter().flatten().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?;
    Ok(counts.into_iter().map(i64::unsigned_abs).sum())
}

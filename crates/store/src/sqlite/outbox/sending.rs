//! What to send, and the token that may send it.

use super::dead;
use super::run;
use super::selection::{Selection, messages};
use super::subscriptions::{by_id, every};
use crate::Result;
use crate::outbox::rows::status;
use crate::outbox::{
    Failure, Fate, Head, Outgoing, Overdue, Range, Subscription, SubscriptionFilter, SubscriptionId, with_messages,
};
use crate::records::OrgId;
use crate::rows::Cells;
use crate::sqlite::grouped_messages::messages_at;
use crate::sqlite::read::{all, count, one};
use crate::sqlite::rows::{by_cells, optional_time, time};
use daybook_engine::time::Time;
use rusqlite::{Connection, params};

/// The active subscriptions, if the token holds them all.
pub(super) fn held(connection: &Connection, token: &str) -> Result<Option<Vec<Subscription>>> {
    let sql = "SELECT 1 FROM subscriptions WHERE paused_at IS NULL AND token IS NOT ?1 LIMIT 1";
    match one(connection, sql, [token], |_| Ok(()))? {
        Some(()) => Ok(None),
        None => every(connection, false).map(Some),
    }
}

/// Gives all active subscriptions to a token, whichever token held them.
pub(super) fn take_over(connection: &Connection, token: &str) -> Result<Vec<Subscription>> {
    let sql = "UPDATE subscriptions SET token = ?1 WHERE paused_at IS NULL AND token IS NOT ?1";
    run(connection, sql, params![token])?;
    every(connection, false)
}

pub(super) fn release(connection: &Connection, token: &str) -> Result<()> {
    run(connection, "UPDATE subscriptions SET token = NULL WHERE token = ?1", params![token]).map(|_| ())
}

pub(super) fn heads(connection: &Connection) -> Result<Vec<Head>> {
    let sql = "SELECT org, head, hurried FROM log_heads ORDER BY org";
    all(connection, sql, [], |row| Ok(Head { org: row.get(0)?, head: row.get(1)?, hurried: row.get(2)? }))
}

pub(super) fn feed(
    connection: &Connection,
    reader: SubscriptionFilter<'_>,
    after: i64,
    through: i64,
    limit: usize,
) -> Result<Vec<Outgoing>> {
    let messages = messages(connection, &Selection::of(reader), (after, through), limit)?;
    Ok(messages.into_iter().map(Outgoing::from).collect())
}

pub(super) fn due_failures(
    connection: &Connection,
    org: OrgId,
    subscription: SubscriptionId,
    now: Time,
    limit: usize,
) -> Result<Vec<(Failure, Outgoing)>> {
    if by_id(connection, org, subscription)?.is_none() {
        return Ok(Vec::new());
    }
    let due = "
        SELECT position, attempts, first_failed_at, retry_at, reason, status, streak
        FROM failures INDEXED BY failures_due
        WHERE subscription = ?1 AND retry_at <= ?2
        ORDER BY retry_at, position LIMIT ?3";
    let params = params![subscription, now.micros(), count(limit)];
    let read = |cells: &mut Cells<'_>| {
        Ok(Failure {
            position: cells.next()?,
            attempts: cells.next()?,
            first_failed_at: cells.time_or_none()?,
            fate: Fate::Retry(cells.time()?),
            reason: cells.next()?,
            status: status(cells)?,
            streak: cells.next()?,
        })
    };
    let failures: Vec<Failure> = all(connection, due, params, by_cells(read))?;
    let messages = messages_at(connection, org, &failures.iter().map(|failure| failure.position).collect())?;
    Ok(with_messages(failures, messages))
}

pub(super) fn next_retry(connection: &Connection, org: OrgId, subscription: SubscriptionId) -> Result<Option<Time>> {
    let sql = "SELECT (SELECT min(retry_at) FROM failures INDEXED BY failures_due \
                       WHERE subscription = s.id AND retry_at IS NOT NULL) \
               FROM subscriptions s WHERE s.id = ?2 AND s.org = ?1";
    one(connection, sql, params![org, subscription], |row| optional_time(row, 0)).map(Option::flatten)
}

/// Active subscriptions with retries that were due before a moment.
pub(super) fn overdue(connection: &Connection, before: Time, limit: usize) -> Result<Vec<Overdue>> {
    let sql = "SELECT s.org, s.id, s.uuid, count(*), min(f.retry_at) \
               FROM subscriptions s CROSS JOIN failures f INDEXED BY failures_due \
                   ON f.subscription = s.id AND f.retry_at < ?1 \
               WHERE s.paused_at IS NULL GROUP BY s.id ORDER BY min(f.retry_at) LIMIT ?2";
    all(connection, sql, params![before.micros(), count(limit)], |row| {
        let retries: i64 = row.get(3)?;
        let (org, id, uuid) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Overdue { org, id, uuid, retries: retries.unsigned_abs(), since: time(row, 4)? })
    })
}

pub(super) fn replaying(connection: &Connection, org: OrgId, subscription: SubscriptionId) -> Result<Vec<Range>> {
    if by_id(connection, org, subscription)?.is_none() {
        return Ok(Vec::new());
    }
    let stretches = dead::ranges(connection, subscription, true)?;
    let range = |stretch: dead::Stretch| {
        let dead::Stretch { range, after, last, filter, since: _, ahead } = stretch;
        range.map(|id| Range { id, after, last, filter, ahead })
    };
    Ok(stretches.into_iter().filter_map(range).collect())
}

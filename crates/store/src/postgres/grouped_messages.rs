//! Reads messages from their rows: see [`crate::message_groups`].
//!
//! Rows are read by several statements. Meanwhile a row of an earlier form may be replaced, by a node that turns them over:
//! a message that is not found where its row said is looked for again.

use super::cells::{Cells, each};
use super::flight::{Frame, Param, Query, Transaction};
use super::retry::{Setback, Try};
use super::server::PostgresServer;
use crate::Result;
use crate::message_groups::{
    Expanded, MOST_IN_GROUP, StoredRow, complete, expand, expand_waiting, is_incomplete, missing_rows, stored_row,
};
use crate::outbox::MessageSummary;
use crate::records::{MessageRow, OrgId};
use crate::rows::MESSAGE;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Row;

/// The last row of a log that can have the message at a position has a position less than this many higher.
pub(super) const ROW_ENDS_WITHIN: i64 = MOST_IN_GROUP as i64;

/// The columns that [`stored_row`] reads, of the table `message_groups`.
pub(super) fn stored() -> String {
    format!("size::bigint, position, NULL::bigint AS due_at, NULL::bigint AS cancelled_at, {MESSAGE}")
}

/// The same columns of the table `waiting_messages`.
pub(super) fn stored_waiting() -> String {
    format!("1::bigint AS size, NULL::bigint AS position, due_at, cancelled_at, {MESSAGE}")
}

/// Where rows are read: outside a transaction, or within one.
pub(super) enum Reading<'a> {
    Alone(&'a PostgresServer),
    Within(&'a mut Transaction),
}

impl Reading<'_> {
    async fn query(&mut self, sql: &str, params: Vec<Param<'_>>) -> Try<Vec<Row>> {
        match self {
            Reading::Alone(server) => {
                let params: Vec<_> = params.iter().map(|param| param.as_ref() as _).collect();
                Ok(server.query(sql, &params).await?)
            }
            Reading::Within(transaction) => {
                let rows = transaction.fly(Frame::default(), &[Query::new(sql, params)]).await?;
                Ok(rows.into_iter().flatten().collect())
            }
        }
    }
}

/// Reads rows of the log and waiting messages, in this order of columns.
pub(super) fn stored_rows(rows: &[Row]) -> Result<Vec<StoredRow>> {
    each(rows, stored_row)
}

/// The messages in rows of one organization: waiting ones, and those in the log.
pub(super) async fn expand_rows(reading: &mut Reading<'_>, org: OrgId, rows: Vec<StoredRow>) -> Try<Vec<MessageRow>> {
    let (logged, waiting): (Vec<StoredRow>, Vec<StoredRow>) =
        rows.into_iter().partition(|row| row.columns.position.is_some());
    let mut expanded = expand_once(reading, org, logged).await?;
    if !expanded.lost.is_empty() {
        let again = rows_at(reading, org, &expanded.lost).await?;
        let again = expand_once(reading, org, again).await?.messages;
        let again: BTreeMap<Option<i64>, MessageRow> =
            again.into_iter().map(|message| (message.position, message)).collect();
        for message in expanded.messages.iter_mut().filter(|message| message.data.is_empty()) {
            if let Some(found) = again.get(&message.position) {
                message.clone_from(found);
            }
        }
    }
    let waiting = waiting.into_iter().map(|row| expand_waiting(row.columns));
    Ok(expanded.messages.into_iter().chain(waiting).collect())
}

async fn expand_once(reading: &mut Reading<'_>, org: OrgId, rows: Vec<StoredRow>) -> Try<Expanded> {
    let missing = missing_rows(&rows);
    let mut further: Vec<(i64, Bytes)> = Vec::new();
    if !missing.is_empty() {
        let sql = "SELECT position, content FROM message_groups WHERE org = $1 AND position = ANY($2::bigint[])";
        let found = reading.query(sql, vec![Box::new(org), Box::new(missing)]).await?;
        further = each(&found, |cells| Ok((cells.next()?, cells.bytes()?)))?;
    }
    let mut expanded = expand(rows, further);
    for position in std::mem::take(&mut expanded.damaged) {
        let ends: Vec<Param<'_>> = vec![Box::new(org), Box::new(position - 1), Box::new(position)];
        let events = each(&reading.query(EVENTS_WITHIN, ends).await?, event_of_row)?;
        let events: Vec<(String, i64)> = events.into_iter().map(|(event, _, mask)| (event, mask)).collect();
        expanded.name_events(position, &events);
    }
    Ok(expanded)
}

/// The events of rows of several messages after one position and up to another, for [`event_of_row`]. There are few
/// names, so each is looked for.
pub(super) const EVENTS_WITHIN: &str = "
    WITH RECURSIVE names AS (
        (SELECT event FROM message_events WHERE org = $1 ORDER BY event LIMIT 1)
        UNION ALL
        SELECT (SELECT e.event FROM message_events e WHERE e.org = $1 AND e.event > n.event ORDER BY e.event LIMIT 1)
        FROM names n WHERE n.event IS NOT NULL)
    SELECT e.event, e.position, e.mask::bigint
    FROM names n
    CROSS JOIN LATERAL (SELECT e.event, e.position, e.mask FROM message_events e
                        WHERE e.org = $1 AND e.event = n.event AND e.position > $2 AND e.position <= $3 OFFSET 0) e
    ORDER BY e.event, e.position";

/// Event, position and mask.
pub(super) fn event_of_row(cells: &mut Cells<'_>) -> Result<(String, i64, i64)> {
    Ok((cells.next()?, cells.next()?, cells.next()?))
}

/// The rows with the messages at some positions.
async fn rows_at(reading: &mut Reading<'_>, org: OrgId, positions: &[i64]) -> Try<Vec<StoredRow>> {
    let sql = format!(
        "SELECT {} FROM message_groups
         WHERE org = $1 AND position = ANY (ARRAY(
             SELECT (SELECT g.position FROM message_groups g WHERE g.org = $1 AND g.position >= p.position
                     ORDER BY g.position LIMIT 1)
             FROM unnest($2::bigint[]) AS p (position)))
         ORDER BY position",
        stored()
    );
    Ok(stored_rows(&reading.query(&sql, vec![Box::new(org), Box::new(positions)]).await?)?)
}

/// The messages at some positions of an organization's log, in order, as far as they exist.
pub(super) async fn messages_at(
    reading: &mut Reading<'_>,
    org: OrgId,
    positions: &BTreeSet<i64>,
) -> Try<Vec<MessageRow>> {
    if positions.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: Vec<i64> = positions.iter().copied().collect();
    let rows = rows_at(reading, org, &wanted).await?;
    let mut messages = expand_rows(reading, org, rows).await?;
    messages.retain(|message| message.position.is_some_and(|position| positions.contains(&position)));
    Ok(messages)
}

/// The messages in rows that were read outside a transaction.
pub(super) async fn each_message(server: &PostgresServer, org: OrgId, rows: &[Row]) -> Result<Vec<MessageRow>> {
    expand_rows(&mut Reading::Alone(server), org, stored_rows(rows)?).await.map_err(Setback::settled)
}

/// Completes lines of lists.
pub(super) async fn fill_in(
    server: &PostgresServer,
    org: OrgId,
    summaries: impl Iterator<Item = &mut MessageSummary> + Send,
) -> Result<()> {
    let mut lacking: Vec<&mut MessageSummary> = summaries.filter(|summary| is_incomplete(summary)).collect();
    let positions = lacking.iter().map(|summary| summary.position).collect();
    let messages = messages_at(&mut Reading::Alone(server), org, &positions).await.map_err(Setback::settled)?;
    complete(&mut lacking, &messages);
    Ok(())
}

/// A condition on a key by which rows are read in order: no rows after those that have `limit` messages together. The
/// first row may have messages before the ones that are read. `within` is the condition on the rows.
pub(super) fn first_rows(key: &str, within: &str, limit: &str) -> String {
    format!(
        "{key} <= (
             SELECT max(r.{key})
             FROM (SELECT g.{key}, sum(g.size) OVER (ORDER BY g.{key}) - g.size AS before
                   FROM (SELECT {key}, size FROM message_groups WHERE {within} ORDER BY {key} LIMIT {limit}) g) r
             WHERE r.before - {ROW_ENDS_WITHIN} < {limit})"
    )
}

/// The row `m` that has the message at a position, without its content, as a table in SQL.
pub(super) fn row_of(org: &str, position: &str) -> String {
    format!(
        "LATERAL (
             SELECT r.* FROM (
                 SELECT m.org, m.position, m.size, m.account, m.event, m.event_id, m.subject, m.effective_at, m.recorded_at
                 FROM message_groups m WHERE m.org = {org} AND m.position >= {position}
                 ORDER BY m.position LIMIT 1) r
             WHERE r.position - r.size < {position}) m"
    )
}

/// Whether the message at a position, which is in the row `m`, is of an event, or one of several, in SQL: the condition
/// on an event is given without its left side. Because of the offset, events are looked for row by row: a hash would be of
/// those of all organizations.
pub(super) fn is_of_event(position: &str, is_it: &str) -> String {
    format!(
        "(m.size = 1 AND m.event {is_it}
          OR m.size > 1 AND EXISTS (
              SELECT FROM message_events v
              WHERE v.org = m.org AND v.event {is_it} AND v.position = m.position
                AND (v.mask >> (m.position - {position})::int) & 1 = 1 OFFSET 0))"
    )
}

/// The positions `p` of the messages of a row `m` after one position and up to another, as a table in SQL.
pub(super) fn positions_of(after: &str, last: &str) -> String {
    format!("generate_series(GREATEST(m.position - m.size, {after}) + 1, LEAST(m.position, {last})) AS p (position)")
}

/// The positions `p` of the messages that a row `v` of `message_events` selects, after one position and up to another, as a
/// table in SQL.
pub(super) fn positions_of_event(after: &str, last: &str) -> String {
    format!(
        "LATERAL (SELECT v.position - k.bit AS position FROM generate_series(0, {ROW_ENDS_WITHIN} - 1) AS k (bit)
                  WHERE (v.mask >> k.bit) & 1 = 1 AND v.position - k.bit > {after} AND v.position - k.bit <= {last}) p"
    )
}

/// Whether the message of a failure `f` exists and is neither of an event of a filter nor of another event, in SQL. A row of
/// one message without an event is one of several whose size is wrong.
pub(super) fn is_unwanted(filter: &str, other: &str) -> String {
    format!(
        "EXISTS (SELECT FROM {} WHERE NOT (m.size = 1 AND m.event IN ('', {other})) AND NOT {})",
        row_of("f.org", "f.position"),
        is_of_event("f.position", &format!("= ANY({filter})"))
    )
}

//! Reads messages from their rows: see [`crate::message_groups`].

use super::connection::broken;
use super::read::{all, one};
use super::rows::{LAST_ORG, LAST_POSITION, LOGGED, by_cells, place, position};
use crate::Result;
use crate::message_groups::{
    MOST_IN_GROUP, StoredRow, complete, expand, expand_waiting, is_incomplete, missing_rows, stored_row,
};
use crate::outbox::MessageSummary;
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, Cells, MESSAGE};
use bytes::Bytes;
use rusqlite::{Connection, Params, params};
use std::collections::BTreeSet;

/// The last place of a row of the same log that can have the message at a place.
pub(super) fn last_row(place: i64) -> i64 {
    (place + MOST_IN_GROUP as i64 - 1).min(place | LAST_POSITION)
}

/// The mask of all messages of a row.
pub(super) fn whole_mask(size: i64) -> i64 {
    (1 << size.clamp(1, MOST_IN_GROUP as i64)) - 1
}

/// The columns that [`stored_row`] reads, of the table `message_groups`.
pub(super) fn stored() -> String {
    format!("size, {LOGGED}, {MESSAGE}")
}

/// The messages in rows of one organization's log.
pub(super) fn expand_rows(connection: &Connection, org: OrgId, rows: Vec<StoredRow>) -> Result<Vec<MessageRow>> {
    let mut further = Vec::new();
    for position in missing_rows(&rows) {
        let sql = "SELECT content FROM message_groups WHERE place = ?1";
        let data = one(connection, sql, [place(org, position)], |row| row.get(0))?;
        further.extend(data.map(|data: Vec<u8>| (position, Bytes::from(data))));
    }
    let mut expanded = expand(rows, further);
    for position in std::mem::take(&mut expanded.damaged) {
        let place = place(org, position);
        let events = events_within(connection, (place - 1, place))?;
        let events: Vec<(String, i64)> = events.into_iter().map(|(event, _, mask)| (event, mask)).collect();
        expanded.name_events(position, &events);
    }
    Ok(expanded.messages)
}

/// The events of rows of several messages after one place and up to another: event, place and mask.
pub(super) fn events_within(connection: &Connection, (after, through): (i64, i64)) -> Result<Vec<(String, i64, i64)>> {
    let sql = "
        WITH RECURSIVE names (event) AS (
            SELECT min(event) FROM message_events
            UNION ALL
            SELECT (SELECT min(event) FROM message_events WHERE event > n.event) FROM names n
            WHERE n.event IS NOT NULL)
        SELECT e.event, e.place, e.mask FROM names n CROSS JOIN message_events e ON e.event = n.event
        WHERE e.place > ?1 AND e.place <= ?2";
    all(connection, sql, [after, through], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// The messages in all rows that a statement returns.
pub(super) fn all_messages<P: Params>(
    connection: &Connection,
    org: OrgId,
    sql: &str,
    params: P,
) -> Result<Vec<MessageRow>> {
    let rows = all(connection, sql, params, by_cells(stored_row))?;
    expand_rows(connection, org, rows)
}

/// The messages in the first rows that a statement returns, until there are as many of those to `keep` as the limit.
pub(super) fn first_messages<P: Params>(
    connection: &Connection,
    org: OrgId,
    sql: &str,
    params: P,
    limit: usize,
    keep: impl Fn(&MessageRow) -> bool,
) -> Result<Vec<MessageRow>> {
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    let mut rows = statement.query(params).map_err(broken)?;
    let mut found: Vec<MessageRow> = Vec::new();
    let mut is_over = false;
    while found.len() < limit && !is_over {
        // As many messages as are still wanted, if none of them is left out.
        let (mut part, mut size) = (Vec::new(), 0);
        while found.len() + size < limit {
            let Some(row) = rows.next().map_err(broken)? else {
                is_over = true;
                break;
            };
            let row = stored_row(&mut Cells::of(row))?;
            size += usize::try_from(row.size).unwrap_or_default().max(1);
            part.push(row);
        }
        found.extend(expand_rows(connection, org, part)?.into_iter().filter(&keep));
    }
    found.truncate(limit);
    Ok(found)
}

/// The messages at some positions of an organization's log, in order, as far as they exist.
pub(super) fn messages_at(connection: &Connection, org: OrgId, positions: &BTreeSet<i64>) -> Result<Vec<MessageRow>> {
    let sql =
        format!("SELECT {} FROM message_groups WHERE place >= ?1 AND place <= ?2 ORDER BY place LIMIT 1", stored());
    let mut found: Vec<StoredRow> = Vec::new();
    let is_place = |position: &&i64| (0..=LAST_ORG).contains(&org) && (1..=LAST_POSITION).contains(*position);
    for at in positions.iter().filter(is_place) {
        if found.last().is_some_and(|row| *at <= row.last()) {
            continue;
        }
        let first = place(org, *at);
        let row = one(connection, &sql, [first, last_row(first)], by_cells(stored_row))?;
        found.extend(row.filter(|row| row.before() < *at && *at <= row.last()));
    }
    let mut messages = expand_rows(connection, org, found)?;
    messages.retain(|message| message.position.is_some_and(|position| positions.contains(&position)));
    Ok(messages)
}

/// The message at a position of an organization's log.
pub(super) fn message_at(connection: &Connection, org: OrgId, position: i64) -> Result<Option<MessageRow>> {
    Ok(messages_at(connection, org, &BTreeSet::from([position]))?.pop())
}

/// The message about an account with a number, if it is in the log.
pub(super) fn message_of_account(
    connection: &Connection,
    (org, account): (OrgId, &str),
    sequence: i64,
) -> Result<Option<MessageRow>> {
    let sql = format!(
        "SELECT {} FROM message_groups INDEXED BY messages_by_account \
         WHERE org = ?1 AND account = ?2 AND sequence >= ?3 ORDER BY sequence LIMIT 1",
        stored()
    );
    let found = all_messages(connection, org, &sql, params![org, account, sequence])?;
    Ok(found.into_iter().find(|message| message.sequence == sequence))
}

/// Reads a message that waits.
pub(super) fn waiting_message(cells: &mut Cells<'_>) -> Result<MessageRow> {
    rows::message(cells).map(expand_waiting)
}

/// Completes lines of lists.
pub(super) fn fill_in<'a>(
    connection: &Connection,
    org: OrgId,
    summaries: impl Iterator<Item = &'a mut MessageSummary>,
) -> Result<()> {
    let mut lacking: Vec<&mut MessageSummary> = summaries.filter(|summary| is_incomplete(summary)).collect();
    let positions = lacking.iter().map(|summary| summary.position).collect();
    complete(&mut lacking, &messages_at(connection, org, &positions)?);
    Ok(())
}

/// A join, in SQL, with the row `m` that has the message at a place.
pub(super) fn row_of(place: &str) -> String {
    format!(
        "message_groups m
         ON m.place = (SELECT g.place FROM message_groups g WHERE g.place >= {place} ORDER BY g.place LIMIT 1)
            AND m.place - m.size < {place}"
    )
}

/// Whether the message at a place, which is in the row `m`, is of an event, in SQL.
pub(super) fn is_of_event(place: &str, event: &str) -> String {
    format!(
        "(m.size = 1 AND m.event = {event}
          OR m.size > 1 AND EXISTS (SELECT 1 FROM message_events v WHERE v.event = {event} AND v.place = m.place
                                    AND (v.mask >> (m.place - ({place}))) & 1))"
    )
}

/// The positions, after one place and up to another, of the messages of a row that a mask selects, in order.
pub(super) fn selected(row: i64, mask: i64, (after, through): (i64, i64)) -> impl Iterator<Item = i64> {
    let places = (0..MOST_IN_GROUP as i64).rev().filter(move |bit| mask >> bit & 1 == 1).map(move |bit| row - bit);
    places.filter(move |place| after < *place && *place <= through).map(position)
}

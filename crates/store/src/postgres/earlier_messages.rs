//! Compresses messages that earlier builds wrote: see [`crate::message_groups::earlier`].

use super::arrays::{column, limit as most};
use super::cells::{each, maybe};
use super::flight::{Frame, Param, Query, Transaction};
use super::grouped_messages::stored;
use super::migrate;
use super::retry::{Try, retried};
use super::server::PostgresServer;
use crate::Result;
use crate::message_groups::earlier::{
    CompressionProgress, ROWS_BEFORE, TO_COMPRESS, compress_waiting as compressed_waiting, convert, end_of_group,
    last_of_step,
};
use crate::message_groups::{NewRow, StoredRow, stored_row};
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, MESSAGE};

/// The version of the tables, and how far the messages are compressed, unless another node compresses at this moment.
const STANDING: &str = "
    SELECT (SELECT coalesce(max(number), 0) FROM migrations), value
    FROM settings WHERE name = $1 FOR UPDATE SKIP LOCKED";

pub(super) async fn compress(server: &PostgresServer, limit: usize) -> Result<Option<u64>> {
    retried!(server, transaction => compress_once(&mut transaction, limit))
}

async fn compress_once(transaction: &mut Transaction, limit: usize) -> Try<Option<u64>> {
    let standing = Query::new(STANDING, vec![Box::new(TO_COMPRESS)]);
    let begin = Frame { begin: Some("BEGIN"), commit: false };
    let found = transaction.fly(begin, &[standing]).await?;
    let Some(row) = found.iter().flatten().next() else { return Ok(None) };
    migrate::standing_at(row.try_get(0)?).must_not_be_newer()?;
    let step = match CompressionProgress::read(row.try_get(1)?)? {
        CompressionProgress::Log(org, position) => match compress_log(transaction, (org, position), limit).await? {
            Some(((org, position), done)) => Some((CompressionProgress::Log(org, position), done)),
            None => Some((CompressionProgress::Waiting(0, 0), 0)),
        },
        CompressionProgress::Waiting(org, arrival) => {
            let step = compress_waiting(transaction, (org, arrival), limit).await?;
            step.map(|((org, arrival), done)| (CompressionProgress::Waiting(org, arrival), done))
        }
    };
    let setting = match &step {
        Some((progress, _)) => Query::new(
            "UPDATE settings SET value = $2 WHERE name = $1",
            vec![Box::new(TO_COMPRESS), Box::new(progress.bytes())],
        ),
        None => Query::new("DELETE FROM settings WHERE name = $1", vec![Box::new(TO_COMPRESS)]),
    };
    transaction.fly(Frame { begin: None, commit: true }, &[setting]).await?;
    Ok(step.map(|(_, done)| done))
}

/// A key of a message: its organization, and its position or order of arrival.
type Key = (OrgId, i64);

/// The key of the last row that a step reads; `None` at the end of a table.
async fn end_of_step(
    transaction: &mut Transaction,
    (table, key): (&str, &str),
    after: Key,
    limit: usize,
) -> Try<Option<Key>> {
    let sql = format!(
        "SELECT org, {key}, octet_length(content)::bigint FROM {table}
         WHERE (org, {key}) > ($1, $2) ORDER BY org, {key} LIMIT $3"
    );
    let params: Vec<Param<'_>> = vec![Box::new(after.0), Box::new(after.1), Box::new(most(limit))];
    let found = transaction.fly(Frame::default(), &[Query::new(&sql, params)]).await?;
    let next = each(found.first().map_or(&[], Vec::as_slice), |cells| {
        Ok(((cells.next::<OrgId>()?, cells.next::<i64>()?), cells.next::<i64>()?))
    })?;
    Ok(last_of_step(&next))
}

/// Turns over the next rows of the log. Returns the key of the last one, and how many messages were in rows of an earlier
/// form.
async fn compress_log(transaction: &mut Transaction, after: Key, limit: usize) -> Try<Option<(Key, u64)>> {
    let Some(last) = end_of_step(transaction, ("message_groups", "position"), after, limit).await? else {
        return Ok(None);
    };
    let mut read = rows_between(transaction, (after.0, after.1 - ROWS_BEFORE), last).await?;
    let mut through = last;
    while let Some(end) = end_of_group(&read) {
        let further = rows_between(transaction, through, end).await?;
        if further.is_empty() {
            break;
        }
        through = end;
        read.extend(further);
    }
    let last = read.last().map_or(last, |(org, row)| (*org, row.last()));
    let conversion = convert(after, read)?;
    let done = conversion.removed.len() as u64;
    if done > 0 {
        transaction.fly(Frame::default(), &[remove(&conversion.removed), add(&conversion.added)]).await?;
        let events: Vec<(OrgId, i64, &(String, i64))> = conversion.added.iter().flat_map(events_of).collect();
        transaction.fly(Frame::default(), &[add_events(&events)]).await?;
    }
    Ok(Some((last, done)))
}

async fn rows_between(transaction: &mut Transaction, after: Key, last: Key) -> Try<Vec<(OrgId, StoredRow)>> {
    let sql = format!(
        "SELECT org, {} FROM message_groups
         WHERE (org, position) > ($1, $2) AND (org, position) <= ($3, $4) ORDER BY org, position FOR UPDATE",
        stored()
    );
    let params: Vec<Param<'_>> = vec![Box::new(after.0), Box::new(after.1), Box::new(last.0), Box::new(last.1)];
    let found = transaction.fly(Frame::default(), &[Query::new(&sql, params)]).await?;
    Ok(each(found.first().map_or(&[], Vec::as_slice), |cells| Ok((cells.next()?, stored_row(cells)?)))?)
}

const REMOVE: &str = "
    DELETE FROM message_groups m
    USING (SELECT unnest($1::bigint[]) AS org, unnest($2::bigint[]) AS position) r
    WHERE m.org = r.org AND m.position = r.position";

pub(super) fn remove<'a>(keys: &[Key]) -> Query<'a> {
    Query::new(REMOVE, vec![column(keys, |(org, _)| *org), column(keys, |(_, position)| *position)])
}

const ADD: &str = "
    INSERT INTO message_groups (org, position, account, sequence, event, event_id, cause, subject, effective_at,
        recorded_at, content, signature, size)
    SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::bigint[]), unnest($5::text[]),
        unnest($6::text[]), unnest($7::text[]), unnest($8::text[]), unnest($9::bigint[]), unnest($10::bigint[]),
        unnest($11::bytea[]), unnest($12::text[]), unnest($13::bigint[])";

/// Adds rows at their positions.
pub(super) fn add(rows: &[(OrgId, NewRow)]) -> Query<'_> {
    let messages: Vec<(OrgId, &MessageRow)> = rows.iter().map(|(org, row)| (*org, &row.columns)).collect();
    Query::new(
        ADD,
        vec![
            column(&messages, |&(org, _)| org),
            column(&messages, |&(_, message)| message.position),
            column(&messages, |&(_, message)| message.account.as_deref()),
            column(&messages, |&(_, message)| message.sequence),
            column(&messages, |&(_, message)| &*message.event),
            column(&messages, |&(_, message)| &*message.event_id),
            column(&messages, |&(_, message)| &*message.cause),
            column(&messages, |&(_, message)| &*message.subject),
            column(&messages, |&(_, message)| message.effective_at.micros()),
            column(&messages, |&(_, message)| message.recorded_at.micros()),
            column(&messages, |&(_, message)| &*message.data),
            column(&messages, |&(_, message)| &*message.signature),
            column(rows, |(_, row)| row.size),
        ],
    )
}

/// A list of events that was left where there is no row of several does not keep one from being written there.
const ADD_EVENTS: &str = "
    INSERT INTO message_events (org, event, position, mask)
    SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::bigint[])
    ON CONFLICT (org, event, position) DO UPDATE SET mask = excluded.mask";

/// The events of a row at its position.
pub(super) fn events_of((org, row): &(OrgId, NewRow)) -> impl Iterator<Item = (OrgId, i64, &(String, i64))> {
    let position = row.columns.position.unwrap_or_default();
    row.events.iter().map(move |event| (*org, position, event))
}

pub(super) fn add_events<'a>(events: &[(OrgId, i64, &'a (String, i64))]) -> Query<'a> {
    Query::new(
        ADD_EVENTS,
        vec![
            column(events, |&(org, ..)| org),
            column(events, |&(_, _, (event, _))| event.as_str()),
            column(events, |&(_, position, _)| position),
            column(events, |&(_, _, (_, mask))| *mask),
        ],
    )
}

/// Compresses the next waiting messages. Returns the key of the last one, and how many were compressed.
async fn compress_waiting(transaction: &mut Transaction, after: Key, limit: usize) -> Try<Option<(Key, u64)>> {
    let Some(last) = end_of_step(transaction, ("waiting_messages", "arrival"), after, limit).await? else {
        return Ok(None);
    };
    let sql = format!(
        "SELECT arrival, org, NULL::bigint, due_at, cancelled_at, {MESSAGE} FROM waiting_messages
         WHERE (org, arrival) > ($1, $2) AND (org, arrival) <= ($3, $4) ORDER BY org, arrival FOR UPDATE"
    );
    let params: Vec<Param<'_>> = vec![Box::new(after.0), Box::new(after.1), Box::new(last.0), Box::new(last.1)];
    let found = transaction.fly(Frame::default(), &[Query::new(&sql, params)]).await?;
    let rows = found.first().map_or(&[][..], Vec::as_slice);
    let read = each(rows, |cells| Ok((cells.next::<i64>()?, rows::message_of(cells)?)))?;
    let (keys, mut messages): (Vec<i64>, Vec<(OrgId, MessageRow)>) = read.into_iter().unzip();
    let compressed = compressed_waiting(&mut messages)?;
    let written: Vec<(i64, &(OrgId, MessageRow))> =
        compressed.iter().map(|index| (keys[*index], &messages[*index])).collect();
    if !written.is_empty() {
        let columns = vec![
            column(&written, |(_, (org, _))| *org),
            column(&written, |(key, _)| *key),
            column(&written, |(_, (_, message))| &*message.data),
            column(&written, |(_, (_, message))| &*message.signature),
            column(&written, |(_, (_, message))| &*message.event_id),
            column(&written, |(_, (_, message))| &*message.subject),
        ];
        transaction.fly(Frame::default(), &[Query::new(WRITE_WAITING, columns)]).await?;
    }
    Ok(Some((last, compressed.len() as u64)))
}

const WRITE_WAITING: &str = "
    UPDATE waiting_messages m
    SET content = c.content, signature = c.signature, event_id = c.event_id, subject = c.subject
    FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::bigint[]) AS key, unnest($3::bytea[]) AS content,
                 unnest($4::text[]) AS signature, unnest($5::text[]) AS event_id, unnest($6::text[]) AS subject) c
    WHERE m.org = c.org AND m.arrival = c.key";

pub(super) async fn left(server: &PostgresServer) -> Result<Option<u64>> {
    let value = server.query_opt("SELECT value FROM settings WHERE name = $1", &[&TO_COMPRESS]).await?;
    let Some(value) = maybe(value, |cells| cells.next::<Vec<u8>>())? else { return Ok(None) };
    let heads: Vec<(OrgId, i64)> =
        each(&server.query("SELECT org, head FROM log_heads", &[]).await?, |cells| Ok((cells.next()?, cells.next()?)))?;
    Ok(Some(CompressionProgress::read(&value)?.left_of(&heads)))
}

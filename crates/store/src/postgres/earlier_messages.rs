//! Compresses messages that earlier builds wrote: see [`crate::message_groups::earlier`].

use super::arrays::{column, limit as most};
use super::cells::{each, maybe};
use super::flight::{Frame, Query, Transaction};
use super::migrate;
use super::retry::{Try, retried};
use super::server::PostgresServer;
use crate::Result;
use crate::message_groups::earlier::{Progress, TO_COMPRESS, compress_plain};
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, MESSAGE};

/// The version of the tables, and how far the messages are compressed, unless another node is at it.
const STANDING: &str = "
    SELECT (SELECT coalesce(max(number), 0) FROM migrations), value
    FROM settings WHERE name = $1 FOR UPDATE SKIP LOCKED";

pub(super) async fn compress(server: &PostgresServer, limit: usize) -> Result<bool> {
    retried!(server, transaction => compress_once(&mut transaction, limit))
}

async fn compress_once(transaction: &mut Transaction, limit: usize) -> Try<bool> {
    let standing = Query::new(STANDING, vec![Box::new(TO_COMPRESS)]);
    let begin = Frame { begin: Some("BEGIN"), commit: false };
    let found = transaction.fly(begin, &[standing]).await?;
    let Some(row) = found.iter().flatten().next() else { return Ok(false) };
    migrate::standing_at(row.try_get(0)?).must_not_be_newer()?;
    let from = Progress::read(row.try_get(1)?)?;
    let progress = match compress_log(transaction, from, limit).await? {
        Some(progress) => Some(progress),
        None => compress_waiting(transaction, limit).await?.then_some(Progress::END_OF_LOG),
    };
    let step = match progress {
        Some(progress) => Query::new(
            "UPDATE settings SET value = $2 WHERE name = $1",
            vec![Box::new(TO_COMPRESS), Box::new(progress.bytes())],
        ),
        None => Query::new("DELETE FROM settings WHERE name = $1", vec![Box::new(TO_COMPRESS)]),
    };
    transaction.fly(Frame { begin: None, commit: true }, &[step]).await?;
    Ok(progress.is_some())
}

/// Goes on in the log; `None` at its end.
async fn compress_log(transaction: &mut Transaction, from: Progress, limit: usize) -> Try<Option<Progress>> {
    let sql = format!(
        "SELECT org, position, NULL::bigint, NULL::bigint, {MESSAGE} FROM messages
         WHERE (org, position) > ($1, $2) ORDER BY org, position LIMIT $3 FOR UPDATE"
    );
    let query = Query::new(&sql, vec![Box::new(from.org), Box::new(from.position), Box::new(most(limit))]);
    let found = transaction.fly(Frame::default(), &[query]).await?;
    let mut messages: Vec<(OrgId, MessageRow)> = each(found.first().map_or(&[], Vec::as_slice), rows::message_of)?;
    let Some((org, last)) = messages.last() else { return Ok(None) };
    let reached = Progress { org: *org, position: last.position.unwrap_or_default() };
    let compressed = compress_plain(&mut messages)?;
    let keys = compressed.iter().map(|(_, message)| message.position.unwrap_or_default()).collect();
    write(transaction, "messages", "position", &compressed, keys).await?;
    Ok(Some(reached))
}

/// Whether there were any.
async fn compress_waiting(transaction: &mut Transaction, limit: usize) -> Try<bool> {
    let sql = format!(
        "SELECT arrival, org, NULL::bigint, due_at, cancelled_at, {MESSAGE} FROM waiting_messages
         WHERE substr(content, 1, 1) > '\\x02' LIMIT $1 FOR UPDATE"
    );
    let found = transaction.fly(Frame::default(), &[Query::new(&sql, vec![Box::new(most(limit))])]).await?;
    let rows = found.first().map_or(&[][..], Vec::as_slice);
    let read = each(rows, |cells| Ok((cells.next::<i64>()?, rows::message_of(cells)?)))?;
    let (arrivals, mut messages): (Vec<i64>, Vec<(OrgId, MessageRow)>) = read.into_iter().unzip();
    let compressed = compress_plain(&mut messages)?;
    let is_any = !arrivals.is_empty();
    write(transaction, "waiting_messages", "arrival", &compressed, arrivals).await?;
    Ok(is_any)
}

async fn write(
    transaction: &mut Transaction,
    table: &str,
    key: &str,
    messages: &[&(OrgId, MessageRow)],
    keys: Vec<i64>,
) -> Try<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "UPDATE {table} m
         SET content = c.content, signature = c.signature, event_id = c.event_id, subject = c.subject
         FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::bigint[]) AS key, unnest($3::bytea[]) AS content,
                      unnest($4::text[]) AS signature, unnest($5::text[]) AS event_id, unnest($6::text[]) AS subject) c
         WHERE m.org = c.org AND m.{key} = c.key"
    );
    let columns = vec![
        column(messages, |(org, _)| *org),
        Box::new(keys),
        column(messages, |(_, message)| &*message.data),
        column(messages, |(_, message)| &*message.signature),
        column(messages, |(_, message)| &*message.event_id),
        column(messages, |(_, message)| &*message.subject),
    ];
    transaction.fly(Frame::default(), &[Query::new(&sql, columns)]).await?;
    Ok(())
}

pub(super) async fn left(server: &PostgresServer) -> Result<Option<u64>> {
    let value = server.query_opt("SELECT value FROM settings WHERE name = $1", &[&TO_COMPRESS]).await?;
    let Some(value) = maybe(value, |cells| cells.next::<Vec<u8>>())? else { return Ok(None) };
    let heads: Vec<(OrgId, i64)> =
        each(&server.query("SELECT org, head FROM log_heads", &[]).await?, |cells| Ok((cells.next()?, cells.next()?)))?;
    Ok(Some(Progress::read(&value)?.left_of(&heads)))
}

//! Compresses messages that earlier builds wrote: see [`crate::message_groups::earlier`].

use super::arrays::{column, limit as most};
use super::cells::{each, maybe};
use super::flight::{Frame, Param, Query, Transaction};
use super::migrate;
use super::retry::{Try, retried};
use super::server::PostgresServer;
use crate::Result;
use crate::message_groups::earlier::{CompressionProgress, TO_COMPRESS, compress_plain, last_of_step};
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, MESSAGE};

/// The version of the tables, and how far the messages are compressed, unless another node compresses at this moment.
const STANDING: &str = "
    SELECT (SELECT coalesce(max(number), 0) FROM migrations), value
    FROM settings WHERE name = $1 FOR UPDATE SKIP LOCKED";

/// A table, by the column that orders its messages within an organization.
struct MessageTable {
    name: &'static str,
    key: &'static str,
    /// Position, due moment, time of cancellation.
    first_columns: &'static str,
}

const LOG: MessageTable =
    MessageTable { name: "messages", key: "position", first_columns: "position, NULL::bigint, NULL::bigint" };
const WAITING: MessageTable =
    MessageTable { name: "waiting_messages", key: "arrival", first_columns: "NULL::bigint, due_at, cancelled_at" };

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
        CompressionProgress::Log(org, position) => match LOG.compress(transaction, (org, position), limit).await? {
            Some(((org, position), done)) => Some((CompressionProgress::Log(org, position), done)),
            None => Some((CompressionProgress::Waiting(0, 0), 0)),
        },
        CompressionProgress::Waiting(org, arrival) => {
            let step = WAITING.compress(transaction, (org, arrival), limit).await?;
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

impl MessageTable {
    /// Compresses the next messages. Returns the key of the last one, and how many were compressed; `None` at the end.
    async fn compress(
        &self,
        transaction: &mut Transaction,
        after: (OrgId, i64),
        limit: usize,
    ) -> Try<Option<((OrgId, i64), u64)>> {
        let MessageTable { name, key, first_columns } = self;
        let sql = format!(
            "SELECT org, {key}, octet_length(content)::bigint FROM {name}
             WHERE (org, {key}) > ($1, $2) ORDER BY org, {key} LIMIT $3"
        );
        let params: Vec<Param<'_>> = vec![Box::new(after.0), Box::new(after.1), Box::new(most(limit))];
        let found = transaction.fly(Frame::default(), &[Query::new(&sql, params)]).await?;
        let next = each(found.first().map_or(&[], Vec::as_slice), |cells| {
            Ok(((cells.next::<OrgId>()?, cells.next::<i64>()?), cells.next::<i64>()?))
        })?;
        let Some(last) = last_of_step(&next) else { return Ok(None) };
        let sql = format!(
            "SELECT {key}, org, {first_columns}, {MESSAGE} FROM {name}
             WHERE (org, {key}) > ($1, $2) AND (org, {key}) <= ($3, $4) ORDER BY org, {key} FOR UPDATE"
        );
        let params: Vec<Param<'_>> = vec![Box::new(after.0), Box::new(after.1), Box::new(last.0), Box::new(last.1)];
        let found = transaction.fly(Frame::default(), &[Query::new(&sql, params)]).await?;
        let rows = found.first().map_or(&[][..], Vec::as_slice);
        let read = each(rows, |cells| Ok((cells.next::<i64>()?, rows::message_of(cells)?)))?;
        let (keys, mut messages): (Vec<i64>, Vec<(OrgId, MessageRow)>) = read.into_iter().unzip();
        let compressed = compress_plain(&mut messages)?;
        let written: Vec<(i64, &(OrgId, MessageRow))> =
            compressed.iter().map(|index| (keys[*index], &messages[*index])).collect();
        self.write(transaction, &written).await?;
        Ok(Some((last, compressed.len() as u64)))
    }

    async fn write(&self, transaction: &mut Transaction, messages: &[(i64, &(OrgId, MessageRow))]) -> Try<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let MessageTable { name, key, .. } = self;
        let sql = format!(
            "UPDATE {name} m
             SET content = c.content, signature = c.signature, event_id = c.event_id, subject = c.subject
             FROM (SELECT unnest($1::bigint[]) AS org, unnest($2::bigint[]) AS key, unnest($3::bytea[]) AS content,
                          unnest($4::text[]) AS signature, unnest($5::text[]) AS event_id,
                          unnest($6::text[]) AS subject) c
             WHERE m.org = c.org AND m.{key} = c.key"
        );
        let columns = vec![
            column(messages, |(_, (org, _))| *org),
            column(messages, |(key, _)| *key),
            column(messages, |(_, (_, message))| &*message.data),
            column(messages, |(_, (_, message))| &*message.signature),
            column(messages, |(_, (_, message))| &*message.event_id),
            column(messages, |(_, (_, message))| &*message.subject),
        ];
        transaction.fly(Frame::default(), &[Query::new(&sql, columns)]).await?;
        Ok(())
    }
}

pub(super) async fn left(server: &PostgresServer) -> Result<Option<u64>> {
    let value = server.query_opt("SELECT value FROM settings WHERE name = $1", &[&TO_COMPRESS]).await?;
    let Some(value) = maybe(value, |cells| cells.next::<Vec<u8>>())? else { return Ok(None) };
    let heads: Vec<(OrgId, i64)> =
        each(&server.query("SELECT org, head FROM log_heads", &[]).await?, |cells| Ok((cells.next()?, cells.next()?)))?;
    Ok(Some(CompressionProgress::read(&value)?.left_of(&heads)))
}

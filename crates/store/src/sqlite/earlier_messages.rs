//! Compresses messages that earlier builds wrote: see [`crate::message_groups::earlier`].

use super::connection::broken;
use super::grouped_messages::stored;
use super::log::RowWriter;
use super::read::{all, count, one};
use super::rows::{LAST_POSITION, by_cells, place, position};
use crate::Result;
use crate::message_groups::earlier::{
    CompressionProgress, ROWS_BEFORE, TO_COMPRESS, compress_waiting as compressed_waiting, convert, end_of_group,
    last_of_step,
};
use crate::message_groups::{StoredRow, stored_row};
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, MESSAGE};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

/// What a step did: up to where, and how many messages it compressed. `None` at the end of the table.
type Step = Option<(CompressionProgress, u64)>;

pub(super) fn compress(connection: &mut Connection, limit: usize) -> Result<Option<u64>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let Some(from) = standing(&transaction)? else { return Ok(None) };
    let step = match from {
        CompressionProgress::Log(org, position) => match compress_log(&transaction, place(org, position), limit)? {
            None => Some((CompressionProgress::Waiting(0, 0), 0)),
            step => step,
        },
        CompressionProgress::Waiting(_, id) => compress_waiting(&transaction, id, limit)?,
    };
    match &step {
        Some((progress, _)) => {
            let sql = "UPDATE settings SET value = ?2 WHERE name = ?1";
            transaction.execute(sql, params![TO_COMPRESS, progress.bytes()]).map_err(broken)?;
        }
        None => {
            transaction.execute("DELETE FROM settings WHERE name = ?1", [TO_COMPRESS]).map_err(broken)?;
        }
    }
    transaction.commit().map_err(broken)?;
    Ok(step.map(|(_, compressed)| compressed))
}

fn standing(connection: &Connection) -> Result<Option<CompressionProgress>> {
    let value = "SELECT value FROM settings WHERE name = ?1";
    let value = one(connection, value, [TO_COMPRESS], |row| row.get::<_, Vec<u8>>(0))?;
    value.map(|value| CompressionProgress::read(&value)).transpose()
}

fn compress_log(transaction: &Transaction<'_>, after: i64, limit: usize) -> Result<Step> {
    let next = "SELECT place, length(content) FROM message_groups WHERE place > ?1 ORDER BY place LIMIT ?2";
    let next = all(transaction, next, params![after, count(limit)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some(last) = last_of_step::<i64>(&next) else { return Ok(None) };
    // Of the same log: its first place is that of its organization.
    let mut read = rows_between(transaction, (after - ROWS_BEFORE).max(after & !LAST_POSITION), last)?;
    let mut last = last;
    while let Some((org, end)) = end_of_group(&read) {
        let further = rows_between(transaction, last, place(org, end))?;
        if further.is_empty() {
            break;
        }
        last = place(org, end);
        read.extend(further);
    }
    let Some(progress) = read.last().map(|(org, row)| CompressionProgress::Log(*org, row.last())) else {
        return Ok(None);
    };
    let conversion = convert((after >> 40, position(after)), read)?;
    // Deleted and inserted again: an update leaves pages as they are, however empty, and their space is never used again.
    let mut remove = transaction.prepare_cached("DELETE FROM message_groups WHERE place = ?1").map_err(broken)?;
    for (org, position) in &conversion.removed {
        remove.execute([place(*org, *position)]).map_err(broken)?;
    }
    let mut add = RowWriter::open(transaction)?;
    for (org, row) in &conversion.added {
        add.write(*org, place(*org, row.columns.position.unwrap_or_default()), row)?;
    }
    Ok(Some((progress, conversion.removed.len() as u64)))
}

/// The rows of the log after one place and up to another.
fn rows_between(transaction: &Transaction<'_>, after: i64, through: i64) -> Result<Vec<(OrgId, StoredRow)>> {
    let sql =
        format!("SELECT place >> 40, {} FROM message_groups WHERE place > ?1 AND place <= ?2 ORDER BY place", stored());
    all(transaction, &sql, params![after, through], by_cells(|cells| Ok((cells.next()?, stored_row(cells)?))))
}

fn compress_waiting(transaction: &Transaction<'_>, after: i64, limit: usize) -> Result<Step> {
    let next = "SELECT id, length(content) FROM waiting_messages WHERE id > ?1 ORDER BY id LIMIT ?2";
    let next = all(transaction, next, params![after, count(limit)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some(last) = last_of_step::<i64>(&next) else { return Ok(None) };
    let sql = format!(
        "SELECT id, org, NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages WHERE id > ?1 AND id <= ?2
         ORDER BY id"
    );
    let read = by_cells(|cells| Ok((cells.next::<i64>()?, rows::message_of(cells)?)));
    let (ids, mut messages): (Vec<i64>, Vec<(OrgId, MessageRow)>) =
        all(transaction, &sql, params![after, last], read)?.into_iter().unzip();
    let compressed = compressed_waiting(&mut messages)?;
    let sql = "UPDATE waiting_messages SET content = ?2, signature = ?3, event_id = ?4, subject = ?5 WHERE id = ?1";
    for index in &compressed {
        write(transaction, sql, ids[*index], &messages[*index].1)?;
    }
    Ok(Some((CompressionProgress::Waiting(0, last), compressed.len() as u64)))
}

fn write(transaction: &Transaction<'_>, sql: &str, key: i64, message: &MessageRow) -> Result<()> {
    let mut statement = transaction.prepare_cached(sql).map_err(broken)?;
    let params = params![key, &message.data[..], message.signature, message.event_id, message.subject];
    statement.execute(params).map(drop).map_err(broken)
}

pub(super) fn left(connection: &Connection) -> Result<Option<u64>> {
    let Some(standing) = standing(connection)? else { return Ok(None) };
    let heads: Vec<(OrgId, i64)> =
        all(connection, "SELECT org, head FROM log_heads", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Some(standing.left_of(&heads)))
}

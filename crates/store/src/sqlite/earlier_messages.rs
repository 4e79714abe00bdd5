//! Compresses messages that earlier builds wrote: see [`crate::message_groups::earlier`].

use super::connection::broken;
use super::read::{all, count, one};
use super::rows::{LOGGED, by_cells, place};
use crate::Result;
use crate::message_groups::earlier::{Progress, TO_COMPRESS, compress_plain};
use crate::records::{MessageRow, OrgId};
use crate::rows::{self, MESSAGE};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

pub(super) fn compress(connection: &mut Connection, limit: usize) -> Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let value = "SELECT value FROM settings WHERE name = ?1";
    let Some(value) = one(&transaction, value, [TO_COMPRESS], |row| row.get::<_, Vec<u8>>(0))? else {
        return Ok(false);
    };
    let progress = match compress_log(&transaction, Progress::read(&value)?, limit)? {
        Some(progress) => Some(progress),
        None => compress_waiting(&transaction, limit)?.then_some(Progress::END_OF_LOG),
    };
    match progress {
        Some(progress) => {
            let sql = "UPDATE settings SET value = ?2 WHERE name = ?1";
            transaction.execute(sql, params![TO_COMPRESS, progress.bytes()]).map_err(broken)?;
        }
        None => {
            transaction.execute("DELETE FROM settings WHERE name = ?1", [TO_COMPRESS]).map_err(broken)?;
        }
    }
    transaction.commit().map_err(broken)?;
    Ok(progress.is_some())
}

/// Goes on in the log; `None` at its end.
fn compress_log(transaction: &Transaction<'_>, from: Progress, limit: usize) -> Result<Option<Progress>> {
    let sql = format!("SELECT place >> 40, {LOGGED}, {MESSAGE} FROM messages WHERE place > ?1 ORDER BY place LIMIT ?2");
    let after = if from == Progress::END_OF_LOG { i64::MAX } else { place(from.org, from.position) };
    let mut messages = all(transaction, &sql, params![after, count(limit)], by_cells(rows::message_of))?;
    let Some((org, last)) = messages.last() else { return Ok(None) };
    let reached = Progress { org: *org, position: last.position.unwrap_or_default() };
    let sql = "UPDATE messages SET content = ?2, signature = ?3, event_id = ?4, subject = ?5 WHERE place = ?1";
    for (org, message) in compress_plain(&mut messages)? {
        let place = place(*org, message.position.unwrap_or_default());
        write(transaction, sql, place, message)?;
    }
    Ok(Some(reached))
}

/// Whether there were any.
fn compress_waiting(transaction: &Transaction<'_>, limit: usize) -> Result<bool> {
    let sql = format!(
        "SELECT id, org, NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages
         WHERE substr(content, 1, 1) > x'02' LIMIT ?1"
    );
    let read = by_cells(|cells| Ok((cells.next::<i64>()?, rows::message_of(cells)?)));
    let (ids, mut messages): (Vec<i64>, Vec<(OrgId, MessageRow)>) =
        all(transaction, &sql, params![count(limit)], read)?.into_iter().unzip();
    compress_plain(&mut messages)?;
    let sql = "UPDATE waiting_messages SET content = ?2, signature = ?3, event_id = ?4, subject = ?5 WHERE id = ?1";
    for (id, (_, message)) in ids.iter().zip(&messages) {
        write(transaction, sql, *id, message)?;
    }
    Ok(!ids.is_empty())
}

fn write(transaction: &Transaction<'_>, sql: &str, key: i64, message: &MessageRow) -> Result<()> {
    let mut statement = transaction.prepare_cached(sql).map_err(broken)?;
    let params = params![key, &message.data[..], message.signature, message.event_id, message.subject];
    statement.execute(params).map(drop).map_err(broken)
}

pub(super) fn left(connection: &Connection) -> Result<Option<u64>> {
    let value = "SELECT value FROM settings WHERE name = ?1";
    let Some(value) = one(connection, value, [TO_COMPRESS], |row| row.get::<_, Vec<u8>>(0))? else { return Ok(None) };
    let heads: Vec<(OrgId, i64)> =
        all(connection, "SELECT org, head FROM log_heads", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Some(Progress::read(&value)?.left_of(&heads)))
}

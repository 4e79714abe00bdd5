//! Compares rows of messages with their content, and corrects single messages.

use super::connection::broken;
use super::grouped_messages::{all_messages, events_within, stored};
use super::log::RowWriter;
use super::read::{all, count, one};
use super::rows::{LAST_POSITION, by_cells, place};
use crate::Result;
use crate::message_groups::{StoredRow, check, rows_with, stored_row};
use crate::records::{AccountKey, OrgId};
use crate::upkeep::{MessageFacts, MessageRowOff, MessageRowsChecked};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// Checks the next rows of a log, at most `limit`, and the lists of their events.
pub(super) fn checked(connection: &Connection, org: OrgId, after: i64, limit: usize) -> Result<MessageRowsChecked> {
    let sql =
        format!("SELECT {} FROM message_groups WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3", stored());
    let params = params![place(org, after), place(org, LAST_POSITION), count(limit)];
    let rows: Vec<StoredRow> = all(connection, &sql, params, by_cells(stored_row))?;
    let through = rows.last().map(StoredRow::last).filter(|_| rows.len() == limit);
    let ends = (place(org, after), place(org, through.unwrap_or(LAST_POSITION)));
    let mut events: BTreeMap<i64, Vec<(String, i64)>> = BTreeMap::new();
    for (event, place, mask) in events_within(connection, ends)? {
        events.entry(place).or_default().push((event, mask));
    }
    let mut off = Vec::new();
    for row in &rows {
        let events = events.remove(&place(org, row.last())).unwrap_or_default();
        let wrong = check(row, &events).map(|checked| checked.wrong).unwrap_or_default();
        off.extend((!wrong.is_empty()).then(|| MessageRowOff { position: row.last(), wrong }));
    }
    let without_row = events.into_keys().map(super::rows::position);
    off.extend(without_row.map(MessageRowOff::without_row));
    Ok(MessageRowsChecked { off, through })
}

/// Corrects what is wrong with rows.
pub(super) fn correct_rows(connection: &Connection, org: OrgId, positions: &[i64]) -> Result<()> {
    let sql = format!("SELECT {} FROM message_groups WHERE place = ?1", stored());
    for position in positions {
        let at = place(org, *position);
        let events: Vec<(String, i64)> =
            events_within(connection, (at - 1, at))?.into_iter().map(|(event, _, mask)| (event, mask)).collect();
        let given = match one(connection, &sql, [at], by_cells(stored_row))? {
            // Unreadable content says nothing about the row.
            Some(row) => match check(&row, &events) {
                Some(given) => Some(given),
                None => continue,
            },
            None => None,
        };
        remove_events(connection, at, &events)?;
        let Some(given) = given else { continue };
        let run = |sql: &str, params: &[&dyn rusqlite::ToSql]| connection.execute(sql, params).map_err(broken);
        run("UPDATE message_groups SET size = ?2 WHERE place = ?1", params![at, given.size])?;
        if let Some(columns) = &given.columns {
            let sql = "UPDATE message_groups SET cause = ?2, effective_at = ?3, recorded_at = ?4, event = '',
                           event_id = '', subject = '', signature = '' WHERE place = ?1";
            run(sql, params![at, columns.cause, columns.effective_at.micros(), columns.recorded_at.micros()])?;
        }
        for (event, mask) in &given.events {
            run("INSERT INTO message_events (event, place, mask) VALUES (?1, ?2, ?3)", params![event, at, mask])?;
        }
    }
    Ok(())
}

fn remove_events(connection: &Connection, place: i64, events: &[(String, i64)]) -> Result<()> {
    for (event, _) in events {
        let sql = "DELETE FROM message_events WHERE event = ?1 AND place = ?2";
        connection.execute(sql, params![event, place]).map_err(broken)?;
    }
    Ok(())
}

/// Corrects a message that is in a row of several, and returns whether it is in one. Its row is written again; messages
/// that no longer fit together get rows of their own.
pub(super) fn correct_message(connection: &Connection, key: &AccountKey, facts: &MessageFacts) -> Result<bool> {
    let sql = format!(
        "SELECT {} FROM message_groups INDEXED BY messages_by_account
         WHERE org = ?1 AND account = ?2 AND sequence >= ?3 ORDER BY sequence LIMIT 1",
        stored()
    );
    let params = params![key.org, key.account, facts.sequence];
    let found = one(connection, &sql, params, by_cells(stored_row))?;
    let Some(row) = found.filter(|row| row.has_several() && row.has_number(facts.sequence)) else {
        return Ok(false);
    };
    let at = place(key.org, row.last());
    let messages = all_messages(connection, key.org, &sql, params)?;
    if messages.iter().any(|message| message.data.is_empty()) {
        // It cannot be read, so it cannot be written again.
        return Ok(true);
    }
    let events: Vec<(String, i64)> =
        events_within(connection, (at - 1, at))?.into_iter().map(|(event, _, mask)| (event, mask)).collect();
    remove_events(connection, at, &events)?;
    connection.execute("DELETE FROM message_groups WHERE place = ?1", [at]).map_err(broken)?;
    let mut writer = RowWriter::open(connection)?;
    for row in rows_with(key.org, messages, facts)? {
        writer.write(key.org, place(key.org, row.columns.position.unwrap_or_default()), &row)?;
    }
    Ok(true)
}

//! The log of messages, and the messages that wait to be due.
//!
//! A transaction opens the log, adds to it and closes it: each organization's head is read at its first message,
//! counted in memory, and written back once. As there is one writer, positions have no gaps and their order is the
//! order of commits.

use super::connection::broken;
use super::read::count;
use super::rows::{LAST_ORG, LAST_POSITION, place};
use crate::Result;
use crate::batch::Cancel;
use crate::error::StoreError;
use crate::message_groups::NewRow;
use crate::records::{AccountKey, MessageRow, OrgId};
use daybook_engine::time::Time;
use rusqlite::{CachedStatement, Connection, OptionalExtension, ToSql, params, params_from_iter};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

const INSERT_ROW: &str = "
    INSERT INTO message_groups (place, org, account, sequence, event, event_id, cause, subject, effective_at,
        recorded_at, content, signature, size)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

/// A list of events that was left where there is no row does not keep one from being written there.
const INSERT_EVENT: &str = "
    INSERT INTO message_events (event, place, mask) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET mask = excluded.mask";

const INSERT_WAITING: &str = "
    INSERT INTO waiting_messages (due_at, org, account, sequence, event, event_id, cause, subject, effective_at,
        recorded_at, content, signature, cancelled_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

const DUE: &str = "
    SELECT id, org FROM waiting_messages INDEXED BY waiting_messages_due
    WHERE due_at <= ?1 AND cancelled_at IS NULL ORDER BY due_at, id LIMIT ?2";

const DUE_OF_ACCOUNT: &str = "
    SELECT id FROM waiting_messages INDEXED BY waiting_messages_by_account
    WHERE org = ?1 AND account = ?2 AND due_at <= ?3 AND cancelled_at IS NULL ORDER BY due_at, id";

const CANCEL: &str = "
    UPDATE waiting_messages INDEXED BY waiting_messages_by_account SET cancelled_at = ?3
    WHERE org = ?1 AND account = ?2 AND due_at > ?3 AND cancelled_at IS NULL AND substr(cause, 1, length(?4)) = ?4";

const MOVE: &str = "
    INSERT INTO message_groups (place, org, account, sequence, event, event_id, cause, subject, effective_at, recorded_at,
        content, signature)
    SELECT ?2, org, account, sequence, event, event_id, cause, subject, effective_at, recorded_at, content, signature
    FROM waiting_messages WHERE id = ?1";

const REMOVE_WAITING: &str = "DELETE FROM waiting_messages WHERE id = ?1";

const HEAD: &str = "SELECT head FROM log_heads WHERE org = ?1";

const MOVE_HEAD: &str =
    "INSERT INTO log_heads (org, head) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET head = excluded.head";

const HURRY: &str = "UPDATE log_heads SET hurried = ?2 WHERE org = ?1";

/// The log, open within a transaction.
pub(super) struct Log<'c> {
    connection: &'c Connection,
    heads: BTreeMap<OrgId, i64>,
    /// The last positions that are sent without waiting for a batch.
    hurried: BTreeMap<OrgId, i64>,
    rows: RowWriter<'c>,
}

/// Writes rows of the log.
pub(super) struct RowWriter<'c> {
    row: CachedStatement<'c>,
    event: CachedStatement<'c>,
}

impl<'c> RowWriter<'c> {
    pub(super) fn open(connection: &'c Connection) -> Result<RowWriter<'c>> {
        let prepare = |sql| connection.prepare_cached(sql).map_err(broken);
        Ok(RowWriter { row: prepare(INSERT_ROW)?, event: prepare(INSERT_EVENT)? })
    }

    /// Writes a row at the place of its last message.
    pub(super) fn write(&mut self, org: OrgId, place: i64, row: &NewRow) -> Result<()> {
        insert(&mut self.row, place, org, &row.columns, &[Some(row.size)]).map_err(broken)?;
        for (event, mask) in &row.events {
            self.event.execute(params![event, place, mask]).map_err(broken)?;
        }
        Ok(())
    }
}

impl<'c> Log<'c> {
    pub(super) fn open(connection: &'c Connection) -> Result<Log<'c>> {
        let rows = RowWriter::open(connection)?;
        Ok(Log { connection, heads: BTreeMap::new(), hurried: BTreeMap::new(), rows })
    }

    /// Adds a row: to the end of the log, or to the waiting messages.
    pub(super) fn announce(&mut self, org: OrgId, row: &NewRow) -> Result<()> {
        let message = &row.columns;
        let Some(due_at) = message.due_at else {
            let place = self.next_place(org, row.size)?;
            return self.rows.write(org, place, row);
        };
        let mut waiting = self.connection.prepare_cached(INSERT_WAITING).map_err(broken)?;
        let last = [message.cancelled_at.map(Time::micros)];
        insert(&mut waiting, due_at.micros(), org, message, &last).map(|_| ()).map_err(broken)
    }

    /// Moves the messages of an account that are due by a moment into the log.
    pub(super) fn publish_account(&mut self, key: &AccountKey, until: Time) -> Result<()> {
        let mut due = self.connection.prepare_cached(DUE_OF_ACCOUNT).map_err(broken)?;
        let ids: Vec<i64> = due
            .query_map(params![key.org, key.account, until.micros()], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(broken)?;
        ids.into_iter().try_for_each(|id| self.publish(id, key.org))
    }

    /// Cancels waiting messages of an account.
    pub(super) fn cancel(&mut self, key: &AccountKey, which: Cancel) -> Result<()> {
        let mut cancel = self.connection.prepare_cached(CANCEL).map_err(broken)?;
        cancel.execute(params![key.org, key.account, which.at.micros(), which.cause_prefix]).map_err(broken)?;
        Ok(())
    }

    /// Moves messages that are due by now into the log, at most `limit`; returns how many.
    pub(super) fn publish_due(&mut self, now: Time, limit: usize) -> Result<u64> {
        let mut due = self.connection.prepare_cached(DUE).map_err(broken)?;
        let ids: Vec<(i64, OrgId)> = due
            .query_map(params![now.micros(), count(limit)], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .map_err(broken)?;
        let published = ids.len() as u64;
        ids.into_iter().try_for_each(|(id, org)| self.publish(id, org))?;
        Ok(published)
    }

    /// Marks everything that is in an organization's log by now to be sent without waiting for a batch.
    pub(super) fn hurry(&mut self, org: OrgId) -> Result<()> {
        let head = *self.head(org)?;
        self.hurried.insert(org, head);
        Ok(())
    }

    /// Writes the heads back.
    pub(super) fn close(self) -> Result<()> {
        let mut move_head = self.connection.prepare_cached(MOVE_HEAD).map_err(broken)?;
        for (org, head) in self.heads.iter().filter(|(_, head)| **head > 0) {
            move_head.execute(params![org, head]).map_err(broken)?;
        }
        if !self.hurried.is_empty() {
            let mut hurry = self.connection.prepare_cached(HURRY).map_err(broken)?;
            for (org, through) in &self.hurried {
                hurry.execute(params![org, through]).map_err(broken)?;
            }
        }
        Ok(())
    }

    fn publish(&mut self, id: i64, org: OrgId) -> Result<()> {
        let place = self.next_place(org, 1)?;
        let mut copy = self.connection.prepare_cached(MOVE).map_err(broken)?;
        copy.execute([id, place]).map_err(broken)?;
        let mut remove = self.connection.prepare_cached(REMOVE_WAITING).map_err(broken)?;
        remove.execute([id]).map_err(broken)?;
        Ok(())
    }

    /// The place of the last one of the next messages of an organization.
    fn next_place(&mut self, org: OrgId, size: i64) -> Result<i64> {
        let head = self.head(org)?;
        *head += size;
        if !(0..=LAST_ORG).contains(&org) || *head > LAST_POSITION {
            return Err(StoreError::Broken(format!("the log of organization {org} has no room at position {head}")));
        }
        Ok(place(org, *head))
    }

    /// The last position of an organization's log.
    fn head(&mut self, org: OrgId) -> Result<&mut i64> {
        match self.heads.entry(org) {
            Entry::Occupied(head) => Ok(head.into_mut()),
            Entry::Vacant(unread) => {
                let mut read = self.connection.prepare_cached(HEAD).map_err(broken)?;
                let head = read.query_row([org], |row| row.get(0)).optional().map_err(broken)?.unwrap_or(0);
                Ok(unread.insert(head))
            }
        }
    }
}

/// Writes a row; `first` is its place, or the moment when it is due; `last` holds further columns.
fn insert(
    statement: &mut CachedStatement<'_>,
    first: i64,
    org: OrgId,
    message: &MessageRow,
    last: &[Option<i64>],
) -> rusqlite::Result<usize> {
    let (effective_at, recorded_at) = (message.effective_at.micros(), message.recorded_at.micros());
    let data = &message.data[..];
    let columns: [&dyn ToSql; 12] = [
        &first,
        &org,
        &message.account,
        &message.sequence,
        &message.event,
        &message.event_id,
        &message.cause,
        &message.subject,
        &effective_at,
        &recorded_at,
        &data,
        &message.signature,
    ];
    let last = last.iter().map(|cell| cell as &dyn ToSql);
    statement.execute(params_from_iter(columns.into_iter().chain(last)))
}

//! Loads accounts; reads line items and messages.

use super::connection::broken;
use super::grouped_messages::{expand_rows, first_messages, stored, waiting_message};
use super::rows::{ITEM, LAST_ORG, LAST_POSITION, by_cells, place};
use crate::message_groups::{expand_waiting, has_cause, stored_row};
use crate::records::{AccountKey, InputRow, ItemRow, MessageRow, OrgId};
use crate::rows::{self, ACCOUNT, INPUT, MESSAGE};
use crate::{AccountToLoad, Inputs, LoadedAccount, Result};
use daybook_engine::time::Time;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};
use std::collections::HashSet;
use std::sync::Arc;

/// The one row that a statement returns, if any.
pub(super) fn one<T, P: Params>(
    connection: &Connection,
    sql: &str,
    params: P,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    statement.query_row(params, read).optional().map_err(broken)
}

/// All rows that a statement returns.
pub(super) fn all<T, P: Params>(
    connection: &Connection,
    sql: &str,
    params: P,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    statement.query_map(params, read).and_then(Iterator::collect).map_err(broken)
}

/// A limit as SQLite's integer type.
pub(super) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn customers_exist(connection: &Connection, org: OrgId, customer_ids: &[Arc<str>]) -> Result<Vec<bool>> {
    let sql = "SELECT 1 FROM customers WHERE org = ?1 AND customer = ?2";
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    customer_ids.iter().map(|id| statement.exists(params![org, id]).map_err(broken)).collect()
}

pub(super) fn load(connection: &Connection, wanted: &[AccountToLoad]) -> Result<Vec<Option<LoadedAccount>>> {
    let account = format!("SELECT {ACCOUNT} FROM accounts a WHERE org = ?1 AND account = ?2");
    let inputs = format!("SELECT {INPUT} FROM inputs WHERE org = ?1 AND account = ?2");
    let mut loader = Loader {
        account: connection.prepare_cached(&account).map_err(broken)?,
        all: connection.prepare_cached(&format!("{inputs} ORDER BY seq")).map_err(broken)?,
        pending: connection
            .prepare_cached(&format!("{inputs} AND (seq > ?3 OR applies_at > ?4) ORDER BY seq"))
            .map_err(broken)?,
        named: connection.prepare_cached(&format!("{inputs} AND name = ?3")).map_err(broken)?,
    };
    wanted.iter().map(|want| loader.load(want).map_err(broken)).collect()
}

/// The statements that load accounts.
struct Loader<'c> {
    account: CachedStatement<'c>,
    all: CachedStatement<'c>,
    pending: CachedStatement<'c>,
    named: CachedStatement<'c>,
}

impl Loader<'_> {
    fn load(&mut self, want: &AccountToLoad) -> rusqlite::Result<Option<LoadedAccount>> {
        let AccountKey { org, account } = &want.key;
        let Some(row) = self.account.query_row(params![org, account], by_cells(rows::account)).optional()? else {
            return Ok(None);
        };
        let mut inputs: Vec<InputRow> = match want.inputs {
            Inputs::None => Vec::new(),
            Inputs::All => {
                self.all.query_map(params![org, account], by_cells(rows::input))?.collect::<rusqlite::Result<_>>()?
            }
            Inputs::Pending => {
                // Before the first fold, nothing is processed.
                let processed_through = row.now.processed_through.unwrap_or(Time::BEGINNING).micros();
                let params = params![org, account, row.now.settled_seq, processed_through];
                self.pending.query_map(params, by_cells(rows::input))?.collect::<rusqlite::Result<_>>()?
            }
        };
        if want.inputs != Inputs::All && !want.names.is_empty() {
            for name in &want.names {
                inputs.extend(self.named.query_row(params![org, account, name], by_cells(rows::input)).optional()?);
            }
            inputs.sort_by_key(|input| input.seq);
            inputs.dedup_by_key(|input| input.seq);
        }
        Ok(Some(LoadedAccount { row, inputs }))
    }
}

pub(super) fn items(connection: &Connection, key: &AccountKey) -> Result<Vec<ItemRow>> {
    let sql = format!("SELECT {ITEM} FROM line_items WHERE org = ?1 AND account = ?2 ORDER BY item");
    all(connection, &sql, params![key.org, key.account], by_cells(rows::item))
}

pub(super) fn items_by_id(connection: &Connection, key: &AccountKey, item_ids: &[Arc<str>]) -> Result<Vec<ItemRow>> {
    let sql = format!("SELECT {ITEM} FROM line_items WHERE org = ?1 AND account = ?2 AND item = ?3");
    let mut sorted: Vec<&str> = item_ids.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut found = Vec::with_capacity(sorted.len());
    for item_id in sorted {
        found.extend(one(connection, &sql, params![key.org, key.account, item_id], by_cells(rows::item))?);
    }
    Ok(found)
}

pub(super) fn messages_of(
    connection: &Connection,
    key: &AccountKey,
    after: i64,
    limit: usize,
) -> Result<Vec<MessageRow>> {
    let which = "WHERE org = ?1 AND account = ?2 AND sequence > ?3 ORDER BY sequence";
    let params = params![key.org, key.account, after];
    let log = format!("SELECT {} FROM message_groups INDEXED BY messages_by_account {which}", stored());
    let mut found = first_messages(connection, key.org, &log, params, limit, |message| message.sequence > after)?;
    let waiting = format!("SELECT NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages {which} LIMIT ?4");
    let params = params![key.org, key.account, after, count(limit)];
    found.extend(all(connection, &waiting, params, by_cells(waiting_message))?);
    found.sort_by_key(|message| message.sequence);
    found.truncate(limit);
    Ok(found)
}

/// The index includes the causes: rows without one of these are not read.
pub(super) fn messages_by_cause(
    connection: &Connection,
    key: &AccountKey,
    causes: &[String],
    before_cause: Option<&str>,
) -> Result<Vec<MessageRow>> {
    let causes: HashSet<&str> = causes.iter().map(String::as_str).collect();
    let mut rows = Vec::new();
    let mut is_bounded = false;
    {
        let index = "SELECT sequence, cause FROM message_groups INDEXED BY messages_by_account \
             WHERE org = ?1 AND account = ?2 ORDER BY sequence";
        let mut index = connection.prepare_cached(index).map_err(broken)?;
        let mut entries = index.query(params![key.org, key.account]).map_err(broken)?;
        while let Some(entry) = entries.next().map_err(broken)?.filter(|_| !is_bounded) {
            let cause = entry.get_ref(1).and_then(|cause| cause.as_str().map_err(Into::into)).map_err(broken)?;
            is_bounded = before_cause.is_some_and(|before| has_cause(cause, |cause| cause == before));
            if is_bounded || has_cause(cause, |cause| causes.contains(cause)) {
                rows.push(entry.get::<_, i64>(0).map_err(broken)?);
            }
        }
    }
    let sql = format!(
        "SELECT {} FROM message_groups INDEXED BY messages_by_account WHERE org = ?1 AND account = ?2 AND sequence = ?3",
        stored()
    );
    let mut found = Vec::with_capacity(rows.len());
    for sequence in rows {
        found.extend(all(connection, &sql, params![key.org, key.account, sequence], by_cells(stored_row))?);
    }
    let mut found = expand_rows(connection, key.org, found)?;
    let before = found.iter().find(|message| Some(message.cause.as_str()) == before_cause);
    let before = before.map_or(i64::MAX, |before| before.sequence);
    let sql = format!(
        "SELECT NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages INDEXED BY waiting_messages_by_account \
         WHERE org = ?1 AND account = ?2 AND sequence < ?3 AND cause IN (SELECT value FROM json_each(?4))
         ORDER BY sequence"
    );
    let wanted = serde_json::Value::from(causes.iter().copied().collect::<Vec<&str>>()).to_string();
    let is_wanted = |message: &MessageRow| message.sequence < before && causes.contains(message.cause.as_str());
    found.retain(is_wanted);
    let waiting: Vec<MessageRow> =
        all(connection, &sql, params![key.org, key.account, before, wanted], by_cells(rows::message))?;
    found.extend(waiting.into_iter().map(expand_waiting));
    found.sort_by_key(|message| message.sequence);
    Ok(found)
}

pub(super) fn messages(connection: &Connection, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
    if !(0..=LAST_ORG).contains(&org) || after >= LAST_POSITION {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {} FROM message_groups WHERE place > ?1 AND place <= ?2 ORDER BY place", stored());
    let params = params![place(org, after.max(0)), place(org, LAST_POSITION)];
    first_messages(connection, org, &sql, params, limit, |message| message.position.is_some_and(|at| at > after))
}

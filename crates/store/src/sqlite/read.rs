//! Loads accounts; reads line items and messages.

use super::connection::broken;
use super::grouped_messages::all_messages;
use super::rows::{ITEM, LAST_ORG, LAST_POSITION, LOGGED, by_cells, place};
use crate::records::{AccountKey, InputRow, ItemRow, MessageRow, OrgId};
use crate::rows::{self, ACCOUNT, INPUT, MESSAGE};
use crate::{AccountToLoad, Inputs, LoadedAccount, Result};
use daybook_engine::time::Time;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};
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
    let which = "WHERE org = ?1 AND account = ?2 AND sequence > ?3 ORDER BY sequence LIMIT ?4";
    let params = params![key.org, key.account, after, count(limit)];
    let log = format!("SELECT {LOGGED}, {MESSAGE} FROM messages {which}");
    let mut found = all_messages(connection, key.org, &log, params, rows::message)?;
    let waiting = format!("SELECT NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages {which}");
    found.extend(all_messages(connection, key.org, &waiting, params, rows::message)?);
    found.sort_by_key(|message| message.sequence);
    found.truncate(limit);
    Ok(found)
}

/// A list as JSON, which a statement reads with `json_each`.
pub(super) fn json_list(list: &[&str]) -> String {
    serde_json::Value::from(list.to_vec()).to_string()
}

/// The index includes the cause: messages of other causes are not read.
pub(super) fn messages_by_cause(
    connection: &Connection,
    key: &AccountKey,
    causes: &str,
    before_cause: Option<&str>,
) -> Result<Vec<MessageRow>> {
    let before = "SELECT sequence FROM messages INDEXED BY messages_by_account \
         WHERE org = ?1 AND account = ?2 AND cause = ?3 ORDER BY sequence LIMIT 1";
    let before = match before_cause {
        Some(cause) => one(connection, before, params![key.org, key.account, cause], |row| row.get(0))?,
        None => None,
    };
    let which = "WHERE org = ?1 AND account = ?2 AND sequence < ?4 AND cause IN (SELECT value FROM json_each(?3)) \
         ORDER BY sequence";
    let params = params![key.org, key.account, causes, before.unwrap_or(i64::MAX)];
    let log = format!("SELECT {LOGGED}, {MESSAGE} FROM messages INDEXED BY messages_by_account {which}");
    let mut found = all_messages(connection, key.org, &log, params, rows::message)?;
    let waiting = format!("SELECT NULL, due_at, cancelled_at, {MESSAGE} FROM waiting_messages {which}");
    found.extend(all_messages(connection, key.org, &waiting, params, rows::message)?);
    found.sort_by_key(|message| message.sequence);
    Ok(found)
}

pub(super) fn messages(connection: &Connection, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
    if !(0..=LAST_ORG).contains(&org) || after >= LAST_POSITION {
        return Ok(Vec::new());
    }
    let sql =
        format!("SELECT {LOGGED}, {MESSAGE} FROM messages WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3");
    let params = params![place(org, after.max(0)), place(org, LAST_POSITION), count(limit)];
    all_messages(connection, org, &sql, params, rows::message)
}

//! Reads products, customers, accounts and the rows that belong to them.

use super::connection::broken;
use super::rows::{
    self, ACCOUNT_COLUMNS, CUSTOMER_COLUMNS, INPUT_COLUMNS, ITEM_COLUMNS, LAST_ORG, LAST_POSITION, MESSAGE_COLUMNS,
    PRODUCT_COLUMNS, place, text,
};
use crate::records::{
    AccountKey, AccountRow, CustomerRow, HeldCounts, InputRow, ItemRow, KeptResponse, MessageRow, OrgId, PageRequest,
    ProductKey, ProductRow,
};
use crate::{AccountToLoad, Inputs, LoadedAccount, Result};
use bytes::Bytes;
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

pub(super) fn product(connection: &Connection, key: &ProductKey) -> Result<Option<ProductRow>> {
    let sql = format!("SELECT {PRODUCT_COLUMNS} FROM products WHERE org = ?1 AND product = ?2");
    one(connection, &sql, params![key.org, key.product], rows::product)
}

pub(super) fn products(connection: &Connection, org: OrgId, page: &PageRequest) -> Result<Vec<ProductRow>> {
    let from = format!("SELECT {PRODUCT_COLUMNS} FROM products WHERE org = ?1");
    paged(connection, &from, "product", org, page, rows::product)
}

pub(super) fn releasing_products(connection: &Connection) -> Result<Vec<ProductKey>> {
    let sql = "SELECT org, product FROM products WHERE releasing = 1 ORDER BY org, product";
    all(connection, sql, [], |row| Ok(ProductKey { org: row.get(0)?, product: text(row, 1)? }))
}

pub(super) fn held_counts(connection: &Connection, key: &ProductKey) -> Result<HeldCounts> {
    let sum = |sql: &str| {
        one(connection, sql, params![key.org, key.product], |row| Ok((row.get(0)?, row.get(1)?)))
            .map(|sums: Option<(i64, i64)>| sums.unwrap_or_default())
    };
    let (accounts, events) = sum("SELECT count(*), coalesce(sum(held_events), 0) FROM accounts \
         WHERE org = ?1 AND product = ?2 AND held_events > 0 AND failure IS NULL")?;
    let (failed_accounts, failed_events) = sum("SELECT count(*), coalesce(sum(held_events), 0) FROM accounts \
         WHERE org = ?1 AND product = ?2 AND failure IS NOT NULL")?;
    Ok(HeldCounts { accounts, events, failed_accounts, failed_events })
}

pub(super) fn failed_accounts(
    connection: &Connection,
    key: &ProductKey,
    limit: usize,
) -> Result<Vec<(Arc<str>, String)>> {
    // Names the index; otherwise all accounts of the product would be read to find the few that failed.
    let sql = "SELECT account, failure FROM accounts INDEXED BY accounts_failed \
               WHERE org = ?1 AND product = ?2 AND failure IS NOT NULL ORDER BY account LIMIT ?3";
    all(connection, sql, params![key.org, key.product, count(limit)], |row| Ok((text(row, 0)?, row.get(1)?)))
}

pub(super) fn customer(connection: &Connection, org: OrgId, customer_id: &str) -> Result<Option<CustomerRow>> {
    let sql = format!("SELECT {CUSTOMER_COLUMNS} FROM customers WHERE org = ?1 AND customer = ?2");
    one(connection, &sql, params![org, customer_id], rows::customer)
}

pub(super) fn customers(connection: &Connection, org: OrgId, page: &PageRequest) -> Result<Vec<CustomerRow>> {
    let from = format!("SELECT {CUSTOMER_COLUMNS} FROM customers WHERE org = ?1");
    paged(connection, &from, "customer", org, page, rows::customer)
}

pub(super) fn customers_exist(connection: &Connection, org: OrgId, customer_ids: &[Arc<str>]) -> Result<Vec<bool>> {
    let sql = "SELECT 1 FROM customers WHERE org = ?1 AND customer = ?2";
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    customer_ids.iter().map(|id| statement.exists(params![org, id]).map_err(broken)).collect()
}

pub(super) fn customer_accounts(
    connection: &Connection,
    org: OrgId,
    customer_id: &str,
    limit: usize,
) -> Result<Vec<(Arc<str>, String)>> {
    let sql = "SELECT account, role FROM account_customers WHERE org = ?1 AND customer = ?2 ORDER BY account LIMIT ?3";
    all(connection, sql, params![org, customer_id, count(limit)], |row| Ok((text(row, 0)?, row.get(1)?)))
}

pub(super) fn load(connection: &Connection, wanted: &[AccountToLoad]) -> Result<Vec<Option<LoadedAccount>>> {
    let account = format!("SELECT {ACCOUNT_COLUMNS} FROM accounts WHERE org = ?1 AND account = ?2");
    let inputs = format!("SELECT {INPUT_COLUMNS} FROM inputs WHERE org = ?1 AND account = ?2");
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
        let Some(row) = self.account.query_row(params![org, account], rows::account).optional()? else {
            return Ok(None);
        };
        let mut inputs: Vec<InputRow> = match want.inputs {
            Inputs::None => Vec::new(),
            Inputs::All => self.all.query_map(params![org, account], rows::input)?.collect::<rusqlite::Result<_>>()?,
            Inputs::Pending => {
                // Before the first fold, nothing is processed.
                let processed_through = row.now.processed_through.unwrap_or(Time::BEGINNING).micros();
                let params = params![org, account, row.now.settled_seq, processed_through];
                self.pending.query_map(params, rows::input)?.collect::<rusqlite::Result<_>>()?
            }
        };
        if want.inputs != Inputs::All && !want.names.is_empty() {
            for name in &want.names {
                inputs.extend(self.named.query_row(params![org, account, name], rows::input).optional()?);
            }
            inputs.sort_by_key(|input| input.seq);
            inputs.dedup_by_key(|input| input.seq);
        }
        Ok(Some(LoadedAccount { row, inputs }))
    }
}

pub(super) fn first_inputs(connection: &Connection, key: &AccountKey, limit: usize) -> Result<Vec<InputRow>> {
    let sql = format!(
        "SELECT {INPUT_COLUMNS} FROM inputs WHERE org = ?1 AND account = ?2 ORDER BY applies_at, rank, seq LIMIT ?3"
    );
    all(connection, &sql, params![key.org, key.account, count(limit)], rows::input)
}

pub(super) fn has_input_beginning(connection: &Connection, key: &AccountKey, beginnings: &[Vec<u8>]) -> Result<bool> {
    let sql = "SELECT 1 FROM inputs WHERE org = ?1 AND account = ?2 AND substr(payload, 1, ?3) = ?4 LIMIT 1";
    let mut statement = connection.prepare_cached(sql).map_err(broken)?;
    for begins in beginnings {
        if statement.exists(params![key.org, key.account, count(begins.len()), begins]).map_err(broken)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn accounts(connection: &Connection, org: OrgId, page: &PageRequest) -> Result<Vec<AccountRow>> {
    let from = format!("SELECT {ACCOUNT_COLUMNS} FROM accounts WHERE org = ?1");
    paged(connection, &from, "account", org, page, rows::account)
}

/// A page of a list that is sorted by `id`.
fn paged<T>(
    connection: &Connection,
    from: &str,
    id: &str,
    org: OrgId,
    page: &PageRequest,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    // Ids are never empty, so all sort after the empty string.
    let after = page.after.as_deref().unwrap_or("");
    let limit = count(page.limit);
    match page.before.as_deref() {
        None => {
            let sql = format!("{from} AND {id} > ?2 ORDER BY {id} LIMIT ?3");
            all(connection, &sql, params![org, after, limit], read)
        }
        Some(before) => {
            let sql = format!("{from} AND {id} > ?2 AND {id} < ?4 ORDER BY {id} DESC LIMIT ?3");
            let mut found = all(connection, &sql, params![org, after, limit, before], read)?;
            found.reverse();
            Ok(found)
        }
    }
}

pub(super) fn items(connection: &Connection, key: &AccountKey) -> Result<Vec<ItemRow>> {
    let sql = format!("SELECT {ITEM_COLUMNS} FROM line_items WHERE org = ?1 AND account = ?2 ORDER BY item");
    all(connection, &sql, params![key.org, key.account], rows::item)
}

pub(super) fn items_by_id(connection: &Connection, key: &AccountKey, item_ids: &[Arc<str>]) -> Result<Vec<ItemRow>> {
    let sql = format!("SELECT {ITEM_COLUMNS} FROM line_items WHERE org = ?1 AND account = ?2 AND item = ?3");
    let mut sorted: Vec<&str> = item_ids.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut found = Vec::with_capacity(sorted.len());
    for item_id in sorted {
        found.extend(one(connection, &sql, params![key.org, key.account, item_id], rows::item)?);
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
    let log = format!("SELECT place, NULL, NULL, {MESSAGE_COLUMNS} FROM messages {which}");
    let mut found = all(connection, &log, params, rows::message)?;
    let waiting = format!("SELECT NULL, due_at, cancelled_at, {MESSAGE_COLUMNS} FROM waiting_messages {which}");
    found.extend(all(connection, &waiting, params, rows::message)?);
    found.sort_by_key(|message| message.sequence);
    found.truncate(limit);
    Ok(found)
}

/// A list as JSON, which a statement reads with `json_each`.
pub(super) fn json_list(list: &[&str]) -> String {
    serde_json::Value::from(list.to_vec()).to_string()
}

/// The index includes the cause: messages of other causes are not read.
pub(super) fn messages_by_cause(connection: &Connection, key: &AccountKey, causes: &str) -> Result<Vec<MessageRow>> {
    let which = "WHERE org = ?1 AND account = ?2 AND cause IN (SELECT value FROM json_each(?3)) ORDER BY sequence";
    let params = params![key.org, key.account, causes];
    let log =
        format!("SELECT place, NULL, NULL, {MESSAGE_COLUMNS} FROM messages INDEXED BY messages_by_account {which}");
    let mut found = all(connection, &log, params, rows::message)?;
    let waiting = format!("SELECT NULL, due_at, cancelled_at, {MESSAGE_COLUMNS} FROM waiting_messages {which}");
    found.extend(all(connection, &waiting, params, rows::message)?);
    found.sort_by_key(|message| message.sequence);
    Ok(found)
}

pub(super) fn messages(connection: &Connection, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
    if !(0..=LAST_ORG).contains(&org) || after >= LAST_POSITION {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT place, NULL, NULL, {MESSAGE_COLUMNS} FROM messages WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3"
    );
    let params = params![place(org, after.max(0)), place(org, LAST_POSITION), count(limit)];
    all(connection, &sql, params, rows::message)
}

pub(super) fn answer(connection: &Connection, org: OrgId, key: &str, now: Time) -> Result<Option<KeptResponse>> {
    let sql = "SELECT content_hash, body FROM answers WHERE org = ?1 AND key = ?2 AND expires_at > ?3";
    one(connection, sql, params![org, key, now.micros()], |row| {
        Ok(KeptResponse { content_hash: row.get(0)?, body: Bytes::from(row.get::<_, Vec<u8>>(1)?) })
    })
}

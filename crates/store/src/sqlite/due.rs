//! Due work, found through partial indexes that hold only rows with something to do.
//!
//! Due accounts are queried product by product, so that the accounts of a product that holds its events cost nothing.

use super::connection::broken;
use super::log::Log;
use super::read::{all, count, one};
use super::rows::text;
use crate::records::{AccountKey, ProductKey};
use crate::{DueAccount, Result};
use daybook_engine::time::Time;
use rusqlite::{Connection, TransactionBehavior, params};
use std::sync::Arc;

/// Products with due accounts, longest waiting first.
const PRODUCTS_DUE: &str = "
    SELECT org, product, first FROM (
        SELECT p.org, p.product,
            (SELECT min(a.next_moment) FROM accounts a INDEXED BY accounts_due
             WHERE a.org = p.org AND a.product = p.product AND a.next_moment IS NOT NULL) AS first
        FROM products p INDEXED BY products_not_holding WHERE p.holding = 0)
    WHERE first <= ?1 ORDER BY first, org, product";

/// Due accounts of a product, longest waiting first.
const ACCOUNTS_DUE: &str = "
    SELECT account, CASE WHEN held_events > 0 THEN next_seq - 1 ELSE 0 END FROM accounts INDEXED BY accounts_due
    WHERE org = ?1 AND product = ?2 AND next_moment <= ?3
    ORDER BY next_moment, account LIMIT ?4 OFFSET ?5";

const NEXT_DUE: &str = "
    SELECT min((SELECT min(a.next_moment) FROM accounts a INDEXED BY accounts_due
                WHERE a.org = p.org AND a.product = p.product AND a.next_moment > ?1))
    FROM products p INDEXED BY products_not_holding WHERE p.holding = 0";

/// A product whose due accounts are being taken.
struct Source {
    key: ProductKey,
    taken: Vec<(Arc<str>, i64)>,
    exhausted: bool,
}

/// Due accounts, shared between products: each gets an equal share of the limit, and what a product does not need is
/// divided among the others.
pub(super) fn take_due(connection: &Connection, now: Time, limit: usize) -> Result<Vec<DueAccount>> {
    let mut sources = all(connection, PRODUCTS_DUE, [now.micros()], |row| {
        let key = ProductKey { org: row.get(0)?, product: text(row, 1)? };
        Ok(Source { key, taken: Vec::new(), exhausted: false })
    })?;
    let mut left = limit;
    loop {
        let hungry = sources.iter().filter(|source| !source.exhausted).count();
        if hungry == 0 || left == 0 {
            break;
        }
        let share = (left / hungry).max(1);
        for source in sources.iter_mut().filter(|source| !source.exhausted) {
            let share = share.min(left);
            let ProductKey { org, product } = &source.key;
            let params = params![org, product, now.micros(), count(share), count(source.taken.len())];
            let accounts = all(connection, ACCOUNTS_DUE, params, |row| Ok((text(row, 0)?, row.get(1)?)))?;
            source.exhausted = accounts.len() < share;
            left -= accounts.len();
            source.taken.extend(accounts);
            if left == 0 {
                break;
            }
        }
    }
    let due = |source: Source| {
        let ProductKey { org, product } = source.key;
        source.taken.into_iter().map(move |(account, held)| DueAccount {
            key: AccountKey { org, account },
            product: Arc::clone(&product),
            held,
        })
    };
    Ok(sources.into_iter().flat_map(due).collect())
}

pub(super) fn next_due(connection: &Connection, now: Time) -> Result<Option<Time>> {
    let moment: Option<Option<i64>> = one(connection, NEXT_DUE, [now.micros()], |row| row.get(0))?;
    Ok(moment.flatten().map(Time::from_micros))
}

pub(super) fn count_due(connection: &Connection, now: Time) -> Result<u64> {
    let sql = "SELECT count(*) FROM products p INDEXED BY products_not_holding \
               JOIN accounts a INDEXED BY accounts_due ON a.org = p.org AND a.product = p.product \
               WHERE p.holding = 0 AND a.next_moment <= ?1";
    let due: Option<i64> = one(connection, sql, [now.micros()], |row| row.get(0))?;
    Ok(due.unwrap_or(0).unsigned_abs())
}

/// The version goes up, so that work in progress on the failed account does not undo it.
pub(super) fn retry_failed(connection: &Connection, key: &ProductKey, now: Time) -> Result<u64> {
    let sql = "UPDATE accounts SET failure = NULL, next_moment = ?3, version = version + 1 \
               WHERE org = ?1 AND product = ?2 AND failure IS NOT NULL";
    let retried = connection.execute(sql, params![key.org, key.product, now.micros()]).map_err(broken)?;
    Ok(retried as u64)
}

pub(super) fn publish_due(connection: &mut Connection, now: Time, limit: usize) -> Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    let published = {
        let mut log = Log::open(&transaction)?;
        let published = log.publish_due(now, limit)?;
        log.close()?;
        published
    };
    transaction.commit().map_err(broken)?;
    Ok(published)
}

pub(super) fn expire_answers(connection: &Connection, now: Time, limit: usize) -> Result<u64> {
    let sql = "DELETE FROM answers WHERE id IN \
               (SELECT id FROM answers WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
    let removed = connection.execute(sql, params![now.micros(), count(limit)]).map_err(broken)?;
    Ok(removed as u64)
}

//! Reads a portfolio on a connection of its own: see [`crate::journals`].
//!
//! The connection is not one of the few that serve calls, so a portfolio that is read slowly delays no call. It sees one
//! snapshot; until it is closed, the log cannot restart at its beginning.

use super::connection::{broken, open_inspector};
use super::read::one;
use super::rows::by_cells;
use super::{MEMORY, Sqlite};
use crate::error::StoreError;
use crate::journals::{AccountBatch, FillingBatch, PortfolioAccount, PortfolioJournals};
use crate::records::{AccountRow, InputRow, ProductKey};
use crate::rows::{self, ACCOUNT, INPUT};
use crate::{LoadedAccount, Result};
use async_trait::async_trait;
use rusqlite::{CachedStatement, Connection, params};
use tokio::sync::mpsc;

/// What to do with a full batch. Returns whether more are wanted.
type Send<'a> = &'a mut dyn FnMut(AccountBatch) -> bool;

#[async_trait]
impl PortfolioJournals for Sqlite {
    async fn count_accounts_of(&self, key: &ProductKey) -> Result<u64> {
        let key = key.clone();
        let sql = "SELECT count(*) FROM accounts WHERE org = ?1 AND product = ?2";
        let count = self
            .read(move |connection| one(connection, sql, params![key.org, key.product], |row| row.get::<_, i64>(0)))
            .await?;
        Ok(count.map_or(0, i64::unsigned_abs))
    }

    async fn read_portfolio(
        &self,
        key: &ProductKey,
        with_customers: bool,
        batches: mpsc::Sender<AccountBatch>,
    ) -> Result<()> {
        let (key, path) = (key.clone(), self.path.clone());
        if path == MEMORY {
            // There is only one connection. It must be free again before the receiver works.
            let read = self.read(move |connection| {
                let mut all = Vec::new();
                let mut keep = |batch| {
                    all.push(batch);
                    true
                };
                read_all(connection, &key, with_customers, &mut keep)?;
                Ok(all)
            });
            for batch in read.await? {
                if batches.send(batch).await.is_err() {
                    break;
                }
            }
            return Ok(());
        }
        let reading = tokio::task::spawn_blocking(move || {
            let connection = open_inspector(&path)?;
            connection.execute_batch("BEGIN").map_err(broken)?;
            read_all(&connection, &key, with_customers, &mut |batch| batches.blocking_send(batch).is_ok())
        });
        reading.await.map_err(|_| StoreError::Unavailable("a reader of the database has stopped".to_owned()))?
    }
}

fn read_all(connection: &Connection, key: &ProductKey, with_customers: bool, send: Send<'_>) -> Result<()> {
    let prepare = |sql: &str| connection.prepare_cached(sql).map_err(broken);
    let accounts = format!(
        "SELECT {ACCOUNT} FROM accounts a INDEXED BY accounts_by_product WHERE org = ?1 AND product = ?2 ORDER BY account"
    );
    let mut accounts = prepare(&accounts)?;
    let mut details = Details {
        inputs: prepare(&format!("SELECT {INPUT} FROM inputs WHERE org = ?1 AND account = ?2 ORDER BY seq"))?,
        customers: prepare(
            "SELECT c.body FROM account_customers a JOIN customers c ON c.org = a.org AND c.customer = a.customer
             WHERE a.org = ?1 AND a.account = ?2 ORDER BY a.customer",
        )?,
        with_customers,
    };
    let mut batch = FillingBatch::default();
    let mut found = accounts.query(params![key.org, key.product]).map_err(broken)?;
    while let Some(row) = found.next().map_err(broken)? {
        let row = by_cells(rows::account)(row).map_err(broken)?;
        if let Some(full) = batch.add(details.of(row).map_err(broken)?)
            && !send(full)
        {
            return Ok(());
        }
    }
    if let Some(rest) = batch.rest() {
        send(rest);
    }
    Ok(())
}

/// The statements that read what belongs to an account.
struct Details<'c> {
    inputs: CachedStatement<'c>,
    customers: CachedStatement<'c>,
    with_customers: bool,
}

impl Details<'_> {
    fn of(&mut self, row: AccountRow) -> rusqlite::Result<PortfolioAccount> {
        let key = params![row.key.org, row.key.account];
        let inputs: Vec<InputRow> =
            self.inputs.query_map(key, by_cells(rows::input))?.collect::<rusqlite::Result<_>>()?;
        let customers = if self.with_customers {
            self.customers.query_map(key, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
        } else {
            Vec::new()
        };
        Ok(PortfolioAccount { loaded: LoadedAccount { row, inputs }, customers })
    }
}

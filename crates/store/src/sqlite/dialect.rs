//! Runs the statements that both dialects share.
//!
//! One thread writes, so the rows on which a write decides cannot change before it is done.

use super::Sqlite;
use super::audit;
use super::connection::broken;
use super::outbox::whole;
use super::rows;
use crate::dialect::{Dialect, RowReader, SqlParameter, Statement, Transacted};
use crate::rows::Cells;
use crate::{Audited, Result};
use async_trait::async_trait;
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{CachedStatement, Connection, TransactionBehavior, params_from_iter};

impl ToSql for SqlParameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            SqlParameter::Integer(value) => value.to_sql(),
            SqlParameter::Text(value) => value.to_sql(),
            SqlParameter::Bytes(value) => value.to_sql(),
            SqlParameter::Boolean(value) => value.to_sql(),
        }
    }
}

/// SQLite numbers its parameters `?1`, `?2`, ….
fn prepare<'c>(connection: &'c Connection, statement: &Statement) -> Result<CachedStatement<'c>> {
    connection.prepare_cached(&statement.sql.replace('$', "?")).map_err(broken)
}

fn read_all<T>(connection: &Connection, query: &Statement, read: RowReader<T>) -> Result<Vec<T>> {
    let mut statement = prepare(connection, query)?;
    let mut rows = statement.query(params_from_iter(&query.values)).map_err(broken)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(broken)? {
        found.push(read(&mut Cells::of(row))?);
    }
    Ok(found)
}

/// Runs writes; stops at one that had to change a row and did not.
pub(super) fn run(connection: &Connection, writes: &[Statement]) -> Result<Transacted> {
    let mut changed = 0;
    for (index, write) in writes.iter().enumerate() {
        let returned = read_all(connection, write, |_| Ok(()))?.len() as u64;
        if write.must_change && returned == 0 {
            return Ok(Transacted::Stopped(index));
        }
        changed += returned;
    }
    Ok(Transacted::Done(changed))
}

#[async_trait]
impl Dialect for Sqlite {
    const CUSTOMER_ID: &'static str = "customer";
    const CUSTOMER: &'static str = rows::CUSTOMER;
    const ITEM_ID: &'static str = "item";
    const ITEM: &'static str = rows::ITEM;
    const IS_TRUE: &'static str = " = 1";
    const NOT_INDEXED: &'static str = "NOT INDEXED";
    const SKIP_LOCKED: &'static str = "";

    fn indexed_by(index: &str) -> String {
        format!("INDEXED BY {index}")
    }

    async fn all<T: Send + 'static>(&self, query: Statement, read: RowReader<T>) -> Result<Vec<T>> {
        self.read(move |connection| read_all(connection, &query, read)).await
    }

    async fn execute(&self, write: Statement) -> Result<u64> {
        self.write(move |connection| {
            let changed = prepare(connection, &write)?.execute(params_from_iter(&write.values)).map_err(broken)?;
            Ok(changed as u64)
        })
        .await
    }

    async fn transact(&self, writes: Vec<Statement>, audit: Audited<'_>) -> Result<Transacted> {
        let record = audit.cloned();
        self.write(move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
            let transacted = run(&transaction, &writes)?;
            if transacted.is_done() {
                audit::append(&transaction, &record)?;
                transaction.commit().map_err(broken)?;
            }
            Ok(transacted)
        })
        .await
    }

    async fn decide<T, R, D>(&self, query: Statement, read: RowReader<T>, decide: D, audit: Audited<'_>) -> Result<R>
    where
        T: Send + 'static,
        R: Send + 'static,
        D: Fn(Vec<T>) -> (R, Vec<Statement>) + Send + Sync + 'static,
    {
        let record = audit.cloned();
        self.write(move |connection| {
            whole(connection, |transaction| {
                let (answer, writes) = decide(read_all(transaction, &query, read)?);
                run(transaction, &writes)?;
                audit::append(transaction, record.iter().filter(|_| !writes.is_empty()))?;
                Ok(answer)
            })
        })
        .await
    }
}

//! Runs the statements that both dialects share.
//!
//! Writes are sent together up to one that must change a row, whose result is awaited. If a decision depends on rows,
//! they are locked first: of two callers who decide by the same rows at once, the second one waits, and reads them as
//! the first one left them.

use super::Postgres;
use super::audit;
use super::cells::{self, each};
use super::flight::{Frame, Param, Query, Transaction};
use super::retry::{Try, retried};
use crate::dialect::{Dialect, RowReader, SqlParameter, Statement, Transacted};
use crate::{Audited, Result};
use async_trait::async_trait;
use bytes::BytesMut;
use std::error::Error;
use tokio_postgres::types::{IsNull, ToSql, Type};

const COMMIT: Frame = Frame { begin: None, commit: true };

impl ToSql for SqlParameter {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.to_sql_checked(of, out)
    }

    /// The value itself decides, when it is sent.
    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            SqlParameter::Integer(value) => value.to_sql_checked(of, out),
            SqlParameter::Text(value) => value.to_sql_checked(of, out),
            SqlParameter::Bytes(value) => value.to_sql_checked(of, out),
            SqlParameter::Boolean(value) => value.to_sql_checked(of, out),
        }
    }
}

fn query<'a>(sql: &'a str, statement: &'a Statement) -> Query<'a> {
    Query::new(sql, statement.values.iter().map(|value| Box::new(value) as Param<'a>).collect())
}

fn parameters(statement: &Statement) -> Vec<&(dyn ToSql + Sync)> {
    statement.values.iter().map(|value| value as _).collect()
}

async fn transact_once(transaction: &mut Transaction, writes: &[Statement], audit: Audited<'_>) -> Try<Transacted> {
    let mut begin = Some("BEGIN");
    let mut flight = Vec::new();
    let mut changed = 0;
    for (index, write) in writes.iter().enumerate() {
        flight.push(query(&write.sql, write));
        if write.must_change {
            let rows = transaction.fly(Frame { begin: begin.take(), commit: false }, &flight).await?;
            let returned = rows.last().map_or(0, Vec::len);
            if returned == 0 {
                return Ok(Transacted::Stopped(index));
            }
            changed += returned as u64;
            flight.clear();
        }
    }
    flight.extend(audit::steps(audit));
    transaction.fly(Frame { begin: begin.take(), commit: true }, &flight).await?;
    Ok(Transacted::Done(changed))
}

async fn decide_once<T, R, D>(
    transaction: &mut Transaction,
    locked: Query<'_>,
    read: RowReader<T>,
    decide: &D,
    audit: Audited<'_>,
) -> Try<R>
where
    D: Fn(Vec<T>) -> (R, Vec<Statement>) + Send + Sync,
    T: Send,
    R: Send,
{
    let rows = transaction.fly(Frame { begin: Some("BEGIN"), commit: false }, &[locked]).await?;
    let (answer, writes) = decide(each(rows.first().map_or(&[], Vec::as_slice), read)?);
    if !writes.is_empty() {
        let mut flight: Vec<Query<'_>> = writes.iter().map(|write| query(&write.sql, write)).collect();
        flight.extend(audit::steps(audit));
        transaction.fly(COMMIT, &flight).await?;
    }
    Ok(answer)
}

#[async_trait]
impl Dialect for Postgres {
    const CUSTOMER_ID: &'static str = "customer_id";
    const CUSTOMER: &'static str = cells::CUSTOMER;
    const ITEM_ID: &'static str = "item_id";
    const ITEM: &'static str = cells::ITEM;
    const IS_TRUE: &'static str = "";
    const NOT_INDEXED: &'static str = "";
    const SKIP_LOCKED: &'static str = " FOR UPDATE SKIP LOCKED";

    fn indexed_by(_: &str) -> String {
        String::new()
    }

    async fn all<T: Send + 'static>(&self, query: Statement, read: RowReader<T>) -> Result<Vec<T>> {
        each(&self.server.query(&query.sql, &parameters(&query)).await?, read)
    }

    async fn execute(&self, write: Statement) -> Result<u64> {
        self.server.execute(&write.sql, &parameters(&write)).await
    }

    async fn transact(&self, writes: Vec<Statement>, audit: Audited<'_>) -> Result<Transacted> {
        retried!(self.server, transaction => transact_once(&mut transaction, &writes, audit))
    }

    async fn decide<T, R, D>(&self, locked: Statement, read: RowReader<T>, decide: D, audit: Audited<'_>) -> Result<R>
    where
        T: Send + 'static,
        R: Send + 'static,
        D: Fn(Vec<T>) -> (R, Vec<Statement>) + Send + Sync + 'static,
    {
        let sql = format!("{} FOR UPDATE", locked.sql);
        retried!(self.server, transaction => decide_once(&mut transaction, query(&sql, &locked), read, &decide, audit))
    }
}

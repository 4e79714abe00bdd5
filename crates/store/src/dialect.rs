//! Statements that both dialects share.
//!
//! The subjects that are not on the path of a payment or a delivery (people, keys, settings, lists) have one statement
//! for both dialects. A [`Statement`] is written as for PostgreSQL, with the parameters `$1`, `$2`, …; each [`Dialect`]
//! runs it in its own way: SQLite on its threads, PostgreSQL in flights. Rows are read by [`crate::rows::Cells`].
//!
//! ```text
//! Statement ─► all, one                  rows
//!           ─► execute                   a write of one statement
//!           ─► transact                  several writes and the audit record, all or none
//!           ─► decide                    the same, by rows that stay locked meanwhile
//! ```

use crate::rows::Cells;
use crate::{Audited, Result};
use async_trait::async_trait;
use daybook_engine::time::Time;
use std::borrow::Cow;
use std::sync::Arc;

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub(crate) enum SqlParameter {
    Integer(Option<i64>),
    Text(String),
    Bytes(Vec<u8>),
    Boolean(bool),
}

/// Values of a Rust type are parameters of a kind.
macro_rules! values {
    ($($type:ty, $value:ident => $parameter:expr;)*) => {
        $(impl From<$type> for SqlParameter {
            fn from($value: $type) -> SqlParameter {
                $parameter
            }
        })*
    };
}

values! {
    i64, value => SqlParameter::Integer(Some(value));
    Time, value => SqlParameter::Integer(Some(value.micros()));
    Option<Time>, value => SqlParameter::Integer(value.map(Time::micros));
    usize, value => SqlParameter::Integer(Some(i64::try_from(value).unwrap_or(i64::MAX)));
    &str, value => SqlParameter::Text(value.to_owned());
    &String, value => SqlParameter::Text(value.clone());
    &Arc<str>, value => SqlParameter::Text(value.as_ref().to_owned());
    &[u8], value => SqlParameter::Bytes(value.to_owned());
    &Vec<u8>, value => SqlParameter::Bytes(value.clone());
    bool, value => SqlParameter::Boolean(value);
}

/// A statement with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub sql: Cow<'static, str>,
    pub values: Vec<SqlParameter>,
    /// Whether a transaction goes on only if this statement changes a row.
    pub must_change: bool,
}

impl Statement {
    pub fn new(sql: impl Into<Cow<'static, str>>, values: Vec<SqlParameter>) -> Statement {
        Statement { sql: sql.into(), values, must_change: false }
    }

    /// The same statement; if it changes no row, its transaction stops and is rolled back.
    pub fn must_change(self) -> Statement {
        Statement { sql: format!("{} RETURNING 1", self.sql).into(), values: self.values, must_change: true }
    }
}

/// A statement: its text, and its parameters in order.
macro_rules! sql {
    ($text:expr $(, $value:expr)* $(,)?) => {
        $crate::dialect::Statement::new($text, vec![$($crate::dialect::SqlParameter::from($value)),*])
    };
}
pub(crate) use sql;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transacted {
    /// It was committed. The statements that must change a row changed this many.
    Done(u64),
    /// This statement (counted from 0) had to change a row and did not. Nothing was changed.
    Stopped(usize),
}

impl Transacted {
    pub fn is_done(self) -> bool {
        matches!(self, Transacted::Done(_))
    }
}

/// Reads a row.
pub(crate) type RowReader<T> = fn(&mut Cells<'_>) -> Result<T>;

/// A database that runs statements.
#[async_trait]
pub(crate) trait Dialect: std::fmt::Debug + Send + Sync {
    /// The column with a customer's id.
    const CUSTOMER_ID: &'static str;
    /// The columns of a customer.
    const CUSTOMER: &'static str;
    /// The column with a line item's id.
    const ITEM_ID: &'static str;
    /// The columns of a line item.
    const ITEM: &'static str;
    /// Follows a column to compare it with "true" such that a partial index serves.
    const IS_TRUE: &'static str;
    /// Follows a table that is read from beginning to end.
    const NOT_INDEXED: &'static str;
    /// Follows a query for rows that the same statement deletes: leaves out those that another transaction has locked.
    const SKIP_LOCKED: &'static str;

    /// Names the index that a table is read by, for a dialect whose planner would choose another one.
    fn indexed_by(index: &str) -> String;

    /// All rows of a query.
    async fn all<T: Send + 'static>(&self, query: Statement, read: RowReader<T>) -> Result<Vec<T>>;

    /// The first row of a query.
    async fn one<T: Send + 'static>(&self, query: Statement, read: RowReader<T>) -> Result<Option<T>> {
        Ok(self.all(query, read).await?.into_iter().next())
    }

    /// Runs a write; returns how many rows it changed.
    async fn execute(&self, write: Statement) -> Result<u64>;

    /// Runs writes in one transaction, with their audit record.
    async fn transact(&self, writes: Vec<Statement>, audit: Audited<'_>) -> Result<Transacted>;

    /// Locks the rows of a query, and makes the writes that `decide` derives from them, with their audit record, in one
    /// transaction. If there are no writes, there is no record. `decide` is called again if the transaction is retried.
    async fn decide<T, R, D>(&self, query: Statement, read: RowReader<T>, decide: D, audit: Audited<'_>) -> Result<R>
    where
        T: Send + 'static,
        R: Send + 'static,
        D: Fn(Vec<T>) -> (R, Vec<Statement>) + Send + Sync + 'static;
}

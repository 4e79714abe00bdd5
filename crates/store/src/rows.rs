//! Reads rows of both dialects, cell by cell: one function for each record.
//!
//! Each list of columns names them in the order in which the function below it reads them.

use crate::Result;
use crate::error::StoreError;
use crate::records::{
    AccountKey, AccountNow, AccountRow, CustomerRow, InputRow, ItemRow, MessageRow, Mode, OrgId, Organization,
    ProductKey, ProductRow,
};
use bytes::Bytes;
use daybook_engine::time::Time;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::sync::Arc;

/// A row of a dialect.
#[derive(Clone, Copy)]
pub(crate) enum DialectRow<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl<'r> From<&'r rusqlite::Row<'r>> for DialectRow<'r> {
    fn from(row: &'r rusqlite::Row<'r>) -> DialectRow<'r> {
        DialectRow::Sqlite(row)
    }
}

impl<'r> From<&'r tokio_postgres::Row> for DialectRow<'r> {
    fn from(row: &'r tokio_postgres::Row) -> DialectRow<'r> {
        DialectRow::Postgres(row)
    }
}

/// A type that both dialects read.
pub(crate) trait Cell<'r>: rusqlite::types::FromSql + tokio_postgres::types::FromSql<'r> {}

impl<'r, T: rusqlite::types::FromSql + tokio_postgres::types::FromSql<'r>> Cell<'r> for T {}

/// The cells of a row, from left to right.
pub(crate) struct Cells<'r> {
    row: DialectRow<'r>,
    at: usize,
}

impl<'r> Cells<'r> {
    pub fn of(row: impl Into<DialectRow<'r>>) -> Cells<'r> {
        Cells { row: row.into(), at: 0 }
    }

    fn step(&mut self) -> usize {
        self.at += 1;
        self.at - 1
    }

    pub fn next<T: Cell<'r>>(&mut self) -> Result<T> {
        let at = self.step();
        match self.row {
            DialectRow::Sqlite(row) => row.get(at).map_err(invalid),
            DialectRow::Postgres(row) => row.try_get(at).map_err(invalid),
        }
    }

    pub fn text(&mut self) -> Result<Arc<str>> {
        let at = self.step();
        match self.row {
            DialectRow::Sqlite(row) => row.get(at).map_err(invalid),
            DialectRow::Postgres(row) => row.try_get::<_, &str>(at).map(Arc::from).map_err(invalid),
        }
    }

    pub fn text_or_none(&mut self) -> Result<Option<Arc<str>>> {
        let at = self.step();
        match self.row {
            DialectRow::Sqlite(row) => row.get(at).map_err(invalid),
            DialectRow::Postgres(row) => Ok(row.try_get::<_, Option<&str>>(at).map_err(invalid)?.map(Arc::from)),
        }
    }

    pub fn bytes(&mut self) -> Result<Bytes> {
        self.next::<Vec<u8>>().map(Bytes::from)
    }

    pub fn time(&mut self) -> Result<Time> {
        self.next().map(Time::from_micros)
    }

    pub fn time_or_none(&mut self) -> Result<Option<Time>> {
        Ok(self.next::<Option<i64>>()?.map(Time::from_micros))
    }

    pub fn list<T>(&mut self) -> Result<Vec<T>>
    where
        T: DeserializeOwned + tokio_postgres::types::FromSql<'r>,
    {
        self.list_or_none()?.ok_or_else(|| StoreError::Broken("a list is missing".to_owned()))
    }

    /// An array on PostgreSQL, JSON on SQLite.
    pub fn list_or_none<T>(&mut self) -> Result<Option<Vec<T>>>
    where
        T: DeserializeOwned + tokio_postgres::types::FromSql<'r>,
    {
        let at = self.step();
        match self.row {
            DialectRow::Sqlite(row) => {
                let json = row.get_ref(at).map_err(invalid)?.as_str_or_null().map_err(invalid)?;
                json.map(serde_json::from_str).transpose().map_err(invalid)
            }
            DialectRow::Postgres(row) => row.try_get(at).map_err(invalid),
        }
    }
}

/// A value that is not of the expected type.
fn invalid(error: impl Error) -> StoreError {
    StoreError::Broken(match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    })
}

pub(crate) fn organization(cells: &mut Cells<'_>) -> Result<Organization> {
    Ok(Organization {
        org: cells.next()?,
        name: cells.next()?,
        environment: cells.next()?,
        created_at: cells.time()?,
        signing_key: cells.next()?,
        previous_signing_key: cells.next::<Option<Vec<u8>>>()?.zip(cells.time_or_none()?),
        event_mark: cells.next()?,
    })
}

pub(crate) fn account_key(cells: &mut Cells<'_>) -> Result<AccountKey> {
    Ok(AccountKey { org: cells.next()?, account: cells.text()? })
}

pub(crate) fn product_key(cells: &mut Cells<'_>) -> Result<ProductKey> {
    Ok(ProductKey { org: cells.next()?, product: cells.text()? })
}

pub(crate) const PRODUCT: &str = "org, product, body, content_hash, created_at, mode_version, holding, releasing, \
    suppress_before, started_at, finished_at, accounts_total, events_total";

pub(crate) fn product(cells: &mut Cells<'_>) -> Result<ProductRow> {
    Ok(ProductRow {
        key: product_key(cells)?,
        body: cells.next()?,
        content_hash: cells.next()?,
        created_at: cells.time()?,
        mode: Mode {
            version: cells.next()?,
            holding: cells.next()?,
            releasing: cells.next()?,
            suppress_before: cells.time_or_none()?,
            started_at: cells.time_or_none()?,
            finished_at: cells.time_or_none()?,
            accounts_total: cells.next()?,
            events_total: cells.next()?,
        },
    })
}

pub(crate) fn customer(cells: &mut Cells<'_>) -> Result<CustomerRow> {
    Ok(CustomerRow {
        org: cells.next()?,
        customer_id: cells.text()?,
        version: cells.next()?,
        body: cells.next()?,
        sealed: cells.next()?,
        content_hash: cells.next()?,
        created_at: cells.time()?,
        updated_at: cells.time()?,
    })
}

pub(crate) const ACCOUNT: &str = "a.org, a.account, a.product, a.version, a.terms, a.content_hash, a.effective_at, \
    a.created_at, a.updated_at, a.state, a.profile, a.processed_through, a.rolled_to, a.next_moment, \
    a.oldest_unpaid_due, a.status, a.substatus, a.next_seq, a.settled_seq, a.held_events, a.scheduled_events, \
    a.message_seq, a.failure, a.balance";

pub(crate) fn account(cells: &mut Cells<'_>) -> Result<AccountRow> {
    Ok(AccountRow {
        key: account_key(cells)?,
        product: cells.text()?,
        version: cells.next()?,
        terms: cells.next()?,
        content_hash: cells.next()?,
        effective_at: cells.time()?,
        created_at: cells.time()?,
        now: AccountNow {
            updated_at: cells.time()?,
            state: cells.next()?,
            profile: cells.text()?,
            processed_through: cells.time_or_none()?,
            rolled_to: cells.time_or_none()?,
            next_moment: cells.time_or_none()?,
            oldest_unpaid_due: cells.time_or_none()?,
            status: cells.next()?,
            substatus: cells.next()?,
            next_seq: cells.next()?,
            settled_seq: cells.next()?,
            held_events: cells.next()?,
            scheduled_events: cells.next()?,
            message_seq: cells.next()?,
            failure: cells.next()?,
            balance: cells.next()?,
        },
    })
}

pub(crate) const INPUT: &str = "seq, name, effective_at, applies_at, rank, scheduled, recorded_at, clock, payload, \
    extra, content_hash";

pub(crate) fn input(cells: &mut Cells<'_>) -> Result<InputRow> {
    Ok(InputRow {
        seq: cells.next()?,
        name: cells.text()?,
        effective_at: cells.time()?,
        applies_at: cells.time()?,
        rank: cells.next()?,
        scheduled: cells.next()?,
        recorded_at: cells.time()?,
        clock: cells.time()?,
        payload: cells.next()?,
        extra: cells.text_or_none()?,
        content_hash: cells.next()?,
    })
}

pub(crate) fn item(cells: &mut Cells<'_>) -> Result<ItemRow> {
    Ok(ItemRow {
        item_id: cells.text()?,
        kind: cells.next()?,
        status: cells.next()?,
        effective_at: cells.time()?,
        applied_at: cells.time()?,
        created_at: cells.time()?,
        updated_at: cells.time()?,
        amount: cells.next()?,
        balance: cells.next()?,
        principal: cells.next()?,
        interest: cells.next()?,
        fees: cells.next()?,
        splits: cells.next()?,
        extra: cells.text_or_none()?,
        reversed_by: cells.text_or_none()?,
        reason: cells.text_or_none()?,
    })
}

/// The columns that a message in the log and a waiting one have in common. Position, due moment and time of
/// cancellation precede them.
pub(crate) const MESSAGE: &str =
    "account, sequence, event, event_id, cause, subject, effective_at, recorded_at, content, signature";

/// Position, due moment and time of cancellation are the first columns. For a message in the log, the last two are
/// NULL; for a waiting one, the first.
pub(crate) fn message(cells: &mut Cells<'_>) -> Result<MessageRow> {
    Ok(MessageRow {
        position: cells.next()?,
        due_at: cells.time_or_none()?,
        cancelled_at: cells.time_or_none()?,
        account: cells.text_or_none()?,
        sequence: cells.next()?,
        event: cells.next()?,
        event_id: cells.next()?,
        cause: cells.next()?,
        subject: cells.next()?,
        effective_at: cells.time()?,
        recorded_at: cells.time()?,
        data: cells.bytes()?,
        signature: cells.next()?,
    })
}

/// A message preceded by its organization.
pub(crate) fn message_of(cells: &mut Cells<'_>) -> Result<(OrgId, MessageRow)> {
    Ok((cells.next()?, message(cells)?))
}

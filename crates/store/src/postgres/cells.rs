//! Reading rows cell by cell, in the order of the column lists below.

use super::server::refused;
use crate::Result;
use crate::records::{
    AccountKey, AccountNow, AccountRow, CustomerRow, InputRow, ItemRow, KeyRow, MessageRow, Mode, OrgId, Organization,
    ProductKey, ProductRow,
};
use bytes::Bytes;
use daybook_engine::time::Time;
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

/// The cells of a row, from left to right.
pub(super) struct Cells<'r> {
    row: &'r Row,
    at: usize,
}

impl<'r> Cells<'r> {
    pub fn of(row: &'r Row) -> Cells<'r> {
        Cells { row, at: 0 }
    }

    pub fn next<T: FromSql<'r>>(&mut self) -> Result<T> {
        let value = self.row.try_get(self.at).map_err(refused)?;
        self.at += 1;
        Ok(value)
    }

    pub fn text(&mut self) -> Result<Arc<str>> {
        Ok(Arc::from(self.next::<&str>()?))
    }

    pub fn text_or_none(&mut self) -> Result<Option<Arc<str>>> {
        Ok(self.next::<Option<&str>>()?.map(Arc::from))
    }

    pub fn bytes(&mut self) -> Result<Bytes> {
        Ok(Bytes::copy_from_slice(self.next::<&[u8]>()?))
    }

    pub fn time(&mut self) -> Result<Time> {
        Ok(Time::from_micros(self.next()?))
    }

    pub fn time_or_none(&mut self) -> Result<Option<Time>> {
        Ok(self.next::<Option<i64>>()?.map(Time::from_micros))
    }
}

/// Reads every row in the same way.
pub(super) fn each<T>(rows: &[Row], read: impl Fn(&mut Cells<'_>) -> Result<T>) -> Result<Vec<T>> {
    rows.iter().map(|row| read(&mut Cells::of(row))).collect()
}

/// Reads the row, if there is one.
pub(super) fn maybe<T>(row: Option<Row>, read: impl Fn(&mut Cells<'_>) -> Result<T>) -> Result<Option<T>> {
    row.map(|row| read(&mut Cells::of(&row))).transpose()
}

pub(super) fn organization(cells: &mut Cells<'_>) -> Result<Organization> {
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

pub(super) fn key(cells: &mut Cells<'_>) -> Result<KeyRow> {
    Ok(KeyRow {
        org: cells.next()?,
        client_id: cells.next()?,
        secret_hash: cells.next()?,
        name: cells.next()?,
        role: cells.next()?,
        created_at: cells.time()?,
        last_used_at: cells.time_or_none()?,
        revoked_at: cells.time_or_none()?,
    })
}

pub(super) fn product_key(cells: &mut Cells<'_>) -> Result<ProductKey> {
    Ok(ProductKey { org: cells.next()?, product: cells.text()? })
}

/// The columns that [`product`] reads.
pub(super) const PRODUCT: &str = "org, product, body, content_hash, created_at, mode_version, holding, releasing, \
    suppress_before, started_at, finished_at, accounts_total, events_total";

pub(super) fn product(cells: &mut Cells<'_>) -> Result<ProductRow> {
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

/// The columns that [`customer`] reads.
pub(super) const CUSTOMER: &str = "org, customer_id, version, body, sealed, content_hash, created_at, updated_at";

pub(super) fn customer(cells: &mut Cells<'_>) -> Result<CustomerRow> {
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

/// The columns that [`account`] reads.
pub(super) const ACCOUNT: &str = "a.org, a.account, a.product, a.version, a.terms, a.content_hash, a.effective_at, \
    a.created_at, a.updated_at, a.state, a.profile, a.processed_through, a.rolled_to, a.next_moment, \
    a.oldest_unpaid_due, a.status, a.substatus, a.next_seq, a.settled_seq, a.held_events, a.scheduled_events, \
    a.message_seq, a.failure, a.balance";

pub(super) fn account(cells: &mut Cells<'_>) -> Result<AccountRow> {
    Ok(AccountRow {
        key: AccountKey { org: cells.next()?, account: cells.text()? },
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

pub(super) fn input(cells: &mut Cells<'_>) -> Result<InputRow> {
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

/// The columns that [`item`] reads.
pub(super) const ITEM: &str = "l.item_id, l.kind, l.status, l.effective_at, l.applied_at, l.created_at, l.updated_at, \
    l.amount, l.balance, l.principal, l.interest, l.fees, l.splits, l.extra, \
    l.reversed_by";

pub(super) fn item(cells: &mut Cells<'_>) -> Result<ItemRow> {
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
    })
}

/// Position, due moment and time of cancellation are the first columns. For a message in the log, the last two are
/// NULL; for a waiting one, the first.
pub(super) fn message(cells: &mut Cells<'_>) -> Result<MessageRow> {
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
pub(super) fn message_of(cells: &mut Cells<'_>) -> Result<(OrgId, MessageRow)> {
    Ok((cells.next()?, message(cells)?))
}

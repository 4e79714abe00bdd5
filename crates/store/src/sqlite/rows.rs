//! Reads rows of SQLite.
//!
//! Each `…_COLUMNS` names the columns in the order in which the function below it reads them.

use crate::records::{
    AccountKey, AccountNow, AccountRow, CustomerRow, InputRow, ItemRow, KeyRow, MessageRow, Mode, OrgId, Organization,
    ProductKey, ProductRow,
};
use bytes::Bytes;
use daybook_engine::time::Time;
use rusqlite::Row;
use std::sync::Arc;

type Sql<T> = rusqlite::Result<T>;

/// The number of bits of a place that hold the position.
const POSITION_BITS: u32 = 40;
/// The last position an organization's log can have.
pub(super) const LAST_POSITION: i64 = (1 << POSITION_BITS) - 1;
/// The last organization that fits into a place.
pub(super) const LAST_ORG: OrgId = (1 << (62 - POSITION_BITS)) - 1;

/// Organization and position in one number, in the same order.
pub(super) fn place(org: OrgId, position: i64) -> i64 {
    (org << POSITION_BITS) | position
}

/// The position within a place.
pub(super) fn position(place: i64) -> i64 {
    place & LAST_POSITION
}

pub(super) fn time(row: &Row<'_>, index: usize) -> Sql<Time> {
    row.get(index).map(Time::from_micros)
}

pub(super) fn optional_time(row: &Row<'_>, index: usize) -> Sql<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(index)?.map(Time::from_micros))
}

/// A shared text, without a `String` in between.
pub(super) fn text(row: &Row<'_>, index: usize) -> Sql<Arc<str>> {
    Ok(Arc::from(row.get_ref(index)?.as_str()?))
}

pub(super) fn optional_text(row: &Row<'_>, index: usize) -> Sql<Option<Arc<str>>> {
    Ok(row.get_ref(index)?.as_str_or_null()?.map(Arc::from))
}

pub(super) const ORGANIZATION_COLUMNS: &str =
    "org, name, environment, created_at, signing_key, previous_signing_key, previous_signing_key_until, event_mark";

pub(super) fn organization(row: &Row<'_>) -> Sql<Organization> {
    Ok(Organization {
        org: row.get(0)?,
        name: row.get(1)?,
        environment: row.get(2)?,
        created_at: time(row, 3)?,
        signing_key: row.get(4)?,
        previous_signing_key: row.get::<_, Option<Vec<u8>>>(5)?.zip(optional_time(row, 6)?),
        event_mark: row.get(7)?,
    })
}

pub(super) const KEY_COLUMNS: &str = "org, client_id, secret_hash, name, role, created_at, last_used_at, revoked_at";

pub(super) fn key(row: &Row<'_>) -> Sql<KeyRow> {
    Ok(KeyRow {
        org: row.get(0)?,
        client_id: row.get(1)?,
        secret_hash: row.get(2)?,
        name: row.get(3)?,
        role: row.get(4)?,
        created_at: time(row, 5)?,
        last_used_at: optional_time(row, 6)?,
        revoked_at: optional_time(row, 7)?,
    })
}

pub(super) const PRODUCT_COLUMNS: &str = "org, product, body, content_hash, created_at, mode_version, holding, \
     releasing, suppress_before, started_at, finished_at, accounts_total, events_total";

pub(super) fn product(row: &Row<'_>) -> Sql<ProductRow> {
    Ok(ProductRow {
        key: ProductKey { org: row.get(0)?, product: text(row, 1)? },
        body: row.get(2)?,
        content_hash: row.get(3)?,
        created_at: time(row, 4)?,
        mode: Mode {
            version: row.get(5)?,
            holding: row.get(6)?,
            releasing: row.get(7)?,
            suppress_before: optional_time(row, 8)?,
            started_at: optional_time(row, 9)?,
            finished_at: optional_time(row, 10)?,
            accounts_total: row.get(11)?,
            events_total: row.get(12)?,
        },
    })
}

pub(super) const CUSTOMER_COLUMNS: &str = "org, customer, version, body, sealed, content_hash, created_at, updated_at";

pub(super) fn customer(row: &Row<'_>) -> Sql<CustomerRow> {
    Ok(CustomerRow {
        org: row.get(0)?,
        customer_id: text(row, 1)?,
        version: row.get(2)?,
        body: row.get(3)?,
        sealed: row.get(4)?,
        content_hash: row.get(5)?,
        created_at: time(row, 6)?,
        updated_at: time(row, 7)?,
    })
}

pub(super) const ACCOUNT_COLUMNS: &str = "org, account, product, version, terms, content_hash, effective_at, \
     created_at, updated_at, state, profile, processed_through, rolled_to, next_moment, oldest_unpaid_due, status, \
     substatus, next_seq, settled_seq, held_events, scheduled_events, message_seq, failure, balance";

pub(super) fn account(row: &Row<'_>) -> Sql<AccountRow> {
    Ok(AccountRow {
        key: AccountKey { org: row.get(0)?, account: text(row, 1)? },
        product: text(row, 2)?,
        version: row.get(3)?,
        terms: row.get(4)?,
        content_hash: row.get(5)?,
        effective_at: time(row, 6)?,
        created_at: time(row, 7)?,
        now: AccountNow {
            updated_at: time(row, 8)?,
            state: row.get(9)?,
            profile: text(row, 10)?,
            processed_through: optional_time(row, 11)?,
            rolled_to: optional_time(row, 12)?,
            next_moment: optional_time(row, 13)?,
            oldest_unpaid_due: optional_time(row, 14)?,
            status: row.get(15)?,
            substatus: row.get(16)?,
            next_seq: row.get(17)?,
            settled_seq: row.get(18)?,
            held_events: row.get(19)?,
            scheduled_events: row.get(20)?,
            message_seq: row.get(21)?,
            failure: row.get(22)?,
            balance: row.get(23)?,
        },
    })
}

pub(super) const INPUT_COLUMNS: &str = "seq, name, effective_at, applies_at, rank, scheduled, recorded_at, clock, \
     payload, extra, content_hash";

pub(super) fn input(row: &Row<'_>) -> Sql<InputRow> {
    Ok(InputRow {
        seq: row.get(0)?,
        name: text(row, 1)?,
        effective_at: time(row, 2)?,
        applies_at: time(row, 3)?,
        rank: row.get(4)?,
        scheduled: row.get(5)?,
        recorded_at: time(row, 6)?,
        clock: time(row, 7)?,
        payload: row.get(8)?,
        extra: optional_text(row, 9)?,
        content_hash: row.get(10)?,
    })
}

pub(super) const ITEM_COLUMNS: &str = "item, kind, status, effective_at, applied_at, created_at, updated_at, amount, \
     balance, principal, interest, fees, splits, extra, reversed_by";

pub(super) fn item(row: &Row<'_>) -> Sql<ItemRow> {
    Ok(ItemRow {
        item_id: text(row, 0)?,
        kind: row.get(1)?,
        status: row.get(2)?,
        effective_at: time(row, 3)?,
        applied_at: time(row, 4)?,
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
        amount: row.get(7)?,
        balance: row.get(8)?,
        principal: row.get(9)?,
        interest: row.get(10)?,
        fees: row.get(11)?,
        splits: row.get(12)?,
        extra: optional_text(row, 13)?,
        reversed_by: optional_text(row, 14)?,
    })
}

/// The columns that a message in the log and a waiting one have in common. Place, due moment and time of cancellation
/// precede them.
pub(super) const MESSAGE_COLUMNS: &str =
    "account, sequence, event, event_id, cause, subject, effective_at, recorded_at, data, signature";

pub(super) fn message(row: &Row<'_>) -> Sql<MessageRow> {
    Ok(MessageRow {
        position: row.get::<_, Option<i64>>(0)?.map(position),
        due_at: optional_time(row, 1)?,
        cancelled_at: optional_time(row, 2)?,
        account: optional_text(row, 3)?,
        sequence: row.get(4)?,
        event: row.get(5)?,
        event_id: row.get(6)?,
        cause: row.get(7)?,
        subject: row.get(8)?,
        effective_at: time(row, 9)?,
        recorded_at: time(row, 10)?,
        data: Bytes::from(row.get::<_, Vec<u8>>(11)?),
        signature: row.get(12)?,
    })
}

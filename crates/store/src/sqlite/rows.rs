//! Reads rows of SQLite: see [`crate::rows`].

use crate::Result;
use crate::error::StoreError;
use crate::records::OrgId;
use crate::rows::Cells;
use daybook_engine::time::Time;
use rusqlite::Row;
use rusqlite::types::Type;
use std::sync::Arc;

/// The result of a statement.
pub(super) type SqlResult<T> = rusqlite::Result<T>;

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

/// The position within a place, in SQL.
macro_rules! position_in {
    ($place:literal) => {
        concat!($place, " & 1099511627775")
    };
}
pub(super) use position_in;

pub(super) fn time(row: &Row<'_>, index: usize) -> SqlResult<Time> {
    row.get(index).map(Time::from_micros)
}

pub(super) fn optional_time(row: &Row<'_>, index: usize) -> SqlResult<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(index)?.map(Time::from_micros))
}

/// A shared text, without a `String` in between.
pub(super) fn text(row: &Row<'_>, index: usize) -> SqlResult<Arc<str>> {
    Ok(Arc::from(row.get_ref(index)?.as_str()?))
}

pub(super) fn optional_text(row: &Row<'_>, index: usize) -> SqlResult<Option<Arc<str>>> {
    Ok(row.get_ref(index)?.as_str_or_null()?.map(Arc::from))
}

/// A function that reads a row by its cells, as rusqlite calls it.
pub(super) fn by_cells<T>(read: impl Fn(&mut Cells<'_>) -> Result<T>) -> impl Fn(&Row<'_>) -> SqlResult<T> {
    let failed = |error: StoreError| rusqlite::Error::FromSqlConversionFailure(0, Type::Null, Box::new(error));
    move |row| read(&mut Cells::of(row)).map_err(failed)
}

/// The columns of an organization.
pub(super) const ORGANIZATION: &str =
    "org, name, environment, created_at, signing_key, previous_signing_key, previous_signing_key_until, event_mark";
/// The columns of a customer.
pub(super) const CUSTOMER: &str = "org, customer, version, body, sealed, content_hash, created_at, updated_at";
/// The columns of a line item.
pub(super) const ITEM: &str = "item, kind, status, effective_at, applied_at, created_at, updated_at, amount, balance, \
     principal, interest, fees, splits, extra, reversed_by, reason";
/// The first columns of a message in the log: the position within the place, and no times.
pub(super) const LOGGED: &str = concat!(position_in!("place"), ", NULL, NULL");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_within_the_place() {
        assert_eq!(LOGGED.split(',').next(), Some(format!("place & {LAST_POSITION}").as_str()));
        assert_eq!(position(place(LAST_ORG, 7)), 7);
    }
}

//! Reads rows of PostgreSQL: see [`crate::rows`].

use crate::Result;
pub(super) use crate::rows::Cells;
use tokio_postgres::Row;

/// The columns of an organization.
pub(super) const ORGANIZATION: &str =
    "org, name, environment, created_at, signing_key, previous_signing_key, previous_until, event_mark";
/// The columns of a customer.
pub(super) const CUSTOMER: &str = "org, customer_id, version, body, sealed, content_hash, created_at, updated_at";
/// The columns of a line item.
pub(super) const ITEM: &str = "item_id, kind, status, effective_at, applied_at, created_at, updated_at, amount, \
    balance, principal, interest, fees, splits, extra, reversed_by, reason";

/// Reads every row in the same way.
pub(super) fn each<T>(rows: &[Row], read: impl Fn(&mut Cells<'_>) -> Result<T>) -> Result<Vec<T>> {
    rows.iter().map(|row| read(&mut Cells::of(row))).collect()
}

/// Reads the row, if there is one.
pub(super) fn maybe<T>(row: Option<Row>, read: impl Fn(&mut Cells<'_>) -> Result<T>) -> Result<Option<T>> {
    row.map(|row| read(&mut Cells::of(&row))).transpose()
}

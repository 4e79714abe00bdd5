//! Bringing the tables up to date.
//!
//! The files under `migrations/sqlite/` are numbered from 1 without gaps and never change once released. Each runs in a
//! transaction that also notes its number, so that a crash leaves a database at one version or at the next.

use super::connection::broken;
use crate::Result;
use crate::error::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// Number, name and text of every migration, in order.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "tables", include_str!("../../migrations/sqlite/0001_tables.sql")),
    (2, "outbox", include_str!("../../migrations/sqlite/0002_outbox.sql")),
    (3, "people", include_str!("../../migrations/sqlite/0003_people.sql")),
    (4, "figures", include_str!("../../migrations/sqlite/0004_figures.sql")),
    (5, "sending_again", include_str!("../../migrations/sqlite/0005_sending_again.sql")),
    (6, "event_marks", include_str!("../../migrations/sqlite/0006_event_marks.sql")),
    (7, "cancelled_notices", include_str!("../../migrations/sqlite/0007_cancelled_notices.sql")),
    (8, "refolds", include_str!("../../migrations/sqlite/0008_refolds.sql")),
    (9, "pacing", include_str!("../../migrations/sqlite/0009_pacing.sql")),
    (10, "reversed_by", include_str!("../../migrations/sqlite/0010_reversed_by.sql")),
];

/// Runs the migrations that are missing. Refuses a database that a newer version has been at.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;")
        .map_err(broken)?;
    let latest_known = MIGRATIONS.last().map_or(0, |(number, _, _)| *number);
    let latest_applied: i64 = connection
        .query_row("SELECT coalesce(max(number), 0) FROM migrations", [], |row| row.get(0))
        .map_err(broken)?;
    if latest_applied > latest_known {
        return Err(StoreError::Broken(format!(
            "the database is at version {latest_applied}, this program knows versions up to {latest_known}: \
             use the newer program that has been at it"
        )));
    }
    for (number, name, sql) in MIGRATIONS.iter().filter(|(number, _, _)| *number > latest_applied) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
        transaction.execute_batch(sql).map_err(broken)?;
        transaction.execute("INSERT INTO migrations (number, name) VALUES (?1, ?2)", (number, name)).map_err(broken)?;
        transaction.commit().map_err(broken)?;
    }
    Ok(())
}

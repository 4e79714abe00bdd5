//! Migrates the tables of a SQLite database to the newest version.
//!
//! The files under `migrations/sqlite/` are numbered and never change once released. Each runs in a transaction that
//! also records its number, so that a crash leaves a database at one version or at the next.

use super::connection::broken;
use crate::Result;
use crate::upkeep::TablesStanding;
use rusqlite::{Connection, TransactionBehavior};

/// The migration that made the audit trail.
pub(super) const AUDIT: &str = include_str!("../../migrations/sqlite/0013_audit.sql");

/// Number, name and SQL of every migration, in order.
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
    (12, "upkeep", include_str!("../../migrations/sqlite/0012_upkeep.sql")),
    (13, "audit", AUDIT),
    (14, "bound_states", include_str!("../../migrations/sqlite/0014_bound_states.sql")),
    (15, "audit_subjects", include_str!("../../migrations/sqlite/0015_audit_subjects.sql")),
    (16, "message_groups", include_str!("../../migrations/sqlite/0016_message_groups.sql")),
    (17, "group_rows", include_str!("../../migrations/sqlite/0017_group_rows.sql")),
    (18, "loan_changes", include_str!("../../migrations/sqlite/0018_loan_changes.sql")),
];

/// The number of the last migration.
pub(super) fn last_known() -> i64 {
    MIGRATIONS.iter().map(|(number, _, _)| *number).max().unwrap_or(0)
}

/// The version of the tables. Changes nothing.
pub(super) fn standing(connection: &Connection) -> Result<TablesStanding> {
    let known: Vec<i64> = MIGRATIONS.iter().map(|(number, _, _)| *number).collect();
    Ok(TablesStanding::of(&applied(connection)?, &known))
}

/// The migrations that were run.
fn applied(connection: &Connection) -> Result<Vec<i64>> {
    let there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'";
    if !connection.prepare(there).and_then(|mut statement| statement.exists([])).map_err(broken)? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare("SELECT number FROM migrations").map_err(broken)?;
    statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(broken)
}

/// Runs the missing migrations, and returns their numbers. Rejects a database that a newer version has migrated.
pub(super) fn migrate(connection: &mut Connection) -> Result<Vec<i64>> {
    standing(connection)?.must_not_be_newer()?;
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;")
        .map_err(broken)?;
    let applied = applied(connection)?;
    let mut migrated = Vec::new();
    for (number, name, sql) in MIGRATIONS.iter().filter(|(number, _, _)| !applied.contains(number)) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
        transaction.execute_batch(sql).map_err(broken)?;
        transaction.execute("INSERT INTO migrations (number, name) VALUES (?1, ?2)", (number, name)).map_err(broken)?;
        transaction.commit().map_err(broken)?;
        migrated.push(*number);
        if !applied.is_empty() {
            tracing::info!(number, name, "migrated the database");
        }
    }
    Ok(migrated)
}

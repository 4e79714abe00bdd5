//! Migrates the tables of a PostgreSQL database to the newest version.
//!
//! Migrations are numbered and never change once released. A starting node takes one lock for all migrations, so if
//! many start at once, one does the work and the others find it done. A database that a newer program has migrated is
//! rejected: this program does not know what the newer one relies on.

use super::server::{PostgresServer, refused};
use crate::Result;
use crate::error::StoreError;
use crate::upkeep::TablesStanding;
use tokio_postgres::GenericClient;

/// The migration that made the audit trail.
pub(super) const AUDIT: &str = include_str!("../../migrations/postgres/0013_audit.sql");

/// Number and SQL of every migration, in order.
const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("../../migrations/postgres/0001_tables.sql")),
    (2, include_str!("../../migrations/postgres/0002_outbox.sql")),
    (3, include_str!("../../migrations/postgres/0003_people.sql")),
    (4, include_str!("../../migrations/postgres/0004_figures.sql")),
    (5, include_str!("../../migrations/postgres/0005_sending_again.sql")),
    (6, include_str!("../../migrations/postgres/0006_event_marks.sql")),
    (7, include_str!("../../migrations/postgres/0007_cancelled_notices.sql")),
    (8, include_str!("../../migrations/postgres/0008_refolds.sql")),
    (9, include_str!("../../migrations/postgres/0009_pacing.sql")),
    (10, include_str!("../../migrations/postgres/0010_reversed_by.sql")),
    (12, include_str!("../../migrations/postgres/0012_upkeep.sql")),
    (13, AUDIT),
    (14, include_str!("../../migrations/postgres/0014_bound_states.sql")),
    (15, include_str!("../../migrations/postgres/0015_audit_subjects.sql")),
    (16, include_str!("../../migrations/postgres/0016_message_groups.sql")),
    (17, include_str!("../../migrations/postgres/0017_group_rows.sql")),
    (18, include_str!("../../migrations/postgres/0018_loan_changes.sql")),
];

/// The number of the lock: the letters "daybook" as bytes.
const LOCK: i64 = 0x64_61_79_62_6f_6f_6b;

/// The number of the last migration.
pub(super) fn last_known() -> i64 {
    MIGRATIONS.iter().map(|(number, _)| *number).max().unwrap_or(0)
}

/// The state of tables of a version. Migrations between are assumed to have been run.
pub(super) fn standing_at(version: i64) -> TablesStanding {
    TablesStanding::of(&[version], &[last_known()])
}

/// The version of the tables. Changes nothing.
pub(super) async fn standing(server: &PostgresServer) -> Result<TablesStanding> {
    let known: Vec<i64> = MIGRATIONS.iter().map(|(number, _)| *number).collect();
    let client = server.client().await?;
    let applied = applied(&***client).await?;
    client.give_back();
    Ok(TablesStanding::of(&applied, &known))
}

/// Runs the migrations that have not been run, in one transaction, and returns their numbers.
pub(super) async fn bring_up_to_date(server: &PostgresServer) -> Result<Vec<i64>> {
    let mut client = server.client().await?;
    let encoding: String =
        client.query_one("SHOW server_encoding", &[]).await.map_err(refused)?.try_get(0).map_err(refused)?;
    if encoding != "UTF8" {
        return Err(StoreError::Broken(format!("its encoding is {encoding}, but must be UTF8")));
    }
    // Checked without a lock first, so that a node that starts on a database in use does not wait.
    if missing(&applied(&***client).await?)?.is_empty() {
        client.give_back();
        return Ok(Vec::new());
    }
    let transaction = client.transaction().await.map_err(refused)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(refused)?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS migrations (number bigint PRIMARY KEY)")
        .await
        .map_err(refused)?;
    // Waits until every commit in progress has ended. Later ones wait for this transaction, and then see its version.
    transaction.batch_execute("LOCK TABLE migrations IN ACCESS EXCLUSIVE MODE").await.map_err(refused)?;
    let mut migrated = Vec::new();
    for (number, sql) in missing(&applied(&*transaction).await?)? {
        transaction.batch_execute(sql).await.map_err(refused)?;
        transaction.execute("INSERT INTO migrations VALUES ($1)", &[number]).await.map_err(refused)?;
        tracing::info!(number, "migrated the database");
        migrated.push(*number);
    }
    transaction.commit().await.map_err(refused)?;
    client.give_back();
    Ok(migrated)
}

/// The migrations that have not been run. Rejects a database that a newer program has migrated.
fn missing(applied: &[i64]) -> Result<Vec<&'static (i64, &'static str)>> {
    let known: Vec<i64> = MIGRATIONS.iter().map(|(number, _)| *number).collect();
    TablesStanding::of(applied, &known).must_not_be_newer()?;
    Ok(MIGRATIONS.iter().filter(|(number, _)| !applied.contains(number)).collect())
}

/// The migrations that have been run.
async fn applied<C: GenericClient>(client: &C) -> Result<Vec<i64>> {
    let there = client.query_one("SELECT to_regclass('migrations') IS NOT NULL", &[]).await.map_err(refused)?;
    if !there.try_get::<_, bool>(0).map_err(refused)? {
        return Ok(Vec::new());
    }
    let rows = client.query("SELECT number FROM migrations ORDER BY number", &[]).await.map_err(refused)?;
    rows.iter().map(|row| row.try_get(0).map_err(refused)).collect()
}

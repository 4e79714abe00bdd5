//! Bringing the tables up to date.
//!
//! Migrations are numbered and never change once released. A node that starts takes a lock on the whole matter, so of
//! many that start at once one does the work and the others find it done. A database that a newer program has been at is
//! refused: this program does not know what the newer one relies on.

use super::server::{Server, refused};
use crate::Result;
use crate::error::StoreError;
use deadpool_postgres::Client;

/// In order; the first is number 1.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_tables.sql"),
    include_str!("../../migrations/postgres/0002_outbox.sql"),
    include_str!("../../migrations/postgres/0003_people.sql"),
    include_str!("../../migrations/postgres/0004_figures.sql"),
    include_str!("../../migrations/postgres/0005_sending_again.sql"),
    include_str!("../../migrations/postgres/0006_event_marks.sql"),
    include_str!("../../migrations/postgres/0007_cancelled_notices.sql"),
    include_str!("../../migrations/postgres/0008_refolds.sql"),
    include_str!("../../migrations/postgres/0009_pacing.sql"),
    include_str!("../../migrations/postgres/0010_reversed_by.sql"),
];

/// The number of the lock: the letters "daybook" as bytes.
const LOCK: i64 = 0x64_61_79_62_6f_6f_6b;

/// Runs the migrations that have not been run, in one transaction.
pub(super) async fn bring_up_to_date(server: &Server) -> Result<()> {
    bring_to(server, MIGRATIONS).await
}

async fn bring_to(server: &Server, migrations: &[&str]) -> Result<()> {
    let mut client = server.client().await?;
    let encoding: String =
        client.query_one("SHOW server_encoding", &[]).await.map_err(refused)?.try_get(0).map_err(refused)?;
    if encoding != "UTF8" {
        return Err(StoreError::Broken(format!("its encoding is {encoding}, and must be UTF8")));
    }
    if version(&client).await? == Some(migrations.len()) {
        return Ok(());
    }
    let transaction = client.transaction().await.map_err(refused)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(refused)?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS migrations (number bigint PRIMARY KEY)")
        .await
        .map_err(refused)?;
    let row = transaction.query_one("SELECT count(*) FROM migrations", &[]).await.map_err(refused)?;
    let done: i64 = row.try_get(0).map_err(refused)?;
    let done = usize::try_from(done).unwrap_or_default();
    if done > migrations.len() {
        return Err(StoreError::Broken(format!(
            "its tables are of version {done}, and this program knows them up to version {}: use a newer program",
            migrations.len()
        )));
    }
    for (index, sql) in migrations.iter().enumerate().skip(done) {
        transaction.batch_execute(sql).await.map_err(refused)?;
        let number = index as i64 + 1;
        transaction.execute("INSERT INTO migrations VALUES ($1)", &[&number]).await.map_err(refused)?;
        tracing::info!(number, "migrated the database");
    }
    transaction.commit().await.map_err(refused)
}

/// How many migrations have been run; nothing if there never was one. Asked without a lock, so that a node that starts
/// on a database in use waits for nobody.
async fn version(client: &Client) -> Result<Option<usize>> {
    let there = client.query_one("SELECT to_regclass('migrations') IS NOT NULL", &[]).await.map_err(refused)?;
    if !there.try_get::<_, bool>(0).map_err(refused)? {
        return Ok(None);
    }
    let row = client.query_one("SELECT count(*) FROM migrations", &[]).await.map_err(refused)?;
    Ok(usize::try_from(row.try_get::<_, i64>(0).map_err(refused)?).ok())
}

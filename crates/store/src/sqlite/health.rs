//! What the last writes showed about the storage.
//!
//! On a full or failing disk a small write may succeed while payments fail. So the store remembers that a write failed
//! because of the storage. From then on, readiness is tried with a write of real size ([`Health::must_try_large`]),
//! until such a write or a batch is committed. The same applies while the disk has little room.
//!
//! Damage does not pass: as soon as SQLite finds any, no write is accepted until the server is started again. A
//! restored backup would not contain the write, and writing to a damaged file can spread the damage.

use super::connection::broken;
use crate::Result;
use crate::error::StoreError;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// With less room than this, readiness is tried with a large write.
const LITTLE_ROOM_BYTES: u64 = 1024 * 1024;
/// The size of a large write: more than a batch of a few payments.
const LARGE_BYTES: i64 = 128 * 1024;
/// The row of the large write in `settings`. It is removed at once; a crash may leave it behind, which is harmless.
const LARGE_ROW: &str = "readiness_probe";

/// The state of the storage.
#[derive(Debug)]
pub(super) struct Health {
    path: PathBuf,
    /// Whether a write failed because of the storage, and no write of real size has succeeded since.
    is_refusing: AtomicBool,
    /// The damage that SQLite found.
    damage: OnceLock<String>,
}

impl Health {
    /// Of a database that was just opened.
    pub(super) fn new(path: PathBuf) -> Health {
        Health { path, is_refusing: AtomicBool::new(false), damage: OnceLock::new() }
    }

    /// Fails if damage was found.
    pub(super) fn check(&self) -> Result<()> {
        let Some(why) = self.damage.get() else { return Ok(()) };
        Err(StoreError::Damaged(format!("{}: {why}", self.path.display())))
    }

    /// Notes the result of a write.
    pub(super) fn note_write<T>(&self, written: &Result<T>) {
        if let Err(StoreError::Storage(why)) = written
            && !self.is_refusing.swap(true, Ordering::Relaxed)
        {
            let path = self.path.display();
            tracing::error!(%path, why, "the storage of the database refuses writes; the server is not ready");
        }
        self.note_read(written);
    }

    /// Notes the result of a read. It shows only damage.
    pub(super) fn note_read<T>(&self, read: &Result<T>) {
        if let Err(StoreError::Damaged(why)) = read
            && self.damage.set(why.clone()).is_ok()
        {
            tracing::error!(
                path = %self.path.display(),
                why,
                "the database file is damaged; the server no longer accepts writes: stop it, keep a copy of the file, \
                 and restore a backup (docs/operating/lost-files.md)"
            );
        }
    }

    /// Notes that a write of real size was committed.
    pub(super) fn note_commit(&self) {
        if self.is_refusing.load(Ordering::Relaxed) && self.is_refusing.swap(false, Ordering::Relaxed) {
            tracing::info!(path = %self.path.display(), "the storage of the database accepts writes again");
        }
    }

    /// Whether a small write would not show that the storage accepts a payment.
    fn must_try_large(&self) -> bool {
        self.is_refusing.load(Ordering::Relaxed) || free_bytes(&self.path).is_some_and(|free| free < LITTLE_ROOM_BYTES)
    }

    /// Writes so that a storage that would refuse a payment refuses this too.
    pub(super) fn try_write(&self, connection: &Connection) -> Result<()> {
        if !self.must_try_large() {
            return write_small(connection);
        }
        write_large(connection)?;
        self.note_commit();
        Ok(())
    }
}

/// Rewrites a row unchanged. Fails if the file is read-only.
fn write_small(connection: &Connection) -> Result<()> {
    let sql = "UPDATE settings SET value = value WHERE name = (SELECT min(name) FROM settings)";
    connection.execute(sql, []).map(drop).map_err(broken)
}

/// Writes a large row and removes it. These are two commits: in one, SQLite would not have to write the row's pages.
fn write_large(connection: &Connection) -> Result<()> {
    // Random, as SQLite does not rewrite pages that have not changed.
    let put = "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, randomblob(?2))";
    connection.execute(put, params![LARGE_ROW, LARGE_BYTES]).map_err(broken)?;
    connection.execute("DELETE FROM settings WHERE name = ?1", [LARGE_ROW]).map(drop).map_err(broken)
}

/// The free space of the file system; `None` if it cannot be determined.
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::open_writer;

    fn book() -> (tempfile::TempDir, Connection, Health) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daybook.db");
        let writer = open_writer(path.to_str().unwrap()).unwrap();
        let table = "CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID";
        writer.execute_batch(table).unwrap();
        writer.execute_batch("INSERT INTO settings VALUES ('a', x'01')").unwrap();
        (folder, writer, Health::new(path))
    }

    fn pages_in_log(writer: &Connection) -> i64 {
        writer.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap()
    }

    /// A limit on the size of the file, which SQLite reports as a full disk.
    fn fill(writer: &Connection) {
        let pages: i64 = writer.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        writer.pragma_update(None, "max_page_count", pages + 1).unwrap();
    }

    fn make_room(writer: &Connection) {
        writer.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    }

    #[test]
    fn a_storage_that_refused_a_payment_is_tried_with_a_large_write() {
        let (_folder, writer, health) = book();
        fill(&writer);
        health.try_write(&writer).expect("a small write still fits");
        let refused: Result<()> =
            writer.execute("INSERT INTO settings VALUES ('big', zeroblob(100000))", []).map(drop).map_err(broken);
        assert!(matches!(&refused, Err(StoreError::Storage(why)) if why.contains("full")), "{refused:?}");
        health.note_write(&refused);
        for _ in 0..2 {
            let error = health.try_write(&writer).expect_err("a large write does not fit").to_string();
            assert!(error.contains("database or disk is full"), "{error}");
        }
        make_room(&writer);
        health.try_write(&writer).expect("there is room again");
        let left: i64 = writer.query_row("SELECT count(*) FROM settings", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1, "the large row is removed");
        assert!(!health.must_try_large(), "the state is over");
    }

    #[test]
    fn a_committed_batch_ends_the_state() {
        let (_folder, writer, health) = book();
        health.note_write::<()>(&Err(StoreError::Storage("disk I/O error".to_owned())));
        assert!(health.must_try_large());
        health.note_write(&Ok(()));
        assert!(health.must_try_large(), "a small write shows nothing");
        health.note_commit();
        assert!(!health.must_try_large());
        health.try_write(&writer).unwrap();
    }

    #[test]
    fn a_large_write_is_large_in_the_log() {
        let (_folder, writer, _) = book();
        for _ in 0..3 {
            writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            write_large(&writer).unwrap();
            assert!(pages_in_log(&writer) * 4_096 >= LARGE_BYTES);
        }
    }

    #[test]
    fn damage_does_not_pass() {
        let (folder, _writer, health) = book();
        health.note_read::<()>(&Err(StoreError::Damaged("database disk image is malformed".to_owned())));
        health.note_commit();
        let error = health.check().expect_err("it is damaged").to_string();
        assert!(error.contains("malformed") && error.contains("restore a backup"), "{error}");
        // `daybook verify` shows this sentence too.
        assert!(!error.contains("daybook verify"), "{error}");
        assert!(error.contains(folder.path().to_str().unwrap()), "{error}");
    }
}

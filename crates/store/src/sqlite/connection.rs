//! Connections to the file, and the meaning of their errors.

use crate::Result;
use crate::error::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long a statement waits for a lock that another process holds, such as a shell that reads the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// More than the number of different statements, so that each is compiled once per connection.
const STATEMENTS_CACHED: usize = 128;
/// Enough for the pages of one batch of 500 accounts, which would otherwise be written to disk early.
const WRITER_CACHE_KIB: i64 = 48 * 1024;
/// Readers find most pages in the operating system's cache.
const READER_CACHE_KIB: i64 = 2 * 1024;
/// If the checkpointer does not, a commit copies the log into the file when the log has this many pages.
const MOST_PAGES_IN_LOG: i64 = 64_000;
/// The log file is truncated to this size after it was copied.
const LOG_BYTES_KEPT: i64 = 32 * 1024 * 1024;

/// The one connection that writes.
pub(super) fn open_writer(path: &str) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(broken)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(broken)?;
    compile_once(&connection)?;
    let journal: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(broken)?;
    let expected = if path == super::MEMORY { "memory" } else { "wal" };
    if journal != expected {
        return Err(StoreError::Broken(format!(
            "the file system of {path} does not support SQLite's WAL mode (the journal mode is {journal})"
        )));
    }
    for (name, value) in [
        // A commit is on disk when its caller gets a result; on a Mac, that requires `fullfsync`.
        ("synchronous", "FULL"),
        ("fullfsync", "ON"),
        ("foreign_keys", "OFF"),
        ("temp_store", "MEMORY"),
    ] {
        connection.pragma_update(None, name, value).map_err(broken)?;
    }
    for (name, value) in [
        ("cache_size", -WRITER_CACHE_KIB),
        ("wal_autocheckpoint", MOST_PAGES_IN_LOG),
        ("journal_size_limit", LOG_BYTES_KEPT),
    ] {
        connection.pragma_update(None, name, value).map_err(broken)?;
    }
    Ok(connection)
}

/// The connection that copies the log into the file. It never waits for other connections.
pub(super) fn open_checkpointer(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(broken)?;
    for (name, value) in [("synchronous", "FULL"), ("fullfsync", "ON"), ("wal_autocheckpoint", "0")] {
        connection.pragma_update(None, name, value).map_err(broken)?;
    }
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB).map_err(broken)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(broken)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(broken)?;
    compile_once(&connection)?;
    connection.pragma_update(None, "temp_store", "MEMORY").map_err(broken)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB).map_err(broken)?;
    Ok(connection)
}

/// Each statement is compiled once: it is cached, and its plan does not depend on the values of its parameters.
/// Otherwise SQLite compiles a statement with `LIMIT ?` again at every new value.
fn compile_once(connection: &Connection) -> Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(broken)?;
    Ok(())
}

/// A connection that leaves the file as it is: it does not change its journal mode, and does not copy its log into it.
///
/// It may write as far as the system is concerned: a connection that may not would leave an empty log and its index
/// behind. The last connection removes them. If the log holds commits of a server that crashed, it stays for the next
/// start.
pub(super) fn open_inspector(path: &str) -> Result<Connection> {
    // SQLite resolves links, too.
    let has_log = std::fs::canonicalize(path).map(OsString::from).is_ok_and(|mut log| {
        log.push("-wal");
        std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
    });
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(broken)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(broken)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log).map_err(broken)?;
    for (name, value) in [("query_only", "ON"), ("temp_store", "MEMORY")] {
        connection.pragma_update(None, name, value).map_err(broken)?;
    }
    // SQLite reads the file only now, and finds out whether it is a database.
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(())).map_err(broken)?;
    Ok(connection)
}

/// Classifies an SQLite error: whether the call may work later, the storage refused, the file is damaged, or the
/// statement is invalid.
pub(super) fn broken(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::CannotOpen | ErrorCode::OutOfMemory) => {
            StoreError::Unavailable(error.to_string())
        }
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly) => {
            StoreError::Storage(error.to_string())
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(error.to_string()),
        _ => StoreError::Broken(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{open_inspector, open_reader, open_writer};
    use rusqlite::StatementStatus;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// A confirmed commit survives a power failure only with these settings.
    #[test]
    fn the_writer_is_durable_and_readers_cannot_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daybook.db");
        let writer = open_writer(path.to_str().unwrap()).unwrap();
        let pragma = |name| writer.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(pragma("synchronous"), 2, "FULL");
        assert_eq!(pragma("foreign_keys"), 0);
        assert_eq!(pragma("temp_store"), 2, "MEMORY");
        assert_eq!(pragma("busy_timeout"), 5_000);
        let journal: String = writer.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(journal, "wal");
        writer.execute_batch("CREATE TABLE t (a)").unwrap();
        let reader = open_reader(&path).unwrap();
        assert!(reader.execute_batch("INSERT INTO t VALUES (1)").is_err());
    }

    #[test]
    fn statements_are_not_compiled_again_for_other_values() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daybook.db");
        let writer = open_writer(path.to_str().unwrap()).unwrap();
        writer.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)").unwrap();
        for connection in [writer, open_reader(&path).unwrap()] {
            let mut statement = connection.prepare("SELECT a FROM t WHERE a > ?1 ORDER BY a LIMIT ?2").unwrap();
            for limit in 1..=3 {
                let found = statement.query_map([0, limit], |row| row.get::<_, i64>(0)).unwrap().count();
                assert_eq!(found, limit as usize);
            }
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        }
    }

    /// The files in a folder, without the index of the log: it is no data.
    fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let files = files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap()));
        files.filter(|(name, _)| !name.ends_with("-shm")).collect()
    }

    #[test]
    fn an_inspector_changes_nothing() {
        let [old, new, crashed] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let path_in = |folder: &tempfile::TempDir| folder.path().join("daybook.db").to_str().unwrap().to_owned();
        let tables = "CREATE TABLE t (a); INSERT INTO t VALUES (7)";
        // With a rollback journal, as a copy of `sqlite3` has it.
        rusqlite::Connection::open(path_in(&old)).unwrap().execute_batch(tables).unwrap();
        open_writer(&path_in(&new)).unwrap().execute_batch(tables).unwrap();
        let server = tempfile::tempdir().unwrap();
        let writer = open_writer(&path_in(&server)).unwrap();
        writer.execute_batch(tables).unwrap();
        for name in ["daybook.db", "daybook.db-wal"] {
            std::fs::copy(server.path().join(name), crashed.path().join(name)).unwrap();
        }
        for (folder, files) in [(&old, 1), (&new, 1), (&crashed, 2)] {
            let before = files_in(folder.path());
            assert_eq!(before.len(), files);
            let inspector = open_inspector(&path_in(folder)).unwrap();
            let read: i64 = inspector.query_row("SELECT a FROM t", [], |row| row.get(0)).unwrap();
            assert_eq!(read, 7);
            assert!(inspector.execute_batch("INSERT INTO t VALUES (8)").is_err());
            drop(inspector);
            assert!(files_in(folder.path()) == before, "{:?}", files_in(folder.path()).keys());
        }
        assert!(open_inspector(&path_in(&tempfile::tempdir().unwrap())).is_err(), "none is created");
    }
}

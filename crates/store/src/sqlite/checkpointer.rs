//! Copies the write-ahead log into the file, in parallel with the writer.
//!
//! A commit that has to copy the log delays every caller. So a thread with its own connection copies the log while
//! commits continue: twice a second, and earlier when the log has grown fast. The log restarts only when all of it was
//! copied, which never happens under a busy writer. When it has grown long, the thread copies again and again until
//! little is left, and the writer itself is made to wait for the rest. It waits only briefly: a long-running reader holds
//! the log back, which is reported ([`Watching`]), and it is tried again.

use super::connection::{BUSY_TIMEOUT, broken};
use super::identity::Identity;
use super::threads::Job;
use crate::Result;
use crate::error::StoreError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the log is copied while there is work: rarely enough that a page that is written repeatedly is copied
/// once.
const COPY_EVERY: Duration = Duration::from_millis(500);
/// How often the length of the log is looked at while there is work.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A log that has grown by this many pages is copied at once.
const MUCH_TO_COPY_PAGES: i64 = 4_000;
/// A log in which more pages than this were added while it was copied is copied again before the writer has to wait.
const LITTLE_TO_COPY_PAGES: i64 = 250;
/// How often a log is copied in succession.
const MOST_COPIES: usize = 8;
/// The log restarts when it has this many pages: a start after a crash reads them.
const LONG_LOG_PAGES: i64 = 8_000;
/// How long the writer waits for readers so that the log can restart.
const WAIT_FOR_READERS: Duration = Duration::from_millis(50);
/// A log that is held back is reported once in this many tries.
const TELL_EVERY: u64 = 60;

/// The state of the log.
#[derive(Debug, Default)]
pub(super) struct Watching {
    /// Pages in the log when it was last copied.
    pub(super) pages: AtomicI64,
    /// How often a reader prevented the log from restarting.
    pub(super) held_back: AtomicU64,
}

/// The thread that copies. It ends when this is dropped, which must happen before the writer is dropped.
pub(super) struct Checkpointer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts to copy. `has_work` says whether anything was written since it was last checked; `jobs` is the writer's
    /// queue.
    pub(super) fn start(
        connection: Connection,
        has_work: Arc<AtomicBool>,
        jobs: Sender<Job>,
        identity: Arc<Identity>,
        watching: Arc<Watching>,
    ) -> Result<Checkpointer> {
        let (stop, stopped) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-checkpt".to_owned())
            .spawn(move || {
                let (mut waited, mut copied) = (Duration::ZERO, 0);
                loop {
                    let pause = if has_work.load(Ordering::Relaxed) { LOOK_EVERY } else { COPY_EVERY };
                    if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                    waited += pause;
                    let pages = identity.pages_in_log();
                    // A log that is shorter than it was has restarted.
                    copied = copied.min(pages);
                    if waited < COPY_EVERY && pages - copied < MUCH_TO_COPY_PAGES {
                        continue;
                    }
                    waited = Duration::ZERO;
                    // If the file was lost, the path may lead to another database by now.
                    if has_work.swap(false, Ordering::Relaxed) && identity.check().is_ok() {
                        copied = copy(&connection, &jobs, &identity, &watching);
                    }
                }
            })
            .map_err(|error| {
                StoreError::Unavailable(format!("the thread that copies the log could not be started: {error}"))
            })?;
        Ok(Checkpointer { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, its connection is closed too.
            let _ = thread.join();
        }
    }
}

/// Copies the log. Returns how many of its pages are copied.
fn copy(connection: &Connection, jobs: &Sender<Job>, identity: &Identity, watching: &Arc<Watching>) -> i64 {
    let mut copied = 0;
    for _ in 0..MOST_COPIES {
        match checkpoint(connection, "PASSIVE") {
            Ok(now) => copied = now.pages,
            // The writer copies the log itself when it gets too long.
            Err(error) => {
                tracing::debug!(%error, "the write-ahead log could not be copied into the database file");
                return copied;
            }
        }
        watching.pages.store(copied, Ordering::Relaxed);
        if copied <= LONG_LOG_PAGES {
            return copied;
        }
        if identity.pages_in_log() - copied <= LITTLE_TO_COPY_PAGES {
            break;
        }
    }
    let watching = watching.clone();
    // A writer that has stopped needs no new log.
    let _ = jobs.send(Box::new(move |connection| begin_anew(connection, &watching)));
    copied
}

fn begin_anew(connection: &mut Connection, watching: &Watching) {
    match checkpoint_soon(connection, "RESTART") {
        Ok(copied) if copied.is_held_back => {
            let times = watching.held_back.fetch_add(1, Ordering::Relaxed);
            if times.is_multiple_of(TELL_EVERY) {
                tracing::warn!(
                    pages = copied.pages,
                    "a long read keeps the write-ahead log from being restarted; the log grows until the read ends"
                );
            }
        }
        Ok(_) => {}
        Err(error) => tracing::debug!(%error, "the write-ahead log could not be restarted"),
    }
}

/// After a failed write, for example on a full disk: frees the disk space of the log.
pub(super) fn make_room(connection: &mut Connection) {
    if let Err(error) = checkpoint_soon(connection, "TRUNCATE") {
        tracing::debug!(%error, "the disk space of the write-ahead log could not be freed");
    }
}

/// The result of copying the log.
struct Copied {
    /// Whether a reader or another writer prevented it from completing.
    is_held_back: bool,
    /// Pages in the log.
    pages: i64,
}

/// Copies the log, waiting for other connections only briefly.
fn checkpoint_soon(connection: &Connection, how: &str) -> Result<Copied> {
    connection.busy_timeout(WAIT_FOR_READERS).map_err(broken)?;
    let copied = checkpoint(connection, how).map_err(broken);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(broken)?;
    copied
}

/// Copies the log.
fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<Copied> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| {
        Ok(Copied { is_held_back: row.get::<_, i64>(0)? != 0, pages: row.get(1)? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::{open_checkpointer, open_writer};

    #[test]
    fn what_was_copied_is_in_the_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daybook.db");
        let mut writer = open_writer(path.to_str().unwrap()).unwrap();
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (7)").unwrap();
        let checkpointer = open_checkpointer(&path).unwrap();
        assert!(checkpoint(&checkpointer, "PASSIVE").unwrap().pages > 0);
        let alone = directory.path().join("alone.db");
        std::fs::copy(&path, &alone).unwrap();
        let found: i64 = Connection::open(&alone).unwrap().query_row("SELECT a FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(found, 7);
        let watching = Watching::default();
        begin_anew(&mut writer, &watching);
        assert_eq!(watching.held_back.load(Ordering::Relaxed), 0);
        writer.execute_batch("INSERT INTO t VALUES (8)").unwrap();
        let pages = checkpoint(&checkpointer, "PASSIVE").unwrap().pages;
        assert_eq!(pages, 1, "the log began anew");
    }

    #[test]
    fn a_long_read_holds_the_log_back_and_is_told_of() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daybook.db");
        let mut writer = open_writer(path.to_str().unwrap()).unwrap();
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (7)").unwrap();
        let mut reader = crate::sqlite::connection::open_reader(&path).unwrap();
        let read = reader.transaction().unwrap();
        let count =
            |read: &Connection| read.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count(&read), 1);
        writer.execute_batch("INSERT INTO t VALUES (8)").unwrap();
        let watching = Watching::default();
        begin_anew(&mut writer, &watching);
        assert_eq!(watching.held_back.load(Ordering::Relaxed), 1);
        drop(read);
        begin_anew(&mut writer, &watching);
        assert_eq!(watching.held_back.load(Ordering::Relaxed), 1, "the read is over");
    }
}

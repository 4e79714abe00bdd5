//! The copier copies the write-ahead log into the file, beside the writer.
//!
//! A commit that has to copy the log keeps everybody waiting. So a thread with a connection of its own copies what is
//! there, again and again, while commits go on. The log begins anew only when all of it was copied, which a busy writer
//! never lets happen: when it has grown long, the writer is asked to wait for the rest, which is little by then.

use super::threads::Job;
use crate::Result;
use crate::error::StoreError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the log is copied while there is work: seldom enough that a page which is written again and again is copied
/// once.
const COPY_EVERY: Duration = Duration::from_millis(500);
/// The log begins anew when it has so many pages: a start after a crash reads them.
const LONG_LOG_PAGES: i64 = 32_000;

/// The thread that copies. Ends when it is dropped, which must be before the writer is.
pub(super) struct Copier {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Copier {
    /// Starts to copy. `has_work` says whether anything was written since it was last looked at; `jobs` are the writer's.
    pub(super) fn start(connection: Connection, has_work: Arc<AtomicBool>, jobs: Sender<Job>) -> Result<Copier> {
        let (stop, stopped) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-copier".to_owned())
            .spawn(move || copy(&connection, &has_work, &jobs, &stopped))
            .map_err(|error| StoreError::Unavailable(format!("no thread for the copier: {error}")))?;
        Ok(Copier { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has closed its connection too.
            let _ = thread.join();
        }
    }
}

fn copy(connection: &Connection, has_work: &AtomicBool, jobs: &Sender<Job>, stopped: &Receiver<()>) {
    while stopped.recv_timeout(COPY_EVERY) == Err(RecvTimeoutError::Timeout) {
        if !has_work.swap(false, Ordering::Relaxed) {
            continue;
        }
        match checkpoint(connection, "PASSIVE") {
            Ok(pages) if pages > LONG_LOG_PAGES => {
                // A writer that has stopped needs no new log.
                let _ = jobs.send(Box::new(begin_anew));
            }
            Ok(_) => {}
            // The writer copies by itself when the log gets too long.
            Err(error) => tracing::debug!(%error, "the log was not copied into the file"),
        }
    }
}

fn begin_anew(connection: &mut Connection) {
    if let Err(error) = checkpoint(connection, "RESTART") {
        tracing::debug!(%error, "the log did not begin anew");
    }
}

/// Copies the log, and gives how many pages it has.
fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| row.get(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::{open_copier, open_writer};

    #[test]
    fn what_was_copied_is_in_the_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("daybook.db");
        let mut writer = open_writer(path.to_str().unwrap()).unwrap();
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (7)").unwrap();
        let copier = open_copier(&path).unwrap();
        assert!(checkpoint(&copier, "PASSIVE").unwrap() > 0);
        let alone = directory.path().join("alone.db");
        std::fs::copy(&path, &alone).unwrap();
        let found: i64 = Connection::open(&alone).unwrap().query_row("SELECT a FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(found, 7);
        begin_anew(&mut writer);
        writer.execute_batch("INSERT INTO t VALUES (8)").unwrap();
        let pages = checkpoint(&copier, "PASSIVE").unwrap();
        assert_eq!(pages, 1, "the log began anew");
    }
}

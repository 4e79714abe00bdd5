//! Where the SQL runs: one thread that writes, and a few connections that read.
//!
//! SQLite lets one connection write at a time, so there is one, on its own thread; jobs are sent to it and their
//! results are sent back. Readers do not wait for it (WAL): each takes a connection from a small pool and sees the
//! database as it was when it began. A database in memory has only one connection, and reads run on the writer.

use super::checkpointer::make_room;
use super::connection::{broken, open_reader};
use super::health::Health;
use super::identity::Identity;
use crate::Result;
use crate::error::StoreError;
use crate::sharing;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// A job for the writer's connection.
pub(super) type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// After this long without work the writer releases the memory of its page cache.
const IDLE_BEFORE_SHRINKING: Duration = Duration::from_secs(5);

/// The thread that writes. When dropped, it finishes its jobs and closes the file.
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    has_written: Arc<AtomicBool>,
    identity: Option<Arc<Identity>>,
    health: Arc<Health>,
}

impl Writer {
    /// Starts the thread. Results are returned only while the file is still the one that was opened. `identity` is
    /// `None` for a database in memory.
    pub(super) fn start(
        connection: Connection,
        identity: Option<Arc<Identity>>,
        health: Arc<Health>,
    ) -> Result<Writer> {
        let (jobs, received) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || work(connection, &received))
            .map_err(|error| StoreError::Unavailable(format!("the writer's thread could not be started: {error}")))?;
        Ok(Writer { jobs: Some(jobs), thread: Some(thread), has_written: Arc::default(), identity, health })
    }

    /// The job queue, and a flag that is set when a job has run.
    pub(super) fn watched(&self) -> Option<(Sender<Job>, Arc<AtomicBool>)> {
        Some((self.jobs.clone()?, self.has_written.clone()))
    }

    /// Runs a job on the writer's connection.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    {
        let stopped = || StoreError::Unavailable("the writer of the database has stopped".to_owned());
        let (answer, answered) = oneshot::channel();
        let (identity, health) = (self.identity.clone(), self.health.clone());
        let job: Job = Box::new(move |connection| {
            let worked = match &identity {
                Some(identity) => guarded(connection, identity, &health, work),
                None => work(connection),
            };
            // The caller may have given up; the work is done nevertheless.
            let _ = answer.send(worked);
        });
        self.jobs.as_ref().ok_or_else(stopped)?.send(job).map_err(|_| stopped())?;
        let answer = answered.await.map_err(|_| stopped())?;
        self.has_written.store(true, Ordering::Relaxed);
        answer
    }
}

/// Works on a file only while it is still the one that was opened, and neither it nor its log is damaged.
fn guarded<T>(
    connection: &mut Connection,
    identity: &Identity,
    health: &Health,
    work: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    // A file that is known to be lost is not written to: the path may lead to another database by now.
    identity.check_if_lost()?;
    health.check()?;
    let before = identity.log_end()?;
    let worked = work(connection);
    identity.check_since(before.as_ref())?;
    health.note_write(&worked);
    if matches!(&worked, Err(StoreError::Unavailable(_) | StoreError::Storage(_))) {
        make_room(connection);
    }
    worked
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, its connection is closed too.
            let _ = thread.join();
        }
    }
}

/// Runs jobs until all senders are dropped.
fn work(mut connection: Connection, jobs: &Receiver<Job>) {
    let mut shrunk = true;
    loop {
        let job = if shrunk {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            jobs.recv_timeout(IDLE_BEFORE_SHRINKING)
        };
        match job {
            Ok(job) => {
                job(&mut connection);
                shrunk = false;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = connection.execute_batch("PRAGMA shrink_memory") {
                    tracing::debug!(%error, "the page cache could not be freed");
                }
                shrunk = true;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Connections that read, opened when they are first needed.
pub(super) struct Readers {
    path: PathBuf,
    identity: Arc<Identity>,
    health: Arc<Health>,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, identity: Arc<Identity>, health: Arc<Health>, most: usize) -> Readers {
        Readers { path, identity, health, idle: Mutex::new(Vec::new()), turns: Arc::new(Semaphore::new(most)) }
    }

    /// Runs a read on one of the connections, in one snapshot.
    pub(super) async fn run<T, F>(self: &Arc<Self>, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.run_alone(|connection| at_one_moment(connection, read)).await
    }

    /// Runs a function on one of the connections that manages its own transaction.
    pub(super) async fn run_alone<T, F>(self: &Arc<Self>, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let gone = || StoreError::Unavailable("a reader of the database has stopped".to_owned());
        // The organization's turn comes first: no connection waits for it. Both are returned when the read has ended,
        // even if the caller has given up.
        let of_organization = sharing::turn().await?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| gone())?;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            let idle = readers.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match idle {
                Some(connection) => connection,
                // The path may lead to another database by now.
                None => {
                    readers.identity.check()?;
                    open_reader(&readers.path)?
                }
            };
            let answer = read(&connection);
            // If the file was overwritten, the result belongs to another database.
            let answer = readers.identity.check().and(answer);
            readers.health.note_read(&answer);
            readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop((turn, of_organization));
            answer
        });
        reading.await.map_err(|_| gone())?
    }
}

/// Runs a read so that all its statements see the same snapshot.
pub(super) fn at_one_moment<T>(connection: &Connection, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    // Both statements are compiled once: most reads are shorter than compiling them.
    let run = |sql| connection.prepare_cached(sql).and_then(|mut statement| statement.execute([])).map_err(broken);
    run("BEGIN")?;
    let answer = read(connection);
    let ended = run("COMMIT");
    if ended.is_err() && !connection.is_autocommit() {
        // The connection is used again. If this fails too, the next read reports it.
        let _ = connection.execute_batch("ROLLBACK");
    }
    let answer = answer?;
    ended?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::OrgId;
    use crate::sharing::{Sharing, within_a_share};
    use crate::sqlite::READERS;
    use std::sync::mpsc;
    use tokio::task::JoinHandle;

    /// Readers of a new file, shared between organizations.
    struct SharedReaders {
        readers: Arc<Readers>,
        sharing: Arc<Sharing>,
        _writer: Connection,
        _folder: tempfile::TempDir,
    }

    impl SharedReaders {
        fn new() -> SharedReaders {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("daybook.db");
            let mut connection = super::super::connection::open_writer(&path.display().to_string()).expect("a file");
            super::super::migrations::migrate(&mut connection).expect("tables");
            let identity = Arc::new(Identity::of(&connection, &path).expect("an identity"));
            let health = Arc::new(Health::new(path.clone()));
            let readers = Arc::new(Readers::new(path, identity, health, READERS));
            SharedReaders { readers, sharing: Sharing::of(READERS), _writer: connection, _folder: folder }
        }

        /// A call of an organization that reads.
        fn reads<T: Send + 'static>(
            &self,
            org: OrgId,
            read: impl FnOnce() -> T + Send + 'static,
        ) -> JoinHandle<Result<T>> {
            let (readers, sharing) = (self.readers.clone(), self.sharing.clone());
            tokio::spawn(within_a_share(async move {
                sharing.join(org);
                readers.run(move |_| Ok(read())).await
            }))
        }

        /// A call that reads until the sender sends or is dropped.
        fn reads_slowly(&self, org: OrgId) -> (mpsc::Sender<()>, JoinHandle<Result<bool>>) {
            let (let_go, waits) = mpsc::channel();
            (let_go, self.reads(org, move || waits.recv().is_ok()))
        }

        async fn until(&self, free: usize, waiting: usize) {
            while (self.readers.turns.available_permits(), self.sharing.waiting()) != (free, waiting) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    #[tokio::test]
    async fn slow_reads_of_one_organization_leave_readers_for_another() {
        let shared = SharedReaders::new();
        let slow: Vec<_> = (0..2 * READERS).map(|_| shared.reads_slowly(1)).collect();
        shared.until(READERS / 2, 2 * READERS - READERS / 2).await;
        assert_eq!(shared.reads(2, || 7).await.expect("it ran").expect("it read"), 7);
        assert_eq!(shared.readers.run(|_| Ok(8)).await.expect("it read"), 8, "authentication finds a reader too");
        slow.iter().for_each(|(let_go, _)| let_go.send(()).expect("it reads, or waits for its turn"));
        for (_, reading) in slow {
            assert!(reading.await.expect("it ran").expect("it read"));
        }
        assert_eq!(shared.sharing.organizations(), 0);
    }

    /// A caller that hangs up does not get its turn back before its read has ended.
    #[tokio::test]
    async fn a_read_that_was_given_up_keeps_its_turn() {
        let shared = SharedReaders::new();
        let slow: Vec<_> = (0..READERS / 2).map(|_| shared.reads_slowly(1)).collect();
        shared.until(READERS / 2, 0).await;
        slow.iter().for_each(|(_, reading)| reading.abort());
        let next = shared.reads(1, || 7);
        shared.until(READERS / 2, 1).await;
        assert_eq!(shared.sharing.organizations(), 1);
        drop(slow);
        assert_eq!(next.await.expect("it ran").expect("it read"), 7);
        shared.until(READERS, 0).await;
    }
}

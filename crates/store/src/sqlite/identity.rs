//! The identity of the database file, and whether it is still the same file.
//!
//! A file that is moved, removed or replaced while it is open still accepts writes without an error: they are lost with
//! the process, or lie where no later start will look. So the writer checks after each job, before its callers get a
//! result ([`Identity::check`]): the path still names the file that was opened; its log and the log's index are still
//! next to it; it has not become shorter; it is writable; it holds the same database. That takes a few microseconds. If
//! a check fails, the work is rejected; once the cause is corrected, the check passes again, because the open files are
//! the same. Only a log that was truncated or overwritten ([`LogFile`]) stays lost: commits in it may be gone.
//!
//! The database file and the log's index are read through handles that are never closed: under POSIX, closing any
//! handle of a file releases all locks that this process holds on it.

use super::log_file::{Frame, LogFile};
use crate::Result;
use crate::error::StoreError;
use rusqlite::Connection;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The offset of the application id in SQLite's header. Here each database has its own id.
const MARK_AT: u64 = 68;
/// Write permission for owner, group or others.
const MAY_WRITE: u32 = 0o222;

/// Identifies a file: device and inode.
type FileId = (u64, u64);

/// Handles that are never closed, by file.
static OPEN_FOR_EVER: LazyLock<Mutex<HashMap<FileId, Arc<File>>>> = LazyLock::new(Mutex::default);

/// The identity of a database file.
#[derive(Debug)]
pub(super) struct Identity {
    /// The path as given, absolute, links not resolved: the next start will open this path.
    path: PathBuf,
    id: FileId,
    header: Arc<File>,
    /// `None` if it was not in the header yet when the file was opened, because another process was reading.
    mark: Option<u32>,
    /// The greatest length seen.
    length: AtomicU64,
    log: Companion,
    index: Companion,
    log_file: LogFile,
    /// Whether the log was found truncated or overwritten.
    is_log_damaged: AtomicBool,
    /// Whether the last check failed.
    is_lost: AtomicBool,
}

/// A file that SQLite keeps next to the database.
#[derive(Debug)]
struct Companion {
    path: PathBuf,
    id: FileId,
}

fn id_of(file: &Metadata) -> FileId {
    (file.dev(), file.ino())
}

fn lost(path: &Path, what: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "the database file {} {what}: the server acknowledges no request until the original file is back in place; if \
         the file cannot be recovered, stop the server and restore a backup",
        path.display()
    ))
}

/// The log does not recover: commits that it held may be missing.
fn lost_log(path: &Path) -> StoreError {
    StoreError::Unavailable(format!(
        "the write-ahead log {} was truncated or overwritten, and commits may be missing: the server no longer \
         acknowledges requests; stop it and restore a backup",
        path.display()
    ))
}

impl Identity {
    /// The file that a connection has open, after its tables were migrated: by then its log exists.
    pub(super) fn of(connection: &Connection, path: &Path) -> Result<Identity> {
        let failed = |error: std::io::Error| lost(path, &format!("cannot be checked: {error}"));
        let mark = marked(connection).map_err(super::connection::broken)?;
        let absolute = std::path::absolute(path).map_err(failed)?;
        let real = fs::canonicalize(path).map_err(failed)?;
        let found = fs::metadata(&absolute).map_err(failed)?;
        let id = id_of(&found);
        let header = opened_for_ever(&real, id).map_err(failed)?;
        let mark = mark_in(&header).filter(|found| *found == mark);
        let log = Companion::of(&real, "-wal").map_err(failed)?;
        let index = Companion::of(&real, "-shm").map_err(failed)?;
        // SQLite holds no locks on the log itself, so this handle may be closed.
        let open_log = File::open(&log.path).map_err(failed)?;
        let log_file = LogFile::new(open_log, opened_for_ever(&index.path, index.id).map_err(failed)?);
        Ok(Identity {
            path: absolute,
            id,
            header,
            mark,
            length: AtomicU64::new(found.len()),
            log,
            index,
            log_file,
            is_log_damaged: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Fails unless the file is unchanged in all these respects.
    pub(super) fn check(&self) -> Result<()> {
        let looked = self.look();
        self.is_lost.store(looked.is_err(), Ordering::Relaxed);
        looked
    }

    /// The same check before a job. Skipped if the last check passed.
    pub(super) fn check_if_lost(&self) -> Result<()> {
        if self.is_lost.load(Ordering::Relaxed) { self.check() } else { Ok(()) }
    }

    /// The end of the log before a job. Fails if the log was truncated or overwritten.
    pub(super) fn log_end(&self) -> Result<Option<Frame>> {
        self.check_log()?;
        Ok(self.log_file.last_frame())
    }

    /// The number of pages in the log; 0 if it cannot be read.
    pub(super) fn pages_in_log(&self) -> i64 {
        self.log_file.pages()
    }

    /// The check after a job: also finds a log that was truncated during the job.
    pub(super) fn check_since(&self, log_end: Option<&Frame>) -> Result<()> {
        if log_end.is_some_and(|frame| !self.log_file.still_has(frame)) {
            self.is_log_damaged.store(true, Ordering::Relaxed);
        }
        self.check()
    }

    fn check_log(&self) -> Result<()> {
        if !self.log_file.is_intact() {
            self.is_log_damaged.store(true, Ordering::Relaxed);
        }
        if self.log_file.is_log() && !self.is_log_damaged.load(Ordering::Relaxed) {
            Ok(())
        } else {
            Err(lost_log(&self.log.path))
        }
    }

    fn look(&self) -> Result<()> {
        // Loaded before the length is read: other threads check at the same time, and the file may grow meanwhile.
        let longest = self.length.load(Ordering::Acquire);
        let found = match fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) => return Err(lost(&self.path, &format!("no longer exists ({error})"))),
        };
        if id_of(&found) != self.id {
            return Err(lost(&self.path, "was replaced by another file"));
        }
        if found.mode() & MAY_WRITE == 0 {
            return Err(lost(&self.path, "was made read-only"));
        }
        if found.len() < longest {
            return Err(lost(&self.path, "was truncated"));
        }
        self.length.fetch_max(found.len(), Ordering::AcqRel);
        if self.mark.is_some() && mark_in(&self.header) != self.mark {
            return Err(lost(&self.path, "was overwritten by another database"));
        }
        self.log.check()?;
        self.index.check()?;
        self.check_log()
    }
}

/// A handle of a file that this process never closes.
fn opened_for_ever(path: &Path, id: FileId) -> std::io::Result<Arc<File>> {
    let mut open = OPEN_FOR_EVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = open.get(&id) {
        return Ok(file.clone());
    }
    let file = Arc::new(File::open(path)?);
    open.insert(id, file.clone());
    Ok(file)
}

fn mark_in(header: &File) -> Option<u32> {
    let mut mark = [0; 4];
    header.read_exact_at(&mut mark, MARK_AT).ok()?;
    Some(u32::from_be_bytes(mark))
}

impl Companion {
    fn of(database: &Path, suffix: &str) -> std::io::Result<Companion> {
        let mut name = OsString::from(database);
        name.push(suffix);
        let path = PathBuf::from(name);
        let id = id_of(&fs::metadata(&path)?);
        Ok(Companion { path, id })
    }

    fn check(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if id_of(&found) == self.id => Ok(()),
            Ok(_) => Err(lost(&self.path, "was replaced by another file")),
            Err(error) => Err(lost(&self.path, &format!("no longer exists ({error})"))),
        }
    }
}

/// The mark of a database, set when it is first opened and in its file's header from then on.
fn marked(connection: &Connection) -> rusqlite::Result<u32> {
    let read = || connection.query_row("PRAGMA application_id", [], |row| row.get::<_, i32>(0));
    if read()? == 0 {
        let mark: i32 = connection.query_row("SELECT 1 + abs(random() % 2147483646)", [], |row| row.get(0))?;
        connection.pragma_update(None, "application_id", mark)?;
    }
    // Copied into the file itself, where the check reads it.
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(read()?.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::open_writer;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct TestDatabase {
        folder: tempfile::TempDir,
        writer: Connection,
        identity: Identity,
    }

    fn path_in(folder: &Path) -> PathBuf {
        folder.join("book/daybook.db")
    }

    fn make(path: &Path) -> Connection {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let writer = open_writer(path.to_str().unwrap()).unwrap();
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (7)").unwrap();
        writer
    }

    fn book() -> TestDatabase {
        let folder = tempfile::tempdir().unwrap();
        let writer = make(&path_in(folder.path()));
        let identity = Identity::of(&writer, &path_in(folder.path())).unwrap();
        identity.check().expect("nothing happened to it");
        TestDatabase { folder, writer, identity }
    }

    #[track_caller]
    fn refused(book: &TestDatabase, why: &str) {
        let error = book.identity.check().expect_err("it is lost").to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn what_its_own_process_does_to_it_is_fine() {
        let book = book();
        for number in 0..50 {
            book.writer.execute("INSERT INTO t VALUES (zeroblob(20000 + ?1))", [number]).unwrap();
            book.identity.check().unwrap();
            let how = if number % 2 == 0 { "PASSIVE" } else { "TRUNCATE" };
            book.writer.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())).unwrap();
            book.identity.check().unwrap();
        }
    }

    /// The writer, the checkpointer and readers check at the same time, while the checkpointer makes the file longer: a check that
    /// was overtaken by another must not mistake the earlier, shorter length for a truncated file.
    #[test]
    fn growing_while_several_look() {
        let book = book();
        let path = path_in(book.folder.path());
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Relaxed) {
                            book.identity.check().unwrap();
                        }
                    })
                })
                .collect();
            let mut length = file.metadata().unwrap().len();
            for _ in 0..20_000 {
                length += 4_096;
                file.set_len(length).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
            looking.into_iter().for_each(|one| one.join().unwrap());
        });
    }

    #[test]
    fn moved_and_put_back() {
        let book = book();
        let (path, away) = (path_in(book.folder.path()), book.folder.path().join("away.db"));
        fs::rename(&path, &away).unwrap();
        refused(&book, "no longer exists");
        fs::write(&path, "").unwrap();
        refused(&book, "was replaced by another file");
        fs::rename(&away, &path).unwrap();
        book.identity.check().expect("it is where it was");
    }

    #[test]
    fn overwritten_in_place() {
        let book = book();
        let other = book.folder.path().join("other/other.db");
        let writer = make(&other);
        drop(Identity::of(&writer, &other).unwrap());
        writer.execute("INSERT INTO t VALUES (zeroblob(100000))", []).unwrap();
        drop(writer);
        // Like `cp other.db daybook.db`: the same file with other bytes.
        fs::write(path_in(book.folder.path()), fs::read(&other).unwrap()).unwrap();
        refused(&book, "was overwritten by another database");
    }

    #[test]
    fn cut_short() {
        let book = book();
        let path = path_in(book.folder.path());
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        refused(&book, "was truncated");
    }

    #[test]
    fn the_log_cut_short_and_written_on() {
        let book = book();
        book.writer.execute("INSERT INTO t VALUES (zeroblob(20000))", []).unwrap();
        let log = fs::OpenOptions::new().write(true).open(&book.identity.log.path).unwrap();
        log.set_len(0).unwrap();
        book.writer.execute("INSERT INTO t VALUES (zeroblob(20000))", []).unwrap();
        refused(&book, "was truncated or overwritten");
    }

    fn cut_to_half(book: &TestDatabase) {
        let log = fs::OpenOptions::new().write(true).open(&book.identity.log.path).unwrap();
        log.set_len(log.metadata().unwrap().len() / 2).unwrap();
    }

    #[test]
    fn an_empty_log_is_fine() {
        let TestDatabase { folder, writer, identity } = book();
        drop((writer, identity));
        let path = path_in(folder.path());
        let writer = open_writer(path.to_str().unwrap()).unwrap();
        let read: i64 = writer.query_row("SELECT a FROM t", [], |row| row.get(0)).unwrap();
        let log = path.with_file_name("daybook.db-wal");
        assert_eq!((read, fs::metadata(log).unwrap().len()), (7, 0), "it was copied when the file was closed");
        let identity = Identity::of(&writer, &path).unwrap();
        identity.check().expect("nothing was committed since");
        assert!(identity.log_end().expect("the log can be read").is_none());
    }

    #[test]
    fn the_log_cut_to_half() {
        let book = book();
        book.writer.execute("INSERT INTO t VALUES (zeroblob(20000))", []).unwrap();
        book.identity.check().unwrap();
        cut_to_half(&book);
        refused(&book, "-wal was truncated or overwritten");
        assert!(book.identity.log_end().is_err(), "no job may begin");
    }

    /// SQLite writes on behind the gap, and the log is long enough again.
    #[test]
    fn the_log_cut_to_half_during_a_job() {
        let book = book();
        book.writer.execute("INSERT INTO t VALUES (zeroblob(20000))", []).unwrap();
        let before = book.identity.log_end().unwrap();
        cut_to_half(&book);
        book.writer.execute("INSERT INTO t VALUES (zeroblob(20000))", []).unwrap();
        assert!(book.identity.log_file.is_intact(), "neither its length nor its last frame shows it");
        assert!(book.identity.check_since(before.as_ref()).is_err());
        refused(&book, "-wal was truncated or overwritten");
    }

    /// SQLite truncates and restarts the log itself, while other threads check it.
    #[test]
    fn a_log_that_sqlite_truncates_is_fine() {
        let book = book();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Relaxed) {
                            book.identity.log_end().unwrap();
                        }
                    })
                })
                .collect();
            for number in 0..300 {
                let before = book.identity.log_end().unwrap();
                book.writer.execute("INSERT INTO t VALUES (zeroblob(20000))", []).unwrap();
                let how = ["TRUNCATE", "RESTART", "PASSIVE"][number % 3];
                book.writer.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())).unwrap();
                book.identity.check_since(before.as_ref()).unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
            looking.into_iter().for_each(|one| one.join().unwrap());
        });
    }

    #[test]
    fn read_only() {
        let book = book();
        fs::set_permissions(path_in(book.folder.path()), fs::Permissions::from_mode(0o444)).unwrap();
        refused(&book, "was made read-only");
    }

    #[test]
    fn its_folder_renamed_and_its_link_changed() {
        let book = book();
        fs::rename(book.folder.path().join("book"), book.folder.path().join("gone")).unwrap();
        refused(&book, "no longer exists");

        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first.db"), folder.path().join("second.db"));
        let link = folder.path().join("link.db");
        drop((make(&first), make(&second)));
        symlink(&first, &link).unwrap();
        let writer = open_writer(link.to_str().unwrap()).unwrap();
        writer.execute_batch("INSERT INTO t VALUES (8)").unwrap();
        let identity = Identity::of(&writer, &link).unwrap();
        identity.check().expect("a link is fine");
        fs::remove_file(&link).unwrap();
        symlink(&second, &link).unwrap();
        let error = identity.check().expect_err("it leads elsewhere").to_string();
        assert!(error.contains("was replaced by another file"), "{error}");
    }

    #[test]
    fn without_its_log_or_its_index() {
        for suffix in ["-wal", "-shm"] {
            let book = book();
            let mut name = path_in(book.folder.path()).into_os_string();
            name.push(suffix);
            fs::remove_file(PathBuf::from(name)).unwrap();
            refused(&book, "no longer exists");
        }
    }

    #[test]
    fn every_database_has_a_mark_of_its_own() {
        let marks: Vec<u32> = (0..3).map(|_| book().identity.mark.expect("it is in the header")).collect();
        assert!(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2], "{marks:?}");
        assert!(marks.iter().all(|mark| *mark != 0));
    }
}

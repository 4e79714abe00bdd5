//! The lock of a SQLite database: it is used by one server, or by one command that writes.
//!
//! The lock file `daybook.db.lock` is next to the database `daybook.db`. A process that writes holds an exclusive
//! `flock` on it, which the system releases when the process ends for any reason; an unlocked file is harmless and
//! stays. A server that is ready writes its address and a token into the file ([`DatabaseLock::announce`]). A command
//! that finds the file locked reads them ([`RunningServer`]) and uses the server; otherwise it does the work itself.
//!
//! The lock is found by the database's path. Symbolic links are resolved, but hard links cannot be: through another
//! hard link, a second server would find another lock, and another write-ahead log. So a database with more than one
//! hard link is refused.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Larger than any announcement.
const FILE_BYTES_MAX: u64 = 64 * 1_024;

/// The lock of a database. Dropping it releases the lock.
#[derive(Debug)]
pub struct DatabaseLock {
    file: File,
}

/// The process that holds a database's lock.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningServer {
    /// Its process id.
    pub pid: u32,
    /// Its URL for commands, once it listens. A command that does not serve has none.
    pub url: Option<String>,
    /// Its URL for callers, if that is different.
    #[serde(default)]
    pub public_url: Option<String>,
    /// The URL of its control endpoint, if that is different.
    #[serde(default)]
    pub control_url: Option<String>,
    /// The token that it requires from commands.
    pub control_token: Option<String>,
}

impl RunningServer {
    /// A process that has announced nothing.
    fn silent(pid: u32) -> RunningServer {
        RunningServer { pid, url: None, public_url: None, control_url: None, control_token: None }
    }

    /// The URL to show to people, once it listens.
    pub fn shown_url(&self) -> Option<&str> {
        self.url.as_ref()?;
        self.public_url.as_deref().or(self.url.as_deref())
    }
}

impl fmt::Debug for RunningServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningServer").field("pid", &self.pid).field("url", &self.url).finish_non_exhaustive()
    }
}

/// Why the lock was not acquired.
#[derive(Debug)]
pub enum NotTaken {
    /// Another process holds it; `None` if it has only just been acquired.
    Running(PathBuf, Option<Box<RunningServer>>),
    /// The database has this many hard links.
    Linked(PathBuf, u64),
    /// The file cannot be used.
    Io(PathBuf, io::Error),
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotTaken::Running(path, Some(server)) => match server.shown_url() {
                Some(url) => {
                    let pid = server.pid;
                    write!(f, "the database is in use by the server on {url} (process {pid}, lock {})", path.display())
                }
                None => write!(f, "the database is in use by process {} (lock {})", server.pid, path.display()),
            },
            NotTaken::Running(path, None) => {
                write!(f, "the database is in use by another process (lock {})", path.display())
            }
            NotTaken::Linked(path, links) => write!(
                f,
                "the database {0} has {links} hard links, and a server may be using it under another name: stop that \
                 server, and remove the other links (`find / -xdev -samefile {0}` lists them)",
                path.display()
            ),
            NotTaken::Io(path, error) => write!(f, "the lock file {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for NotTaken {}

/// Acquires the lock of a SQLite database without waiting.
pub fn take(database: &Path) -> Result<DatabaseLock, NotTaken> {
    let path = lock_path(database);
    let failed = |error| NotTaken::Io(path.clone(), error);
    let mut file = open(&path).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(NotTaken::Running(path.clone(), announced(&mut file).map(Box::new))),
        Err(error) => return Err(failed(error.into())),
    }
    let mut held = DatabaseLock { file };
    // Checked under the lock: of two servers that start at the same time under two names, neither gets through.
    if let Some(links) = fs::metadata(database).ok().map(|found| found.nlink()).filter(|links| *links > 1) {
        return Err(NotTaken::Linked(database.to_owned(), links));
    }
    // Clears what an earlier holder wrote. The file may also be older than the rule that only its owner can read it.
    held.file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
    held.write(&RunningServer::silent(std::process::id())).map_err(failed)?;
    Ok(held)
}

/// The apparent holder of the lock of a SQLite database, read without touching the lock: for messages, not for
/// decisions.
pub fn glimpse(database: &Path) -> Option<RunningServer> {
    let holder = announced(&mut File::open(lock_path(database)).ok()?)?;
    let pid = Pid::from_raw(holder.pid.try_into().ok()?)?;
    // `EPERM` means that the process exists but belongs to another user.
    matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)).then_some(holder)
}

impl DatabaseLock {
    /// Announces the server's URLs (for callers, for commands, of its control endpoint) and its token to commands.
    pub fn announce(&mut self, urls: [&str; 3], control_token: &str) -> io::Result<()> {
        let [public_url, url, control_url] = urls.map(|url| Some(url.to_owned()));
        self.write(&RunningServer {
            pid: std::process::id(),
            url,
            public_url,
            control_url,
            control_token: Some(control_token.to_owned()),
        })
    }

    fn write(&mut self, holder: &RunningServer) -> io::Result<()> {
        let text = serde_json::to_vec(holder)?;
        // Emptied first: a concurrent reader finds an empty file, never a mixture.
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)
    }
}

impl Drop for DatabaseLock {
    fn drop(&mut self) {
        // The token is no longer valid. If this fails, the file is stale, which is harmless.
        let _ = self.file.set_len(0);
    }
}

/// `daybook.db.lock` next to the real file: two paths to one database must not result in two locks.
fn lock_path(database: &Path) -> PathBuf {
    let real = fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
    let mut name = real.into_os_string();
    name.push(".lock");
    PathBuf::from(name)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn announced(file: &mut File) -> Option<RunningServer> {
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("book.db");
        (folder, database)
    }

    fn holder(database: &Path) -> Option<RunningServer> {
        match take(database) {
            Err(NotTaken::Running(_, holder)) => holder.map(|holder| *holder),
            other => panic!("the lock is taken, but: {other:?}"),
        }
    }

    #[test]
    fn one_at_a_time_and_the_other_learns_where() {
        let (_folder, database) = database();
        let mut held = take(&database).expect("a free lock");
        let from_thread = std::thread::scope(|scope| scope.spawn(|| holder(&database)).join());
        let starting = from_thread.expect("the thread ran").expect("a holder");
        assert_eq!((starting.pid, starting.url), (std::process::id(), None));

        let urls = ["https://books.example.com", "http://127.0.0.1:8080", "http://127.0.0.1:9090"];
        held.announce(urls, "t0ken").expect("it can be written");
        let urls = ["https://[::1]:3", "http://[::1]:1", "http://[::1]:2"];
        held.announce(urls, "t").expect("a shorter text replaces a longer one");
        let serving = holder(&database).expect("a holder");
        assert_eq!(serving.url.as_deref(), Some("http://[::1]:1"));
        assert_eq!(serving.control_url.as_deref(), Some("http://[::1]:2"));
        assert_eq!(serving.shown_url(), Some("https://[::1]:3"));
        assert_eq!(serving.control_token.as_deref(), Some("t"));
        assert!(!format!("{serving:?}").contains("token: "));

        assert_eq!(glimpse(&database), Some(serving));

        drop(held);
        assert_eq!(glimpse(&database), None);
        take(&database).expect("the lock is free again");
    }

    #[test]
    fn a_holder_that_is_gone_is_nobody() {
        let (_folder, database) = database();
        assert_eq!(glimpse(&database), None);
        let mut gone = std::process::Command::new("true").spawn().expect("true(1) is there");
        gone.wait().expect("it ends");
        let left = RunningServer::silent(gone.id());
        fs::write(lock_path(&database), serde_json::to_vec(&left).expect("JSON")).expect("the file can be written");
        assert_eq!(glimpse(&database), None);
    }

    #[test]
    fn the_file_is_for_its_owner_alone() {
        let (_folder, database) = database();
        let lock = lock_path(&database);
        fs::write(&lock, "left by an older version").expect("the file can be written");
        fs::set_permissions(&lock, Permissions::from_mode(0o644)).expect("the mode can be set");
        let _held = take(&database).expect("a stale file is harmless");
        assert_eq!(fs::metadata(&lock).expect("it is there").permissions().mode() & 0o7777, 0o600);
        let content: serde_json::Value =
            serde_json::from_slice(&fs::read(&lock).expect("it is readable")).expect("JSON");
        assert_eq!(content["pid"], std::process::id());
    }

    #[test]
    fn two_names_are_one_database() {
        let (folder, database) = database();
        fs::write(&database, "").expect("the database is there");
        let alias = folder.path().join("alias.db");
        std::os::unix::fs::symlink(&database, &alias).expect("a link");
        let _held = take(&alias).expect("a free lock");
        assert!(holder(&database).is_some());
    }

    #[test]
    fn a_second_hard_link_is_refused() {
        let (folder, database) = database();
        fs::write(&database, "").expect("the database is there");
        let alias = folder.path().join("alias.db");
        let held = take(&database).expect("a free lock");
        fs::hard_link(&database, &alias).expect("a link");
        let refused = take(&alias).expect_err("another name of the same file").to_string();
        assert!(refused.contains("alias.db has 2 hard links"), "{refused}");
        drop(held);
        assert!(matches!(take(&database), Err(NotTaken::Linked(_, 2))));
        fs::remove_file(&alias).expect("it can be removed");
        take(&database).expect("it has one name again");
    }

    #[test]
    fn a_lock_of_another_process_counts() {
        let (_folder, database) = database();
        fs::write(lock_path(&database), r#"{"pid": 7, "url": "http://127.0.0.1:9", "control_token": "x"}"#)
            .expect("the file can be written");
        let mut other = std::process::Command::new("flock")
            .arg("--exclusive")
            .arg(lock_path(&database))
            .args(["sh", "-c", "echo locked; read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("flock(1) is there");
        let mut ready = [0; 6];
        other.stdout.as_mut().expect("a pipe").read_exact(&mut ready).expect("it says that it is ready");
        let found = holder(&database).expect("a holder");
        assert_eq!((found.pid, found.shown_url()), (7, Some("http://127.0.0.1:9")));
        drop(other.stdin.take());
        other.wait().expect("it ends");
        take(&database).expect("the lock is free again");
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error_with_the_path() {
        let error = take(Path::new("/nowhere/at/all/book.db")).expect_err("no folder");
        assert!(error.to_string().contains("/nowhere/at/all/book.db.lock"), "{error}");
    }
}

//! A database file that is moved, removed, replaced or truncated while the server runs: no payment is acknowledged and
//! then lost.
//!
//! ```text
//! a server ◄── payments, one after the other, each answer noted ── meanwhile the file is lost
//!    │
//!    └─ from then on: every payment 503, /readyz 503 ─► kill -9 ─► in the file that was lost: every payment that got 200
//! ```
//!
//! Two cases need a separate file system. If it cannot be mounted, they print a message and are skipped.

mod damage;
mod log_overwritten;

use crate::common::api_client::{ApiClient, until};
use crate::common::installation::SECRET;
use crate::common::loans::{loan, make_product, payments_of};
use daybook_testkit::server::{Daybook, Server};
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The number of payments acknowledged before the file is lost.
const BEFORE: usize = 30;
/// The number of payments tried afterwards.
const AFTER: usize = 20;
const ACCOUNT: &str = "loan";

/// A server on a database file, in its own folder.
struct Trial {
    folder: PathBuf,
    daybook: Daybook,
    server: Option<Server>,
    client: ApiClient,
    _temporary: tempfile::TempDir,
}

impl Trial {
    fn new() -> Trial {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = temporary.path().to_owned();
        Trial::in_folder(temporary, &folder, "book/daybook.db")
    }

    /// With the database at a path below a folder.
    fn in_folder(temporary: tempfile::TempDir, folder: &Path, database: &str) -> Trial {
        let folder = folder.to_owned();
        fs::create_dir_all(folder.join("book")).expect("a folder can be made");
        let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), &folder)
            .with("DAYBOOK_BOOTSTRAP_CLIENT_ID", "tests")
            .with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", SECRET)
            .with("DAYBOOK_LOG_LEVEL", "off")
            .with("DAYBOOK_DATABASE", &format!("sqlite:{database}"));
        let server = daybook.serve(&[]);
        let client = ApiClient::to(server.url());
        make_product(&client, "auto", json!({}), json!({}));
        client.post("/accounts", &loan("auto", ACCOUNT, "2026-01-15T09:00:00-05:00")).good();
        Trial { folder, daybook, server: Some(server), client, _temporary: temporary }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join("book").join(name)
    }

    /// Creates hard links to the database and its log, so that they can be found after the original names are lost.
    fn keep_names(&self) {
        fs::create_dir(self.folder.join("kept")).expect("a folder can be made");
        for name in ["daybook.db", "daybook.db-wal"] {
            fs::hard_link(self.path(name), self.folder.join("kept").join(name)).expect("a file may have two names");
        }
    }

    fn pay(&self, id: &str) -> u16 {
        pay(&self.client, id)
    }

    fn kill(&mut self) {
        self.server.take().expect("it runs").kill();
    }

    fn stop(&mut self) {
        self.server.take().expect("it runs").stop();
    }
}

fn pay(client: &ApiClient, id: &str) -> u16 {
    let body = json!({ "line_item_id": id, "original_amount_cents": 1, "line_item_status": "VALID" });
    client.post(&payments_of(ACCOUNT), &body).status
}

/// A caller that makes payments continuously.
struct Caller {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<String>>,
}

impl Caller {
    /// Starts the payments and returns when some are acknowledged.
    fn start(client: &ApiClient) -> Caller {
        let (is_over, is_going) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (over, going, client) = (is_over.clone(), is_going.clone(), client.another());
        let thread = thread::spawn(move || {
            let mut acknowledged = Vec::new();
            for number in 0.. {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let id = format!("before-{number}");
                match pay(&client, &id) {
                    200 => acknowledged.push(id),
                    503 => thread::yield_now(),
                    other => panic!("a payment was answered with {other}"),
                }
                going.fetch_or(acknowledged.len() >= BEFORE, Ordering::SeqCst);
            }
            acknowledged
        });
        until("payments", || if is_going.load(Ordering::SeqCst) { Ok(()) } else { Err("none yet".to_owned()) });
        Caller { is_over, thread }
    }

    fn end(self) -> Vec<String> {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().expect("the caller ends")
    }
}

/// The ids of all payments in a database.
fn payments_in(database: &Path) -> BTreeSet<String> {
    let connection = Connection::open(database).expect("the file opens");
    let mut names = connection.prepare("SELECT name FROM inputs").expect("it is a book");
    let names = names.query_map([], |row| row.get::<_, String>(0)).expect("it can be read");
    names.map(|name| name.expect("a name")).collect()
}

/// Makes payments, loses the file, and checks that nothing is acknowledged afterwards. Returns the acknowledged
/// payments.
#[track_caller]
fn lose(trial: &Trial, lose: impl FnOnce(&Trial)) -> Vec<String> {
    let caller = Caller::start(&trial.client);
    lose(trial);
    let refused = (0..AFTER).map(|number| trial.pay(&format!("after-{number}"))).collect::<Vec<_>>();
    assert_eq!(refused, [503; AFTER], "nothing is acknowledged once the file is lost");
    let read = trial.client.get(&format!("/accounts/{ACCOUNT}"));
    assert_eq!(read.status, 503, "nothing is read out of it either: {}", read.text);
    let ready = trial.client.get("/readyz");
    assert_eq!(ready.status, 503, "{}", ready.text);
    assert!(ready.text.contains("daybook.db"), "{}", ready.text);
    caller.end()
}

#[track_caller]
fn all_are_in(database: &Path, acknowledged: &[String]) {
    let found = payments_in(database);
    let missing: Vec<&String> = acknowledged.iter().filter(|id| !found.contains(*id)).collect();
    assert!(missing.is_empty(), "{} of {} acknowledged payments are lost", missing.len(), acknowledged.len());
    assert!(acknowledged.len() >= BEFORE);
}

/// Loses the file in a way that keeps its bytes somewhere, kills the server, and finds every acknowledged payment in
/// them.
#[track_caller]
fn nothing_goes_into_the_void(how: impl FnOnce(&Trial)) {
    let mut trial = Trial::new();
    trial.keep_names();
    let acknowledged = lose(&trial, how);
    trial.kill();
    all_are_in(&trial.folder.join("kept/daybook.db"), &acknowledged);
}

fn another_database(trial: &Trial) -> PathBuf {
    let other = trial.folder.join("other");
    fs::create_dir(&other).expect("a folder can be made");
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), &other);
    daybook.serve(&[]).stop();
    other.join("daybook.db")
}

#[test]
fn moved_and_the_next_start_begins_no_new_book() {
    let mut trial = Trial::new();
    let acknowledged = lose(&trial, |trial| {
        fs::rename(trial.path("daybook.db"), trial.folder.join("away.db")).expect("it can be moved");
    });
    trial.kill();
    let said = trial.daybook.try_serve(&[]).expect_err("there is a key and no database").1;
    assert!(said.contains("is missing, but its secrets key"), "{said}");
    assert!(said.contains("daybook serve --new-book"), "{said}");
    fs::rename(trial.folder.join("away.db"), trial.path("daybook.db")).expect("it can be put back");
    all_are_in(&trial.path("daybook.db"), &acknowledged);
    trial.daybook.serve(&[]).stop();
    assert!(trial.daybook.run(&["verify"]).status.success());
}

#[test]
fn moved_and_put_back_while_the_server_runs() {
    let mut trial = Trial::new();
    let away = trial.folder.join("away.db");
    let acknowledged = lose(&trial, |trial| fs::rename(trial.path("daybook.db"), &away).expect("it can be moved"));
    fs::rename(&away, trial.path("daybook.db")).expect("it can be put back");
    assert_eq!((trial.pay("again"), trial.client.get("/readyz").status), (200, 200), "work goes on by itself");
    trial.kill();
    all_are_in(&trial.path("daybook.db"), &acknowledged);
    assert!(payments_in(&trial.path("daybook.db")).contains("again"));
}

#[test]
fn removed() {
    nothing_goes_into_the_void(|trial| fs::remove_file(trial.path("daybook.db")).expect("it can be removed"));
}

#[test]
fn replaced_by_another_database() {
    nothing_goes_into_the_void(|trial| {
        let other = another_database(trial);
        fs::rename(other, trial.path("daybook.db")).expect("it can be replaced");
    });
}

#[test]
fn replaced_by_an_empty_file() {
    nothing_goes_into_the_void(|trial| {
        let empty = trial.folder.join("empty");
        fs::write(&empty, "").expect("it can be made");
        fs::rename(empty, trial.path("daybook.db")).expect("it can be replaced");
    });
}

#[test]
fn overwritten_in_place_by_another_database() {
    let mut trial = Trial::new();
    let other = another_database(&trial);
    lose(&trial, |trial| {
        fs::copy(&other, trial.path("daybook.db")).map(drop).expect("it can be overwritten");
    });
    trial.kill();
}

#[test]
fn cut_short() {
    let mut trial = Trial::new();
    lose(&trial, |trial| {
        let file = fs::OpenOptions::new().write(true).open(trial.path("daybook.db")).expect("it opens");
        file.set_len(0).expect("it can be cut short");
    });
    trial.kill();
}

#[test]
fn made_read_only() {
    let mut trial = Trial::new();
    let acknowledged = lose(&trial, |trial| {
        fs::set_permissions(trial.path("daybook.db"), fs::Permissions::from_mode(0o444)).expect("it is ours");
    });
    trial.kill();
    all_are_in(&trial.path("daybook.db"), &acknowledged);
}

#[test]
fn its_log_removed() {
    nothing_goes_into_the_void(|trial| fs::remove_file(trial.path("daybook.db-wal")).expect("it can be removed"));
}

#[test]
fn its_index_removed() {
    nothing_goes_into_the_void(|trial| fs::remove_file(trial.path("daybook.db-shm")).expect("it can be removed"));
}

#[test]
fn a_second_server_under_another_hard_link_is_refused() {
    let mut trial = Trial::new();
    fs::create_dir(trial.folder.join("second")).expect("a folder can be made");
    fs::hard_link(trial.path("daybook.db"), trial.folder.join("second/other.db")).expect("a file may have two names");
    let second = trial.daybook.clone().with("DAYBOOK_DATABASE", "sqlite:second/other.db");
    let said = second.try_serve(&[]).expect_err("the first server uses it").1;
    assert!(said.contains("second/other.db has 2 hard links"), "{said}");
    assert_eq!(trial.pay("after"), 200, "the first server is not disturbed");
    trial.stop();
}

#[test]
fn its_folder_renamed() {
    let mut trial = Trial::new();
    let acknowledged = lose(&trial, |trial| {
        fs::rename(trial.folder.join("book"), trial.folder.join("elsewhere")).expect("it can be renamed");
    });
    trial.kill();
    all_are_in(&trial.folder.join("elsewhere/daybook.db"), &acknowledged);
}

#[test]
fn its_link_changed() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().to_owned();
    fs::create_dir_all(folder.join("book")).expect("a folder can be made");
    fs::write(folder.join("book/real.db"), "").expect("it can be made");
    symlink("real.db", folder.join("book/daybook.db")).expect("a link can be made");
    let mut trial = Trial::in_folder(temporary, &folder, "book/daybook.db");
    let acknowledged = lose(&trial, |trial| {
        let other = another_database(trial);
        fs::remove_file(trial.path("daybook.db")).expect("a link can be removed");
        symlink(other, trial.path("daybook.db")).expect("a link can be made");
    });
    trial.kill();
    all_are_in(&trial.path("real.db"), &acknowledged);
}

/// A separate file system, unmounted on drop.
struct Mounted(PathBuf);

impl Mounted {
    fn at(path: &Path, size: &str) -> Option<Mounted> {
        fs::create_dir_all(path).expect("a folder can be made");
        let options = format!("size={size}");
        let mounted = run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", path.to_str().expect("a path")]);
        if !mounted {
            eprintln!("skipped: no file system may be mounted here");
        }
        mounted.then(|| Mounted(path.to_owned()))
    }

    fn remount(&self, options: &str) -> bool {
        run("mount", &["-o", &format!("remount,{options}"), self.0.to_str().expect("a path")])
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily, as a server left behind by a failed test may still use it.
        run("umount", &["-l", self.0.to_str().expect("a path")]);
    }
}

fn run(command: &str, args: &[&str]) -> bool {
    Command::new(command).args(args).output().is_ok_and(|output| output.status.success())
}

/// Appends to a file until the disk is full.
fn fill_disk(hog: &Path) {
    let mut hog = fs::OpenOptions::new().create(true).append(true).open(hog).expect("it opens");
    while hog.write_all(&[7; 4_096]).is_ok() {}
}

#[test]
fn on_a_full_disk_and_with_room_again() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().to_owned();
    let Some(disk) = Mounted::at(&folder.join("book"), "12m") else { return };
    let mut trial = Trial::in_folder(temporary, &folder, "book/daybook.db");
    let mut acknowledged: Vec<String> = (0..BEFORE).map(|number| format!("before-{number}")).collect();
    for id in &acknowledged {
        assert_eq!(trial.pay(id), 200);
    }
    // Another file fills the disk.
    let hog = trial.path("hog");
    fill_disk(&hog);
    let mut refused = 0;
    for number in 0..2_000 {
        let id = format!("full-{number}");
        match trial.pay(&id) {
            200 => {
                acknowledged.push(id);
                refused = 0;
            }
            503 => refused += 1,
            other => panic!("a payment was answered with {other}"),
        }
        if refused > 20 {
            break;
        }
        // The log may have freed space.
        fill_disk(&hog);
    }
    assert!(refused > 20, "the disk is full");
    fill_disk(&hog);
    // A small write fits, a payment does not.
    let file = fs::OpenOptions::new().write(true).open(&hog).expect("it opens");
    file.set_len(file.metadata().expect("its length").len() - 24 * 1_024).expect("it can be made shorter");
    // An open file keeps its space after it is removed.
    drop(file);
    let ready = trial.client.get("/readyz");
    assert_eq!(ready.status, 503, "{}", ready.text);
    assert!(ready.text.contains("full"), "{}", ready.text);
    fs::remove_file(&hog).expect("it can be removed");
    until("room", || match trial.pay("room-again") {
        200 => Ok(()),
        other => Err(format!("status {other}")),
    });
    acknowledged.push("room-again".to_owned());
    assert_eq!(trial.client.get("/readyz").status, 200);
    trial.kill();
    all_are_in(&trial.path("daybook.db"), &acknowledged);
    drop(disk);
}

#[test]
fn on_a_file_system_that_became_read_only() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().to_owned();
    let Some(disk) = Mounted::at(&folder.join("book"), "64m") else { return };
    let mut trial = Trial::in_folder(temporary, &folder, "book/daybook.db");
    let acknowledged: Vec<String> = (0..BEFORE).map(|number| format!("before-{number}")).collect();
    for id in &acknowledged {
        assert_eq!(trial.pay(id), 200);
    }
    if !disk.remount("ro") {
        // Files open for writing prevent the remount: nothing is lost.
        eprintln!("skipped: the file system does not become read-only while it is in use");
        return;
    }
    assert_eq!(trial.pay("after"), 503);
    trial.kill();
    assert!(disk.remount("rw"));
    all_are_in(&trial.path("daybook.db"), &acknowledged);
}

#[test]
fn a_start_is_refused_where_a_key_has_no_book() {
    let mut trial = Trial::new();
    trial.stop();
    for (content, why) in [(None, "is missing"), (Some(""), "is empty")] {
        let _ = fs::rename(trial.path("daybook.db"), trial.folder.join("away.db"));
        if let Some(content) = content {
            fs::write(trial.path("daybook.db"), content).expect("it can be made");
        }
        let said = trial.daybook.try_serve(&[]).expect_err("the book is lost").1;
        assert!(said.contains(why) && said.contains("--new-book"), "{said}");
        let _ = fs::remove_file(trial.path("daybook.db"));
        fs::copy(trial.folder.join("away.db"), trial.path("daybook.db")).expect("it can be put back");
    }
    // A database with another secrets key.
    let other = another_database(&trial);
    fs::copy(&other, trial.path("daybook.db")).expect("it can be replaced");
    let said = trial.daybook.try_serve(&[]).expect_err("it is another's").1;
    assert!(said.contains("the secrets key does not belong to this database"), "{said}");
    // With the flag, the loss is intentional.
    fs::remove_file(trial.path("daybook.db")).expect("it can be removed");
    trial.daybook.serve(&["--new-book"]).stop();
    trial.daybook.serve(&[]).stop();
}

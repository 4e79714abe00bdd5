//! Databases of earlier builds: migrated, interrupted by kills, and served.

use daybook_testkit::old_database::{KEPT, OldDatabase, SECRET};
use daybook_testkit::server::Daybook;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The number of accounts in the original database, and in its first organization.
const ACCOUNTS: i64 = 49;
const OF_FIRST: i64 = 47;
/// The number of copies of each account, so that the migration takes long enough to be interrupted.
const COPIES: usize = 60;
/// The number of kills.
const KILLS: usize = 3;

const WAITING: &str = "SELECT count(*) FROM accounts_to_refold";
const WAITING_MESSAGES: &str = "SELECT count(*) FROM waiting_messages";
/// Messages in the logs: before the migration, and after it.
const LOGGED: [&str; 2] =
    ["SELECT count(*) FROM messages", "SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM message_groups"];
const HEADS: &str = "SELECT CAST(sum(head) AS bigint) FROM log_heads";
const REFOLDED: &str = "SELECT count(*) FROM inputs WHERE name LIKE 'dbk_refold_%'";
const LISTED: &str = "SELECT count(*) FROM refolds";

/// Starts `migrate` and kills it with SIGKILL when some accounts are recomputed and some are not. Returns whether it
/// was killed in time.
fn killed_midway(folder: &Path, database: &OldDatabase, all: i64) -> bool {
    let mut migrating = Command::new(env!("CARGO_BIN_EXE_daybook"))
        .args(["migrate", "--database", &database.address, "--secrets-key-file", "daybook.key"])
        .current_dir(folder)
        .env_clear()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let before = database.try_number(WAITING).unwrap_or(all);
    loop {
        let left = database.try_number(WAITING).unwrap_or(before);
        let is_over = migrating.try_wait().expect("it can be asked").is_some();
        if is_over || left < before {
            // SIGKILL on Unix.
            migrating.kill().expect("it can be killed");
            migrating.wait().expect("it ends");
            let left = database.number(WAITING);
            return 0 < left && left < before;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn daybook_in(folder: &Path) -> Daybook {
    Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder)
}

fn flags(database: &OldDatabase) -> [&str; 4] {
    ["--database", &database.address, "--secrets-key-file", "daybook.key"]
}

fn run(daybook: &Daybook, command: &[&str], database: &OldDatabase) -> String {
    daybook.stdout_of(&[command, &flags(database)].concat())
}

fn migrated_although_killed(folder: &Path, database: &OldDatabase) {
    database.multiply(COPIES);
    let all = ACCOUNTS + OF_FIRST * COPIES as i64;
    let messages = |logged: &str| database.number(logged) + database.number(WAITING_MESSAGES);
    let (before, heads) = (messages(LOGGED[0]), database.number(HEADS));
    let caught = (0..KILLS).filter(|_| killed_midway(folder, database, all)).count();
    assert!(caught > 0, "it was never caught in between");

    let daybook = daybook_in(folder);
    let said = run(&daybook, &["migrate"], database);
    assert!(said.contains("0 failed, 0 messages written"), "{said}");
    assert_eq!(database.number(WAITING), 0);
    assert_eq!(database.number(REFOLDED), all, "each account is folded again once");
    assert_eq!((messages(LOGGED[1]), database.number(HEADS)), (before, heads), "nothing is sent");
    assert_eq!(run(&daybook, &["migrate"], database), "the database is up to date\n");

    let verified = run(&daybook, &["verify"], database);
    assert!(verified.contains(&format!("verified {all} accounts")), "{verified}");
    assert!(verified.ends_with(": 0 differences\n"), "{verified}");

    let moved = run(&daybook, &["rules-report", "--format", "csv"], database);
    assert_eq!(moved.lines().count() as i64, 1 + database.number(LISTED));
    let json: serde_json::Value =
        serde_json::from_str(&run(&daybook, &["rules-report", "--format", "json"], database)).expect("JSON");
    let accounts = json["accounts"].as_array().expect("a list");
    assert_eq!(accounts.len() as i64, database.number(LISTED));
    assert!(accounts.iter().all(|account| account["before"] != account["after"]));
}

#[test]
fn a_migration_of_sqlite_killed_midway_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    migrated_although_killed(folder.path(), &OldDatabase::sqlite(folder.path()));
}

#[test]
fn a_migration_of_postgres_killed_midway_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    migrated_although_killed(folder.path(), &OldDatabase::postgres(folder.path()));
}

#[test]
fn a_server_is_ready_when_every_account_is_folded_again() {
    let folder = tempfile::tempdir().expect("a folder");
    for database in [OldDatabase::sqlite(folder.path()), OldDatabase::postgres(folder.path())] {
        let server = daybook_in(folder.path()).serve(&flags(&database));
        assert_eq!(database.number(WAITING), 0);
        assert_eq!(database.number(REFOLDED), ACCOUNTS);
        server.stop();
        let verified = run(&daybook_in(folder.path()), &["verify"], &database);
        assert!(verified.ends_with(": 0 differences\n"), "{verified}");
    }
}

/// Serves a database with this build, makes calls, and verifies the result.
fn served(folder: &Path, database: &OldDatabase, version: i64) {
    let daybook = daybook_in(folder);
    let server = daybook.serve(&flags(database));
    assert_eq!(server.get("/readyz", "").status, 200, "version {version}");
    let account = |server: &daybook_testkit::server::Server| server.get("/accounts/on-time", SECRET).good();
    let owed = |account: &serde_json::Value| account["summary"]["principal_cents"].as_i64().expect("a balance");
    let before = account(&server);
    let events = server.get("/accounts/on-time/events", SECRET).good();
    assert!(events["results"].as_array().is_some_and(|events| events.len() > 3), "version {version}: {events}");
    let payment = json!({ "line_item_id": "after-the-upgrade", "original_amount_cents": 10_662 });
    server.post("/accounts/on-time/line_items/payments/payment_record", SECRET, &payment).good();
    assert!(owed(&account(&server)) < owed(&before), "version {version}: the payment counts");
    let roll = json!({ "account_id": "on-time", "effective_at": "2040-01-01T00:00:00Z", "roll_webhooks": false });
    server.post("/admin/roll/account", SECRET, &roll).good();
    let later = server.get("/accounts/on-time/line_items?line_item_type=LATE_FEE", SECRET).good();
    assert!(later["results"].as_array().is_some_and(|fees| !fees.is_empty()), "version {version}: time has passed");
    server.stop();
    let verified = run(&daybook, &["verify"], database);
    assert!(verified.ends_with(": 0 differences\n"), "version {version}: {verified}");
}

#[test]
fn a_database_of_every_earlier_build_is_served() {
    for (version, _) in KEPT {
        let folder = tempfile::tempdir().expect("a folder");
        served(folder.path(), &OldDatabase::sqlite_of(*version, folder.path()), *version);
        let folder = tempfile::tempdir().expect("a folder");
        served(folder.path(), &OldDatabase::postgres_of(*version, folder.path()), *version);
    }
}

//! `verify`, `backup` and `doctor`.

use crate::support::{fresh, lend};
use daybook_testkit::server::Daybook;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A database with a loan, whose server has stopped.
fn with_a_loan() -> (tempfile::TempDir, Daybook) {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    lend(&server, &server.first_secret(), "loan-1");
    server.stop();
    (folder, daybook)
}

#[test]
fn verify_finds_nothing_after_traffic_and_beside_a_server() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    lend(&server, &server.first_secret(), "loan-1");
    let beside = daybook.stdout_of(&["verify"]);
    server.stop();
    let after = daybook.stdout_of(&["verify"]);
    assert_eq!(beside, after);
    let words: Vec<&str> = after.split_whitespace().collect();
    assert_eq!((words[0], words[1], words[2]), ("verified", "1", "accounts,"));
    assert!(after.ends_with(" audit records: 0 differences\n"), "{after}");
    let items: u64 = words[3].parse().expect("a number of line items");
    assert!(items > 1, "the payment, and what became due: {after}");
}

#[test]
fn verify_finds_a_line_item_that_was_changed_by_hand() {
    let (folder, daybook) = with_a_loan();
    let connection = Connection::open(folder.path().join("daybook.db")).expect("the file opens");
    let changed = connection.execute("UPDATE line_items SET amount = amount - 1 WHERE item = 'p1'", []);
    assert_eq!(changed.expect("the item is there"), 1);
    drop(connection);
    let output = daybook.run(&["verify"]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert!(stdout.starts_with("account loan-1: ") && stdout.contains("p1"), "{stdout}");
    assert!(stdout.ends_with(": 1 difference\n"), "{stdout}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "daybook: there is 1 difference\n");

    let output = daybook.run(&["verify", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["differences"].as_array().map(Vec::len), Some(1), "{found}");
}

#[test]
fn a_backup_is_a_database_that_verifies() {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    lend(&server, &secret, "loan-1");
    let output = daybook.run(&["backup", "--to", "copy.db"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let copy = folder.path().join("copy.db");
    assert_eq!(fs::metadata(&copy).expect("the copy is there").permissions().mode() & 0o7777, 0o600);

    for more in ["copy.db-wal", "copy.db-shm", "copy.db.unfinished"] {
        assert!(!folder.path().join(more).exists(), "a copy is one file: {more}");
    }
    let before = fs::read(&copy).expect("the copy is readable");
    let (code, stderr) = daybook.failure_of(&["backup", "--to", "copy.db"]);
    assert!(code == 1 && stderr.contains("is not overwritten"), "{stderr}");
    assert_eq!(fs::read(&copy).expect("the copy is readable"), before);

    // The copy was made while the server runs, and is used at the same time.
    assert_eq!(daybook.stdout_of(&["verify", "--database", "sqlite:copy.db"]), daybook.stdout_of(&["verify"]));
    let restored = daybook.serve(&["--database", "sqlite:copy.db"]);
    assert_eq!(restored.get("/accounts/loan-1/line_items/p1", &secret).status, 200);
    let (code, stderr) = daybook.failure_of(&["backup", "--database", "postgres://u:hush@h/n", "--to", "x.db"]);
    assert!(code == 1 && stderr.contains("pg_dump") && !stderr.contains("hush"), "{stderr}");
}

fn verdicts(rows: &Value) -> Vec<(&str, &str)> {
    let rows = rows.as_array().expect("a list").iter();
    rows.map(|row| (row["check"].as_str().expect("text"), row["verdict"].as_str().expect("text"))).collect()
}

#[test]
fn the_doctor_finds_nothing_wrong_with_what_is_well() {
    let (folder, daybook) = with_a_loan();
    fs::remove_file(folder.path().join("daybook.db.first-start")).expect("it can be deleted");
    let found = daybook.json_of(&["doctor", "--json", "--listen", "127.0.0.1:0"]);
    let found = verdicts(&found);
    let checks: Vec<&str> = found.iter().map(|(check, _)| *check).collect();
    let expected = [
        "settings",
        "listen",
        "secrets key",
        "database",
        "structure",
        "organizations",
        "secrets",
        "time zones",
        "clock",
        "disk",
    ];
    assert_eq!(checks, expected);
    assert!(found.iter().all(|(check, verdict)| *verdict == "ok" || *check == "disk"), "{found:?}");
    let server = daybook.serve(&[]);
    let table = daybook.stdout_of(&["doctor"]);
    assert!(table.contains(&format!("running on {}", server.url())), "{table}");
}

#[test]
fn the_doctor_makes_nothing() {
    let (folder, daybook) = fresh();
    let found = daybook.json_of(&["doctor", "--json", "--listen", "127.0.0.1:0"]);
    let found = verdicts(&found);
    assert!(found.contains(&("database", "warn")) && found.contains(&("secrets key", "warn")), "{found:?}");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
}

#[test]
fn the_doctor_finds_what_is_wrong() {
    let (folder, daybook) = with_a_loan();
    let key = folder.path().join("daybook.key");
    let examine = |daybook: &Daybook, flags: &[&str]| {
        let args: Vec<&str> = ["doctor", "--json"].iter().chain(flags).copied().collect();
        let output = daybook.run(&args);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let free = ["--listen", "127.0.0.1:0"];
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("the mode can be set");
    assert!(verdicts(&examine(&daybook, &free)).contains(&("secrets key", "fail")), "others may read the key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("the mode can be set");

    let other = daybook.clone().with("DAYBOOK_SECRETS_KEY", &"5a".repeat(32));
    assert!(verdicts(&examine(&other, &free)).contains(&("secrets", "fail")), "another key");
    fs::remove_file(&key).expect("the key can be removed");
    assert!(verdicts(&examine(&daybook, &free)).contains(&("secrets key", "fail")), "no key");
    let found = examine(&daybook, &["--rate-limit", "fast"]);
    assert_eq!(verdicts(&found), [("settings", "fail")]);

    fs::write(folder.path().join("not.db"), "this is a letter to my grandmother, and no database".repeat(99))
        .expect("the file can be written");
    let found = examine(&daybook, &["--listen", "127.0.0.1:0", "--database", "sqlite:not.db"]);
    assert!(verdicts(&found).contains(&("database", "fail")), "{found}");
    assert_ne!(found, json!([]));
}

//! What keeps a server from starting is found by the doctor, in the same words.

use crate::support::{fresh, in_days, lend, make_pipe};
use daybook_testkit::authority::Authority;
use daybook_testkit::postgres;
use daybook_testkit::server::Daybook;
use rusqlite::Connection;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const FREE: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// The sentence of the one check that fails.
fn failure(daybook: &Daybook, check: &str, flags: &[&str]) -> String {
    let output = daybook.run(&[&["doctor", "--json"], &FREE[..], flags].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let failed: Vec<&Value> =
        found.as_array().expect("a list").iter().filter(|finding| finding["verdict"] == "fail").collect();
    let [failed] = failed.as_slice() else { panic!("not one check failed: {said}") };
    assert_eq!(failed["check"], check, "{said}");
    failed["found"].as_str().expect("a sentence").to_owned()
}

/// What keeps a server from starting. It says so at once, before it changes anything.
fn refusal(daybook: &Daybook, flags: &[&str]) -> String {
    daybook.try_serve(&[&FREE[..], flags].concat()).expect_err("it does not start").1
}

/// The check fails, and a server says the same.
fn fails(daybook: &Daybook, check: &str, flags: &[&str], why: &str) {
    let (sentence, said) = (failure(daybook, check, flags), refusal(daybook, flags));
    assert!(sentence.contains(why), "{sentence}");
    assert!(said.contains(&sentence), "a server says: {said}\nthe doctor: {sentence}");
}

fn is_well(daybook: &Daybook, flags: &[&str]) {
    daybook.stdout_of(&[&["doctor"], &FREE[..], flags].concat());
}

/// The findings of a check: verdict and sentence.
fn found(daybook: &Daybook, check: &str, flags: &[&str]) -> Vec<(String, String)> {
    let free = if flags.contains(&"--listen") { &[][..] } else { &FREE };
    let output = daybook.run(&[&["doctor", "--json"], free, flags].concat());
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |row: &Value, field: &str| row[field].as_str().expect("text").to_owned();
    let rows = found.as_array().expect("a list").iter().filter(|row| row["check"] == check);
    rows.map(|row| (text(row, "verdict"), text(row, "found"))).collect()
}

/// The one finding of a check.
fn one(daybook: &Daybook, check: &str, flags: &[&str]) -> (String, String) {
    let mut found = found(daybook, check, flags);
    assert_eq!(found.len(), 1, "{check}: {found:?}");
    found.remove(0)
}

fn write_certificate(folder: &Path, cert: &str, key: &str) {
    Authority::named("authority").sign("books.example.com", &folder.join(cert), &folder.join(key));
}

#[test]
fn a_certificate_that_cannot_be_used() {
    let (folder, daybook) = fresh();
    write_certificate(folder.path(), "cert.pem", "key.pem");
    write_certificate(folder.path(), "other.pem", "other-key.pem");
    fs::write(folder.path().join("letter.pem"), "this is a letter").expect("a file");
    is_well(&daybook, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let cases = [
        ("cert.pem", "other-key.pem", "do not match"),
        ("none.pem", "key.pem", "it cannot be read"),
        ("letter.pem", "key.pem", "it holds no certificate in PEM form"),
        ("cert.pem", "letter.pem", "it holds no private key in PEM form"),
        ("pipe", "key.pem", "it is not a regular file"),
        ("cert.pem", "pipe", "it is not a regular file"),
        (".", "key.pem", "it is not a regular file"),
    ];
    make_pipe(&folder.path().join("pipe"));
    for (cert, key, why) in cases {
        fails(&daybook, "tls", &["--tls-cert", cert, "--tls-key", key], why);
    }
}

/// A command that only looks changes nothing: not the journal mode of a file that was copied with other tools, and not the
/// log that a crash has left.
#[test]
fn the_database_stays_as_it_is() {
    let (folder, daybook) = fresh();
    let (path, log) = (folder.path().join("daybook.db"), folder.path().join("daybook.db-wal"));
    daybook.serve(&[]).stop();
    let connection = Connection::open(&path).expect("it opens");
    let mode: String = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).expect("it changes");
    connection.pragma_update(None, "application_id", 0).expect("it changes");
    drop(connection);
    let before = fs::read(&path).expect("it can be read");
    is_well(&daybook, &[]);
    assert_eq!(mode, "delete");
    assert!(fs::read(&path).expect("it can be read") == before, "the file was changed");
    assert!(!log.exists() && !folder.path().join("daybook.db-shm").exists());

    let server = daybook.serve(&[]);
    lend(&server, &server.first_secret(), "loan-1");
    server.kill();
    let files = || [&path, &log].map(|path| fs::read(path).expect("it can be read"));
    let before = files();
    assert!(!before[1].is_empty(), "the server was killed");
    is_well(&daybook, &[]);
    assert!(files() == before, "a file was changed");
}

const TLS: [&str; 4] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

#[test]
fn a_certificate_that_is_not_valid_or_not_for_long() {
    let (folder, daybook) = fresh();
    let authority = Authority::named("authority");
    let sign = |from: i64, until: i64| {
        let (from, until) = (in_days(from), in_days(until));
        let path = |name: &str| folder.path().join(name);
        authority.sign_between("localhost", (from, until), &path("cert.pem"), &path("key.pem"));
        (from, until)
    };
    let is_found = |verdict: &str, sentence: String| {
        assert_eq!(found(&daybook, "tls", &TLS), [(verdict.to_owned(), sentence)]);
    };
    let (_, until) = sign(-30, 60);
    is_found("ok", format!("the certificate and its key match; the certificate is valid until {until}"));
    is_well(&daybook, &TLS);
    let (_, until) = sign(-30, 1);
    is_found("warn", format!("the certificate expires within 14 days, at {until}: renew it"));
    is_well(&daybook, &TLS);
    let (_, until) = sign(-30, -1);
    is_found("fail", format!("the certificate expired at {until}: clients refuse it"));
    failure(&daybook, "tls", &TLS);
    let (from, _) = sign(1, 60);
    is_found("fail", format!("the certificate is not valid before {from}: clients refuse it"));
    failure(&daybook, "tls", &TLS);
}

#[test]
fn a_certificate_for_another_host() {
    let (folder, daybook) = fresh();
    write_certificate(folder.path(), "cert.pem", "key.pem");
    let warned = |more: &[&str]| -> Vec<String> {
        let found = found(&daybook, "tls", &[&TLS[..], more].concat());
        found.into_iter().filter(|(verdict, _)| verdict == "warn").map(|(_, sentence)| sentence).collect()
    };
    let nothing: [String; 0] = [];
    assert_eq!(warned(&[]), nothing);
    assert_eq!(warned(&["--public-url", "https://books.example.com:8443"]), nothing);
    let elsewhere = ["--public-url", "https://localhost:28443"];
    let sentence = "public-url = \"https://localhost:28443\": the certificate is not for localhost; \
                    its names are books.example.com";
    assert_eq!(warned(&elsewhere), [sentence]);
    is_well(&daybook, &[&TLS[..], &elsewhere].concat());
    let behind_proxy = [&elsewhere[..], &["--trust-proxy", "127.0.0.1/32"]].concat();
    assert_eq!(warned(&behind_proxy), nothing, "callers see the proxy's certificate");
}

#[test]
fn a_server_that_is_not_ready() {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let running = format!("running on {} (process {})", server.url(), server.pid());
    assert_eq!(one(&daybook, "server", &[]), ("ok".to_owned(), running.clone()));
    let path = |name: &str| folder.path().join(name);
    fs::rename(path("daybook.db"), path("away.db")).expect("it can be moved");
    let reason = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let answer = server.get("/readyz", "");
        (answer.status == 503).then(|| answer.json()["error"]["message"].as_str().expect("a reason").to_owned())
    });
    let reason = reason.expect("the server notices");
    assert!(reason.contains("no longer exists"), "{reason}");
    assert_eq!(one(&daybook, "server", &[]), ("fail".to_owned(), format!("{running}, but not ready: {reason}")));
    fs::rename(path("away.db"), path("daybook.db")).expect("it can be moved back");
    assert_eq!(one(&daybook, "server", &[]), ("ok".to_owned(), running));
}

#[test]
fn a_server_is_shown_by_its_public_address() {
    let (folder, daybook) = fresh();
    write_certificate(folder.path(), "cert.pem", "key.pem");
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let server = daybook.serve(&tls);
    let (verdict, sentence) = one(&daybook, "server", &[]);
    assert!(server.url().starts_with("https://"), "{}", server.url());
    assert_eq!((verdict.as_str(), sentence), ("ok", format!("running on {} (process {})", server.url(), server.pid())));
    server.stop();
    let server = daybook.serve(&[&tls[..], &["--public-url", "https://books.example.com"]].concat());
    let (_, sentence) = one(&daybook, "server", &[]);
    assert_eq!(sentence, format!("running on https://books.example.com (process {})", server.pid()));
}

#[test]
fn a_second_address_that_is_in_use() {
    let (_folder, daybook) = fresh();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    fails(&daybook, "admin-listen", &["--admin-listen", &address], &format!("cannot listen on {address}"));
    drop(taken);
    is_well(&daybook, &["--admin-listen", &address]);
}

#[test]
fn a_key_whose_database_is_lost() {
    let (folder, daybook) = fresh();
    let path = |name: &str| folder.path().join(name);
    daybook.serve(&[]).stop();
    is_well(&daybook, &[]);
    fs::rename(path("daybook.db"), path("away.db")).expect("it can be moved");
    fails(&daybook, "database", &[], "daybook.db is missing, but its secrets key");
    fs::write(path("daybook.db"), "").expect("it can be made");
    fails(&daybook, "database", &[], "daybook.db is empty, but its secrets key");
    fs::remove_file(path("daybook.db")).expect("it can be removed");
    is_well(&daybook, &["--new-book"]);

    // Tables that no server has been started on.
    let (elsewhere, other) = fresh();
    other.serve(&[]).stop();
    let connection = Connection::open(elsewhere.path().join("daybook.db")).expect("it opens");
    let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    connection.set_db_config(triggers, false).expect("no triggers for this connection");
    connection
        .execute_batch("DELETE FROM settings; DELETE FROM keys; DELETE FROM people; DELETE FROM organizations;")
        .expect("it can be emptied");
    drop(connection);
    fs::copy(elsewhere.path().join("daybook.db"), path("daybook.db")).expect("it can be replaced");
    fails(&daybook, "database", &[], "holds no Daybook data, but its secrets key");
}

#[test]
fn a_database_whose_key_is_lost() {
    let (folder, daybook) = fresh();
    let (verdict, sentence) = one(&daybook, "secrets key", &[]);
    assert!(verdict == "warn" && sentence.contains("the first start creates it"), "{sentence}");
    daybook.serve(&[]).stop();
    let key = folder.path().join("daybook.key");
    fs::remove_file(&key).expect("it can be removed");
    let why = "but the database was created with one: restore the file from your backup, or copy it from another node";
    fails(&daybook, "secrets key", &[], why);
    let (_, said) = daybook.failure_of(&["keys", "list"]);
    assert!(said.contains(why), "{said}");
    // A first start that was interrupted after it had bound the database to the key.
    let connection = Connection::open(folder.path().join("daybook.db")).expect("it opens");
    let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    connection.set_db_config(triggers, false).expect("no triggers for this connection");
    connection
        .execute_batch("DELETE FROM keys; DELETE FROM people; DELETE FROM organizations;")
        .expect("it can be emptied");
    drop(connection);
    fails(&daybook, "secrets key", &[], why);
    assert!(!key.exists(), "no start makes another key");
}

#[test]
fn an_empty_database_on_postgresql() {
    let address = postgres::Server::shared().database();
    let (folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_DATABASE", &address);
    is_well(&daybook, &[]);
    let (verdict, sentence) = one(&daybook, "database", &[]);
    assert!(verdict == "warn" && sentence.ends_with("the first start creates the tables"), "{sentence}");
    assert_eq!(one(&daybook, "secrets key", &[]).0, "warn");
    fs::write(folder.path().join("daybook.key"), "5a".repeat(32)).expect("a key");
    fs::set_permissions(folder.path().join("daybook.key"), Permissions::from_mode(0o600)).expect("its mode");
    fails(&daybook, "database", &[], "holds no Daybook data, but its secrets key");
}

#[test]
fn what_is_to_be_done_before_the_first_real_loan() {
    let (folder, daybook) = fresh();
    let nothing: [(String, String); 0] = [];
    let everywhere = ["--listen", "0.0.0.0:0"];
    assert_eq!(found(&daybook, "encryption", &everywhere), nothing, "no LIVE organization");
    let readable = "0.0.0.0:0 serves a LIVE organization to other machines without TLS";
    // Before the first start, the setting counts.
    let (verdict, sentence) = one(&daybook, "encryption", &[&everywhere[..], &["--environment", "LIVE"]].concat());
    assert!(verdict == "warn" && sentence.starts_with(readable), "{sentence}");
    daybook.serve(&["--environment", "LIVE"]).stop();
    assert!(one(&daybook, "encryption", &everywhere).1.starts_with(readable));
    assert_eq!(found(&daybook, "encryption", &[]), nothing, "this machine only");
    let proxied = [&everywhere[..], &["--trust-proxy", "10.0.0.1/32"]].concat();
    assert_eq!(found(&daybook, "encryption", &proxied), nothing);
    let (verdict, sentence) = one(&daybook, "development", &["--dev"]);
    assert!(verdict == "warn" && sentence.starts_with("dev = true is for development"), "{sentence}");

    write_certificate(folder.path(), "cert.pem", "key.pem");
    let key = folder.path().join("key.pem");
    let tls = [&everywhere[..], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]].concat();
    fs::set_permissions(&key, Permissions::from_mode(0o644)).expect("its mode");
    let warned = "other users can access key.pem (mode 0644): run `chmod 600 key.pem`";
    assert_eq!(one(&daybook, "tls-key", &tls), ("warn".to_owned(), warned.to_owned()));
    fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("its mode");
    assert_eq!((found(&daybook, "tls-key", &tls), found(&daybook, "encryption", &tls)), (vec![], vec![]));

    let (verdict, sentence) = one(&daybook, "first start", &[]);
    assert!(verdict == "warn" && sentence.contains("still in daybook.db.first-start"), "{sentence}");
    fs::remove_file(folder.path().join("daybook.db.first-start")).expect("it can be deleted");
    assert_eq!(found(&daybook, "first start", &[]), nothing);
}

#[test]
fn a_clock_far_ahead_of_the_database() {
    let (folder, daybook) = fresh();
    daybook.serve(&[]).stop();
    let connection = Connection::open(folder.path().join("daybook.db")).expect("it opens");
    let sql = "UPDATE settings SET value = ?1 WHERE name = 'latest_moment'";
    assert_eq!(connection.execute(sql, [&a_year_before_2026()[..]]).expect("it is changed"), 1);
    drop(connection);
    jumps(&daybook);
}

#[test]
fn a_clock_far_ahead_of_a_database_on_postgresql() {
    let address = postgres::Server::shared().database();
    let (_folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_DATABASE", &address);
    daybook.serve(&[]).stop();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.expect("it connects");
        tokio::spawn(connection);
        let sql = "UPDATE settings SET value = $1 WHERE name = 'latest_moment'";
        assert_eq!(client.execute(sql, &[&&a_year_before_2026()[..]]).await.expect("it is changed"), 1);
    });
    jumps(&daybook);
}

/// 2025-01-01, in microseconds.
fn a_year_before_2026() -> [u8; 8] {
    (1_735_689_600_000_000_i64).to_be_bytes()
}

fn jumps(daybook: &Daybook) {
    let why = "after the latest time recorded in the database (2025-01-01T00:00:00Z)";
    assert_eq!(one(daybook, "clock", &[]).0, "fail");
    assert_eq!(one(daybook, "clock", &["--confirm-clock"]).0, "warn");
    for _ in 0..2 {
        let (sentence, said) = (failure(daybook, "clock", &[]), refusal(daybook, &[]));
        for one in [sentence, said] {
            assert!(one.contains(why) && one.contains("daybook serve --confirm-clock"), "{one}");
        }
    }
    is_well(daybook, &["--confirm-clock"]);
    failure(daybook, "clock", &[]);
    daybook.serve(&["--confirm-clock"]).stop();
    is_well(daybook, &[]);
}

#[test]
fn triggers_of_the_audit_trail_that_were_removed() {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    lend(&server, &server.first_secret(), "loan-1");
    server.stop();
    let connection = Connection::open(folder.path().join("daybook.db")).expect("it opens");
    connection.execute_batch("DROP TRIGGER audit_is_not_removed").expect("it goes");
    drop(connection);
    let sentence = failure(&daybook, "audit trail", &[]);
    assert!(
        sentence.contains("trigger audit_is_not_removed") && sentence.contains("daybook verify --fix"),
        "{sentence}"
    );
    let fixed = daybook.stdout_of(&["verify", "--fix"]);
    let restored =
        "fixed: audit trail: the trigger audit_is_not_removed was missing, disabled or altered, and was restored";
    assert!(fixed.starts_with(restored), "{fixed}");
    is_well(&daybook, &[]);
}

#[test]
fn a_misspelt_variable_is_a_warning_and_the_server_says_so_too() {
    let (_folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_WEBHOOK_TIMOUT", "3s");
    let found = daybook.json_of(&[&["doctor", "--json"], &FREE[..]].concat());
    let warned: Vec<&str> = found.as_array().expect("a list").iter().filter_map(|row| row["found"].as_str()).collect();
    let is_told = |said: &str| said.contains("DAYBOOK_WEBHOOK_TIMOUT") && said.contains("DAYBOOK_WEBHOOK_TIMEOUT?");
    assert!(warned.iter().any(|sentence| is_told(sentence)), "{warned:?}");
    let said = daybook.serve(&[]).stop();
    assert!(is_told(&said), "{said}");
    let (_, said) = daybook.failure_of(&["keys", "revoke", "unknown"]);
    assert!(is_told(&said), "{said}");
}

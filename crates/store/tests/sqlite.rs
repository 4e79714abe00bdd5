//! The contract on SQLite, and what is specific to it.

#![cfg(test)]

mod contract;

use contract::fixtures::*;
use daybook_store::batch::Batch;
use daybook_store::error::StoreError;
use daybook_store::{Inputs, Store, open};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

async fn open_file(path: &Path) -> Arc<dyn Store> {
    open(&format!("sqlite:{}", path.display())).await.unwrap()
}

fn on_file<F, T>(test: F)
where
    F: FnOnce(Arc<dyn Store>) -> T,
    T: Future<Output = ()>,
{
    let directory = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = open_file(&directory.path().join("daybook.db")).await;
        test(Arc::clone(&store)).await;
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

fn in_memory<F, T>(test: F)
where
    F: FnOnce(Arc<dyn Store>) -> T,
    T: Future<Output = ()>,
{
    runtime().block_on(async { test(open("sqlite::memory:").await.unwrap()).await });
}

mod file {
    crate::contract::contract_tests!(crate::on_file);
}

mod memory {
    crate::contract::contract_tests!(crate::in_memory);
}

/// An account with an input, an item and messages; returns its organization.
async fn furnish(store: &Arc<dyn Store>) -> i64 {
    let org = organization(store, "one").await;
    let mut write = insert(account_row(org, "a", "loan"));
    write.inputs = vec![input(1, "in")];
    write.items = vec![item("li")];
    let mut unit = account_unit(write);
    unit.messages = vec![(org, message(Some("a"), 1, "e1")), (org, waiting("a", 2, "e2", at(50)))];
    unit.answers = vec![new_answer(org, "k", at(1), at(100))];
    written(store, vec![unit]).await;
    org
}

async fn assert_furnished(store: &Arc<dyn Store>, org: i64) {
    let key = account_key(org, "a");
    let loaded = load(store, &key, Inputs::All).await.unwrap();
    assert_eq!(loaded.row, account_row(org, "a", "loan"));
    assert_eq!(loaded.inputs, [input(1, "in")]);
    assert_eq!(store.items(&key).await.unwrap(), [item("li")]);
    assert_eq!(store.messages_of(&key, 0, 10).await.unwrap().len(), 2);
    assert_eq!(store.answer(org, "k", at(1)).await.unwrap(), Some(answer("k")));
}

#[test]
fn all_is_there_after_a_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    runtime().block_on(async {
        let store = open_file(&path).await;
        let org = furnish(&store).await;
        drop(store);
        assert!(!directory.path().join("daybook.db-wal").exists(), "the last one to close leaves no log");
        let store = open_file(&path).await;
        assert_furnished(&store, org).await;
        assert_eq!(store.publish_due(at(50), 10).await.unwrap(), 1);
        assert_eq!(log(&store, org).await.last().unwrap(), &(2, "e2".to_owned()));
        drop(store);
        // Migrations that have run do not run again.
        let store = open_file(&path).await;
        assert_furnished(&store, org).await;
        assert_eq!(organization(&store, "two").await, org + 1);
    });
}

/// A database of the version before organizations had marks: each gets its own.
#[test]
fn organizations_from_before_there_were_marks_get_different_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;")
        .unwrap();
    for (number, sql) in [
        include_str!("../migrations/sqlite/0001_tables.sql"),
        include_str!("../migrations/sqlite/0002_outbox.sql"),
        include_str!("../migrations/sqlite/0003_people.sql"),
        include_str!("../migrations/sqlite/0004_figures.sql"),
        include_str!("../migrations/sqlite/0005_sending_again.sql"),
    ]
    .iter()
    .enumerate()
    {
        connection.execute_batch(sql).unwrap();
        connection.execute("INSERT INTO migrations VALUES (?1, 'before')", [number as i64 + 1]).unwrap();
    }
    for name in ["one", "two", "three"] {
        let sql =
            "INSERT INTO organizations (name, environment, created_at, signing_key) VALUES (?1, 'TEST', 1, x'01')";
        connection.execute(sql, [name]).unwrap();
    }
    drop(connection);
    let marks = |path| async move {
        let organizations = open_file(path).await.organizations().await.unwrap();
        organizations.into_iter().map(|organization| organization.event_mark).collect::<Vec<_>>()
    };
    runtime().block_on(async {
        let first = marks(&path).await;
        assert!(first.iter().all(|mark| mark.len() == 10), "{first:?}");
        assert_eq!(first.iter().collect::<std::collections::HashSet<_>>().len(), 3, "{first:?}");
        assert_eq!(marks(&path).await, first, "they stay");
    });
}

/// A commit is in the files while the store is still open: a copy of them, as a crash would leave them, contains it.
#[test]
fn a_commit_is_in_the_files_when_it_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    runtime().block_on(async {
        let store = open_file(&path).await;
        let org = furnish(&store).await;
        let crashed = directory.path().join("crashed.db");
        std::fs::copy(&path, &crashed).unwrap();
        std::fs::copy(directory.path().join("daybook.db-wal"), directory.path().join("crashed.db-wal")).unwrap();
        let recovered = open_file(&crashed).await;
        assert_furnished(&recovered, org).await;
        assert_eq!(recovered.check().await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn the_file_is_in_wal_mode() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    runtime().block_on(async {
        let store = open_file(&path).await;
        let mode: String =
            Connection::open(&path).unwrap().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        drop(store);
    });
}

#[test]
fn a_database_of_a_newer_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    runtime().block_on(async {
        drop(open_file(&path).await);
        let connection = Connection::open(&path).unwrap();
        connection.execute("INSERT INTO migrations (number, name) VALUES (9999, 'to come')", []).unwrap();
        drop(connection);
        let refused = open(&format!("sqlite:{}", path.display())).await.unwrap_err();
        assert!(
            matches!(&refused, StoreError::Tables(why) if why.contains("9999") && why.contains("newer")),
            "{refused}"
        );
    });
}

#[test]
fn what_cannot_be_opened_is_unavailable_and_what_is_no_database_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let nowhere = directory.path().join("none").join("daybook.db");
        let error = open(&format!("sqlite:{}", nowhere.display())).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        let text = directory.path().join("notes.txt");
        std::fs::write(&text, "this is no database, whatever it is called. ".repeat(100)).unwrap();
        let error = open(&format!("sqlite:{}", text.display())).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    });
}

#[test]
fn a_locked_database_is_unavailable_and_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    runtime().block_on(async {
        let store = open_file(&path).await;
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = store.keep_setting("a", b"1").await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert_eq!(store.setting("a").await.unwrap(), None, "readers do not wait");
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(store.keep_setting("a", b"1").await.unwrap(), b"1");
    });
}

/// The file is checked after a commit too, not only after a read.
#[test]
fn a_commit_into_a_file_that_is_gone_is_not_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let (path, away) = (directory.path().join("daybook.db"), directory.path().join("away.db"));
    runtime().block_on(async {
        let store = open_file(&path).await;
        let org = organization(&store, "one").await;
        let key = account(&store, account_row(org, "a", "loan")).await;
        let commit = |version| store.commit(Batch { units: vec![account_unit(update(&key, version, now()))] });
        commit(1).await.unwrap();
        std::fs::rename(&path, &away).unwrap();
        // The write may have reached the moved file; the caller still gets an error.
        let refused = commit(2).await;
        assert!(
            matches!(&refused, Err(StoreError::Unavailable(why)) if why.contains("no longer exists")),
            "{refused:?}"
        );
        std::fs::rename(&away, &path).unwrap();
        let version = load(&store, &key, Inputs::None).await.unwrap().row.version;
        commit(version).await.unwrap();
    });
}

#[test]
fn two_databases_in_memory_are_two() {
    runtime().block_on(async {
        let (one, two) = (open("sqlite::memory:").await.unwrap(), open("sqlite::memory:").await.unwrap());
        one.keep_setting("a", b"1").await.unwrap();
        assert_eq!(one.setting("a").await.unwrap(), Some(b"1".to_vec()));
        assert_eq!(two.setting("a").await.unwrap(), None);
    });
}

#[test]
fn a_backup_is_taken_while_writing() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("daybook.db"), directory.path().join("copy.db"));
    runtime().block_on(async {
        let store = open_file(&path).await;
        let org = furnish(&store).await;
        let (started, wait_for_start) = tokio::sync::oneshot::channel();
        let writing = tokio::spawn({
            let store = Arc::clone(&store);
            async move {
                let mut started = Some(started);
                for n in 0..200 {
                    written(&store, vec![message_unit(vec![(org, message(None, 0, &format!("n{n}")))])]).await;
                    if let Some(started) = started.take() {
                        started.send(()).unwrap();
                    }
                }
            }
        });
        wait_for_start.await.unwrap();
        store.backup(&copy, &[]).await.unwrap();
        writing.await.unwrap();
        assert_eq!(log(&store, org).await.len(), 201);

        let copied = open_file(&copy).await;
        assert_eq!(copied.check().await.unwrap(), Vec::<String>::new());
        assert_furnished(&copied, org).await;
        // A state between two commits: positions without a gap, and the head is the last of them.
        let positions: Vec<i64> = log(&copied, org).await.into_iter().map(|(position, _)| position).collect();
        assert!(positions.len() >= 2);
        assert_eq!(positions, (1..=positions.len() as i64).collect::<Vec<_>>());
        written(&copied, vec![message_unit(vec![(org, message(None, 0, "next"))])]).await;
        assert_eq!(log(&copied, org).await.last().unwrap().0, positions.len() as i64 + 1);
    });
}

#[test]
fn a_database_in_memory_is_backed_up_too() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    runtime().block_on(async {
        let store = open("sqlite::memory:").await.unwrap();
        let org = furnish(&store).await;
        store.backup(&copy, &[]).await.unwrap();
        drop(store);
        assert_furnished(&open_file(&copy).await, org).await;
    });
}

/// Makes a database with messages, and overwrites pages that hold one of them. Opening does not read those.
async fn damaged(path: &Path) -> daybook_store::records::OrgId {
    let store = open_file(path).await;
    let org = organization(&store, "one").await;
    let all = (0..500).map(|n| (org, message(None, 0, &format!("e{n}")))).collect();
    written(&store, vec![message_unit(all)]).await;
    drop(store);
    let mut bytes = std::fs::read(path).unwrap();
    for page in bytes.chunks_mut(4096).filter(|page| page.windows(4).any(|text| text == b"e250")) {
        page.fill(0);
    }
    std::fs::write(path, bytes).unwrap();
    org
}

#[test]
fn damage_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    runtime().block_on(async {
        damaged(&path).await;
        let store = open_file(&path).await;
        assert_ne!(store.check().await.unwrap(), Vec::<String>::new());
    });
}

/// Damage that a read finds: from then on nothing is written, and the store is not ready.
#[test]
fn damage_ends_all_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("daybook.db");
    runtime().block_on(async {
        let org = damaged(&path).await;
        let store = open_file(&path).await;
        store.try_write().await.expect("the damage is not known yet");
        store.put_setting("a", b"1", None).await.unwrap();
        let error = store.messages(org, 0, 10_000).await.expect_err("it is damaged");
        assert!(matches!(error, StoreError::Damaged(_)), "{error}");
        for refused in [store.try_write().await, store.put_setting("a", b"2", None).await] {
            assert!(matches!(&refused, Err(StoreError::Damaged(why)) if why.contains("daybook.db")), "{refused:?}");
        }
        assert_eq!(store.setting("a").await.unwrap(), Some(b"1".to_vec()), "what can be read is still served");
    });
}

#[test]
fn it_says_what_it_is() {
    runtime().block_on(async {
        let store = open("sqlite::memory:").await.unwrap();
        assert!(store.describe().await.unwrap().starts_with("SQLite 3."));
        store.ping().await.unwrap();
        assert_eq!(store.writers(), 2);
    });
}

//! Databases with the tables of every earlier version, from the one before there were balances and words on: opened,
//! brought up to date, verified and served.
//!
//! The rows are those of [`daybook_testkit::old_database`], whose tables are of version 5. For earlier versions what versions
//! 4 and 5 added is taken out of them, for later ones the migrations up to that version are run.

use crate::support::{Home, Trial, json_of, list, on_both, whole};
use daybook_service::accounts::AccountQuery;
use daybook_store::Tables;
use daybook_testkit::old_database::OldDatabase;
use std::path::PathBuf;

on_both!(every_earlier_version_comes_out_right, no_table_is_changed_by_looking);

const NOW: &str = "2026-11-18T12:00:00Z";
/// The version of the tables that the old database has.
const MADE_AT: i64 = 5;
const LATEST: i64 = 12;

/// Takes out what version 5 added.
const BEFORE_5: &str = "
    DROP INDEX subscriptions_of_console;
    ALTER TABLE subscriptions DROP COLUMN from_console;
    DROP INDEX messages_about_no_account;
    DELETE FROM migrations WHERE number = 5;";
/// Takes out what version 4 added.
const BEFORE_4: &str = "
    DROP INDEX accounts_counted;
    DROP INDEX accounts_past_due;
    DROP INDEX line_items_by_day;
    ALTER TABLE accounts DROP COLUMN balance;
    DROP TABLE delivery_hours;
    DROP TABLE words;
    DELETE FROM migrations WHERE number = 4;";

/// The migrations of a dialect, with their numbers.
fn migrations(home: Home) -> Vec<(i64, String)> {
    let dialect = if home == Home::Sqlite { "sqlite" } else { "postgres" };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../store/migrations").join(dialect);
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let file = file.expect("a file");
        let name = file.file_name().into_string().expect("a name");
        (name[..4].parse().expect("a number"), std::fs::read_to_string(file.path()).expect("a text"))
    };
    let mut all: Vec<(i64, String)> = files.map(read).collect();
    all.sort();
    all
}

/// The old database with the tables of a version.
fn of_version(home: Home, folder: &std::path::Path, version: i64) -> OldDatabase {
    let database = match home {
        Home::Sqlite => OldDatabase::sqlite(folder),
        Home::Postgres => OldDatabase::postgres(folder),
    };
    if version < 5 {
        database.run(BEFORE_5);
    }
    if version < 4 {
        database.run(BEFORE_4);
    }
    for (number, sql) in migrations(home).into_iter().filter(|(number, _)| (MADE_AT + 1..=version).contains(number)) {
        database.run(&sql);
        database.run(&match home {
            Home::Sqlite => format!("INSERT INTO migrations (number, name) VALUES ({number}, 'earlier')"),
            Home::Postgres => format!("INSERT INTO migrations VALUES ({number})"),
        });
    }
    assert_eq!(database.number("SELECT max(number) FROM migrations"), version);
    database
}

async fn every_earlier_version_comes_out_right(home: Home) {
    let mut first: Option<(i64, i64)> = None;
    for version in 3..LATEST - 1 {
        let folder = tempfile::tempdir().expect("a folder");
        let database = of_version(home, folder.path(), version);
        let trial = Trial::over(&database.address, NOW).await;
        let done = trial.service.refold(&mut |_| {}).await.expect("accounts are folded again");
        assert_eq!((done.accounts, done.failed), (49, 0), "version {version}");
        let filled = trial.service.fill_in_words().await.expect("words are written");
        assert_eq!(filled > 0, version < 4, "version {version}: words are written where there were none");
        assert_eq!(trial.service.fill_in_words().await.expect("words are there"), 0, "once");
        assert_eq!(trial.differences().await, Vec::<String>::new(), "version {version}");
        let sum = |sql: &str| database.number(sql);
        let figures = (sum("SELECT CAST(sum(balance) AS BIGINT) FROM accounts"), sum("SELECT count(*) FROM words"));
        assert!(figures.0 > 0 && figures.1 > 0, "version {version}: {figures:?}");
        assert_eq!(*first.get_or_insert(figures), figures, "version {version}: as every other version");
        let all = list(json_of(trial.service.list_accounts(&trial.who, whole(), AccountQuery::default()).await));
        assert!(all.len() > 20, "version {version}: it is served");
    }
}

async fn no_table_is_changed_by_looking(home: Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = of_version(home, folder.path(), 3);
    let refused = daybook_store::open_as(&database.address, Tables::MustBeCurrent).await.expect_err("it is older");
    let sentence = refused.to_string();
    assert!(sentence.contains("version 3") && sentence.contains("daybook migrate"), "{sentence}");
    let store = daybook_store::open_as(&database.address, Tables::AsTheyAre).await.expect("it opens");
    let standing = store.tables().await.expect("its version can be read");
    assert!(!standing.is_current());
    assert!(standing.to_string().contains("version 3"), "{standing}");
    drop(store);
    assert_eq!(database.number("SELECT max(number) FROM migrations"), 3, "nothing was migrated");

    let store = daybook_store::open(&database.address).await.expect("it is brought up to date");
    assert_eq!(store.migrated().first(), Some(&4));
    assert!(store.tables().await.expect("its version can be read").is_current());
    drop(store);
    let store = daybook_store::open_as(&database.address, Tables::MustBeCurrent).await.expect("it is up to date");
    assert_eq!(store.migrated(), Vec::<i64>::new());
    drop(store);

    database.run(&match home {
        Home::Sqlite => "INSERT INTO migrations (number, name) VALUES (999, 'later')".to_owned(),
        Home::Postgres => "INSERT INTO migrations VALUES (999)".to_owned(),
    });
    for tables in [Tables::MustBeCurrent, Tables::BringUpToDate] {
        let refused = daybook_store::open_as(&database.address, tables).await.expect_err("it is newer").to_string();
        assert!(refused.contains("999") && refused.contains("newer"), "{refused}");
    }
}

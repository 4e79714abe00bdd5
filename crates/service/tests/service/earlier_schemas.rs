//! Databases with the tables of every earlier version: opened, migrated, verified and used.
//!
//! [`daybook_testkit::old_database`] keeps those of every version that was ever in use. Versions in between, which
//! existed only during development, are made from the previous kept one by running migrations. The list of versions is
//! read from the folder of migrations: a new migration makes the last version an earlier one.

use crate::support::{Home, Trial, json_of, list, on_both, view_of, whole};
use daybook_service::accounts::AccountQuery;
use daybook_store::outbox::{Outgoing, SubscriptionFilter};
use daybook_store::records::{AccountKey, MessageRow};
use daybook_store::{Store, Tables};
use daybook_testkit::old_database::{KEPT, OldDatabase};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

on_both!(
    every_earlier_version_comes_out_right,
    messages_of_earlier_builds_are_compressed_unchanged,
    messages_are_read_while_their_rows_are_turned_over,
    a_wrong_list_of_events_holds_nothing_up,
    no_table_is_changed_by_looking,
    every_migration_is_in_both_dialects,
);

/// After all of them were made.
const NOW: &str = "2026-11-20T12:00:00Z";

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

/// Every version of the tables before the current one.
fn earlier_versions(home: Home) -> Vec<i64> {
    let mut all: Vec<i64> = migrations(home).into_iter().map(|(number, _)| number).collect();
    all.pop();
    all
}

/// The version of the kept database that a version's tables are made from.
fn made_of(version: i64) -> i64 {
    let kept = KEPT.iter().map(|(kept, _)| *kept);
    kept.filter(|kept| *kept <= version).max().expect("the first version is kept")
}

/// A database with the tables of a version.
fn of_version(home: Home, folder: &std::path::Path, version: i64) -> OldDatabase {
    let kept = made_of(version);
    let database = match home {
        Home::Sqlite => OldDatabase::sqlite_of(kept, folder),
        Home::Postgres => OldDatabase::postgres_of(kept, folder),
    };
    assert_eq!(database.number("SELECT max(number) FROM migrations"), kept, "it is what its build left");
    for (number, sql) in migrations(home).into_iter().filter(|(number, _)| (kept + 1..=version).contains(number)) {
        database.run(&sql);
        database.note_migration(number);
    }
    assert_eq!(database.number("SELECT max(number) FROM migrations"), version);
    database
}

/// Counts in a database before it is opened: accounts, and processed accounts.
fn before(database: &OldDatabase) -> (i64, i64) {
    let processed = "SELECT count(*) FROM accounts WHERE processed_through IS NOT NULL";
    (database.number("SELECT count(*) FROM accounts"), database.number(processed))
}

async fn every_migration_is_in_both_dialects(home: Home) {
    let numbers = |home| migrations(home).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
    assert_eq!(numbers(Home::Sqlite), numbers(Home::Postgres));
    let store = daybook_store::open(&home.empty()).await.expect("a new database opens");
    assert_eq!(store.migrated(), numbers(home), "the folder has what the program runs");
}

async fn every_earlier_version_comes_out_right(home: Home) {
    // Balances and search words of the first version made from each kept one; the others must give the same.
    let mut first: std::collections::BTreeMap<i64, (i64, i64)> = std::collections::BTreeMap::new();
    for version in earlier_versions(home) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = of_version(home, folder.path(), version);
        let (accounts, processed) = before(&database);
        assert!(accounts > 20 && processed > 20, "version {version}: {accounts} accounts, {processed} processed");
        let trial = Trial::over(&database.address, NOW).await;
        let waiting = trial.service.accounts_to_refold().await.expect("it can be asked");
        assert!(waiting > 0, "version {version}: rules 3 came with version 18");
        let done = trial.service.refold(&mut |_| {}).await.expect("accounts are folded again");
        assert_eq!((done.accounts as i64, done.failed), (waiting, 0), "version {version}");
        let filled = trial.service.fill_in_words().await.expect("words are written");
        assert_eq!(filled > 0, made_of(version) < 4, "version {version}: words are written where there were none");
        assert_eq!(trial.service.fill_in_words().await.expect("words are there"), 0, "once");
        let zones = trial.service.adopt_zone_data().await.expect("time-zone data are kept");
        assert_eq!((zones.zones.len(), zones.accounts), (0, 0), "version {version}: nothing moves");
        assert_eq!(trial.differences().await, Vec::<String>::new(), "version {version}");
        let sum = |sql: &str| database.number(sql);
        let figures = (sum("SELECT CAST(sum(balance) AS BIGINT) FROM accounts"), sum("SELECT count(*) FROM words"));
        assert!(figures.0 > 0 && figures.1 > 0, "version {version}: {figures:?}");
        assert_eq!(*first.entry(made_of(version)).or_insert(figures), figures, "version {version}: as its neighbours");
        work_with(&trial, version).await;
    }
}

/// What is read of the messages of a database: those in the logs, those of an account with waiting ones, and what a
/// subscription to each event would get.
async fn all_messages(store: &Arc<dyn Store>) -> (Vec<MessageRow>, Vec<Outgoing>) {
    let (mut all, mut fed) = (Vec::new(), Vec::new());
    for organization in store.organizations().await.expect("organizations are read") {
        let org = organization.org;
        let log = store.messages(org, 0, usize::MAX >> 1).await.expect("messages are read");
        let events: BTreeSet<String> = log.iter().map(|message| message.event.clone()).collect();
        all.extend(log);
        let rolled = AccountKey { org, account: "rolled".into() };
        all.extend(store.messages_of(&rolled, 0, 1_000).await.expect("messages are read"));
        for filter in events.into_iter().map(|event| [event]) {
            let reader = SubscriptionFilter { org, filter: Some(&filter), uuid: "none", missed: true };
            fed.extend(store.feed(reader, 0, 1 << 39, 10_000).await.expect("messages are fed"));
        }
        let checked = store.check_message_rows(org, 0, 10_000).await.expect("rows are checked");
        assert_eq!((checked.off, checked.through), (vec![], None));
    }
    (all, fed)
}

async fn messages_of_earlier_builds_are_compressed_unchanged(home: Home) {
    for version in [15, 16] {
        compressed_unchanged(home, version).await;
    }
}

/// Whatever has been compressed when the program stops: the bytes, signatures and ids that are read stay the same.
async fn compressed_unchanged(home: Home, version: i64) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = of_version(home, folder.path(), version);
    let (plain, held) = match home {
        Home::Sqlite => ("substr(content, 1, 1) = x'7b'", "substr(content, 1, 1) = x'02'"),
        Home::Postgres => ("substr(content, 1, 1) = '\\x7b'", "substr(content, 1, 1) = '\\x02'"),
    };
    let count = |table: &str, which: &str| database.number(&format!("SELECT count(*) FROM {table} WHERE {which}"));
    let bytes = || database.number("SELECT CAST(sum(length(content)) AS BIGINT) FROM message_groups");
    let earlier = || count("message_groups", plain) + count("message_groups", held);
    let mut store = daybook_store::open(&database.address).await.expect("it is migrated");
    let before = all_messages(&store).await;
    let (rows, messages, bytes_before) = (count("message_groups", "true"), earlier(), bytes());
    assert!(messages > 200, "version {version}: {messages} messages in rows of an earlier form");
    assert_eq!(count("message_groups", held) > 200, version == 16, "version {version}");
    assert_eq!(count("waiting_messages", plain) > 0, version < 16, "version {version}");
    assert!(before.0.iter().any(|message| message.due_at.is_some()), "waiting ones are among those that are compared");
    let mut left = store.earlier_messages_left().await.expect("it is counted").expect("there are some");
    let mut steps = 0;
    let mut compressed = 0;
    while let Some(some) = store.compress_earlier_messages(37).await.expect("it is compressed") {
        compressed += some as i64;
        steps += 1;
        assert!(all_messages(&store).await == before, "version {version}: after step {steps}");
        let now = store.earlier_messages_left().await.expect("it is counted").unwrap_or(0);
        assert!(now < left || now == 0, "step {steps}: {now} of {left} are left");
        left = now;
        if steps % 3 == 0 {
            drop(store);
            store = daybook_store::open(&database.address).await.expect("it opens again");
        }
    }
    assert!(steps as i64 >= messages / 60 && compressed >= messages, "{steps} steps, {compressed} of {messages}");
    assert_eq!(store.earlier_messages_left().await.expect("it is counted"), None);
    assert!(all_messages(&store).await == before);
    drop(store);
    assert_eq!((earlier(), count("waiting_messages", plain)), (0, 0), "version {version}");
    let (rows_after, several) = (count("message_groups", "true"), count("message_groups", "size > 1"));
    assert!(
        rows_after * 2 < rows && several > 20,
        "version {version}: {rows_after} of {rows} rows, {several} of several"
    );
    assert!(version == 16 || bytes() * 5 < bytes_before, "{} of {bytes_before} bytes", bytes());
    let trial = Trial::over(&database.address, NOW).await;
    trial.service.refold(&mut |_| {}).await.expect("accounts are folded again");
    assert_eq!(trial.differences().await, Vec::<String>::new());
}

/// Another node turns the rows over, between any two statements of a reader.
async fn messages_are_read_while_their_rows_are_turned_over(home: Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = of_version(home, folder.path(), 16);
    let store = daybook_store::open(&database.address).await.expect("it is migrated");
    let other = match home {
        Home::Sqlite => store.clone(),
        Home::Postgres => daybook_store::open(&database.address).await.expect("another node"),
    };
    let before = all_messages(&store).await;
    let turning = tokio::spawn(async move {
        let mut turned = 0;
        while let Some(some) = other.compress_earlier_messages(5).await.expect("rows are turned over") {
            turned += some;
        }
        turned
    });
    let mut rounds = 0;
    while !turning.is_finished() || rounds == 0 {
        let mut read = Vec::new();
        for organization in store.organizations().await.expect("organizations are read") {
            let mut after = 0;
            loop {
                let page = store.messages(organization.org, after, 2).await.expect("messages are read");
                let Some(last) = page.last().and_then(|message| message.position) else { break };
                after = last;
                read.extend(page);
            }
        }
        let expected = before.0.iter().filter(|message| message.position.is_some());
        let expected: BTreeMap<&str, &MessageRow> = expected.map(|message| (&*message.event_id, message)).collect();
        assert_eq!(read.len(), expected.len(), "round {rounds}");
        for message in &read {
            assert_eq!(Some(&message), expected.get(&*message.event_id), "round {rounds}");
        }
        rounds += 1;
    }
    assert!(turning.await.expect("it ends") > 200, "after {rounds} rounds");
    assert!(all_messages(&store).await == before);
}

/// Lists of events at positions where rows of several messages are about to be written.
async fn a_wrong_list_of_events_holds_nothing_up(home: Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = of_version(home, folder.path(), 16);
    let store = daybook_store::open(&database.address).await.expect("it is migrated");
    let before = all_messages(&store).await;
    let columns = if home == Home::Sqlite { "place" } else { "org, position" };
    database.run(&format!(
        "INSERT INTO message_events ({columns}, mask, event) SELECT {columns}, 1, 'line_item_create' FROM message_groups"
    ));
    while store.compress_earlier_messages(37).await.expect("it is compressed").is_some() {}
    assert_eq!(store.earlier_messages_left().await.expect("it is counted"), None);
    drop(store);
    let trial = Trial::over(&database.address, NOW).await;
    trial.service.refold(&mut |_| {}).await.expect("accounts are folded again");
    trial.service.fix(&mut |_| {}).await.expect("the lists are put right");
    assert_eq!(trial.differences().await, Vec::<String>::new());
    assert!(all_messages(&trial.store).await == before);
}

/// Reads accounts as callers do, records a payment, rolls an account and advances the clock.
async fn work_with(trial: &Trial, version: i64) {
    let all = list(view_of(trial.service.list_accounts(&trial.who, whole(), AccountQuery::default()).await));
    assert!(all.len() > 20, "version {version}: it is served");
    let owed = |account: &serde_json::Value| account["summary"]["principal_cents"].as_i64().expect("a balance");
    let before = trial.read("on-time").await;
    assert!(owed(&before) > 0 && !trial.events("on-time").await.is_empty(), "version {version}");
    json_of(trial.pay("on-time", "after-the-upgrade", 10_662, NOW).await);
    let after = trial.read("on-time").await;
    assert!(owed(&after) < owed(&before), "version {version}: the payment counts");
    json_of(trial.roll("on-time", "2027-01-20T12:00:00Z", false).await);
    trial.go_to("2026-12-30T12:00:00Z").await;
    assert_eq!(trial.differences().await, Vec::<String>::new(), "version {version}, after work");
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

    database.note_migration(999);
    for tables in [Tables::MustBeCurrent, Tables::BringUpToDate] {
        let refused = daybook_store::open_as(&database.address, tables).await.expect_err("it is newer").to_string();
        assert!(refused.contains("999") && refused.contains("newer"), "{refused}");
    }
}

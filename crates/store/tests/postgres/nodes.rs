//! Several nodes on one database.

use crate::block_on;
use crate::contract::fixtures::{
    account, account_key, account_row, account_unit, at, commit, insert, load, log, message, now, organization,
    product, product_key, product_row, product_unit, update, written,
};
use daybook_store::batch::{Batch, Claimed, ProductWrite, Unit};
use daybook_store::error::StoreError;
use daybook_store::records::{AccountKey, AccountNow, AccountRow, Mode, OrgId};
use daybook_store::upkeep::{Correction, MessageFacts};
use daybook_store::{Inputs, Store};
use daybook_testkit::postgres::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// This many nodes on a fresh database, and an organization with a product.
async fn nodes(count: usize) -> (Vec<Arc<dyn Store>>, OrgId) {
    let address = Server::shared().migrated_database();
    let mut nodes = Vec::new();
    for _ in 0..count {
        nodes.push(daybook_store::open(&address).await.unwrap());
    }
    let org = organization(&nodes[0], "one").await;
    product(&nodes[0], product_row(org, "auto")).await;
    (nodes, org)
}

fn due_row(org: OrgId, account: &str, due_s: i64) -> AccountRow {
    AccountRow { now: AccountNow { next_moment: Some(at(due_s)), ..now() }, ..account_row(org, account, "auto") }
}

async fn due_accounts(store: &Arc<dyn Store>, org: OrgId, count: i64) {
    let units = (0..count).map(|n| account_unit(insert(due_row(org, &format!("a{n:04}"), n)))).collect();
    written(store, units).await;
}

#[test]
fn two_nodes_never_take_the_same_account() {
    block_on(async {
        let (nodes, org) = nodes(2).await;
        due_accounts(&nodes[0], org, 300).await;
        let take_all = |store: Arc<dyn Store>| async move {
            let mut taken: Vec<AccountKey> = Vec::new();
            loop {
                let more = store.take_due(at(1_000), 7, at(2_000)).await.unwrap();
                if more.is_empty() {
                    return taken;
                }
                taken.extend(more.into_iter().map(|due| due.key));
            }
        };
        let workers: Vec<_> = nodes.iter().chain(&nodes).map(|node| tokio::spawn(take_all(Arc::clone(node)))).collect();
        let mut taken = Vec::new();
        for worker in workers {
            taken.extend(worker.await.unwrap());
        }
        // A worker stops while the others hold the last rows: the next request finds what it missed.
        taken.extend(take_all(Arc::clone(&nodes[0])).await);
        let distinct: BTreeSet<&AccountKey> = taken.iter().collect();
        assert_eq!((taken.len(), distinct.len()), (300, 300));
    });
}

#[test]
fn a_lease_ends_by_time_or_by_commit() {
    block_on(async {
        let (nodes, org) = nodes(2).await;
        account(&nodes[0], due_row(org, "dies", 5)).await;
        account(&nodes[0], due_row(org, "works", 6)).await;
        assert_eq!(nodes[0].take_due(at(10), 10, at(60)).await.unwrap().len(), 2);
        assert_eq!(nodes[1].take_due(at(59), 10, at(90)).await.unwrap(), []);

        let again = AccountNow { next_moment: Some(at(20)), ..now() };
        written(&nodes[0], vec![account_unit(update(&account_key(org, "works"), 1, again))]).await;
        let taken =
            |due: Vec<daybook_store::DueAccount>| due.into_iter().map(|due| due.key.account).collect::<Vec<_>>();
        assert_eq!(taken(nodes[1].take_due(at(59), 10, at(90)).await.unwrap()), ["works".into()]);
        assert_eq!(taken(nodes[1].take_due(at(60), 10, at(90)).await.unwrap()), ["dies".into()]);
    });
}

/// Batches of the same accounts, each node in another order: no deadlock, and each version has one winner.
#[test]
fn racing_batches_have_one_winner_an_account() {
    const ROUNDS: i64 = 30;
    block_on(async {
        let (nodes, org) = nodes(3).await;
        let keys: Vec<AccountKey> = (0..20).map(|n| account_key(org, &format!("a{n:02}"))).collect();
        written(
            &nodes[0],
            keys.iter().map(|key| account_unit(insert(account_row(org, &key.account, "auto")))).collect(),
        )
        .await;
        let mut wins: BTreeMap<(AccountKey, i64), usize> = BTreeMap::new();
        for version in 1..=ROUNDS {
            let mut racers = Vec::new();
            for (n, node) in nodes.iter().enumerate() {
                let (node, mut keys) = (Arc::clone(node), keys.clone());
                keys.rotate_left(n * 7);
                if n % 2 == 1 {
                    keys.reverse();
                }
                racers.push(tokio::spawn(async move {
                    let unit = |key: &AccountKey| Unit {
                        messages: vec![(
                            org,
                            message(Some(&key.account), version, &format!("{}:{version}", key.account)),
                        )],
                        ..account_unit(update(key, version, now()))
                    };
                    let claimed = commit(&node, keys.iter().map(unit).collect()).await;
                    let won = keys.into_iter().zip(claimed).filter(|(_, claimed)| *claimed == Claimed::Written);
                    won.map(|(key, _)| key).collect::<Vec<_>>()
                }));
            }
            for racer in racers {
                for key in racer.await.unwrap() {
                    *wins.entry((key, version)).or_default() += 1;
                }
            }
        }
        assert_eq!(wins.len(), keys.len() * ROUNDS as usize);
        assert!(wins.values().all(|wins| *wins == 1), "{wins:?}");
        let log = log(&nodes[0], org).await;
        assert_eq!(log.iter().map(|(position, _)| *position).collect::<Vec<_>>(), (1..=600).collect::<Vec<_>>());
        assert_eq!(nodes[0].check().await.unwrap(), [""; 0]);
    });
}

/// Commits that lock the mode follow each other without a gap; the change of the mode still gets its turn.
#[test]
fn a_change_of_mode_is_not_starved_by_commits() {
    block_on(async {
        let (nodes, org) = nodes(2).await;
        let auto = product_key(org, "auto");
        let changed = Arc::new(AtomicBool::new(false));
        let mut workers = Vec::new();
        for worker in 0..6 {
            let (node, auto, changed) = (Arc::clone(&nodes[worker % 2]), auto.clone(), Arc::clone(&changed));
            let key = account(&node, account_row(org, &format!("a{worker}"), "auto")).await;
            workers.push(tokio::spawn(async move {
                let mut version = 1;
                loop {
                    let unit = Unit { modes: vec![(auto.clone(), 1)], ..account_unit(update(&key, version, now())) };
                    let was_changed = changed.load(Ordering::SeqCst);
                    match commit(&node, vec![unit]).await[..] {
                        [Claimed::Written] => assert!(!was_changed, "written under a mode that is no more"),
                        _ => return version,
                    }
                    version += 1;
                }
            }));
        }
        let mode = Mode { version: 2, holding: true, ..Mode::default() };
        written(&nodes[0], vec![product_unit(ProductWrite::Mode(auto.clone(), mode))]).await;
        changed.store(true, Ordering::SeqCst);
        for worker in workers {
            worker.await.unwrap();
        }
        assert!(nodes[1].product(&auto).await.unwrap().unwrap().mode.holding);
    });
}

/// Messages of an account enter the log in one order, whichever node moves them.
#[test]
fn waiting_messages_are_published_once_and_in_order() {
    block_on(async {
        let (nodes, org) = nodes(3).await;
        let key = account(&nodes[0], account_row(org, "a", "auto")).await;
        for round in 0..10 {
            let first = round * 10 + 1;
            let due = |n: i64| daybook_store::records::MessageRow {
                due_at: Some(at(n)),
                ..message(Some("a"), n, &format!("{n}"))
            };
            let unit = Unit { messages: (first..first + 10).map(|n| (org, due(n))).collect(), ..Unit::default() };
            written(&nodes[0], vec![unit]).await;
            let publishers = nodes.iter().map(|node| {
                let node = Arc::clone(node);
                tokio::spawn(async move { node.publish_due(at(first + 20), 3).await.unwrap() })
            });
            let publishers: Vec<_> = publishers.collect();
            let mut publishing = update(&key, round + 1, now());
            publishing.publish_until = Some(at(first + 20));
            written(&nodes[1], vec![account_unit(publishing)]).await;
            for publisher in publishers {
                publisher.await.unwrap();
            }
        }
        let expected: Vec<(i64, String)> = (1..=100).map(|n| (n, n.to_string())).collect();
        assert_eq!(log(&nodes[0], org).await, expected);
    });
}

#[test]
fn nodes_that_start_at_once_make_the_tables_once() {
    block_on(async {
        let address = Server::shared().database();
        let starting = (0..4).map(|_| {
            let address = address.clone();
            tokio::spawn(async move { daybook_store::open(&address).await.unwrap() })
        });
        let mut nodes = Vec::new();
        for node in starting.collect::<Vec<_>>() {
            nodes.push(node.await.unwrap());
        }
        let org = organization(&nodes[0], "one").await;
        let key = account(&nodes[1], account_row(org, "a", "auto")).await;
        assert!(load(&nodes[3], &key, Inputs::All).await.is_some());
        assert_eq!(nodes[2].check().await.unwrap(), [""; 0]);
    });
}

/// A database of the version before organizations had marks: each gets its own, and so does one that a node of that
/// version adds afterwards.
#[test]
fn organizations_from_before_there_were_marks_get_different_ones() {
    block_on(async {
        let address = Server::shared().database();
        run_sql(&address, "CREATE TABLE migrations (number bigint PRIMARY KEY)").await;
        for (number, sql) in [
            include_str!("../../migrations/postgres/0001_tables.sql"),
            include_str!("../../migrations/postgres/0002_outbox.sql"),
            include_str!("../../migrations/postgres/0003_people.sql"),
            include_str!("../../migrations/postgres/0004_figures.sql"),
            include_str!("../../migrations/postgres/0005_sending_again.sql"),
        ]
        .iter()
        .enumerate()
        {
            run_sql(&address, sql).await;
            run_sql(&address, &format!("INSERT INTO migrations VALUES ({})", number + 1)).await;
        }
        let add = async |name: &str| {
            let values = format!("('{name}', 'TEST', 1, '\\x01')");
            let columns = "(name, environment, created_at, signing_key)";
            run_sql(&address, &format!("INSERT INTO organizations {columns} VALUES {values}")).await;
        };
        add("one").await;
        add("two").await;
        let store = daybook_store::open(&address).await.unwrap();
        add("three").await;
        let organizations = store.organizations().await.unwrap();
        let marks: Vec<&str> = organizations.iter().map(|organization| organization.event_mark.as_str()).collect();
        assert!(marks.iter().all(|mark| mark.len() == 10), "{marks:?}");
        assert_eq!(marks.iter().collect::<std::collections::HashSet<_>>().len(), 3, "{marks:?}");
    });
}

#[test]
fn a_newer_database_is_refused() {
    block_on(async {
        let address = Server::shared().database();
        drop(daybook_store::open(&address).await.unwrap());
        run_sql(&address, "INSERT INTO migrations SELECT max(number) + 1 FROM migrations").await;
        match daybook_store::open(&address).await {
            Err(StoreError::Tables(why)) => assert!(why.contains("newer"), "{why}"),
            other => panic!("{other:?}"),
        }
    });
}

/// How many connections wait for a lock on the list of migrations.
const WAITING_FOR_MIGRATIONS: &str =
    "SELECT count(*) FROM pg_locks WHERE relation = 'migrations'::regclass AND NOT granted";

async fn connected(address: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// How many connections to the database wait for a lock.
const WAITING: &str =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// Waits until another connection waits for a lock on the list of migrations, or `work` has ended without waiting.
async fn until_waiting<T>(address: &str, work: &tokio::task::JoinHandle<T>) {
    until(address, WAITING_FOR_MIGRATIONS, work).await;
}

async fn until<T>(address: &str, count: &str, work: &tokio::task::JoinHandle<T>) {
    let looking = connected(address).await;
    while !work.is_finished() && looking.query_one(count, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[test]
fn a_commit_waits_for_a_migration_and_writes_nothing_into_newer_tables() {
    block_on(async {
        let address = Server::shared().migrated_database();
        let store = daybook_store::open(&address).await.unwrap();
        let org = organization(&store, "one").await;
        let migration = connected(&address).await;
        migration.batch_execute("BEGIN; LOCK TABLE migrations IN ACCESS EXCLUSIVE MODE").await.unwrap();
        migration.batch_execute("INSERT INTO migrations SELECT max(number) + 1 FROM migrations").await.unwrap();
        let messages = vec![(org, message(None, 0, "1"))];
        let work = tokio::spawn(async move {
            store.commit(Batch { units: vec![Unit { messages, ..Unit::default() }] }).await.map(|_| ())
        });
        until_waiting(&address, &work).await;
        migration.batch_execute("COMMIT").await.unwrap();
        match work.await.unwrap() {
            Err(StoreError::Tables(why)) => assert!(why.contains("newer"), "{why}"),
            other => panic!("{other:?}"),
        }
        let rows = migration.query_one("SELECT count(*) FROM message_groups", &[]).await.unwrap();
        assert_eq!(rows.get::<_, i64>(0), 0);
    });
}

#[test]
fn a_migration_waits_for_commits_in_progress() {
    block_on(async {
        let address = Server::shared().database();
        drop(daybook_store::open(&address).await.unwrap());
        run_sql(&address, "DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)").await;
        let commit = connected(&address).await;
        commit.batch_execute("BEGIN; SELECT max(number) FROM migrations").await.unwrap();
        let migrating = tokio::spawn({
            let address = address.clone();
            async move { daybook_store::open(&address).await.map(|_| ()) }
        });
        until_waiting(&address, &migrating).await;
        assert!(!migrating.is_finished(), "it did not wait");
        commit.batch_execute("COMMIT").await.unwrap();
        // What the last migration makes exists already, so it may fail; it ends in any case.
        migrating.await.unwrap().ok();
    });
}

#[test]
fn a_damaged_log_is_found() {
    block_on(async {
        let address = Server::shared().migrated_database();
        let store = daybook_store::open(&address).await.unwrap();
        let org = organization(&store, "one").await;
        let messages = (1..=3).map(|n| (org, message(None, 0, &n.to_string()))).collect();
        store.commit(Batch { units: vec![Unit { messages, ..Unit::default() }] }).await.unwrap();
        assert_eq!(store.check().await.unwrap(), [""; 0]);
        run_sql(&address, "DELETE FROM message_groups WHERE position = 2").await;
        let found = store.check().await.unwrap();
        assert!(found.len() == 1 && found[0].contains("2 messages, but ends at position 3"), "{found:?}");
    });
}

/// Three rows of an account are replaced by one row of three messages, as by a node that turns rows over, while another
/// node waits for one of them.
#[test]
fn what_waits_for_a_row_finds_the_one_that_took_its_place() {
    block_on(async {
        for corrects_message in [true, false] {
            let address = Server::shared().migrated_database();
            let store = daybook_store::open(&address).await.unwrap();
            let org = organization(&store, "one").await;
            let of = |account: &'static str| (1..=3).map(move |n| (org, message(Some(account), n, &format!("e{n}"))));
            for one in of("a") {
                written(&store, vec![Unit { messages: vec![one], ..Unit::default() }]).await;
            }
            written(&store, vec![Unit { messages: of("b").collect(), ..Unit::default() }]).await;
            let turning = connected(&address).await;
            let replace = "BEGIN;
                           DELETE FROM message_groups WHERE account = 'a';
                           UPDATE message_groups SET account = 'a', position = 3 WHERE account = 'b';
                           UPDATE message_events SET position = 3";
            turning.batch_execute(replace).await.unwrap();
            let key = account_key(org, "a");
            let facts = MessageFacts {
                sequence: 3,
                event: "payment.posted".into(),
                event_id: "e3".into(),
                cause: "period:1".into(),
                subject: "li_1".into(),
                effective_at: at(600),
                recorded_at: at(601),
                waits: None,
            };
            let work = tokio::spawn({
                let (store, key) = (Arc::clone(&store), key.clone());
                async move {
                    match corrects_message {
                        true => store.correct(&[Correction::Message(key, Box::new(facts))]).await,
                        false => store.correct_message_rows(org, &[3]).await,
                    }
                }
            });
            until(&address, WAITING, &work).await;
            assert!(!work.is_finished(), "it did not wait");
            turning.batch_execute("COMMIT").await.unwrap();
            work.await.unwrap().unwrap();
            let read = store.messages_of(&key, 0, 10).await.unwrap();
            let read: Vec<_> = read.iter().map(|one| (&*one.event_id, &*one.subject, &*one.cause)).collect();
            let third = if corrects_message { "period:1" } else { "input:12" };
            assert_eq!(read, [("e1", "li_1", "input:12"), ("e2", "li_1", "input:12"), ("e3", "li_1", third)]);
            assert_eq!(store.check_message_rows(org, 0, 100).await.unwrap().off, []);
        }
    });
}

/// The planner knows the sizes of tables that have just grown.
#[test]
fn tables_that_grow_are_analyzed() {
    block_on(async {
        let address = Server::shared().migrated_database();
        let store = daybook_store::open(&address).await.unwrap();
        let org = organization(&store, "one").await;
        let looking = connected(&address).await;
        let analyzed = "SELECT count(*) FROM pg_class WHERE reltuples >= 0 AND relname IN
                            ('accounts', 'message_groups', 'message_events', 'waiting_messages')";
        due_accounts(&store, org, 70).await;
        for _ in 0..400 {
            if looking.query_one(analyzed, &[]).await.unwrap().get::<_, i64>(0) == 4 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the tables are not analyzed");
    });
}

async fn run_sql(address: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
}

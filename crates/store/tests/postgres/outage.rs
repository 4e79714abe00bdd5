//! A server that goes away, and one that never existed.

use crate::block_on;
use crate::contract::fixtures::{account, account_row, account_unit, at, load, now, organization, update, written};
use daybook_store::batch::Batch;
use daybook_store::error::StoreError;
use daybook_store::{Inputs, Result, Store};
use daybook_testkit::postgres::Server;
use std::sync::Arc;

fn assert_away<T: std::fmt::Debug>(result: Result<T>) {
    assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
}

#[test]
fn a_server_that_crashes_is_away_and_comes_back_with_all_that_was_written() {
    let server = Server::start_durable();
    let address = server.database();
    block_on(async {
        let store = daybook_store::open(&address).await.unwrap();
        let org = organization(&store, "one").await;
        let key = account(&store, account_row(org, "a", "auto")).await;
        for version in 1..=3 {
            written(&store, vec![account_unit(update(&key, version, now()))]).await;
            server.stop_immediate();
            // Connections in the pool are dead, and new ones are refused.
            for _ in 0..3 {
                assert_away(store.ping().await);
            }
            assert_away(store.organizations().await);
            assert_away(store.take_due(at(1), 10, at(2)).await);
            let unit = account_unit(update(&key, version + 1, now()));
            assert_away(store.commit(Batch { units: vec![unit] }).await);
            assert_away(daybook_store::open(&address).await);
            server.start_again();
            store.ping().await.unwrap();
            assert_eq!(load(&store, &key, Inputs::None).await.unwrap().row.version, version + 1);
        }
    });
}

/// A role that may no longer log in, or whose password has changed: an operator corrects it while the program runs. At
/// the start it is an error.
#[test]
fn a_rejected_role_is_away_while_running_and_refused_at_the_start() {
    let server = Server::start_durable();
    let address = server.database();
    let (host, rest) = address.split_once("://").unwrap();
    let as_role = format!("{host}://shortlived@{}", rest.split_once('@').unwrap().1);
    block_on(async {
        let (admin, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        admin.batch_execute("CREATE ROLE shortlived SUPERUSER LOGIN").await.unwrap();
        let store = daybook_store::open(&as_role).await.unwrap();
        admin.batch_execute("ALTER ROLE shortlived NOLOGIN").await.unwrap();
        admin
            .batch_execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shortlived'")
            .await
            .unwrap();
        for _ in 0..3 {
            assert_away(store.ping().await);
        }
        let refused = daybook_store::open(&as_role).await;
        assert!(matches!(&refused, Err(StoreError::Broken(why)) if why.contains("28000")), "{refused:?}");
        admin.batch_execute("ALTER ROLE shortlived LOGIN").await.unwrap();
        store.ping().await.unwrap();
    });
}

/// The server crashes during commits: each either took effect completely or not at all, and none is rejected as
/// invalid.
#[test]
fn a_crash_amid_commits_leaves_whole_commits() {
    let server = Server::start_durable();
    let address = server.database();
    block_on(async {
        let store = daybook_store::open(&address).await.unwrap();
        let org = organization(&store, "one").await;
        let mut workers = Vec::new();
        for worker in 0..4 {
            let key = account(&store, account_row(org, &format!("a{worker}"), "auto")).await;
            let (store, name) = (Arc::clone(&store), key.account.clone());
            workers.push(tokio::spawn(async move {
                let mut acknowledged = 1;
                loop {
                    let id = format!("{name}:{acknowledged}");
                    let mut unit = account_unit(update(&key, acknowledged, now()));
                    unit.messages.push((org, crate::contract::fixtures::message(Some(&name), acknowledged, &id)));
                    match store.commit(Batch { units: vec![unit] }).await {
                        Ok(_) => acknowledged += 1,
                        Err(StoreError::Unavailable(_)) => return (key, acknowledged),
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }));
        }
        while store.messages(org, 0, 200).await.unwrap().len() < 200 {}
        server.stop_immediate();
        server.start_again();
        for worker in workers {
            let (key, acknowledged) = worker.await.unwrap();
            let version = load(&store, &key, Inputs::None).await.unwrap().row.version;
            assert!(version == acknowledged || version == acknowledged + 1, "{version} after {acknowledged}");
            let messages = store.messages_of(&key, 0, 1_000_000).await.unwrap();
            assert_eq!(messages.len() as i64, version - 1);
        }
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    });
}

#[test]
fn a_server_that_is_not_there_is_away() {
    block_on(async {
        let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_away(daybook_store::open(&format!("postgres://daybook@{refused}/none")).await);
    });
}

#[test]
fn a_database_that_is_not_there_is_refused() {
    block_on(async {
        let address = format!("{}_gone", Server::shared().database());
        let opened = daybook_store::open(&address).await;
        assert!(matches!(&opened, Err(StoreError::Broken(why)) if why.contains("3D000")), "{opened:?}");
    });
}

#[test]
fn a_backup_is_left_to_the_server() {
    block_on(async {
        let store: Arc<dyn Store> = daybook_store::open(&Server::shared().migrated_database()).await.unwrap();
        let backup = store.backup(std::path::Path::new("nowhere"), &[]).await;
        assert!(backup.unwrap_err().to_string().contains("pg_dump"));
    });
}

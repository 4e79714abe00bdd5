//! Calls whose caller does not wait for the answer: their connections do not go back into the pool, and the server
//! stops what it was asked.

use crate::block_on;
use crate::contract::fixtures::{account, account_row, organization};
use daybook_store::{AccountToLoad, Inputs, Store};
use daybook_testkit::postgres::Server;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::{Client, NoTls};

/// A connection that holds locks, or looks which calls wait for them.
pub async fn connect(address: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Waits until so many statements of the store wait for a lock.
pub async fn until_waiting(watcher: &Client, count: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name = 'daybook' AND wait_event_type = 'Lock'";
    let mut found = -1;
    for _ in 0..400 {
        found = watcher.query_one(sql, &[]).await.unwrap().get(0);
        if found == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{found} statements wait for a lock, not {count}");
}

/// Makes a call that has to wait for a lock, gives it up, and looks what is left of it.
async fn give_up<T>(what: &str, store: &Arc<dyn Store>, watcher: &Client, call: impl Future<Output = T>) {
    tokio::select! {
        _ = call => panic!("{what}: the lock is held, and the call was answered"),
        () = until_waiting(watcher, 1) => {}
    }
    let pool = store.connections().unwrap();
    assert_eq!((pool.open, pool.in_use), (0, 0), "{what}: the connection waits for an answer, and is in the pool");
    until_waiting(watcher, 0).await;
}

#[test]
fn a_connection_whose_statement_was_given_up_is_closed() {
    let address = Server::shared().migrated_database();
    block_on(async {
        let store = daybook_store::open(&address).await.unwrap();
        let org = organization(&store, "one").await;
        let key = account(&store, account_row(org, "a", "auto")).await;
        store.keep_setting("a", b"1").await.unwrap();
        let (holder, watcher) = (connect(&address).await, connect(&address).await);

        // The statement is prepared, and waits for a row.
        holder.batch_execute("BEGIN; SELECT * FROM settings FOR UPDATE").await.unwrap();
        for _ in 0..3 {
            give_up("a write of readiness", &store, &watcher, store.try_write()).await;
            store.ping().await.unwrap();
        }
        holder.batch_execute("ROLLBACK").await.unwrap();
        store.try_write().await.unwrap();

        // Preparing the statement waits for the table.
        let tables = "settings, organizations, accounts";
        holder.batch_execute(&format!("BEGIN; LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")).await.unwrap();
        let want = [AccountToLoad { key: key.clone(), inputs: Inputs::None, names: Vec::new() }];
        give_up("a write", &store, &watcher, store.keep_setting("b", b"2")).await;
        give_up("a read", &store, &watcher, store.organizations()).await;
        give_up("a transaction", &store, &watcher, store.load(&want)).await;
        give_up("a correction", &store, &watcher, store.remove_orphans()).await;
        holder.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(store.organizations().await.unwrap().len(), 1);
        assert_eq!(store.setting("b").await.unwrap(), None, "what was given up was not done later");
    });
}

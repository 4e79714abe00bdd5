//! Organizations share the connections of a node.

use crate::abandoned::{connect, until_waiting};
use crate::block_on;
use crate::contract::fixtures::{account, account_row, organization};
use daybook_store::records::PageRequest;
use daybook_store::sharing::within_a_share;
use daybook_testkit::postgres::Server;
use std::sync::Arc;

/// The reads of one organization wait for a table. They use half of the connections; the others serve another
/// organization, payments and authentication.
#[test]
fn slow_reads_of_one_organization_leave_connections_for_another() {
    let address = Server::shared().migrated_database();
    block_on(async {
        let store = daybook_store::open(&address).await.unwrap();
        let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
        let half = store.sharing().most_each();
        assert_eq!(store.connections().unwrap().limit, 2 * half as u64);
        let (holder, watcher) = (connect(&address).await, connect(&address).await);
        holder.batch_execute("BEGIN; LOCK TABLE customers IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let page = PageRequest { limit: 10, ..PageRequest::default() };
        let slow = (0..3 * half).map(|_| {
            let (store, page) = (Arc::clone(&store), page.clone());
            tokio::spawn(within_a_share(async move {
                store.sharing().join(one);
                store.customers(one, &page).await.map(|found| found.len())
            }))
        });
        let slow: Vec<_> = slow.collect();
        while store.sharing().waiting() < 2 * half {
            assert!(store.connections().unwrap().in_use <= half as u64, "one organization has more than half");
            tokio::task::yield_now().await;
        }
        until_waiting(&watcher, half as i64).await;
        let read = within_a_share(async {
            store.sharing().join(two);
            store.accounts(two, &page).await
        });
        assert!(read.await.unwrap().is_empty());
        account(&store, account_row(one, "a", "auto")).await;
        assert!(store.key("nobody").await.unwrap().is_none(), "authentication needs no turn");
        holder.batch_execute("ROLLBACK").await.unwrap();
        for reading in slow {
            assert_eq!(reading.await.unwrap().unwrap(), 0);
        }
        assert_eq!(store.sharing().organizations(), 0);
    });
}

//! The contract on PostgreSQL, and what is specific to it: several nodes, a server that goes away, abandoned calls, and
//! TLS.

#![cfg(test)]

#[path = "postgres/abandoned.rs"]
mod abandoned;
mod contract;
#[path = "postgres/nodes.rs"]
mod nodes;
#[path = "postgres/outage.rs"]
mod outage;
#[path = "postgres/sharing.rs"]
mod sharing;
#[path = "postgres/template.rs"]
mod template;
#[path = "postgres/tls.rs"]
mod tls;

use daybook_store::Store;
use daybook_testkit::postgres::Server;
use std::sync::Arc;

/// Runs a test on a fresh database, whose tables are copied from a template.
fn on_postgres<F, T>(test: F)
where
    F: FnOnce(Arc<dyn Store>) -> T,
    T: Future<Output = ()>,
{
    let address = Server::shared().migrated_database();
    block_on(async { test(daybook_store::open(&address).await.unwrap()).await });
}

fn block_on<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(test)
}

contract::contract_tests!(crate::on_postgres);

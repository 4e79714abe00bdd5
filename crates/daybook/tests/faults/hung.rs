//! PostgreSQL hangs: all its processes are suspended, and its connections stay open without a response. Callers get 503
//! within seconds, `/readyz` reports it, and when PostgreSQL resumes, the server does too.
//!
//! This test is about time, so it has limits, generous ones for a busy machine: the server gives up after 4 seconds
//! without a response; a caller may wait for up to 60.

use crate::common::api_client::{ApiClient, until};
use crate::common::installation::Installation;
use crate::common::loans::payments_of;
use crate::load::make_accounts;
use daybook_clock::Stopwatch;
use daybook_testkit::postgres;
use serde_json::json;
use std::time::Duration;

/// The time limit of a call, and of the recovery.
const LONGEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 15 } else { 5 });

#[test]
fn a_database_that_hangs_is_noticed_within_seconds() {
    let database = postgres::Server::start_durable();
    let installation = Installation::with(database.database());
    let (server, client) = installation.open();
    make_accounts(&client);
    pay(&client, "before");
    assert_eq!(client.get("/readyz").status, 200);
    for round in 0..2 {
        database.freeze();
        let watch = Stopwatch::start();
        until("readiness says so", || match client.get("/readyz").status {
            503 => Ok(()),
            other => Err(other.to_string()),
        });
        let readiness = watch.elapsed();
        let watch = Stopwatch::start();
        let body = json!({ "line_item_id": format!("frozen-{round}"), "original_amount_cents": 1 });
        assert_eq!(client.post(&payments_of("loan-1"), &body).status, 503);
        assert_eq!(client.get("/accounts/loan-1").status, 503);
        let calls = watch.elapsed();
        assert_eq!(client.get("/healthz").status, 200, "the server itself is well");
        database.thaw();
        let watch = Stopwatch::start();
        until("readiness", || match client.get("/readyz").status {
            200 => Ok(()),
            other => Err(other.to_string()),
        });
        pay(&client, &format!("after-{round}"));
        let back = watch.elapsed();
        println!("hung: readiness said so after {readiness:?}, two calls after {calls:?}, served again after {back:?}");
        for (what, took) in [("readiness", readiness), ("two calls", calls), ("the way back", back)] {
            assert!(took < LONGEST, "{what} took {took:?}");
        }
    }
    let said = server.stop();
    assert!(said.contains("the database does not respond"), "{said}");
    installation.verify();
}

fn pay(client: &ApiClient, id: &str) {
    client.post(&payments_of("loan-1"), &json!({ "line_item_id": id, "original_amount_cents": 1 })).good();
}

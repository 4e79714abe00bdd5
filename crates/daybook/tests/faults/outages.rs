//! PostgreSQL crashes and restarts under load: callers get 503 with a `Retry-After`, and no other error; the server
//! recovers automatically; no acknowledged payment is lost, and none counts twice.
//!
//! `DAYBOOK_OUTAGES` is the number of outages; the default is 3. A campaign: `DAYBOOK_OUTAGES=200 cargo test -p daybook
//! --test faults outages -- --nocapture`.

use crate::common::api_client::until;
use crate::common::chance::{Chance, seed, setting};
use crate::common::installation::Installation;
use crate::load::{Load, assert_all_there_once, make_accounts};
use daybook_testkit::postgres;

#[test]
fn payments_survive_outages_of_the_database() {
    let outages = setting("DAYBOOK_OUTAGES", 3);
    let database = postgres::Server::start_durable();
    let installation = Installation::with(database.database());
    let (server, client) = installation.open();
    make_accounts(&client);
    let load = Load::start(&Chance::of_seed(seed()), |_| client.another());
    let more = |what: &str, count: &dyn Fn() -> u64, by: u64| {
        let before = count();
        until(what, || if count() >= before + by { Ok(()) } else { Err(format!("{} of them", count() - before)) });
    };
    for _ in 0..outages {
        more("payments before an outage", &|| load.counts.acknowledged(), 20);
        database.stop_immediate();
        more("answers of 503", &|| load.counts.unavailable(), 10);
        assert_eq!(client.get("/healthz").status, 200, "the server itself is well");
        assert_eq!(client.get("/readyz").status, 503);
        database.start_again();
        more("payments after an outage", &|| load.counts.acknowledged(), 20);
    }
    let (unavailable, unanswered) = (load.counts.unavailable(), load.counts.unanswered());
    let acknowledged = load.end();
    assert_eq!(unanswered, 0, "every call has an answer");
    until("readiness", || match client.get("/readyz").status {
        200 => Ok(()),
        other => Err(other.to_string()),
    });
    assert_all_there_once(&client, &acknowledged);
    installation.verify();
    let said = server.stop();
    assert!(!said.contains("panicked"), "{said}");
    println!(
        "outages: {outages} outages, {} payments acknowledged, {unavailable} answers of 503, 0 of 500, 0 lost, 0 twice, \
         0 differences, seed {}",
        acknowledged.len(),
        seed()
    );
}

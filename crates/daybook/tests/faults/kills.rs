//! `kill -9` under load, and during a release: no acknowledged payment is lost, and none counts twice.
//!
//! ```text
//! callers ── payments ─► server ── killed at a moment that chance picks ──► server again, on the same database
//!    └── the same payment again until it is acknowledged ──────────────────────┘
//! ```
//!
//! `DAYBOOK_KILLS` is the number of kills; the default is 8 on SQLite and 4 on PostgreSQL. A campaign of about an
//! hour: `DAYBOOK_KILLS=1000 cargo test -p daybook --test faults kills -- --nocapture`. `DAYBOOK_RELEASED_ACCOUNTS` is
//! the number of accounts in the release during which the server is killed; the default is 150.

use crate::common::api_client::{ApiClient, until};
use crate::common::chance::{Chance, seed, setting};
use crate::common::dates::{ZONE, at, months_after, opened_months_ago};
use crate::common::installation::Installation;
use crate::common::loans::{
    balances, items, level, line, loan, make_product, paid_on_time, payment, payments_of, progress, set_migration_mode,
    wait_for_release,
};
use crate::load::{Load, assert_all_there_once, make_accounts};
use daybook_testkit::postgres;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

#[test]
fn payments_on_sqlite_survive_kills() {
    payments_survive_kills("SQLite", &Installation::sqlite(), setting("DAYBOOK_KILLS", 8));
}

#[test]
fn payments_on_postgres_survive_kills() {
    let server = postgres::Server::start_durable();
    payments_survive_kills("PostgreSQL", &Installation::with(server.database()), setting("DAYBOOK_KILLS", 4));
}

fn payments_survive_kills(database: &str, installation: &Installation, kills: u64) {
    let mut chance = Chance::of_seed(seed());
    let (mut server, client) = installation.open();
    make_accounts(&client);
    let load = Load::start(&chance, |_| client.another());
    for _ in 0..kills {
        // Waits until a payment was acknowledged since the last kill, and then up to a third of a second more.
        let before = load.counts.acknowledged();
        until("a payment", || if load.counts.acknowledged() > before { Ok(()) } else { Err("none".to_owned()) });
        thread::sleep(Duration::from_millis(chance.below(350)));
        server.kill();
        server = installation.serve();
        client.lead_to(server.url());
    }
    let unanswered = load.counts.unanswered.load(Ordering::SeqCst);
    let acknowledged = load.end();
    assert_all_there_once(&client, &acknowledged);
    installation.verify();
    server.stop();
    installation.verify();
    println!(
        "kills on {database}: {kills} kills, {} payments acknowledged, {unanswered} calls unanswered and repeated, \
         0 lost, 0 twice, 0 differences, seed {}",
        acknowledged.len(),
        seed()
    );
}

#[test]
fn a_release_on_sqlite_goes_on_after_kills() {
    a_release_goes_on_after_kills("SQLite", &Installation::sqlite(), 8);
}

#[test]
fn a_release_on_postgres_goes_on_after_kills() {
    let server = postgres::Server::start_durable();
    // The accounts leased by a killed node become free after 30 seconds, so each kill takes that long.
    a_release_goes_on_after_kills("PostgreSQL", &Installation::with(server.database()), 2);
}

const MONTHS: u32 = 8;

fn load_history(client: &ApiClient, accounts: u64) {
    make_product(client, "auto", json!({}), json!({}));
    set_migration_mode(client, "auto", true);
    let opened = opened_months_ago(MONTHS.into());
    let mut lines = Vec::new();
    for number in 0..accounts {
        lines.push(line("/accounts", &loan("auto", &format!("loan-{number}"), &at(opened, 9, ZONE))));
    }
    for number in 0..accounts {
        for month in (1..=i64::from(MONTHS)).rev() {
            let paid = payment(&format!("p{month}"), level(), &at(months_after(opened, month), 9, ZONE));
            lines.push(line(&payments_of(&format!("loan-{number}")), &paid));
        }
    }
    client.bulk(&lines);
}

/// Waits until a release has progressed. Returns the number of accounts done, or `None` if all are.
fn further_than(client: &ApiClient, before: u64) -> Option<u64> {
    // Without a pause, as the release could end between two checks; for some minutes at least.
    for _ in 0..300_000 {
        let now = progress(client, "auto");
        let done = now["accounts_done"].as_u64().expect("a number");
        if now["finished_at"].is_string() {
            return None;
        } else if done > before {
            return Some(done);
        }
    }
    panic!("the release does not go on after {before} accounts")
}

fn a_release_goes_on_after_kills(database: &str, installation: &Installation, kills: usize) {
    let accounts = setting("DAYBOOK_RELEASED_ACCOUNTS", 150);
    let (mut server, client) = installation.open();
    load_history(&client, accounts);
    set_migration_mode(&client, "auto", false);
    let mut done_at_kills = vec![];
    while done_at_kills.len() < kills
        && let Some(done) = further_than(&client, done_at_kills.last().copied().unwrap_or(0))
    {
        done_at_kills.push(done);
        server.kill();
        server = installation.serve();
        client.lead_to(server.url());
    }
    let done = wait_for_release(&client, "auto");
    assert_eq!((&done["accounts_done"], &done["held_events"]), (&json!(accounts), &json!(0)));
    for number in 0..accounts {
        let account = format!("loan-{number}");
        assert_eq!(balances(&client.get(&format!("/accounts/{account}")).good()), [paid_on_time(MONTHS).0, 0, 0, 0]);
        assert_eq!(items(&client, &account, "PAYMENT").len(), MONTHS as usize, "{account}");
        assert_eq!(items(&client, &account, "LATE_FEE"), Vec::<Value>::new(), "{account}");
    }
    assert_eq!(installation.verify(), accounts);
    server.stop();
    assert!(!done_at_kills.is_empty(), "the release was over before it could be interrupted: load more accounts");
    println!(
        "release on {database}: {accounts} accounts, killed {} times, when {done_at_kills:?} were done; \
         0 late fees, 0 differences, seed {}",
        done_at_kills.len(),
        seed()
    );
}

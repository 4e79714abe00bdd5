//! Metrics of the database: their values, how old they may be, and what is shown while the database is unavailable.

use crate::support::{Home, LEVEL, Trial, json_of, on_both};
use daybook_testkit::postgres::Server;
use serde_json::json;
use std::path::{Path, PathBuf};

on_both!(
    what_is_due_and_not_done_is_a_lag,
    a_release_shows_what_is_left_and_what_failed,
    a_database_that_is_away_leaves_the_page_as_it_is,
    the_build_says_which_it_is,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";
const APRIL: &str = "2026-04-15T09:00:00-04:00";

/// The value of a metric without labels, if it is shown.
async fn value(trial: &Trial, name: &str) -> Option<f64> {
    let text = trial.service.metrics_text().await;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.map(|value| value.parse().expect("a number"))
}

/// The same, once the values read from the database are no longer fresh.
async fn value_later(trial: &Trial, name: &str) -> Option<f64> {
    trial.clock.set(trial.clock_now().plus_micros(10_000_000));
    value(trial, name).await
}

async fn what_is_due_and_not_done_is_a_lag(home: Home) {
    let trial = Trial::at(home, "2026-03-16T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let due = trial.store.next_due(trial.clock_now()).await.expect("it answers").expect("an instalment falls due");
    assert_eq!(value(&trial, "daybook_due_lag_seconds").await, Some(0.0));
    trial.clock.set(due.plus_micros(90_500_000));
    assert_eq!(value(&trial, "daybook_due_lag_seconds").await, Some(90.5));
    trial.settle().await;
    // A second scrape right away does not query the database.
    assert_eq!(value(&trial, "daybook_due_lag_seconds").await, Some(90.5));
    assert_eq!(value_later(&trial, "daybook_due_lag_seconds").await, Some(0.0));
}

async fn a_release_shows_what_is_left_and_what_failed(home: Home) {
    let trial = Trial::at(home, "2026-04-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.migration_mode("auto-12", true).await;
    for account in ["good", "bad"] {
        trial.account("auto-12", account, OPENING).await;
        json_of(trial.pay(account, "p0", LEVEL, APRIL).await);
    }
    // A fee that does not exist is waived; only the fold can find that.
    json_of(trial.waive("bad", "dbk_late_fee_1", &json!({ "line_item_id": "w", "effective_at": APRIL })).await);
    let names = [
        "daybook_releasing_products",
        "daybook_release_events",
        "daybook_release_held_events",
        "daybook_release_held_accounts",
        "daybook_release_failed_accounts",
        "daybook_failed_accounts",
        "daybook_due_lag_seconds",
    ];
    let values = async || {
        trial.clock.set(trial.clock_now().plus_micros(10_000_000));
        let mut values = Vec::new();
        for name in names {
            values.push(value(&trial, name).await.unwrap_or_else(|| panic!("{name} is shown")));
        }
        values
    };
    assert_eq!(values().await, [0.0; 7], "while it holds, nothing is released and nothing is late");
    trial.migration_mode("auto-12", false).await;
    // Two openings, two payments and a waiver; their moments are weeks old, and that does not count as lag.
    assert_eq!(values().await, [1.0, 5.0, 5.0, 2.0, 0.0, 0.0, 0.0]);
    trial.settle().await;
    assert_eq!(values().await, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0], "the release is over; one account failed");
}

/// Makes the database unavailable; the returned value restores it.
enum Away {
    Moved(PathBuf, PathBuf),
    Closed(String),
}

async fn on_server(sql: &str) {
    let other = Server::shared().database();
    let (client, connection) = tokio_postgres::connect(&other, tokio_postgres::NoTls).await.expect("it connects");
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.expect("it is done");
    drop(client);
    connection.await.expect("it ends").expect("it ends well");
}

impl Away {
    async fn take(trial: &Trial) -> Away {
        if let Some(path) = trial.address.strip_prefix("sqlite:") {
            let (from, to) = (PathBuf::from(path), Path::new(path).with_extension("elsewhere"));
            std::fs::rename(&from, &to).expect("it can be moved");
            return Away::Moved(from, to);
        }
        let url = trial.address.split('?').next().expect("an address");
        let name = url.rsplit('/').next().expect("a name").to_owned();
        on_server(&format!("ALTER DATABASE \"{name}\" WITH ALLOW_CONNECTIONS false")).await;
        let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
        on_server(&end).await;
        Away::Closed(name)
    }

    async fn put_back(self) {
        match self {
            Away::Moved(from, to) => std::fs::rename(to, from).expect("it can be moved"),
            Away::Closed(name) => on_server(&format!("ALTER DATABASE \"{name}\" WITH ALLOW_CONNECTIONS true")).await,
        }
    }
}

async fn a_database_that_is_away_leaves_the_page_as_it_is(home: Home) {
    let (_folder, address) = home.kept();
    let trial = Trial::over(&address, "2026-03-16T12:00:00-04:00").await;
    let of_database = ["daybook_due_lag_seconds", "daybook_failed_accounts", "daybook_database_bytes"];
    let shown = async || {
        let up = value_later(&trial, "daybook_database_up").await.expect("it is always shown");
        let mut shown = Vec::new();
        for name in of_database {
            shown.push(value(&trial, name).await.is_some());
        }
        assert!(value(&trial, "daybook_jobs_total").await.is_some(), "what is counted in memory is always shown");
        (up, shown)
    };
    assert_eq!(shown().await, (1.0, vec![true; 3]));
    let away = Away::take(&trial).await;
    assert_eq!(shown().await, (0.0, vec![false; 3]));
    away.put_back().await;
    assert_eq!(shown().await, (1.0, vec![true; 3]));
}

async fn the_build_says_which_it_is(home: Home) {
    let trial = Trial::at(home, "2026-03-16T12:00:00-04:00").await;
    let text = trial.service.metrics_text().await;
    let tables = trial.store.tables().await.expect("it answers").at;
    let line = format!(
        "daybook_build_info{{rules_version=\"{}\",schema=\"{tables}\",version=\"0.1.0\"}} 1",
        daybook_engine::terms::RULES_VERSION
    );
    assert!(text.lines().any(|given| given == line), "{line} is not in\n{text}");
}

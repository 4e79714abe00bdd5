//! Readiness: a database that can be read but accepts no writes is not ready.

use crate::support::{Home, Trial, on_both};
use daybook_service::problem::Problem;
use serde_json::json;

on_both!(a_database_that_takes_no_write_is_not_ready);

/// Prevents a database from accepting writes; it can still be read.
enum Held {
    /// Another connection writes.
    Sqlite(rusqlite::Connection),
    /// New connections are read-only, as at the old address after a failover; open ones are closed.
    Postgres(tokio_postgres::Client),
}

impl Held {
    async fn hold(home: Home, address: &str) -> Held {
        match home {
            Home::Sqlite => {
                let path = address.strip_prefix("sqlite:").expect("a file");
                let connection = rusqlite::Connection::open(path).expect("the file opens");
                connection.execute_batch("BEGIN IMMEDIATE").expect("no other writes");
                Held::Sqlite(connection)
            }
            Home::Postgres => {
                let connected = tokio_postgres::connect(address, tokio_postgres::NoTls).await;
                let (client, connection) = connected.expect("it connects");
                tokio::spawn(connection);
                read_only(&client, "on").await;
                Held::Postgres(client)
            }
        }
    }

    async fn let_go(self) {
        match self {
            Held::Sqlite(connection) => connection.execute_batch("ROLLBACK").expect("it ends"),
            Held::Postgres(client) => read_only(&client, "off").await,
        }
    }
}

async fn read_only(client: &tokio_postgres::Client, setting: &str) {
    let name: String = client.query_one("SELECT current_database()", &[]).await.expect("its name").get(0);
    let set = format!("ALTER DATABASE {name} SET default_transaction_read_only = {setting}");
    client.batch_execute(&set).await.expect("it is set");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.batch_execute(cut).await.expect("they are cut");
}

/// Retries until it succeeds: closed connections are opened again.
async fn until_ok<T>(mut ask: impl AsyncFnMut() -> Result<T, Problem>) -> T {
    for _ in 0..200 {
        if let Ok(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("it is not answered");
}

async fn a_database_that_takes_no_write_is_not_ready(home: Home) {
    let (_folder, address) = home.kept();
    let trial = Trial::over(&address, "2026-04-01T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", "2026-03-15T00:00:00-04:00").await;
    let held = Held::hold(home, &address).await;
    let read = || async { trial.service.get_account(&trial.who, "a1", None).await };
    until_ok(read).await;
    let refused = trial.service.ping().await.expect_err("it takes no write");
    assert_eq!(refused.code, "unavailable", "{}", refused.message);
    until_ok(read).await;
    held.let_go().await;
    until_ok(|| trial.service.ping()).await;
    until_ok(|| trial.pay("a1", "p", 700, "2026-04-01T12:00:00-04:00")).await;
}

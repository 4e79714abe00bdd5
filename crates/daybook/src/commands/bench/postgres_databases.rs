//! Databases on a PostgreSQL server, created for a benchmark and dropped after it.

use crate::commands::Failure;
use tokio_postgres::{Client, NoTls};

/// Creates a database on the server of this address, and returns its address.
pub async fn create(server: &str, name: &str) -> Result<String, Failure> {
    let address = address_of(server, name)?;
    let client = connect(server).await?;
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.map_err(|error| failed(&error))?;
    Ok(address)
}

/// Drops a database, also if a program is still connected to it.
pub async fn remove(server: &str, name: &str) -> Result<(), Failure> {
    let client = connect(server).await?;
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.map_err(|error| failed(&error))
}

/// The version of the server and the settings that decide whether a commit waits for the disk.
pub async fn describe(server: &str) -> Result<String, Failure> {
    let client = connect(server).await?;
    let mut shown = Vec::new();
    for setting in ["server_version", "fsync", "synchronous_commit", "shared_buffers"] {
        let row = client.query_one(&format!("SHOW {setting}"), &[]).await.map_err(|error| failed(&error))?;
        let value: String = row.get(0);
        shown.push(if setting == "server_version" { value } else { format!("{setting} {value}") });
    }
    Ok(shown.join(", "))
}

async fn connect(server: &str) -> Result<Client, Failure> {
    let address = if database_of(server).is_empty() { address_of(server, "postgres")? } else { server.to_owned() };
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.map_err(|error| failed(&error))?;
    tokio::spawn(connection);
    Ok(client)
}

fn failed(error: &tokio_postgres::Error) -> Failure {
    let why = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
    Failure::Failed(format!("PostgreSQL: {why}"))
}

/// The address of another database on the same server.
fn address_of(server: &str, name: &str) -> Result<String, Failure> {
    let (scheme, rest) = server.split_once("://").ok_or_else(|| {
        Failure::Failed("the address of the PostgreSQL server must begin with postgres://".to_owned())
    })?;
    let (rest, options) = rest.split_once('?').map_or((rest, String::new()), |(rest, all)| (rest, format!("?{all}")));
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    Ok(format!("{scheme}://{host}/{name}{options}"))
}

/// The name of the database in an address; empty if it has none.
fn database_of(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    rest.split_once('/').map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::{address_of, database_of};

    #[test]
    fn another_database_keeps_the_user_the_host_and_the_options() {
        for (server, other) in [
            ("postgres://daybook@127.0.0.1:5433", "postgres://daybook@127.0.0.1:5433/x"),
            ("postgresql://a:b@db/main?sslmode=disable", "postgresql://a:b@db/x?sslmode=disable"),
        ] {
            assert_eq!(address_of(server, "x").expect("an address"), other);
            assert_eq!(database_of(other), "x");
        }
        assert!(address_of("db/main", "x").is_err());
        assert_eq!(database_of("postgres://daybook@127.0.0.1:5433"), "");
    }
}

//! The connection pool, and the meaning of errors.
//!
//! A connection is set up once, when it is made. All statements of this store are meant to use an index, but a planner
//! without statistics of a table that is just being filled would choose a full scan, and would keep that plan. So full
//! scans are made expensive, and a statement is planned once, not for each set of arrays.

use super::borrowed_connection::BorrowedConnection;
use super::heartbeat::Heartbeat;
use super::tls::{TlsParameters, distrust};
use crate::Result;
use crate::error::StoreError;
use crate::monitoring::Connections;
use crate::sharing;
use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime};
use std::error::Error as _;
use std::time::Duration;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row};

/// The parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The number of connections in the pool.
pub(super) const CONNECTIONS: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long setting up a new connection may take.
const CREATE_TIMEOUT: Duration = Duration::from_secs(4);
/// How long a call waits for a connection while all are in use.
const WAIT_TIMEOUT: Duration = Duration::from_secs(15);
/// The idle time before TCP keepalives, and the TCP user timeout.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a transaction that lost to another one is tried.
pub(super) const TRIES: usize = 8;

/// The server ends a transaction whose node has become silent, so that its locks are not held for long.
const SESSION: &str = "
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET random_page_cost = 1.1;
    SET jit = off;
    SET default_transaction_isolation = 'read committed';
    SET idle_in_transaction_session_timeout = '30s'";

/// A server, through a pool of connections.
#[derive(Debug, Clone)]
pub(super) struct PostgresServer {
    pool: Pool,
    heartbeat: Heartbeat,
}

impl PostgresServer {
    /// The server at an address. Nothing is connected yet.
    pub fn at(address: &str) -> Result<PostgresServer> {
        // The address may hold a password, so errors do not quote it.
        let (address, tls) = TlsParameters::split(address)?;
        let mut config: Config = address
            .parse()
            .map_err(|error| StoreError::Broken(format!("its address is invalid: {}", sentence(&error))))?;
        if tls.is_open_to_others() && !config.get_hosts().iter().all(is_this_machine) {
            tracing::warn!(
                "an attacker on the network can read or change the traffic to the database: set sslmode=verify-full in \
                 its address"
            );
        }
        if config.get_application_name().is_none() {
            config.application_name("daybook");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(SILENCE_TIMEOUT).tcp_user_timeout(SILENCE_TIMEOUT);
        // A closed connection is noticed by its own task, without querying the server each time.
        let heartbeat = Heartbeat::of(&config, tls.connector()?);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(config, heartbeat.connections(), recycling);
        let set_up = Hook::async_fn(|client, _| {
            Box::pin(async move { client.batch_execute(SESSION).await.map_err(HookError::Backend) })
        });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT_TIMEOUT))
            .create_timeout(Some(CREATE_TIMEOUT))
            .recycle_timeout(Some(CONNECT_TIMEOUT))
            .post_create(set_up)
            .build()
            .map_err(|error| StoreError::Broken(error.to_string()))?;
        Ok(PostgresServer { pool, heartbeat })
    }

    /// The state of the pool.
    pub fn connections(&self) -> Connections {
        let pool = self.pool.status();
        let number = |count: usize| count as u64;
        Connections {
            limit: number(pool.max_size),
            open: number(pool.size),
            in_use: number(pool.size.saturating_sub(pool.available)),
            waiting: number(pool.waiting),
        }
    }

    /// Connects for the first time. A certificate that is not trusted now will not be trusted on a retry either, and a
    /// rejected password stays rejected, so these are reported at once as errors. Later, while the program runs, the
    /// same errors count as an unavailable database: an operator corrects them.
    pub async fn meet(&self) -> Result<()> {
        match self.pool.get().await {
            Err(PoolError::Backend(error)) => match distrust(&error) {
                Some(why) => Err(StoreError::Untrusted(why)),
                None if error.code().is_some_and(is_rejected_login) => Err(StoreError::Broken(sentence(&error))),
                None => Err(while_connecting(&error)),
            },
            // Any other problem is reported by the first statement.
            _ => Ok(()),
        }
    }

    /// A connection. It goes back into the pool only if it is given back.
    pub async fn client(&self) -> Result<BorrowedConnection> {
        if self.heartbeat.is_away() {
            return Err(StoreError::Unavailable("the server does not respond".to_owned()));
        }
        // The organization's turn comes first: no connection waits for it.
        let turn = sharing::turn().await?;
        let client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                while_connecting(&error)
            }
            other => StoreError::Unavailable(other.to_string()),
        })?;
        Ok(BorrowedConnection::new(client, self.heartbeat.tls(), turn))
    }

    /// Runs one query.
    pub async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
        let client = self.client().await?;
        let rows = match client.prepare_cached(sql).await {
            Ok(statement) => client.query(&statement, params).await,
            Err(error) => Err(error),
        };
        client.give_back();
        rows.map_err(refused)
    }

    /// Runs a query for one row, or none.
    pub async fn query_opt(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Runs one statement; returns how many rows it changed.
    pub async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64> {
        let mut tries = 1;
        loop {
            let client = self.client().await?;
            let done = match client.prepare_cached(sql).await {
                Ok(statement) => client.execute(&statement, params).await,
                Err(error) => Err(error),
            };
            client.give_back();
            match done {
                Err(error) if lost_to_another(&error) && tries < TRIES => tries += 1,
                other => return other.map_err(refused),
            }
        }
    }
}

/// Whether the connection to a host stays on this machine.
fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

/// Whether a transaction was aborted in favour of another one, and may be retried.
pub(super) fn lost_to_another(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
}

/// Whether a row already existed.
pub(super) fn is_taken(error: &tokio_postgres::Error) -> bool {
    // An audit record that already exists is not a lost claim: the audit trail was tampered with.
    let is_of_audit = error.as_db_error().and_then(|error| error.constraint()) == Some("audit_pkey");
    error.code() == Some(&SqlState::UNIQUE_VIOLATION) && !is_of_audit
}

/// Classifies an error of a statement.
pub(super) fn refused(error: tokio_postgres::Error) -> StoreError {
    let away = match error.code() {
        Some(code) => is_away(code),
        // A connection that was cut shows as closed, or as a socket error.
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()),
    };
    if away { StoreError::Unavailable(sentence(&error)) } else { StoreError::Broken(sentence(&error)) }
}

/// Classifies an error of connecting: unless the server itself refused, it is unavailable.
fn while_connecting(error: &tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(code) if !is_away(code) => StoreError::Broken(sentence(error)),
        _ => StoreError::Unavailable(sentence(error)),
    }
}

/// Whether the server is temporarily unable, as opposed to refusing.
fn is_away(code: &SqlState) -> bool {
    // Connections; resources (disk, memory, connections); a transaction that lost to others too often.
    let classes = ["08", "53", "40"];
    let codes = [
        SqlState::QUERY_CANCELED,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IO_ERROR,
        SqlState::LOCK_NOT_AVAILABLE,
        // After a failover the old address may lead to a read-only server.
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    is_rejected_login(code) || classes.iter().any(|class| code.code().starts_with(class)) || codes.contains(code)
}

/// Whether the server rejected the role, its password or its certificate.
fn is_rejected_login(code: &SqlState) -> bool {
    code.code().starts_with("28")
}

/// The full chain of an error, from what failed to why.
fn sentence(error: &tokio_postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return format!("{} ({})", refusal.message(), refusal.code().code());
    }
    if let Some(why) = distrust(error) {
        return why;
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_now_is_away() {
        for code in ["57P01", "57P02", "57P03", "53100", "53300", "08006", "40P01", "25006", "28P01"] {
            assert!(is_away(&SqlState::from_code(code)), "{code}");
        }
    }

    #[test]
    fn a_server_that_says_no_is_not_away() {
        for code in ["23505", "42P01", "42601", "22003", "3D000", "XX001"] {
            assert!(!is_away(&SqlState::from_code(code)), "{code}");
        }
    }

    #[tokio::test]
    async fn an_address_that_is_not_understood_does_not_show_its_password() {
        let error = PostgresServer::at("postgres://user:secret@host:port/base").expect_err("a port is a number");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

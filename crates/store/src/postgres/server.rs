//! The way to the server: the pool of connections, and what an error means.
//!
//! A connection is set up once, when it is made. The statements of this store go by an index, every one of them; a
//! planner that has not yet seen statistics of a table that is just being filled would rather read it whole, and would
//! keep that plan. So the ways of reading a table whole are made expensive, and a statement is planned once, not for
//! each set of arrays.

use super::lent::Lent;
use super::pulse::Pulse;
use super::tls::{Wanted, distrust};
use crate::Result;
use crate::error::StoreError;
use crate::monitoring::Connections;
use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime};
use std::error::Error as _;
use std::time::Duration;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row};

/// What a statement is given.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

const CONNECTIONS: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take until a new connection is set up.
const CREATE_TIMEOUT: Duration = Duration::from_secs(4);
/// How long a call waits for a connection while all are in use.
const WAIT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a server that says nothing is believed to be there.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a transaction that lost to another one is tried.
pub(super) const TRIES: usize = 8;

/// A transaction whose node fell silent is given up by the server, so that nobody waits for its locks for long.
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
pub(super) struct Server {
    pool: Pool,
    pulse: Pulse,
}

impl Server {
    /// The server at an address. Nothing is connected yet.
    pub fn at(address: &str) -> Result<Server> {
        // The address may hold a password: the error says what is wrong, not where.
        let (address, tls) = Wanted::split(address)?;
        let mut config: Config =
            address.parse().map_err(|error| StoreError::Broken(format!("in its address: {}", sentence(&error))))?;
        if tls.is_open_to_others() && !config.get_hosts().iter().all(is_this_machine) {
            tracing::warn!(
                "the way to the database can be read or changed by others: say sslmode=verify-full in its address"
            );
        }
        if config.get_application_name().is_none() {
            config.application_name("daybook");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(SILENCE_TIMEOUT).tcp_user_timeout(SILENCE_TIMEOUT);
        // A connection that the server closed is noticed by its own task, without asking the server each time.
        let pulse = Pulse::of(&config, tls.connector()?);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(config, pulse.connections(), recycling);
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
        Ok(Server { pool, pulse })
    }

    /// How the pool is used.
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

    /// Connects for the first time. A certificate that is not trusted now will not be at the next try either: that is said at
    /// once. Later, while a database is served, it is a database that is away.
    pub async fn meet(&self) -> Result<()> {
        match self.pool.get().await {
            Err(PoolError::Backend(error)) => match distrust(&error) {
                Some(why) => Err(StoreError::Broken(why)),
                None => Err(while_connecting(&error)),
            },
            // Whatever else is wrong, the first statement says.
            _ => Ok(()),
        }
    }

    /// A connection. It goes back into the pool only if it is given back.
    pub async fn client(&self) -> Result<Lent> {
        if self.pulse.is_away() {
            return Err(StoreError::Unavailable("the server does not answer".to_owned()));
        }
        let client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                while_connecting(&error)
            }
            other => StoreError::Unavailable(other.to_string()),
        })?;
        Ok(Lent::new(client, self.pulse.tls()))
    }

    /// Asks one thing.
    pub async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>> {
        let client = self.client().await?;
        let rows = match client.prepare_cached(sql).await {
            Ok(statement) => client.query(&statement, params).await,
            Err(error) => Err(error),
        };
        client.give_back();
        rows.map_err(refused)
    }

    /// Asks for one row, or none.
    pub async fn query_opt(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Does one thing; gives how many rows it touched.
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

/// Whether nothing leaves this machine on the way to a host.
fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

/// Whether a transaction was given up for the sake of another one, and may be tried again.
pub(super) fn lost_to_another(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
}

/// Whether a row was there already.
pub(super) fn is_taken(error: &tokio_postgres::Error) -> bool {
    // A record of the audit trail that is there already is no claim that was lost: the trail was tampered with.
    let is_of_audit = error.as_db_error().and_then(|error| error.constraint()) == Some("audit_pkey");
    error.code() == Some(&SqlState::UNIQUE_VIOLATION) && !is_of_audit
}

/// What an error of a statement means.
pub(super) fn refused(error: tokio_postgres::Error) -> StoreError {
    let away = match error.code() {
        Some(code) => is_away(code),
        // A connection that was cut shows as closed, or as an error of the socket.
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()),
    };
    if away { StoreError::Unavailable(sentence(&error)) } else { StoreError::Broken(sentence(&error)) }
}

/// What an error of connecting means: unless the server itself says no, it is not there.
fn while_connecting(error: &tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(code) if !is_away(code) => StoreError::Broken(sentence(error)),
        _ => StoreError::Unavailable(sentence(error)),
    }
}

/// Whether the server says that it cannot now, rather than that it must not.
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
        // After a failover the old address may lead to a server that only reads.
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    classes.iter().any(|class| code.code().starts_with(class)) || codes.contains(code)
}

/// The whole story of an error, from what failed to why.
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
        for code in ["57P01", "57P02", "57P03", "53100", "53300", "08006", "40P01", "25006"] {
            assert!(is_away(&SqlState::from_code(code)), "{code}");
        }
    }

    #[test]
    fn a_server_that_says_no_is_not_away() {
        for code in ["23505", "42P01", "42601", "22003", "28P01", "3D000", "XX001"] {
            assert!(!is_away(&SqlState::from_code(code)), "{code}");
        }
    }

    #[tokio::test]
    async fn an_address_that_is_not_understood_does_not_show_its_password() {
        let error = Server::at("postgres://user:secret@host:port/base").expect_err("a port is a number");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

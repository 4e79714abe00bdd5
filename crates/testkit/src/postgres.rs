//! A PostgreSQL server for tests.
//!
//! `tools/private-postgres` starts one, and removes it when the process that started it ends in any way: the script
//! waits for the end of its standard input. Tests share one server and get a fresh database each. If each test runs in
//! its own process, starting a server for each would take longer than the tests; the test runner then starts one and
//! sets its address in `DAYBOOK_TEST_POSTGRES`.

use crate::migrated_template;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{Client, Connection, NoTls, SimpleQueryMessage, Socket};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/private-postgres");

/// A server.
#[derive(Debug)]
pub struct Server {
    /// The address, without a database.
    address: String,
    /// The script that runs it; `None` if this process did not start it.
    keeper: Option<Mutex<Keeper>>,
}

/// The running script.
#[derive(Debug)]
struct Keeper {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// The shared server: the one at `DAYBOOK_TEST_POSTGRES`, or else one that lives as long as this process.
    pub fn shared() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("DAYBOOK_TEST_POSTGRES") {
            Ok(address) => Server { address: without_database(&address), keeper: None },
            Err(_) => Server::start(),
        })
    }

    /// A private server that does not wait for the disk.
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// A private server that keeps its data even after an immediate stop.
    pub fn start_durable() -> Server {
        Server::start_with(&["--durable"])
    }

    /// A private server that requires TLS, with `server.crt`, `server.key` and `ca.crt` of a folder. The user `carded`
    /// must also present a certificate.
    pub fn start_tls(certificates: &Path) -> Server {
        let server = Server::start_with(&["--tls", certificates.to_str().expect("a folder with a plain name")]);
        server.execute("CREATE ROLE carded SUPERUSER LOGIN").expect("a user can be made");
        server
    }

    fn start_with(arguments: &[&str]) -> Server {
        let mut command = Command::new(SCRIPT);
        // In its own process group: a signal that ends the test must not end the script before it has cleaned up.
        command.args(arguments).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{SCRIPT} does not start: {error}"));
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("the script's output is piped"));
        let mut keeper = Keeper { child, orders, answers };
        let address = keeper.answer();
        assert!(address.starts_with("postgres://"), "no PostgreSQL for tests: {address}");
        Server { address, keeper: Some(Mutex::new(keeper)) }
    }

    /// Creates an empty database and returns its address.
    pub fn database(&self) -> String {
        self.with_client("postgres", async |client| self.create(client, "template1").await)
            .unwrap_or_else(|error| panic!("no new database at {}: {error:?}", self.address))
    }

    /// Creates a database with the tables that the migrations make, and nothing else. It is a copy of a template, which
    /// takes a third of the time of running the migrations. If there is no template, the database is empty, and what
    /// opens it runs the migrations.
    pub fn migrated_database(&self) -> String {
        self.copy_of_template().unwrap_or_else(|error| {
            eprintln!("no copy of the migrated template, so the database is empty: {error:?}");
            self.database()
        })
    }

    fn copy_of_template(&self) -> Result<String, tokio_postgres::Error> {
        self.with_client("postgres", async |client| {
            let template = migrated_template::ready(self, client).await?;
            self.create(client, &template).await
        })
    }

    /// Creates a copy of a database. First drops the databases of processes that have ended, so that a run of thousands of
    /// tests needs the space of a few.
    async fn create(&self, client: &Client, template: &str) -> Result<String, tokio_postgres::Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        self.drop_databases_of_ended_processes(client).await?;
        loop {
            let name = format!("test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            // Copying the files takes half of the time of the other strategy, which writes each page to the log.
            let sql = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
            match client.batch_execute(&sql).await {
                Ok(()) => return Ok(format!("{}/{name}", self.address)),
                // Left by another process with the same id: try the next name.
                Err(error) if error.code() == Some(&SqlState::DUPLICATE_DATABASE) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Drops a database, for a test that needs very many. Its connections are closed.
    pub fn drop_database(&self, address: &str) {
        let name = address.rsplit('/').next().expect("an address ends with the name of a database");
        self.execute(&format!("DROP DATABASE {name} WITH (FORCE)")).expect("the database can be removed");
    }

    async fn drop_databases_of_ended_processes(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        // Elsewhere, the ids of processes mean nothing.
        if !self.address.contains("@127.0.0.1:") {
            return Ok(());
        }
        for name in first_column(client, "SELECT datname FROM pg_database").await? {
            if is_of_ended_process(&name) {
                // Another test may drop it at the same moment; one that is still connected is dropped later.
                let _ = client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await;
            }
        }
        Ok(())
    }

    /// Dumps a database, restores it as a new one, and returns the new address.
    pub fn copy(&self, address: &str) -> String {
        let copy = self.database();
        restore(&dump(address), &copy, &[]);
        copy
    }

    /// A database as SQL text: its tables and their rows.
    pub fn text_of(&self, address: &str) -> String {
        let dump = String::from_utf8(run("pg_dump", &["--dbname", address], &[])).expect("SQL is text");
        // Newer versions of pg_dump put a random word into these two commands for psql.
        let is_sql = |line: &&str| !line.starts_with("\\restrict ") && !line.starts_with("\\unrestrict ");
        dump.lines().filter(is_sql).collect::<Vec<_>>().join("\n")
    }

    /// Dumps a database and restores it in place: its tables are dropped and created again.
    pub fn restore_in_place(&self, address: &str) {
        restore(&dump(address), address, &["--clean", "--if-exists"]);
    }

    /// Stops the server as a crash would: connections are cut, without any cleanup.
    pub fn stop_immediate(&self) {
        self.order("stop", "stopped");
    }

    /// Restarts the stopped server at the same address.
    pub fn start_again(&self) {
        self.order("start", "started");
    }

    /// Suspends all its processes: connections stay open, but it does not respond.
    pub fn freeze(&self) {
        self.order("freeze", "frozen");
    }

    /// Resumes it after a freeze.
    pub fn thaw(&self) {
        self.order("thaw", "thawed");
    }

    fn order(&self, order: &str, expected: &str) {
        let keeper = self.keeper.as_ref().expect("a server that others use too is neither stopped nor started");
        let mut keeper = keeper.lock().expect("no test panics while it gives an order");
        let orders = keeper.orders.as_mut().expect("orders are taken until the server goes");
        writeln!(orders, "{order}").expect("the script takes orders");
        assert_eq!(keeper.answer(), expected);
    }

    /// Runs a statement and returns the first column of its rows.
    fn execute(&self, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        self.with_client("postgres", async |client| first_column(client, sql).await)
    }

    /// Does something on a connection to a database. It has its own thread, so that tests can call it inside or outside
    /// a runtime.
    pub(crate) fn with_client<T: Send>(
        &self,
        database: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error> + Send,
    ) -> Result<T, tokio_postgres::Error> {
        let address = format!("{}/{database}", self.address);
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let run = || {
            runtime().block_on(async {
                let (client, connection) = connect(&address).await?;
                let connection = tokio::spawn(connection);
                let result = work(&client).await;
                drop(client);
                connection.await.expect("the connection ends by itself")?;
                result
            })
        };
        std::thread::scope(|scope| scope.spawn(run).join().expect("asking does not panic"))
    }
}

/// Runs a statement and returns the first column of its rows.
pub(crate) async fn first_column(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let of_row = |answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    Ok(client.simple_query(sql).await?.into_iter().filter_map(of_row).collect())
}

/// Connects, and waits for a server that is starting or recovering.
async fn connect(address: &str) -> Result<(Client, Connection<Socket, NoTlsStream>), tokio_postgres::Error> {
    const ATTEMPTS: u32 = 600;
    let mut attempt = 1;
    loop {
        match tokio_postgres::connect(address, NoTls).await {
            Err(error) if error.code() == Some(&SqlState::CANNOT_CONNECT_NOW) && attempt < ATTEMPTS => attempt += 1,
            result => return result,
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Keeper {
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the script answers");
        line.trim_end().to_owned()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        // The script removes the server's files before it ends.
        let _ = self.child.wait();
    }
}

/// Whether this is the name of a test's database, `test_PROCESS_COUNT`, and the process has ended.
fn is_of_ended_process(name: &str) -> bool {
    let process = name.strip_prefix("test_").and_then(|rest| rest.split('_').next()?.parse::<u32>().ok());
    process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists())
}

/// The output of `pg_dump` for a database.
fn dump(address: &str) -> Vec<u8> {
    run("pg_dump", &["--format", "custom", "--dbname", address], &[])
}

fn restore(dump: &[u8], address: &str, more: &[&str]) {
    run("pg_restore", &[&["--exit-on-error", "--dbname", address], more].concat(), dump);
}

/// Runs a PostgreSQL program of the same version as the test server, and returns its output.
fn run(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let found = Command::new(SCRIPT).arg("--find").stdin(Stdio::null()).output().expect("the script runs");
    let folder = PathBuf::from(String::from_utf8(found.stdout).expect("a path is text").trim_end());
    let mut command = Command::new(folder.join(program));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    // Its output is short or follows after all input was read, so the two sides cannot block each other.
    child.stdin.take().expect("stdin is a pipe").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn without_database(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").expect("DAYBOOK_TEST_POSTGRES is a postgres:// address");
    format!("{scheme}://{}", rest.split('/').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_loses_its_database() {
        assert_eq!(without_database("postgres://me@host:1/base?x=y"), "postgres://me@host:1");
        assert_eq!(without_database("postgres://me@host:1"), "postgres://me@host:1");
    }

    #[test]
    fn the_databases_of_ended_processes_are_dropped() {
        let server = Server::shared();
        let mut child = Command::new("true").spawn().expect("`true` starts");
        child.wait().expect("`true` ends");
        let left = format!("test_{}_0", child.id());
        server.execute(&format!("CREATE DATABASE {left}")).expect("a database can be made");
        let kept = server.database();
        server.database();
        let names = server.execute("SELECT datname FROM pg_database").expect("databases are listed");
        assert!(!names.contains(&left), "{left} is dropped");
        assert!(names.iter().any(|name| kept.ends_with(&format!("/{name}"))), "{kept} is kept");
    }

    #[test]
    fn databases_have_names_of_their_own() {
        let server = Server::shared();
        assert_ne!(server.database(), server.database());
    }

    /// The server is new, so one of them makes the template.
    #[test]
    fn processes_that_start_at_once_copy_one_template() {
        let server = Server::start();
        let copies: Vec<String> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| server.copy_of_template())).collect();
            starting.into_iter().map(|copy| copy.join().expect("no panic").expect("a copy is made")).collect()
        });
        for copy in &copies {
            let name = copy.rsplit('/').next().expect("a name");
            let tables =
                server.with_client(name, async |client| first_column(client, "SELECT name FROM settings").await);
            assert_eq!(tables.expect("it has the tables"), [""; 0], "{copy}");
        }
        let made = server.execute("SELECT datname FROM pg_database WHERE datname LIKE 'migrated%'").expect("a list");
        assert_eq!(made.len(), 1, "{made:?}");
        let refused = server.with_client(&made[0], async |client| first_column(client, "SELECT 1").await);
        assert!(refused.is_err(), "no client can write into the template");
    }
}

//! A PostgreSQL database with the tables that the migrations make, for tests to copy.
//!
//! Running the migrations takes longer than most tests that need their tables. So the first process that needs them runs
//! the migrations in a template database of the server; all others copy it. The template's name contains a hash of the
//! migrations, so changed migrations get a template of their own. No server or service ever opens a template: it has no
//! rows that would make two copies look like the same installation.

use crate::postgres::{Server, first_column};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use tokio_postgres::{Client, Error};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/migrations/postgres");

/// The number of the lock: the letters "template" as bytes.
const LOCK: i64 = 0x74_65_6d_70_6c_61_74_65;

/// The migrations: number and SQL, in order.
struct Migrations(Vec<(i64, String)>);

impl Migrations {
    /// All that are in the source code. The program has a list of the same files: if the two differ, it rejects the
    /// template's tables as newer, or runs the rest.
    fn of_the_source() -> Migrations {
        let files = std::fs::read_dir(Path::new(FOLDER)).expect("the folder of the migrations can be read");
        let mut migrations: Vec<(i64, String)> = files.map(|file| migration(&file.expect("a file").path())).collect();
        migrations.sort();
        Migrations(migrations)
    }

    /// The name of the template database.
    fn template(&self) -> String {
        // The same build of the standard library gives the same hash. Another one makes another template.
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        format!("migrated_{:016x}", hasher.finish())
    }

    /// Does what a server does at its first start.
    async fn run(&self, client: &Client) -> Result<(), Error> {
        client.batch_execute("BEGIN; CREATE TABLE migrations (number bigint PRIMARY KEY)").await?;
        for (number, sql) in &self.0 {
            client.batch_execute(sql).await?;
            client.batch_execute(&format!("INSERT INTO migrations VALUES ({number})")).await?;
        }
        client.batch_execute("COMMIT").await
    }
}

/// Number and SQL of a file like `0002_outbox.sql`.
fn migration(path: &Path) -> (i64, String) {
    let name = path.file_name().and_then(|name| name.to_str()).expect("a file name is text");
    let number = name.split('_').next().and_then(|number| number.parse().ok());
    let sql = std::fs::read_to_string(path).expect("a migration is text");
    (number.unwrap_or_else(|| panic!("{name} does not start with the number of a migration")), sql)
}

/// The name of the template on a server. Makes it if it does not exist. The client is connected to another database.
pub(crate) async fn ready(server: &Server, client: &Client) -> Result<String, Error> {
    let migrations = Migrations::of_the_source();
    let template = migrations.template();
    if !exists(client, &template).await? {
        make(server, client, &migrations, &template).await?;
    }
    Ok(template)
}

async fn exists(client: &Client, database: &str) -> Result<bool, Error> {
    let found = first_column(client, &format!("SELECT 1 FROM pg_database WHERE datname = '{database}'")).await?;
    Ok(!found.is_empty())
}

/// Makes the template under another name, so that no test copies half of it. If several processes start at once, one does
/// this, and the others wait until it is done. The lock ends with the connection.
async fn make(server: &Server, client: &Client, migrations: &Migrations, template: &str) -> Result<(), Error> {
    client.batch_execute(&format!("SELECT pg_advisory_lock({LOCK})")).await?;
    if exists(client, template).await? {
        return Ok(());
    }
    let unfinished = format!("{template}_unfinished");
    // A process that was killed may have left one.
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await?;
    client.batch_execute(&format!("CREATE DATABASE {unfinished} STRATEGY FILE_COPY")).await?;
    server.with_client(&unfinished, async |client| migrations.run(client).await)?;
    // It stays unchanged: a database that refuses connections can still be copied.
    client.batch_execute(&format!("ALTER DATABASE {unfinished} WITH ALLOW_CONNECTIONS false")).await?;
    client.batch_execute(&format!("ALTER DATABASE {unfinished} RENAME TO {template}")).await
}

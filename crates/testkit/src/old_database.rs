//! Databases made by earlier builds, unchanged since.
//!
//! Each folder in `fixtures` holds one, made by `tools/make-old-database` with the last build of that schema version:
//! accounts in every situation that the build supported, on SQLite and on PostgreSQL. See the `README.md` there. All
//! have the same secrets key, the byte 7 repeated 32 times.

use crate::postgres::Server;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio_postgres::NoTls;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
/// The schema version of the last build before rules version 2.
const BEFORE_RULES_2: i64 = 5;

/// The available databases: schema version and folder.
pub const KEPT: &[(i64, &str)] = &[
    (1, "schema-1"),
    (2, "schema-2"),
    (5, "rules-1"),
    (10, "schema-10"),
    (12, "schema-12"),
    (13, "schema-13"),
    (14, "schema-14"),
    (15, "schema-15"),
    (16, "schema-16"),
];

/// The secret of the first API key of each database.
pub const SECRET: &str = "old-database-secret-of-the-first-key-000000";

/// A copy of the database, for one test.
#[derive(Clone, Debug)]
pub struct OldDatabase {
    /// Its address.
    pub address: String,
    /// The file, for SQLite.
    path: Option<PathBuf>,
}

impl OldDatabase {
    /// The last database before rules version 2, as an SQLite file in a folder, with the secrets key next to it.
    pub fn sqlite(folder: &Path) -> OldDatabase {
        OldDatabase::sqlite_of(BEFORE_RULES_2, folder)
    }

    /// The same on the PostgreSQL server that tests share, with the secrets key in a folder.
    pub fn postgres(folder: &Path) -> OldDatabase {
        OldDatabase::postgres_of(BEFORE_RULES_2, folder)
    }

    /// The database of a schema version in [`KEPT`], as an SQLite file.
    pub fn sqlite_of(version: i64, folder: &Path) -> OldDatabase {
        let path = folder.join("daybook.db");
        std::fs::write(&path, unpacked(version, "old.db.gz")).expect("the file can be written");
        write_key(folder);
        OldDatabase { address: format!("sqlite:{}", path.display()), path: Some(path) }
    }

    /// The same on PostgreSQL.
    pub fn postgres_of(version: i64, folder: &Path) -> OldDatabase {
        let database = OldDatabase::at(&Server::shared().database());
        database.run(&String::from_utf8(unpacked(version, "old.sql.gz")).expect("a dump is text"));
        write_key(folder);
        database
    }

    /// The database at an address, for queries and changes by SQL.
    pub fn at(address: &str) -> OldDatabase {
        OldDatabase { address: address.to_owned(), path: address.strip_prefix("sqlite:").map(PathBuf::from) }
    }

    /// Records that a later build ran the migration of this number.
    pub fn note_migration(&self, number: i64) {
        self.run(&match self.path {
            Some(_) => format!("INSERT INTO migrations (number, name) VALUES ({number}, 'noted by a test')"),
            None => format!("INSERT INTO migrations VALUES ({number})"),
        });
    }

    /// Runs statements.
    pub fn run(&self, sql: &str) {
        match &self.path {
            Some(path) => {
                let connection = Connection::open(path).expect("the file opens");
                connection.execute_batch(sql).expect("the statements run");
            }
            None => self.ask(async |client| client.batch_execute(sql).await.expect("the statements run")),
        }
    }

    /// The number that a query returns.
    pub fn number(&self, sql: &str) -> i64 {
        self.try_number(sql).unwrap_or_else(|| panic!("no number: {sql}"))
    }

    /// The number that a query returns; `None` if its tables do not exist or are locked.
    pub fn try_number(&self, sql: &str) -> Option<i64> {
        match &self.path {
            Some(path) => Connection::open(path).ok()?.query_row(sql, [], |row| row.get(0)).ok(),
            None => self.ask(async |client| client.query_one(sql, &[]).await.ok().map(|row| row.get(0))),
        }
    }

    /// Makes this many copies of every account of the first organization, with all inputs and line items.
    pub fn multiply(&self, copies: usize) {
        let (item, customer) = if self.path.is_some() { ("item", "customer") } else { ("item_id", "customer_id") };
        let tables = [
            ("accounts", ACCOUNT.to_owned()),
            ("inputs", INPUT.to_owned()),
            ("line_items", format!("{item}, {ITEM}")),
            ("account_customers", format!("org, {customer}, role")),
        ];
        let every = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n";
        self.run(&format!(
            "INSERT INTO words (id, org, word, kind)
             {every} < {copies})
             SELECT id || '-copy-' || n, org, word, kind FROM words, n WHERE org = 1 AND kind = 1"
        ));
        for (table, columns) in tables {
            self.run(&format!(
                "INSERT INTO {table} (account, {columns})
                 {every} < {copies})
                 SELECT account || '-copy-' || n, {columns} FROM {table}, n WHERE org = 1"
            ));
        }
    }

    fn ask<T: Send>(&self, question: impl AsyncFnOnce(tokio_postgres::Client) -> T + Send) -> T {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let run = || {
            runtime().block_on(async {
                let (client, connection) = tokio_postgres::connect(&self.address, NoTls).await.expect("it connects");
                let connection = tokio::spawn(connection);
                let answer = question(client).await;
                connection.await.expect("it ends by itself").expect("it ends well");
                answer
            })
        };
        std::thread::scope(|scope| scope.spawn(run).join().expect("asking does not panic"))
    }
}

/// The columns of an account except its id, of an input and of a line item.
const ACCOUNT: &str = "org, product, version, terms, content_hash, effective_at, created_at, updated_at, state, profile, \
    processed_through, rolled_to, next_moment, oldest_unpaid_due, status, substatus, next_seq, settled_seq, held_events, \
    scheduled_events, message_seq, failure, balance";
const INPUT: &str = "org, seq, name, effective_at, applies_at, rank, scheduled, recorded_at, clock, payload, extra, \
    content_hash";
const ITEM: &str = "org, kind, status, effective_at, applied_at, created_at, updated_at, amount, balance, principal, \
    interest, fees, splits, extra";

fn unpacked(version: i64, name: &str) -> Vec<u8> {
    let (_, folder) = KEPT.iter().find(|(kept, _)| *kept == version).expect("a database of that version is kept");
    let path = Path::new(FOLDER).join(folder).join(name);
    let output = Command::new("gzip").arg("-dc").arg(&path).output().expect("gzip(1) is there");
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Writes the secrets key where a server looks for it, readable only by its owner.
fn write_key(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("daybook.key");
    std::fs::copy(Path::new(FOLDER).join("rules-1/old.key"), &path).expect("the key can be copied");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode can be set");
}

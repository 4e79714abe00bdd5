//! Where servers run: a folder, the command in it, and a SQLite file or a PostgreSQL database.

use super::api_client::ApiClient;
use daybook_testkit::postgres;
use daybook_testkit::server::{Daybook, Server};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// The secret of the first key.
pub const SECRET: &str = "a-secret-for-tests-of-32-characters-or-more";

/// A folder and a database.
#[derive(Debug)]
pub struct Installation {
    daybook: Daybook,
    database: String,
    /// Dropped last.
    _folder: TempDir,
}

impl Installation {
    /// With a SQLite file in its folder.
    pub fn sqlite() -> Installation {
        Installation::with("sqlite:daybook.db".to_owned())
    }

    /// With a database on the PostgreSQL server that tests share.
    pub fn postgres() -> Installation {
        Installation::with(postgres::Server::shared().migrated_database())
    }

    /// With the database at an address.
    pub fn with(database: String) -> Installation {
        let folder = tempfile::tempdir().expect("a folder");
        let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path())
            .with("DAYBOOK_BOOTSTRAP_CLIENT_ID", "tests")
            .with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", SECRET)
            .with("DAYBOOK_LOG_LEVEL", "warn");
        Installation { daybook, database, _folder: folder }
    }

    /// The same, with a limit on the open files of commands.
    pub fn with_descriptors(self, count: u32) -> Installation {
        let script = self.folder().join("few-descriptors");
        let text = format!("#!/bin/sh\nulimit -n {count}\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_daybook"));
        fs::write(&script, text).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
        Installation { daybook: self.daybook.run_by(script), ..self }
    }

    /// Whether its database is a file.
    pub fn is_sqlite(&self) -> bool {
        self.database.starts_with("sqlite:")
    }

    /// The folder that commands run in.
    pub fn folder(&self) -> &Path {
        self.daybook.folder()
    }

    /// Starts a server. Several can run only on PostgreSQL.
    pub fn serve(&self) -> Server {
        self.daybook.serve(&["--database", &self.database])
    }

    /// Starts a server with these flags.
    pub fn serve_with(&self, flags: &[&str]) -> Server {
        self.daybook.serve(&[&["--database", &self.database], flags].concat())
    }

    /// Starts a server with more environment variables. If it ends before it is ready, returns its output.
    pub fn try_serve_in(&self, variables: &[(&str, &str)], flags: &[&str]) -> Result<Server, String> {
        let daybook = variables.iter().fold(self.daybook.clone(), |daybook, (name, value)| daybook.with(name, value));
        daybook.try_serve(&[&["--database", &self.database], flags].concat()).map_err(|(_, stderr)| stderr)
    }

    /// Starts a server with the demo data.
    pub fn serve_demo(&self) -> Server {
        self.daybook.serve(&["--database", &self.database, "--demo"])
    }

    /// Starts a server and a client of it.
    pub fn open(&self) -> (Server, ApiClient) {
        let server = self.serve();
        let client = ApiClient::to(server.url());
        (server, client)
    }

    /// The JSON output of a command on the database.
    pub fn json_of(&self, args: &[&str]) -> Value {
        self.daybook.json_of(&[args, &["--database", &self.database]].concat())
    }

    /// Recomputes every account and compares it with the stored data. Returns the number of accounts.
    pub fn verify(&self) -> u64 {
        let output = self.daybook.run(&["verify", "--json", "--database", &self.database]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let found: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
        assert_eq!(found["differences"], serde_json::json!([]), "{said}");
        found["accounts"].as_u64().expect("a number of accounts")
    }
}

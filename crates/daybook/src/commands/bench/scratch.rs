//! The folder and the databases of a benchmark.

use super::postgres_databases;
use crate::commands::Failure;
use std::path::{Path, PathBuf};

/// The database of a benchmark, the given one or a SQLite file, and a folder for other files. The folder is deleted on
/// drop.
#[derive(Debug)]
pub struct Scratch {
    /// The address of the database.
    pub address: String,
    folder: PathBuf,
    /// The second database, if it is on PostgreSQL.
    second: Option<String>,
}

impl Scratch {
    /// The given database, or a file. The folder is in the working folder, so that the benchmark uses a real disk.
    pub fn new(named: Option<&str>) -> Result<Scratch, Failure> {
        let folder = std::env::current_dir().map_err(Failure::Output)?;
        let folder = folder.join(format!("daybook-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(Failure::Output)?;
        let file = format!("sqlite:{}", folder.join("bench.db").display());
        Ok(Scratch { address: named.map_or(file, str::to_owned), folder, second: None })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of the database, if it is a SQLite file.
    pub fn file(&self) -> Option<PathBuf> {
        self.address.strip_prefix("sqlite:").map(PathBuf::from)
    }

    /// Creates a second database: another file in the folder, or another database on the same PostgreSQL server.
    pub async fn second_address(&mut self) -> Result<String, Failure> {
        if self.file().is_some() {
            return Ok(format!("sqlite:{}", self.folder.join("second.db").display()));
        }
        let name = format!("daybook_bench_second_{}", std::process::id());
        let address = postgres_databases::create(&self.address, &name).await?;
        self.second = Some(name);
        Ok(address)
    }

    /// Drops the second database, if it is on PostgreSQL.
    pub async fn drop_second(&mut self) -> Result<(), Failure> {
        match self.second.take() {
            Some(name) => postgres_databases::remove(&self.address, &name).await,
            None => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

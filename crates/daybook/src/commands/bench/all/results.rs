//! The results of all runs, as they are in `performance.json`.

use super::machine::Machine;
use crate::commands::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Database {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

impl Database {
    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Database::Sqlite => "SQLite",
            Database::Postgres => "PostgreSQL",
        }
    }
}

/// Everything that was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The machine.
    pub machine: Machine,
    /// Whether the sizes were tiny.
    pub quick: bool,
    /// The runs, in order.
    pub runs: Vec<RunRecord>,
}

/// One run of one benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// The name of the benchmark.
    pub job: String,
    /// The database, if it has one.
    pub database: Option<Database>,
    /// The number of the run, from 1.
    pub run: u64,
    /// The command.
    pub command: String,
    /// The commit that was measured.
    pub commit: String,
    /// The day.
    pub day: String,
    /// The number of processes that ran or waited for a processor on average during the minute before; `None` if the
    /// system does not tell.
    pub load_before: Option<f64>,
    /// How long the command took.
    pub seconds: f64,
    /// What it printed.
    pub figures: Value,
    /// Why it failed.
    pub failure: Option<String>,
}

impl Results {
    /// Reads the results from a file.
    pub fn read(path: &Path) -> Result<Results, Failure> {
        let failed = |why: String| Failure::Failed(format!("{} cannot be read: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
    }

    /// Writes the results to a file, with a line for each run.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let written = self.text().and_then(|text| std::fs::write(path, text));
        written.map_err(Failure::Output)
    }

    fn text(&self) -> std::io::Result<String> {
        let runs: Vec<String> = self.runs.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        let machine = serde_json::to_string(&self.machine)?;
        let quick = self.quick;
        Ok(format!("{{\n\"machine\": {machine},\n\"quick\": {quick},\n\"runs\": [\n{}\n]\n}}\n", runs.join(",\n")))
    }

    /// The figure at a JSON pointer in each run of a benchmark.
    pub fn figures(&self, database: Option<Database>, job: &str, pointer: &str) -> Vec<(u64, f64)> {
        let runs = self.runs.iter().filter(|run| run.job == job && run.database == database);
        runs.filter_map(|run| Some((run.run, run.figures.pointer(pointer)?.as_f64()?))).collect()
    }

    /// Whether anything was measured with this database.
    pub fn has(&self, database: Database) -> bool {
        self.runs.iter().any(|run| run.database == Some(database))
    }
}

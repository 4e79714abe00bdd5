//! `daybook bench all`: runs every benchmark several times, and writes the page with the results.
//!
//! ```text
//! jobs ─► a process for each run ─► results ─► performance.json ─► evaluation (targets, rows) ─┐
//!                                                                 └► plots (svg) ──────────────┼─► page
//! performance/notes.md ─► notes ───────────────────────────────────────────────────────────────┘
//! ```
//!
//! The runs alternate: every benchmark runs once before one of them runs again, so a slow phase of the machine does not
//! fall on one benchmark only. The results are saved after each run, so an interrupted command loses only one. A run that
//! fails is recorded as such, and the others continue.

mod evaluation;
mod jobs;
mod machine;
mod notes;
mod page;
mod plots;
mod results;
mod rows;
mod spread;
mod svg;
mod targets;
#[cfg(test)]
mod tests;

use super::{child, postgres_databases};
use crate::cli::{BenchAllArgs, BenchDatabases};
use crate::commands::Failure;
use daybook_clock::{Clock, Stopwatch, System};
use daybook_engine::zone::Zone;
use jobs::{JOBS, Job};
use machine::Machine;
use results::{Database, Results, RunRecord};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs the benchmarks, or only writes the page again.
pub async fn run(args: &BenchAllArgs) -> Result<(), Failure> {
    let files = Files::of(&args.to);
    if args.render {
        return files.render(&Results::read(&files.results)?);
    }
    for name in &args.only {
        if !JOBS.iter().any(|job| job.name == name || job.command == name) {
            let names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
            return Err(Failure::Failed(format!("--only: {name} is not one of {}", names.join(", "))));
        }
    }
    let plan = Plan::of(args)?;
    fs::create_dir_all(&args.to).map_err(Failure::Output)?;
    let mut results = Results { machine: Machine::this(plan.postgres()).await, quick: args.quick, runs: Vec::new() };
    if !args.only.is_empty() && files.results.exists() {
        let earlier = Results::read(&files.results)?;
        if earlier.quick != args.quick {
            return Err(Failure::Failed("--only: the other results were measured with other sizes".to_owned()));
        }
        results.machine.postgres = results.machine.postgres.or(earlier.machine.postgres);
        let is_kept = |run: &RunRecord| !plan.runs.iter().any(|(job, on)| job.name == run.job && *on == run.database);
        results.runs = earlier.runs.into_iter().filter(is_kept).collect();
    }
    let commit = args.commit.clone().unwrap_or_else(machine::commit);
    for run in 1..=args.runs {
        for (job, database) in &plan.runs {
            let record = plan.measure(job, *database, run, &commit).await?;
            results.runs.push(record);
            results.write(&files.results)?;
        }
    }
    files.render(&results)?;
    let failed = results.runs.iter().filter(|run| run.failure.is_some()).count();
    if failed > 0 {
        return Err(Failure::Failed(format!("{failed} runs failed: {} lists them", files.page.display())));
    }
    Ok(())
}

/// What is run, and where.
struct Plan<'a> {
    args: &'a BenchAllArgs,
    /// The benchmarks of one round, with their databases.
    runs: Vec<(&'static Job, Option<Database>)>,
}

impl Plan<'_> {
    fn of(args: &BenchAllArgs) -> Result<Plan<'_>, Failure> {
        let databases: &[Database] = match (args.database, &args.postgres) {
            (Some(BenchDatabases::Sqlite), _) | (None, None) => &[Database::Sqlite],
            (Some(BenchDatabases::Postgres), Some(_)) => &[Database::Postgres],
            (Some(BenchDatabases::Both) | None, Some(_)) => &[Database::Sqlite, Database::Postgres],
            (Some(_), None) => return Err(Failure::Failed("--postgres: is required for PostgreSQL".to_owned())),
        };
        let is_meant =
            |job: &&Job| args.only.is_empty() || args.only.iter().any(|name| name == job.name || name == job.command);
        let runs = JOBS.iter().filter(is_meant).flat_map(|job| match job.has_database {
            true => databases.iter().map(|database| (job, Some(*database))).collect(),
            false => vec![(job, None)],
        });
        Ok(Plan { args, runs: runs.collect() })
    }

    /// The PostgreSQL server, if it is measured.
    fn postgres(&self) -> Option<&str> {
        let is_measured = self.runs.iter().any(|(_, database)| *database == Some(Database::Postgres));
        self.args.postgres.as_deref().filter(|_| is_measured)
    }

    /// Runs a benchmark once, in a process and a database of its own.
    async fn measure(
        &self,
        job: &Job,
        database: Option<Database>,
        run: u64,
        commit: &str,
    ) -> Result<RunRecord, Failure> {
        let sizes = job.args(self.args.quick);
        let on = database.map_or(String::new(), |database| format!(" on {}", database.name()));
        eprint!("run {run} of {}: {}{on} ... ", self.args.runs, job.name);
        let mut args = ["bench"].into_iter().chain(sizes.iter().copied()).chain(["--json"]).collect::<Vec<_>>();
        let (load_before, watch) = (machine::load(), Stopwatch::start());
        let measured = match (database, &self.args.postgres) {
            (Some(Database::Postgres), Some(server)) => {
                let name = format!("daybook_bench_{}", std::process::id());
                let address = postgres_databases::create(server, &name).await?;
                args.extend(["--database", &address]);
                let measured = measure(&args).await;
                postgres_databases::remove(server, &name).await?;
                measured
            }
            _ => measure(&args).await,
        };
        let seconds = watch.elapsed().as_secs_f64();
        let (figures, failure) = match measured {
            Ok(figures) => (figures, None),
            Err(failure) => (Value::Null, Some(failure.to_string())),
        };
        eprintln!("{}", failure.as_ref().map_or_else(|| format!("{seconds:.1} s"), |why| format!("failed: {why}")));
        Ok(RunRecord {
            job: job.name.to_owned(),
            database,
            run,
            command: format!("daybook bench {}", sizes.join(" ")),
            commit: commit.to_owned(),
            day: Zone::named("UTC").map_or_else(String::new, |zone| zone.day_at(System.now()).to_string()),
            load_before,
            seconds,
            figures,
            failure,
        })
    }
}

async fn measure(args: &[&str]) -> Result<Value, Failure> {
    let folder = std::env::current_dir().map_err(Failure::Output)?;
    child::json_of(child::command(args, &folder)?).await
}

/// The files that are written.
struct Files {
    results: PathBuf,
    page: PathBuf,
    plots: PathBuf,
    notes: PathBuf,
}

impl Files {
    fn of(folder: &Path) -> Files {
        let plots = folder.join("performance");
        Files {
            results: folder.join("performance.json"),
            page: folder.join("performance.md"),
            notes: plots.join("notes.md"),
            plots,
        }
    }

    /// Writes the page and the plots.
    fn render(&self, results: &Results) -> Result<(), Failure> {
        let notes =
            if self.notes.exists() { fs::read_to_string(&self.notes).map_err(Failure::Output)? } else { String::new() };
        let plots = plots::plots(results);
        fs::create_dir_all(&self.plots).map_err(Failure::Output)?;
        for plot in &plots {
            fs::write(self.plots.join(plot.file), &plot.svg).map_err(Failure::Output)?;
        }
        fs::write(&self.page, page::page(results, &notes, &plots)).map_err(Failure::Output)?;
        eprintln!("wrote {}", self.page.display());
        Ok(())
    }
}

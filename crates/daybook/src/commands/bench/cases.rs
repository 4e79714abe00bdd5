//! `daybook bench cases`: reads and runs a folder of test cases in memory, as `daybook test` does. There is no bare
//! loop to compare with: the result is the processor time of a case, and the other benchmarks show its parts.

use super::processor_time;
use crate::cli::BenchCasesArgs;
use crate::commands::Failure;
use daybook_cases::{Scenario, builtin, read_folder, run_all};
use daybook_clock::Stopwatch;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchCasesArgs) -> Result<(), Failure> {
    let folder = Folder::filled(args.files)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (watch, before) = (Stopwatch::start(), processor_time());
    let cases = read(&folder.0)?;
    let reading = watch.elapsed();
    let outcomes = run_all(&cases, threads).await;
    let (took, used) = (watch.elapsed(), processor_time().saturating_sub(before));
    if let Some(failed) = outcomes.iter().find(|outcome| !outcome.passed) {
        return Err(Failure::Failed(failed.to_string()));
    }
    report(args, threads, reading, took, used);
    Ok(())
}

fn read(folder: &Path) -> Result<Vec<Scenario>, Failure> {
    read_folder(folder).map_err(|error| Failure::Failed(error.to_string()))
}

fn report(args: &BenchCasesArgs, threads: usize, reading: Duration, took: Duration, used: Duration) {
    let (files, seconds) = (args.files, took.as_secs_f64());
    let rate = files as f64 / seconds;
    let each = used.as_secs_f64() * 1_000.0 / files as f64;
    if args.json {
        let figures = json!({
            "files": files, "threads": threads, "seconds": seconds, "cases_per_second": rate,
            "reading_seconds": reading.as_secs_f64(), "processor_seconds": used.as_secs_f64(),
            "processor_ms_per_case": each,
        });
        println!("{figures}");
        return;
    }
    println!("cases    {files} files in {seconds:.2} s on {threads} threads: {rate:.0} cases/s");
    println!("reading  {:.2} s of that", reading.as_secs_f64());
    println!("CPU      {:.2} s, {each:.2} ms a case", used.as_secs_f64());
}

/// A folder of cases, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    /// Creates copies of the built-in cases, each with its own ids.
    fn filled(files: u64) -> Result<Folder, Failure> {
        let folder = Folder(std::env::temp_dir().join(format!("daybook-bench-cases-{}", std::process::id())));
        fs::create_dir(&folder.0).map_err(Failure::Output)?;
        for (number, (file, text)) in (0..files).zip(builtin().iter().cycle()) {
            let text = text.replacen("title = \"", &format!("title = \"{number}: "), 1);
            let text = text.replacen("account_id = \"", &format!("account_id = \"n{number}-"), 1);
            fs::write(folder.0.join(format!("{number:06}-{file}")), text).map_err(Failure::Output)?;
        }
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! `daybook bench`: measures Daybook and its limit in one run.
//!
//! Machines differ and their load varies, so the ratio of two results of the same run says more than either result.
//! Each benchmark measures Daybook and a bare loop: the same rows, bytes and indexes written without any logic, or the
//! same calls answered by a server that does nothing.

pub mod cases;
pub mod console;
pub mod http;
pub mod limit_postgres;
pub mod limit_sqlite;
pub mod payments;
pub mod portfolio;
pub mod release;
pub mod storage;
pub mod webhooks;

use crate::cli::{BenchAction, BenchCommand};
use crate::commands::Failure;
use std::path::PathBuf;
use std::time::Duration;

/// Runs a benchmark.
pub fn run(command: &BenchCommand) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Output)?;
    runtime.block_on(async {
        match &command.command {
            BenchAction::Release(args) => release::run(args).await,
            BenchAction::Payments(args) => payments::run(args).await,
            BenchAction::Console(args) => console::run(args).await,
            BenchAction::Cases(args) => cases::run(args).await,
            BenchAction::Webhooks(args) => webhooks::run(args).await,
            BenchAction::Storage(args) => storage::run(args).await,
            BenchAction::WebhookReceiver => webhooks::receiver::run().await,
            BenchAction::WebhookClient(args) => webhooks::bare::run(args).await,
        }
    })
}

/// The database of a benchmark: the given one, or a temporary file deleted on drop.
#[derive(Debug)]
pub struct Scratch {
    /// Its address.
    pub address: String,
    folder: Option<PathBuf>,
}

impl Scratch {
    /// The given database, or a temporary file in the working folder, so that the benchmark uses a real disk.
    pub fn new(named: Option<&str>) -> Result<Scratch, Failure> {
        if let Some(address) = named {
            return Ok(Scratch { address: address.to_owned(), folder: None });
        }
        let folder = PathBuf::from(format!("daybook-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(Failure::Output)?;
        Ok(Scratch { address: format!("sqlite:{}", folder.join("bench.db").display()), folder: Some(folder) })
    }

    /// The path, if it is a SQLite file.
    pub fn file(&self) -> Option<PathBuf> {
        self.address.strip_prefix("sqlite:").map(PathBuf::from)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The peak memory of the process in MiB, or `None` if the system does not report it.
pub fn peak_memory_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// The processor time that the process has used.
pub fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

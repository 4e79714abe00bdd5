//! `daybook bench`: the product and its limit, side by side in one run.
//!
//! Machines are noisy and differ; a ratio of two figures taken in one run says more than either. Each bench measures what
//! Daybook does and a bare loop beside it: the same rows, bytes and indexes written with no logic, the same calls
//! answered by a server that does nothing.

pub mod cases;
pub mod console;
pub mod http;
pub mod limit_postgres;
pub mod limit_sqlite;
pub mod payments;
pub mod portfolio;
pub mod release;
pub mod webhooks;

use crate::cli::{BenchAction, BenchCommand};
use crate::commands::Failure;
use std::path::PathBuf;
use std::time::Duration;

/// Runs a bench.
pub fn run(command: &BenchCommand) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Output)?;
    runtime.block_on(async {
        match &command.command {
            BenchAction::Release(args) => release::run(args).await,
            BenchAction::Payments(args) => payments::run(args).await,
            BenchAction::Console(args) => console::run(args).await,
            BenchAction::Cases(args) => cases::run(args).await,
            BenchAction::Webhooks(args) => webhooks::run(args).await,
            BenchAction::WebhookReceiver => webhooks::receiver::run().await,
            BenchAction::WebhookClient(args) => webhooks::bare::run(args).await,
        }
    })
}

/// A database to measure on: the one that was named, or a scratch file that goes when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    /// Its address.
    pub address: String,
    folder: Option<PathBuf>,
}

impl Scratch {
    /// The database that was named, or a scratch file in the working folder: what is measured must be a real disk.
    pub fn new(named: Option<&str>) -> Result<Scratch, Failure> {
        if let Some(address) = named {
            return Ok(Scratch { address: address.to_owned(), folder: None });
        }
        let folder = PathBuf::from(format!("daybook-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(Failure::Output)?;
        Ok(Scratch { address: format!("sqlite:{}", folder.join("bench.db").display()), folder: Some(folder) })
    }

    /// The file, if it is one.
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

/// The memory that the process uses at most, in MiB; nothing where the system does not tell.
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

//! `daybook bench`: measures Daybook and its limit in one run.
//!
//! Machines differ and their load varies, so the ratio of two results of the same run says more than either result.
//! Each benchmark measures Daybook and a bare loop: the same rows, bytes and indexes written without any logic, or the
//! same calls answered by a server that does nothing.

//!
//! `bench all` runs all of them, each in a process of its own, and writes a page with the results ([`all`]).

pub mod account;
pub mod all;
pub mod cases;
pub mod child;
pub mod console;
pub mod due;
pub mod engine;
pub mod http;
pub mod import;
pub mod limit_postgres;
pub mod limit_sqlite;
pub mod neighbor;
pub mod payments;
pub mod portfolio;
pub mod postgres_databases;
pub mod read;
pub mod release;
pub mod scratch;
pub mod server;
pub mod start;
pub mod storage;
pub mod timings;
pub mod webhooks;
pub mod what_if;

pub use scratch::Scratch;

use crate::cli::{BenchAction, BenchCommand};
use crate::commands::Failure;
use std::time::Duration;

/// Runs a benchmark.
pub fn run(command: &BenchCommand) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Output)?;
    runtime.block_on(async {
        match &command.command {
            BenchAction::All(args) => all::run(args).await,
            BenchAction::Engine(args) => engine::run(args),
            BenchAction::Start(args) => start::run(args).await,
            BenchAction::Read(args) => read::run(args).await,
            BenchAction::Due(args) => due::run(args).await,
            BenchAction::Import(args) => import::run(args).await,
            BenchAction::Account(args) => account::run(args).await,
            BenchAction::Neighbor(args) => neighbor::run(args).await,
            BenchAction::Release(args) => release::run(args).await,
            BenchAction::Payments(args) => payments::run(args).await,
            BenchAction::Console(args) => console::run(args).await,
            BenchAction::Cases(args) => cases::run(args).await,
            BenchAction::Webhooks(args) => webhooks::run(args).await,
            BenchAction::WhatIf(args) => what_if::run(args).await,
            BenchAction::Storage(args) => storage::run(args).await,
            BenchAction::WebhookReceiver => webhooks::receiver::run().await,
            BenchAction::WebhookClient(args) => webhooks::bare::run(args).await,
        }
    })
}

/// Prints the results of a benchmark: JSON, or lines of text.
pub fn report(as_json: bool, figures: &serde_json::Value, lines: &[String]) -> Result<(), Failure> {
    let text = if as_json { format!("{figures}\n") } else { lines.iter().map(|line| format!("{line}\n")).collect() };
    crate::commands::print(&text)
}

/// The peak memory of the process in MiB, or `None` if the system does not report it.
pub fn peak_memory_mib() -> Option<u64> {
    memory_kib("self", "VmHWM").map(|kib| kib / 1024)
}

/// A count of a process's memory, `VmHWM` (the peak) or `VmRSS` (now), in KiB, or `None` if the system does not report
/// it.
pub fn memory_kib(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The processor time that the process has used.
pub fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

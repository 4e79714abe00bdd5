//! `daybook bench release`: releases a held portfolio, compared with a bare loop that writes the same rows.

use super::portfolio::{Bench, PRODUCT, months_ago};
use super::{Scratch, limit_postgres, limit_sqlite, peak_memory_mib};
use crate::cli::BenchReleaseArgs;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use serde_json::json;
use std::time::Duration;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchReleaseArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let bench = Bench::start(&scratch.address).await?;
    bench.product(true).await?;
    let loading = Stopwatch::start();
    bench.load(args.accounts, args.events, months_ago(args.events)?).await?;
    let payments = args.accounts * args.events;
    eprintln!("loaded {} accounts with {payments} payments in {:.1} s", args.accounts, loading.elapsed().as_secs_f64());
    let before = match scratch.file() {
        Some(file) => Some(limit_sqlite::copy(&bench, &file).await?),
        None => None,
    };
    let releasing = Stopwatch::start();
    bench.release(PRODUCT).await?;
    let took = releasing.elapsed();
    let memory = peak_memory_mib();
    let limit = match (&before, scratch.file()) {
        (Some(before), Some(file)) => limit_sqlite::release(&file, before)?,
        _ => limit_postgres::release(&scratch.address).await?,
    };
    report(args, payments, took, &limit, memory);
    Ok(())
}

/// The results of the bare loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct BareLoopResult {
    /// The time it took.
    pub took: Duration,
    /// The number of messages it wrote.
    pub messages: u64,
    /// The size of their data, in bytes.
    pub bytes: u64,
    /// The number of line items it wrote.
    pub items: u64,
}

fn report(args: &BenchReleaseArgs, payments: u64, took: Duration, limit: &BareLoopResult, memory: Option<u64>) {
    let rate = |took: Duration| payments as f64 / took.as_secs_f64();
    let ratio = limit.took.as_secs_f64() / took.as_secs_f64();
    if args.target.json {
        let figures = json!({
            "accounts": args.accounts, "payments": payments, "messages": limit.messages, "line_items": limit.items,
            "release_seconds": took.as_secs_f64(), "limit_seconds": limit.took.as_secs_f64(), "ratio": ratio,
            "payments_per_second": rate(took), "limit_per_second": rate(limit.took),
            "us_per_payment": took.as_secs_f64() * 1e6 / payments.max(1) as f64, "peak_memory_mib": memory,
        });
        println!("{figures}");
        return;
    }
    println!("release  {payments} payments in {:.2} s: {:.0} payments/s", took.as_secs_f64(), rate(took));
    println!(
        "limit    the same rows ({} line items, {} messages of {} bytes) by a bare loop in {:.2} s: {:.0} payments/s",
        limit.items,
        limit.messages,
        limit.bytes / limit.messages.max(1),
        limit.took.as_secs_f64(),
        rate(limit.took)
    );
    println!("ratio    {ratio:.2}");
    if let Some(memory) = memory {
        println!("memory   {memory} MiB at most, loading included");
    }
}

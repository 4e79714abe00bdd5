//! `daybook bench import`: imports a portfolio from files into a new server, as `daybook import` does. Measures the time
//! from the files to the report, the server's memory, and the size of the database.
//!
//! ```text
//! daybook demo-data ─► files ─► daybook import ─► daybook serve (a process) ─► database ─► daybook bench storage
//! ```

use super::server::{BenchServer, command_on};
use super::{Scratch, child, report};
use crate::cli::BenchImportArgs;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use serde_json::json;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchImportArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let (loans, months) = (args.loans.to_string(), args.payments.to_string());
    let demo = ["demo-data", "--loans", &loans, "--payments", &months, "--to", "portfolio"];
    child::output_of(child::command(&demo, scratch.folder())?).await?;
    eprintln!("wrote the files of {loans} loans");

    let server = BenchServer::start(&scratch)?;
    let (url, key) = (format!("http://{}", server.address), BenchServer::key());
    let mut import = vec!["import", "--product-file", "portfolio/product.json", "--url", &url, "--json"];
    if args.send_historical_webhooks {
        import.push("--send-historical-webhooks");
    }
    import.extend(["portfolio/loans.csv", "portfolio/payments.csv"]);
    let mut command = child::command(&import, scratch.folder())?;
    command.env("DAYBOOK_KEY", key);
    let watch = Stopwatch::start();
    let imported = child::json_of(command).await?;
    let seconds = watch.elapsed().as_secs_f64();
    let memory = server.memory_mib("VmHWM");
    server.stop().await?;
    let stored = ["bench", "storage", "--json", "--database", &scratch.address];
    let stored = child::json_of(command_on(&scratch, &stored)?).await?;

    let payments = imported["payments"].as_u64().unwrap_or(0);
    let each = stored["bytes_per_payment"].as_f64().unwrap_or(0.0);
    let figures = json!({
        "loans": args.loans, "payments": payments, "seconds": seconds,
        "payments_per_second": payments as f64 / seconds, "server_peak_mib": memory, "bytes_per_payment": each,
        "messages": stored["messages"], "parts": stored["parts"],
    });
    let mut lines = vec![
        format!("import   {loans} loans with {payments} payments in {seconds:.1} s, from the files to the report"),
        format!("storage  {each:.0} bytes a payment, {} messages", stored["messages"]),
    ];
    if let Some(memory) = memory {
        lines.push(format!("memory   {memory:.0} MiB at most in the server"));
    }
    report(args.target.json, &figures, &lines)
}

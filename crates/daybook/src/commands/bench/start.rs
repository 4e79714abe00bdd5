//! `daybook bench start`: how long a server takes until it is ready, on an empty database and after `kill -9`, and how
//! much memory it uses when idle. The limit of a start is the time in which the program prints its version.

use super::portfolio::{Bench, PRODUCT, account_id, months_ago};
use super::server::BenchServer;
use super::{Scratch, child, report};
use crate::cli::BenchStartArgs;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use daybook_operations::Operation;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

/// The number of callers that record payments before the server is killed.
const CALLERS: u64 = 8;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchStartArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let watch = Stopwatch::start();
    child::output_of(child::command(&["--version"], scratch.folder())?).await?;
    let limit = watch.elapsed();

    let server = BenchServer::start(&scratch)?;
    let empty = server.ready_after;
    tokio::time::sleep(Duration::from_secs(args.idle_seconds)).await;
    let idle = server.memory_mib("VmRSS");
    server.stop().await?;

    let bench = Bench::start_again(&scratch.address).await?;
    bench.product(false).await?;
    bench.load(args.accounts, 0, months_ago(0)?).await?;
    eprintln!("opened {} accounts of the product {PRODUCT}", args.accounts);
    let secret = bench.key().await?;
    bench.service.stop().await;
    drop(bench);

    let server = BenchServer::start(&scratch)?;
    let payments = pay_until_killed(server, args, &secret).await?;
    let server = BenchServer::start(&scratch)?;
    let killed = server.ready_after;
    server.stop().await?;

    let ms = |took: Duration| took.as_secs_f64() * 1_000.0;
    let figures = json!({
        "accounts": args.accounts, "payments_before_kill": payments, "empty_ms": ms(empty), "killed_ms": ms(killed),
        "limit_ms": ms(limit), "idle_mib": idle,
    });
    let mut lines = vec![
        format!("empty    ready after {:.0} ms", ms(empty)),
        format!(
            "killed   ready after {:.0} ms, with {} accounts, after {payments} payments",
            ms(killed),
            args.accounts
        ),
        format!("limit    `daybook --version` in {:.0} ms", ms(limit)),
    ];
    if let Some(idle) = idle {
        lines.push(format!("memory   {idle:.1} MiB when idle for {} s", args.idle_seconds));
    }
    report(args.target.json, &figures, &lines)
}

/// Records payments, kills the server meanwhile, and returns the number of responses.
async fn pay_until_killed(server: BenchServer, args: &BenchStartArgs, secret: &str) -> Result<u64, Failure> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (mut connection, secret, accounts) = (server.connect().await?, secret.to_owned(), args.accounts);
        callers.spawn(async move {
            let mut answered = 0;
            loop {
                let account = account_id((caller * 7_919 + answered * 104_729) % accounts);
                let request = Operation::RecordPayment.request([&account]);
                let body = json!({ "line_item_id": format!("p{caller}-{answered}"), "original_amount_cents": 1 });
                match connection.call(request.method(), request.target(), &secret, &body.to_string()).await {
                    Ok(200) => answered += 1,
                    Ok(status) => return Err(Failure::Failed(format!("a payment was answered with {status}"))),
                    // The server is killed.
                    Err(_) => return Ok(answered),
                }
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(args.load_seconds)).await;
    server.kill()?;
    let mut payments = 0;
    while let Some(caller) = callers.join_next().await {
        payments += caller.map_err(|error| Failure::Failed(error.to_string()))??;
    }
    Ok(payments)
}

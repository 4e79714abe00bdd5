//! `daybook bench account`: an account with very many payments. Reads the first page of its events, compared with a
//! short account, and verifies it, compared with an account with half of the payments.
//!
//! The payments are spread over 34 months, so that each month has its share: an account keeps the payments of the present
//! month in its state.

use super::http::BenchConnection;
use super::portfolio::{Bench, PRODUCT, months_ago, said};
use super::server::BenchServer;
use super::timings::Timings;
use super::{Scratch, report};
use crate::cli::BenchAccountArgs;
use crate::commands::Failure;
use daybook_clock::{Clock, Stopwatch, System};
use daybook_operations::Operation;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

const LONG: &str = "long";
const HALF: &str = "half";
/// The account to compare with: as many payments as a page shows events, and more.
const SHORT: &str = "short";
const SHORT_PAYMENTS: u64 = 100;
/// The principal, and all payments together: a little more than is due by now, and less than all that is owed.
const PRINCIPAL_CENTS: i64 = 100_000_000;
const PAID_CENTS: i64 = 115_000_000;
/// The age of the accounts.
const MONTHS: u64 = 34;
/// The number of payments in progress at the same time.
const AT_ONCE: usize = 512;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchAccountArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let bench = Bench::start(&scratch.address).await?;
    bench.product(true).await?;
    load(&bench, SHORT, SHORT_PAYMENTS).await?;
    load(&bench, HALF, args.payments / 2).await?;
    bench.release(PRODUCT).await?;
    let half = verify(&bench).await?;
    bench.hold(PRODUCT, true).await?;
    load(&bench, LONG, args.payments).await?;
    bench.release(PRODUCT).await?;
    // The other accounts are verified again.
    let all = verify(&bench).await?.saturating_sub(half);
    let secret = bench.key().await?;
    bench.service.stop().await;
    drop(bench);

    let server = BenchServer::start(&scratch)?;
    let mut connection = server.connect().await?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..args.calls {
        for (account, times) in [LONG, SHORT].into_iter().zip(&mut times) {
            times.push(first_page(&mut connection, account, &secret).await?);
        }
    }
    server.stop().await?;

    let [long, short] = times.map(Timings::of);
    let growth = all.as_secs_f64() / half.as_secs_f64() / 2.0;
    let figures = json!({
        "payments": args.payments, "calls": args.calls, "page_p50_ms": long.percentile_ms(50),
        "page_p98_ms": long.percentile_ms(98), "limit_page_p50_ms": short.percentile_ms(50),
        "limit_page_p98_ms": short.percentile_ms(98), "verify_seconds": all.as_secs_f64(),
        "verify_limit_seconds": 2.0 * half.as_secs_f64(), "verify_growth": growth,
    });
    let line = |what: &str, payments: u64, timings: &Timings| {
        let (p50, p98) = (timings.percentile_ms(50), timings.percentile_ms(98));
        format!("{what} first page of events with {payments} payments: p50 {p50:.2} ms, p98 {p98:.2} ms")
    };
    let lines = [
        line("account ", args.payments, &long),
        line("limit   ", SHORT_PAYMENTS, &short),
        format!("verify   {:.2} s; {:.2} s with half of the payments", all.as_secs_f64(), half.as_secs_f64()),
        format!("growth   {growth:.2} (1 is linear)"),
    ];
    report(args.target.json, &figures, &lines)
}

/// Opens an account and records its payments, many at a time.
async fn load(bench: &Bench, account: &'static str, payments: u64) -> Result<(), Failure> {
    let opened = months_ago(MONTHS)?;
    bench.open_account(PRODUCT, account, PRINCIPAL_CENTS, opened).await?;
    let between = (System.now().micros() - opened.micros()) / (payments as i64 + 1);
    let cents = PAID_CENTS / payments as i64;
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    for number in 1..=payments {
        if tasks.len() >= AT_ONCE
            && let Some(ended) = tasks.join_next().await
        {
            ended.map_err(|error| Failure::Failed(error.to_string()))??;
        }
        let (bench, at) = (bench.clone(), opened.plus_micros(between * number as i64));
        tasks.spawn(async move { bench.pay(account, &format!("p{number}"), cents, at).await });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| Failure::Failed(error.to_string()))??;
    }
    Ok(())
}

async fn verify(bench: &Bench) -> Result<Duration, Failure> {
    let watch = Stopwatch::start();
    let verified = bench.service.verify(&mut |_| {}).await.map_err(said)?;
    let took = watch.elapsed();
    match verified.differences.first() {
        None => Ok(took),
        Some(difference) => Err(Failure::Failed(format!("the account is wrong: {difference}"))),
    }
}

async fn first_page(connection: &mut BenchConnection, account: &str, secret: &str) -> Result<Duration, Failure> {
    let request = Operation::ListAccountEvents.request([account]);
    let watch = Stopwatch::start();
    let status = connection.call(request.method(), request.target(), secret, "").await.map_err(Failure::Output)?;
    match status {
        200 => Ok(watch.elapsed()),
        status => Err(Failure::Failed(format!("the events were answered with {status}"))),
    }
}

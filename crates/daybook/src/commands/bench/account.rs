//! `daybook bench account`: an account with very many payments. Reads the first page of its events, compared with a
//! short account, and verifies it when it has half of the payments and when it has all of them.

use super::http::BenchConnection;
use super::portfolio::{Bench, PRODUCT, days_ago, form_of, said};
use super::server::BenchServer;
use super::timings::Timings;
use super::{Scratch, report};
use crate::cli::BenchAccountArgs;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use daybook_operations::Operation;
use daybook_service::changes::ChangeRequest;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinSet;

const LONG: &str = "long";
/// The account to compare with: as many payments as a page shows events, and more.
const SHORT: &str = "short";
const SHORT_PAYMENTS: u64 = 100;
/// The principal, in cents: more than all payments.
const PRINCIPAL: i64 = 100_000_000;
/// The number of payments in progress at the same time.
const AT_ONCE: usize = 512;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchAccountArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let bench = Bench::start(&scratch.address).await?;
    bench.product(false).await?;
    for (account, payments) in [(SHORT, SHORT_PAYMENTS), (LONG, args.payments / 2)] {
        bench.open_account(PRODUCT, account, PRINCIPAL, days_ago(1)?).await?;
        pay(&bench, account, 0, payments).await?;
    }
    let half = verify(&bench).await?;
    pay(&bench, LONG, args.payments / 2, args.payments).await?;
    let all = verify(&bench).await?;
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
        format!("verify   {:.2} s, {:.2} s with half of the payments", all.as_secs_f64(), half.as_secs_f64()),
        format!("growth   {growth:.2} (1 is linear)"),
    ];
    report(args.target.json, &figures, &lines)
}

/// Records payments on an account, many at a time.
async fn pay(bench: &Bench, account: &'static str, from: u64, to: u64) -> Result<(), Failure> {
    let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
    for number in from..to {
        if tasks.len() >= AT_ONCE
            && let Some(ended) = tasks.join_next().await
        {
            ended.map_err(|error| Failure::Failed(error.to_string()))??;
        }
        let bench = bench.clone();
        tasks.spawn(async move {
            let body = json!({ "line_item_id": format!("p{number}"), "original_amount_cents": 1 });
            let change = ChangeRequest::Payment(form_of(&body)?);
            bench.service.change_account(&bench.who, None, account, change).await.map_err(said)?;
            Ok(())
        });
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

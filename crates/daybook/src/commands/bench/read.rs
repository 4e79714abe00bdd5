//! `daybook bench read`: reads one account over HTTP, on its first day and after 700 days. The limit is an HTTP server
//! that returns a response of the same size.

use super::http::BenchConnection;
use super::portfolio::{Bench, days_ago};
use super::server::BenchServer;
use super::timings::Timings;
use super::{Scratch, report};
use crate::cli::BenchReadArgs;
use crate::commands::Failure;
use axum::Router;
use axum::body::Bytes;
use axum::routing::get;
use daybook_clock::Stopwatch;
use daybook_operations::Operation;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;

/// A loan of 24 months.
const PRODUCT: &str = "bench-24";
/// The instalment of 1,000.00 over 24 months at 12 %: 47.07.
const LEVEL_CENTS: i64 = 4_707;
/// The accounts: their ids, their ages in days, and their payments.
const YOUNG: (&str, i32, u64) = ("young", 1, 0);
const OLD: (&str, i32, u64) = ("old", 700, 22);
/// The number of calls before the measurement.
const WARM_UP: u64 = 50;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchReadArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let bench = Bench::start(&scratch.address).await?;
    bench.product_of(PRODUCT, 24, true).await?;
    for (account, days, payments) in [YOUNG, OLD] {
        let opened = days_ago(days)?;
        bench.open_account(PRODUCT, account, 100_000, opened).await?;
        bench.pay_monthly(account, LEVEL_CENTS, payments, opened).await?;
    }
    bench.release(PRODUCT).await?;
    let secret = bench.key().await?;
    bench.service.stop().await;
    drop(bench);

    let server = BenchServer::start(&scratch)?;
    let mut young = Reading::new(server.connect().await?, YOUNG.0);
    let mut old = Reading::new(server.connect().await?, OLD.0);
    let length = old.read(&secret).await?;
    let bare = BenchConnection::open(serve_bytes(length).await?).await.map_err(Failure::Output)?;
    let mut bare = Reading::new(bare, OLD.0);
    for call in 0..WARM_UP + args.calls {
        for reading in [&mut young, &mut old, &mut bare] {
            if call == WARM_UP {
                reading.times.clear();
            }
            reading.read(&secret).await?;
        }
    }
    server.stop().await?;

    let [young, old, bare] = [young, old, bare].map(|reading| Timings::of(reading.times));
    let p50 = |timings: &Timings| timings.percentile_ms(50);
    let p99 = |timings: &Timings| timings.percentile_ms(99);
    let ratio = p50(&old) / p50(&young);
    let figures = json!({
        "calls": old.count(), "bytes": length, "day_1_p50_ms": p50(&young), "day_1_p99_ms": p99(&young),
        "day_700_p50_ms": p50(&old), "day_700_p99_ms": p99(&old), "limit_p50_ms": p50(&bare), "ratio": ratio,
    });
    let line = |what: &str, timings: &Timings| format!("{what} p50 {:.3} ms, p99 {:.3} ms", p50(timings), p99(timings));
    let lines = [
        line("day 1   ", &young),
        line("day 700 ", &old),
        line("limit   ", &bare) + &format!(" ({length} bytes from an HTTP server that does nothing)"),
        format!("ratio    {ratio:.2} (day 700 to day 1)"),
    ];
    report(args.target.json, &figures, &lines)
}

/// Repeated reads of one account over one connection.
struct Reading {
    connection: BenchConnection,
    account: &'static str,
    times: Vec<Duration>,
}

impl Reading {
    fn new(connection: BenchConnection, account: &'static str) -> Reading {
        Reading { connection, account, times: Vec::new() }
    }

    /// Reads the account and returns the size of the response.
    async fn read(&mut self, secret: &str) -> Result<usize, Failure> {
        let request = Operation::GetAccount.request([self.account]);
        let watch = Stopwatch::start();
        let status = self.connection.call(request.method(), request.target(), secret, "").await;
        self.times.push(watch.elapsed());
        match status.map_err(Failure::Output)? {
            200 => Ok(self.connection.answer().len()),
            status => Err(Failure::Failed(format!("the account was answered with {status}"))),
        }
    }
}

/// Serves a response of this size for every request.
async fn serve_bytes(length: usize) -> Result<SocketAddr, Failure> {
    let body = Bytes::from(vec![b'x'; length]);
    let router = Router::new().route("/{*path}", get(async move || body.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Failure::Output)?;
    let address = listener.local_addr().map_err(Failure::Output)?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

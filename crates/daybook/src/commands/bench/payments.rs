//! `daybook bench payments`: payments over HTTP, each durable and fully processed before the response, compared with an
//! HTTP server that returns an empty response to the same requests.

use super::http::BenchConnection;
use super::portfolio::{Bench, PRODUCT, account_id, months_ago, said};
use super::timings::Timings;
use super::{Scratch, peak_memory_mib};
use crate::cli::BenchPaymentsArgs;
use crate::commands::Failure;
use axum::Router;
use axum::routing::post;
use daybook_api::ApiSettings;
use daybook_clock::Stopwatch;
use daybook_operations::Operation;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The empty server is measured for this fraction of the time, before and after Daybook.
const LIMIT_SHARE: u32 = 4;
/// Small, so that even a loan that is nearly paid takes many payments.
const CENTS: i64 = 1;
/// The length of a round with or without an audit trail.
const AUDIT_ROUND: Duration = Duration::from_secs(2);
/// The lowest number of pairs of such rounds.
const AUDIT_PAIRS: u64 = 5;

/// The results of a measurement.
#[derive(Debug, Default)]
struct Measured {
    calls: u64,
    took: Duration,
    timings: Timings,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.calls as f64 / self.took.as_secs_f64()
    }

    fn add(&mut self, more: &Measured) {
        self.calls += more.calls;
        self.took += more.took;
    }
}

/// What the audit trail costs.
#[derive(Debug)]
struct AuditCost {
    with_per_second: f64,
    without_per_second: f64,
    /// The ratio of the two rates in each pair of rounds, sorted.
    ratios: Vec<f64>,
}

impl AuditCost {
    /// The median of the pairs: a round in which the disk stalls does not decide the result.
    fn median(&self) -> f64 {
        self.ratios[self.ratios.len() / 2]
    }
}

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchPaymentsArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let bench = Bench::start(&scratch.address).await?;
    bench.product(args.months > 0).await?;
    bench.load(args.accounts, args.months, months_ago(args.months)?).await?;
    if args.months > 0 {
        bench.release(PRODUCT).await?;
    }
    eprintln!("opened {} accounts", args.accounts);
    let secret = bench.key().await?;
    bench.service.run_timers();
    let product = serve(daybook_api::router(bench.service.clone(), ApiSettings::default())).await?;
    let empty = serve(Router::new().route("/{*path}", post(async |body: String| body))).await?;
    let time = Duration::from_secs(args.seconds);
    let before = measure(args, empty, &secret, time / LIMIT_SHARE).await?;
    let measured = measure(args, product, &secret, time).await?;
    let memory = peak_memory_mib();
    let audit = if args.compare_audit { Some(compare_audit(args, &bench, product, &secret).await?) } else { None };
    let after = measure(args, empty, &secret, time / LIMIT_SHARE).await?;
    let limit = (before.calls + after.calls) as f64 / (before.took + after.took).as_secs_f64();
    let verified = bench.service.verify(&mut |_| {}).await.map_err(said)?;
    if !verified.differences.is_empty() {
        return Err(Failure::Failed(format!("the accounts are wrong after the run: {}", verified.differences[0])));
    }
    report(args, &measured, limit, memory, audit);
    Ok(())
}

/// Alternates rounds with and without an audit trail.
async fn compare_audit(
    args: &BenchPaymentsArgs,
    bench: &Bench,
    product: SocketAddr,
    secret: &str,
) -> Result<AuditCost, Failure> {
    let unrecorded = bench.service.clone().without_audit_trail();
    let unrecorded = serve(daybook_api::router(unrecorded, ApiSettings::default())).await?;
    let (mut with, mut without, mut ratios) = (Measured::default(), Measured::default(), Vec::new());
    for pair in 0..AUDIT_PAIRS.max(args.seconds / AUDIT_ROUND.as_secs()) {
        // Each of the two is the first of every other pair: the database grows from round to round.
        let servers = if pair % 2 == 0 { [product, unrecorded] } else { [unrecorded, product] };
        let first = measure(args, servers[0], secret, AUDIT_ROUND).await?;
        let second = measure(args, servers[1], secret, AUDIT_ROUND).await?;
        let (recorded, bare) = if pair % 2 == 0 { (first, second) } else { (second, first) };
        ratios.push(recorded.rate() / bare.rate());
        with.add(&recorded);
        without.add(&bare);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    Ok(AuditCost { with_per_second: with.rate(), without_per_second: without.rate(), ratios })
}

async fn serve(router: Router) -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Failure::Output)?;
    let address = listener.local_addr().map_err(Failure::Output)?;
    tokio::spawn(async move {
        axum::serve(
            axum::serve::ListenerExt::tap_io(listener, |stream| {
                let _ = stream.set_nodelay(true);
            }),
            router,
        )
        .await
    });
    Ok(address)
}

/// Runs many callers, each of which records payments one after the other on random accounts.
async fn measure(
    args: &BenchPaymentsArgs,
    server: SocketAddr,
    secret: &str,
    time: Duration,
) -> Result<Measured, Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let watch = Stopwatch::start();
    let secret: Arc<str> = Arc::from(secret);
    let mut callers = JoinSet::new();
    for caller in 0..args.callers {
        let (secret, accounts) = (secret.clone(), args.accounts);
        callers.spawn(async move {
            let mut connection = BenchConnection::open(server).await?;
            let mut times = Vec::new();
            // A small pseudo-random generator: every run makes the same calls.
            let mut state = caller.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
            while watch.elapsed() < time {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let account = account_id((state >> 33) % accounts);
                let request = Operation::RecordPayment.request([&account]);
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                let body = format!("{{\"line_item_id\":\"pay-{number}\",\"original_amount_cents\":{CENTS}}}");
                let call = Stopwatch::start();
                let status = connection.call(request.method(), request.target(), &secret, &body).await?;
                times.push(call.elapsed());
                if status != 200 {
                    let answer = String::from_utf8_lossy(connection.answer()).into_owned();
                    return Err(std::io::Error::other(format!("answered {status}: {answer}")));
                }
            }
            Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(caller) = callers.join_next().await {
        let of_one = caller.map_err(|error| Failure::Failed(error.to_string()))?;
        times.extend(of_one.map_err(|error| Failure::Failed(error.to_string()))?);
    }
    Ok(Measured { calls: times.len() as u64, took: watch.elapsed(), timings: Timings::of(times) })
}

fn report(args: &BenchPaymentsArgs, measured: &Measured, limit: f64, memory: Option<u64>, audit: Option<AuditCost>) {
    let ratio = measured.rate() / limit;
    if args.target.json {
        let figures = json!({
            "accounts": args.accounts, "months": args.months, "callers": args.callers, "payments": measured.calls,
            "payments_per_second": measured.rate(), "us_per_payment": 1e6 / measured.rate(), "limit_per_second": limit, "ratio": ratio,
            "p50_ms": measured.timings.percentile_ms(50), "p99_ms": measured.timings.percentile_ms(99), "peak_memory_mib": memory,
            "with_audit_per_second": audit.as_ref().map(|audit| audit.with_per_second),
            "without_audit_per_second": audit.as_ref().map(|audit| audit.without_per_second),
            "audit_ratio": audit.as_ref().map(AuditCost::median),
        });
        println!("{figures}");
        return;
    }
    println!(
        "payments {} in {:.1} s: {:.0}/s, p50 {:.1} ms, p99 {:.1} ms, {} callers",
        measured.calls,
        measured.took.as_secs_f64(),
        measured.rate(),
        measured.timings.percentile_ms(50),
        measured.timings.percentile_ms(99),
        args.callers
    );
    if let Some(audit) = audit {
        println!(
            "audit    {:.0}/s with the trail, {:.0}/s without; ratio in {} pairs of rounds: {:.2} (median), {:.2} to {:.2}",
            audit.with_per_second,
            audit.without_per_second,
            audit.ratios.len(),
            audit.median(),
            audit.ratios[0],
            audit.ratios[audit.ratios.len() - 1],
        );
    }
    println!("limit    the same calls answered by an HTTP server that does nothing: {limit:.0}/s");
    println!("ratio    {ratio:.2}");
    if let Some(memory) = memory {
        println!("memory   {memory} MiB at most, callers included");
    }
}

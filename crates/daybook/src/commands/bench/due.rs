//! `daybook bench due`: processes the accounts that are due in a database with very many accounts that are not, compared
//! with a database that has few.
//!
//! Both databases have the same accounts that fall due, month by month on a manual clock. The months alternate between
//! the two, so a slow phase of the machine affects both. The idle accounts are copies of a real account's row, due in
//! ten years: only their number matters here.

use super::portfolio::{Bench, PRODUCT, months_ago, said};
use super::{Scratch, report};
use crate::cli::BenchDueArgs;
use crate::commands::Failure;
use daybook_clock::{Clock, Manual, Stopwatch, System};
use daybook_store::batch::{AccountClaim, AccountWrite, Batch, Unit};
use daybook_store::records::{AccountKey, AccountNow, AccountRow, PageRequest};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A month in which every account falls due once.
const MONTH: Duration = Duration::from_secs(31 * 86_400);
/// When the idle accounts are due: in ten years, in microseconds.
const IDLE_FOR_MICROS: i64 = 10 * 365 * 86_400 * 1_000_000;
/// The number of idle accounts written in one transaction.
const STEP: u64 = 5_000;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchDueArgs) -> Result<(), Failure> {
    let mut scratch = Scratch::new(args.target.database.as_deref())?;
    let second = scratch.second_address().await?;
    let measured = measure(args, &scratch.address, &second).await;
    scratch.drop_second().await?;
    let [many, few] = measured?;
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    let each = |took: Duration| took.as_secs_f64() * 1e6 / (args.due * args.months) as f64;
    let figures = json!({
        "idle": args.idle, "few": args.few, "due": args.due, "months": args.months, "ratio": ratio,
        "us_per_account": each(many), "limit_us_per_account": each(few),
    });
    let line = |what: &str, took: Duration, idle: u64| {
        format!("{what} {} due accounts with {idle} idle ones: {:.1} µs each", args.due * args.months, each(took))
    };
    let lines = [line("due     ", many, args.idle), line("limit   ", few, args.few), format!("ratio    {ratio:.2}")];
    report(args.target.json, &figures, &lines)
}

/// The time for the due accounts with many and with few idle ones.
async fn measure(args: &BenchDueArgs, first: &str, second: &str) -> Result<[Duration; 2], Failure> {
    let mut portfolios =
        [Portfolio::load(first, args.due, args.idle).await?, { Portfolio::load(second, args.due, args.few).await? }];
    for _ in 0..args.months {
        for portfolio in &mut portfolios {
            portfolio.clock.pass(MONTH);
            let watch = Stopwatch::start();
            portfolio.bench.service.settle_due().await.map_err(said)?;
            portfolio.took += watch.elapsed();
        }
    }
    Ok(portfolios.map(|portfolio| portfolio.took))
}

/// A database with due and idle accounts.
struct Portfolio {
    bench: Bench,
    clock: Arc<Manual>,
    took: Duration,
}

impl Portfolio {
    async fn load(address: &str, due: u64, idle: u64) -> Result<Portfolio, Failure> {
        let clock = Arc::new(Manual::at(System.now()));
        let bench = Bench::start_at(address, clock.clone()).await?;
        bench.product(false).await?;
        bench.load(due, 0, months_ago(0)?).await?;
        write_idle(&bench, idle).await?;
        eprintln!("loaded {due} accounts that fall due and {idle} that do not");
        Ok(Portfolio { bench, clock, took: Duration::ZERO })
    }
}

async fn write_idle(bench: &Bench, count: u64) -> Result<(), Failure> {
    let org = bench.organization().await?;
    let page = PageRequest { limit: 1, ..PageRequest::default() };
    let rows = bench.store.accounts(org, &page).await?;
    let model = rows.first().ok_or_else(|| Failure::Failed(format!("{PRODUCT} has no account")))?;
    let mut number = 0;
    while number < count {
        let end = (number + STEP).min(count);
        let units = (number..end).map(|number| Unit { accounts: vec![idle(model, number)], ..Unit::default() });
        bench.store.commit(Batch { units: units.collect() }).await?;
        number = end;
    }
    Ok(())
}

/// A new account like this one, which is not due for years.
fn idle(model: &AccountRow, number: u64) -> AccountWrite {
    let key = AccountKey { account: Arc::from(format!("idle-{number:07}")), ..model.key.clone() };
    let next_moment = model.now.next_moment.map(|_| model.created_at.plus_micros(IDLE_FOR_MICROS));
    let row = AccountRow { key, now: AccountNow { next_moment, ..model.now.clone() }, version: 1, ..model.clone() };
    AccountWrite {
        claim: AccountClaim::Insert(Box::new(row)),
        inputs: Vec::new(),
        removed_inputs: Vec::new(),
        items: Vec::new(),
        item_changes: Vec::new(),
        customers: None,
        publish_until: None,
        cancel: None,
        refold: None,
    }
}

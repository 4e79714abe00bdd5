//! `daybook bench what-if`: compares a portfolio under its policy with the same portfolio under another one.
//!
//! Some accounts are loaded and released like real ones; a fifth of them missed their last two payments. All others are
//! copies of their rows and journals, because only the reading and the folding are measured. The limit is the time for
//! reading the same rows without folding them.

use super::portfolio::{Bench, LEVEL_CENTS, PRODUCT, account_id, months_ago, said};
use super::{Scratch, peak_memory_mib, processor_time, report};
use crate::cli::BenchWhatIfArgs;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use daybook_service::problem::Problem;
use daybook_service::what_if::{AccountResult, Observer, WhatIfQuestion, WhatIfSummary};
use daybook_store::batch::{AccountClaim, AccountWrite, Batch, Unit};
use daybook_store::records::{AccountKey, AccountNow, AccountRow, ProductKey};
use daybook_store::{AccountToLoad, Inputs, LoadedAccount};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The number of accounts that the others are copied from.
const MODELS: u64 = 100;
/// The number of accounts written in one transaction.
const STEP: u64 = 1_000;
/// The late fee of the other policy. That of the product is 15.00.
const OTHER_FEE_CENTS: i64 = 2_500;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchWhatIfArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let bench = Bench::start(&scratch.address).await?;
    load(&bench, args).await?;
    let limit = read_only(&bench).await?;
    let (used, watch) = (processor_time(), Stopwatch::start());
    let summary = compare(&bench).await?;
    let (took, used) = (watch.elapsed(), processor_time().saturating_sub(used));
    if summary.accounts != args.accounts || summary.failed > 0 {
        return Err(Failure::Failed(format!("{} accounts were compared, {} failed", summary.accounts, summary.failed)));
    }
    let each = took.as_secs_f64() * 1e6 / args.accounts as f64;
    let memory = peak_memory_mib();
    let figures = json!({
        "accounts": args.accounts, "payments": args.payments, "differing": summary.differing,
        "seconds": took.as_secs_f64(), "processor_seconds": used.as_secs_f64(), "us_per_account": each,
        "limit_seconds": limit.as_secs_f64(), "ratio": limit.as_secs_f64() / took.as_secs_f64(),
        "peak_memory_mib": memory,
    });
    let mut lines = vec![
        format!(
            "what-if  {} accounts with {} payments each in {:.2} s: {each:.1} µs each, {:.2} s of processor time",
            args.accounts,
            args.payments,
            took.as_secs_f64(),
            used.as_secs_f64()
        ),
        format!("limit    the same rows, read and not folded, in {:.2} s", limit.as_secs_f64()),
        format!("differ   {} accounts, by {:.2} of late fees", summary.differing, late_fees(&summary) / 100.0),
    ];
    lines.extend(memory.map(|memory| format!("memory   {memory} MiB at most, loading included")));
    report(args.target.json, &figures, &lines)
}

fn late_fees(summary: &WhatIfSummary) -> f64 {
    summary.difference.named().find(|(name, _)| *name == "fees_charged").map_or(0.0, |(_, cents)| cents as f64)
}

/// Loads the accounts.
async fn load(bench: &Bench, args: &BenchWhatIfArgs) -> Result<(), Failure> {
    let opened = months_ago(args.payments)?;
    let models = MODELS.min(args.accounts);
    bench.product(true).await?;
    for number in 0..models {
        let missed = if number.is_multiple_of(5) { args.payments.min(2) } else { 0 };
        let account = account_id(number);
        bench.open_account(PRODUCT, &account, 100_000, opened).await?;
        bench.pay_monthly(&account, LEVEL_CENTS, args.payments - missed, opened).await?;
    }
    bench.release(PRODUCT).await?;
    let org = bench.organization().await?;
    let key = |number| AccountKey { org, account: Arc::from(account_id(number)) };
    let wanted: Vec<AccountToLoad> =
        (0..models).map(|number| AccountToLoad { key: key(number), inputs: Inputs::All, names: Vec::new() }).collect();
    let loaded: Vec<LoadedAccount> = bench.store.load(&wanted).await?.into_iter().flatten().collect();
    let mut number = models;
    while number < args.accounts {
        let end = (number + STEP).min(args.accounts);
        let copies = (number..end).zip(loaded.iter().cycle());
        let unit = |(number, model)| Unit { accounts: vec![copy(model, key(number))], ..Unit::default() };
        bench.store.commit(Batch { units: copies.map(unit).collect() }).await?;
        number = end;
    }
    eprintln!("loaded {} accounts", args.accounts);
    Ok(())
}

/// A new account like this one, without due work.
fn copy(model: &LoadedAccount, key: AccountKey) -> AccountWrite {
    let now = AccountNow { next_moment: None, ..model.row.now.clone() };
    let row = AccountRow { key, now, version: 1, ..model.row.clone() };
    AccountWrite {
        claim: AccountClaim::Insert(Box::new(row)),
        inputs: model.inputs.clone(),
        removed_inputs: Vec::new(),
        items: Vec::new(),
        item_changes: Vec::new(),
        customers: None,
        publish_until: None,
        cancel: None,
        refold: None,
    }
}

/// The time for reading the portfolio without folding it.
async fn read_only(bench: &Bench) -> Result<Duration, Failure> {
    let key = ProductKey { org: bench.organization().await?, product: Arc::from(PRODUCT) };
    let (sender, mut batches) = mpsc::channel(2);
    let watch = Stopwatch::start();
    let drain = async {
        while batches.recv().await.is_some() {}
        Ok(())
    };
    tokio::try_join!(bench.store.read_portfolio(&key, false, sender), drain)?;
    Ok(watch.elapsed())
}

async fn compare(bench: &Bench) -> Result<WhatIfSummary, Failure> {
    let fee = json!({ "default_attributes": { "default_late_fee_cents": OTHER_FEE_CENTS } });
    let question = WhatIfQuestion {
        product_id: PRODUCT.to_owned(),
        policy: Some(json!({ "product_lifecycle_policies": fee })),
        ..WhatIfQuestion::default()
    };
    bench.service.what_if(&bench.who, &question, &mut Unobserved).await.map_err(said)
}

/// Ignores the results of single accounts.
struct Unobserved;

impl Observer for Unobserved {
    fn begins(&mut self, _: u64) -> Result<(), Problem> {
        Ok(())
    }

    fn done(&mut self, _: &[AccountResult]) -> Result<(), Problem> {
        Ok(())
    }
}

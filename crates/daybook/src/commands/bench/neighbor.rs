//! `daybook bench neighbor`: one organization opens many old loans in one call while another one records payments. The
//! limit is the time of the same payments before that call.

use super::http::BenchConnection;
use super::server::{BenchServer, command_on};
use super::timings::Timings;
use super::{Scratch, child, report};
use crate::cli::BenchNeighborArgs;
use crate::commands::Failure;
use daybook_client::{ApiKey, Client};
use daybook_clock::Stopwatch;
use daybook_operations::Operation;
use serde_json::{Value, json};
use std::time::Duration;

/// The pause between two payments, and between two looks at the progress of the large organization.
const BETWEEN_PAYMENTS: Duration = Duration::from_millis(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
const PRODUCT: &str = "monthly";
const FIRST_DAY: &str = "1996-11-17T12:00:00-05:00";

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchNeighborArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let server = BenchServer::start(&scratch)?;
    let payer_client = server.client();
    let made = ["org", "create", "large", "--json"];
    let made = child::json_of(command_on(&scratch, &made)?).await?;
    let text = |field: &str| made[field].as_str().unwrap_or_default().to_owned();
    let large = ApiKey::new(text("client_id"), text("client_secret"));
    let large = Client::new(&format!("http://{}", server.address), large);
    let secret = blocking(move || prepare(&payer_client)).await?;
    let large_client = large.clone();
    blocking(move || Ok(large_client.call(&Operation::CreateProduct.request([]), Some(&product(360)))?)).await?;

    let mut payer = Payer { connection: server.connect().await?, secret, number: 0 };
    let mut before = Vec::new();
    for _ in 0..args.payments {
        before.push(payer.pay().await?);
    }
    let watch = Stopwatch::start();
    let loans = args.loans;
    let work = tokio::spawn(blocking(move || open_loans(&large, loans)));
    let mut meanwhile = Vec::new();
    while !work.is_finished() || meanwhile.is_empty() {
        meanwhile.push(payer.pay().await?);
    }
    let seconds = watch.elapsed().as_secs_f64();
    work.await.map_err(|error| Failure::Failed(error.to_string()))??;
    let memory = server.memory_mib("VmHWM");
    server.stop().await?;

    let (before, meanwhile) = (Timings::of(before), Timings::of(meanwhile));
    let figures = json!({
        "loans": args.loans, "seconds": seconds, "payments": meanwhile.count(), "p50_ms": meanwhile.percentile_ms(50),
        "p99_ms": meanwhile.percentile_ms(99), "longest_ms": meanwhile.percentile_ms(100),
        "limit_p50_ms": before.percentile_ms(50), "limit_p99_ms": before.percentile_ms(99), "server_peak_mib": memory,
    });
    let line = |what: &str, timings: &Timings| {
        let [p50, p99, longest] = [50, 99, 100].map(|percent| timings.percentile_ms(percent));
        format!("{what} {} payments: p50 {p50:.1} ms, p99 {p99:.1} ms, longest {longest:.1} ms", timings.count())
    };
    let mut lines = vec![line("payments", &meanwhile), line("limit   ", &before)];
    lines.push(format!("opened   {loans} loans of 360 instalments in {seconds:.1} s"));
    if let Some(memory) = memory {
        lines.push(format!("memory   {memory:.0} MiB at most in the server"));
    }
    report(args.target.json, &figures, &lines)
}

async fn blocking<T: Send + 'static>(call: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(call).await.map_err(|error| Failure::Failed(error.to_string()))?
}

fn product(months: u64) -> Value {
    json!({
        "product_id": PRODUCT,
        "product_overview": { "product_name": PRODUCT, "product_type": "INSTALLMENT" },
        "product_lifecycle_policies": { "opening_policies": { "most_years_back": 100 } },
        "post_promotional_policies": { "post_promo_len": months, "post_promo_default_interest_rate_percent": 6 },
    })
}

/// Creates the account of the payments, and a key for them.
fn prepare(client: &Client) -> Result<String, Failure> {
    client.call(&Operation::CreateProduct.request([]), Some(&product(360)))?;
    let account = json!({
        "product_id": PRODUCT, "account_id": "paid", "summary": { "initial_principal_cents": 1_000_000_000 },
    });
    client.call(&Operation::CreateAccount.request([]), Some(&account))?;
    let key = json!({ "name": "payments", "role": "SERVICING" });
    let key = client.call(&Operation::CreateKey.request([]), Some(&key))?;
    Ok(key["client_secret"].as_str().unwrap_or_default().to_owned())
}

/// Opens loans in one call, and waits until all their past is processed.
fn open_loans(client: &Client, loans: u64) -> Result<(), Failure> {
    let request = Operation::CreateAccount.request([]);
    let lines = (0..loans).map(|number| {
        let loan = json!({
            "product_id": PRODUCT, "account_id": format!("m-{number}"), "effective_at": FIRST_DAY,
            "summary": { "initial_principal_cents": 120_000 },
        });
        format!("{}\n", json!({ "method": request.method(), "path": request.target(), "body": loan }))
    });
    let body: String = lines.collect();
    // The call may take longer than the client waits; the server continues, and the loop below waits for it.
    let _ = client.send(&Operation::Bulk.request([]), "application/x-ndjson", body.as_bytes());
    loop {
        let progress = client.call(&Operation::GetMigrationMode.request([PRODUCT]), None)?;
        if progress["held_events"] == 0 {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let last = format!("m-{}", loans - 1);
    client.call(&Operation::GetAccount.request([&last]), None)?;
    Ok(())
}

/// The organization that records payments.
struct Payer {
    connection: BenchConnection,
    secret: String,
    number: u64,
}

impl Payer {
    /// Records a payment and returns the time of the call.
    async fn pay(&mut self) -> Result<Duration, Failure> {
        tokio::time::sleep(BETWEEN_PAYMENTS).await;
        self.number += 1;
        let request = Operation::RecordPayment.request(["paid"]);
        let body = json!({ "line_item_id": format!("p{}", self.number), "original_amount_cents": 1 }).to_string();
        let watch = Stopwatch::start();
        let status = self.connection.call(request.method(), request.target(), &self.secret, &body).await;
        match status.map_err(Failure::Output)? {
            200 => Ok(watch.elapsed()),
            status => Err(Failure::Failed(format!("a payment was answered with {status}"))),
        }
    }
}

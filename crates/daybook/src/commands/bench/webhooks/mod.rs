//! `daybook bench webhooks`: sends messages that are already in the log, compared with a bare client that sends the
//! same bytes to the same receiver in the same run.
//!
//! ```text
//! this process: log ─► dispatcher ──┐
//!                                   ├─► receiver (a process)
//! bare client (a process) ──────────┘
//! ```
//!
//! Each runs in a separate process, so that its processor time can be measured. The bare client runs before and after
//! the dispatcher. The last measurement shows how a hanging URL affects the others: the time from a message's commit to
//! its arrival.

pub mod bare;
mod delay;
mod drain;
mod messages;
pub mod receiver;
mod receiving;
mod site;

use super::{Scratch, peak_memory_mib};
use crate::cli::BenchWebhooksArgs;
use crate::commands::Failure;
use delay::Delays;
use drain::Drained;
use receiving::ReceiverProcess;
use serde_json::{Value, json};
use site::Site;

/// The number of URLs in the measurement with several.
const MANY: u64 = 10;

/// Runs the benchmark and prints the results.
pub async fn run(args: &BenchWebhooksArgs) -> Result<(), Failure> {
    let scratch = Scratch::new(args.target.database.as_deref())?;
    let mut site = Site::start(scratch.address.clone(), ReceiverProcess::start()?).await?;
    let mut drained = Vec::new();
    let plans = match args.urls {
        Some(urls) => vec![(urls, 0)],
        None => vec![(1, 0), (MANY, 0), (MANY, 1)],
    };
    for (urls, hanging) in plans {
        let one = drain::measure(&mut site, args, urls, hanging).await?;
        if !args.target.json {
            tell(&one);
        }
        drained.push(one);
    }
    let delays = match args.urls {
        Some(_) => None,
        None => Some(delay::measure(&mut site, args.seconds).await?),
    };
    let memory = peak_memory_mib();
    if args.target.json {
        let parts: Vec<Value> = drained.iter().map(figures).collect();
        let delays = delays.as_ref().map(|delays| json!({ "without": of(&delays.without), "with": of(&delays.with) }));
        println!("{}", json!({ "deliveries": parts, "delays": delays, "peak_memory_mib": memory }));
        return Ok(());
    }
    if let Some(delays) = &delays {
        tell_delays(delays);
    }
    if let Some(memory) = memory {
        println!("memory     {memory} MiB at most");
    }
    Ok(())
}

fn figures(drained: &Drained) -> Value {
    json!({
        "urls": drained.urls, "hanging": drained.hanging, "deliveries": drained.deliveries,
        "deliveries_per_second": drained.rate(), "limit_per_second": drained.limit.rate(), "ratio": drained.ratio(),
        "processor_us_per_delivery": drained.processor_us(), "limit_processor_us": drained.limit_processor_us(),
        "receiver_processor_us_per_delivery": drained.receiver_us(),
        "limit_receiver_processor_us": drained.limit_receiver_us(),
        "log_bytes_per_message": drained.log_bytes, "delivery_bytes": drained.delivery_bytes,
    })
}

fn tell(drained: &Drained) {
    let urls = match (drained.urls, drained.hanging) {
        (1, _) => "one URL".to_owned(),
        (urls, 0) => format!("{urls} URLs"),
        (urls, hanging) => format!("{urls} URLs, {hanging} of them hanging"),
    };
    println!(
        "deliveries {} to {urls} in {:.1} s: {:.0}/s",
        drained.deliveries,
        drained.took.as_secs_f64(),
        drained.rate()
    );
    println!("limit      the same bytes by a bare client: {:.0}/s", drained.limit.rate());
    println!("ratio      {:.2}", drained.ratio());
    println!(
        "processor  {:.1} µs a delivery ({:.1} in the bare client); the receiver {:.1} µs ({:.1})",
        drained.processor_us(),
        drained.limit_processor_us(),
        drained.receiver_us(),
        drained.limit_receiver_us()
    );
    println!(
        "database   {} bytes a message in the log, {} bytes a delivery\n",
        drained.log_bytes, drained.delivery_bytes
    );
}

fn of(delays: &Delays) -> Value {
    json!({
        "arrivals": delays.len(), "p50_ms": delays.percentile_ms(50), "p99_ms": delays.percentile_ms(99),
        "most_ms": delays.percentile_ms(100),
    })
}

fn tell_delays(delays: &delay::SideBySide) {
    println!(
        "delay from commit to arrival, 100 messages a second to {MANY} URLs, of the {} that answer in both:",
        MANY - 1
    );
    for (name, delays) in [("without", &delays.without), ("with", &delays.with)] {
        println!(
            "  {name:<8} a URL that hangs: p50 {:.2} ms, p99 {:.2} ms, at most {:.1} ms ({} arrivals)",
            delays.percentile_ms(50),
            delays.percentile_ms(99),
            delays.percentile_ms(100),
            delays.len()
        );
    }
}

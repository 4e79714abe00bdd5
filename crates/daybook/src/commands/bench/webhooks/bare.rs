//! A bare client: sends the same bytes over as many connections to the same receiver, without reading a log, signing or
//! recording.

use crate::cli::BenchWebhookClientArgs;
use crate::commands::Failure;
use crate::commands::bench::http::BenchConnection;
use crate::commands::bench::processor_time;
use daybook_clock::Stopwatch;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

/// The results of a bare client.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Bare {
    /// The number of requests answered.
    pub requests: u64,
    /// The time it took, in microseconds.
    pub took_us: u64,
    /// Its processor time, in microseconds.
    pub processor_us: u64,
}

impl Bare {
    /// The sum of two results.
    pub fn and(self, other: Bare) -> Bare {
        Bare {
            requests: self.requests + other.requests,
            took_us: self.took_us + other.took_us,
            processor_us: self.processor_us + other.processor_us,
        }
    }

    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / Duration::from_micros(self.took_us).as_secs_f64()
    }
}

/// Runs a client in a separate process. `rest` is the request without its first line.
pub async fn measure(args: BenchWebhookClientArgs, rest: Arc<[u8]>) -> Result<Bare, Failure> {
    let running = tokio::task::spawn_blocking(move || {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "webhook-client", "--receiver", &args.receiver.to_string()])
            .args(["--requests", &args.requests.to_string(), "--urls", &args.urls.to_string()])
            .args(["--connections", &args.connections.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&rest)?;
        }
        let output = child.wait_with_output()?;
        Ok(serde_json::from_slice(&output.stdout)?)
    });
    running.await.map_err(|error| Failure::Failed(error.to_string()))?.map_err(Failure::Output)
}

/// Sends the requests and prints the results.
pub async fn run(args: &BenchWebhookClientArgs) -> Result<(), Failure> {
    let mut rest = Vec::new();
    std::io::stdin().lock().read_to_end(&mut rest).map_err(Failure::Output)?;
    let mut opened = Vec::new();
    for number in 0..args.urls * args.connections {
        let mut request = format!("POST /take/{} HTTP/1.1\r\n", number % args.urls).into_bytes();
        request.extend_from_slice(&rest);
        // Connections are opened one after the other: opening many at once may overflow the receiver's queue, which
        // costs a second.
        opened.push((BenchConnection::open(args.receiver).await.map_err(Failure::Output)?, request));
    }
    let left = Arc::new(AtomicU64::new(args.requests));
    let (processor_before, watch) = (processor_time(), Stopwatch::start());
    let mut connections = JoinSet::new();
    for (connection, request) in opened {
        connections.spawn(send(connection, request, left.clone()));
    }
    while let Some(ended) = connections.join_next().await {
        ended.map_err(|error| Failure::Failed(error.to_string()))?.map_err(Failure::Output)?;
    }
    let processor = processor_time().saturating_sub(processor_before);
    let (took_us, processor_us) = (watch.elapsed().as_micros() as u64, processor.as_micros() as u64);
    let bare = Bare { requests: args.requests, took_us, processor_us };
    println!("{}", serde_json::to_string(&bare).map_err(|error| Failure::Failed(error.to_string()))?);
    Ok(())
}

async fn send(mut connection: BenchConnection, request: Vec<u8>, left: Arc<AtomicU64>) -> std::io::Result<()> {
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        match connection.exchange(&request).await? {
            200 => {}
            status => return Err(std::io::Error::other(format!("the receiver answered {status}"))),
        }
    }
    Ok(())
}

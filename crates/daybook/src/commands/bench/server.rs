//! A Daybook server in a process of its own, so that its memory and its start can be measured.

use super::http::BenchConnection;
use super::portfolio::SECRETS_KEY;
use super::{Scratch, child, memory_kib};
use crate::commands::Failure;
use daybook_client::{ApiKey, Client};
use daybook_clock::Stopwatch;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The key of the first organization, if the server creates it.
const CLIENT_ID: &str = "bench";
const CLIENT_SECRET: &str = "the-secret-of-the-benchmarks-0123456789";
/// What a server prints when it is ready, before its address.
const READY: &str = "daybook ready on http://";

/// A running server. It is killed on drop.
#[derive(Debug)]
pub struct BenchServer {
    child: Child,
    /// The address it listens on.
    pub address: SocketAddr,
    /// The time from its start until it was ready.
    pub ready_after: Duration,
}

/// A command of this program on the benchmark's database.
pub fn command_on(scratch: &Scratch, args: &[&str]) -> Result<Command, Failure> {
    let key: String = SECRETS_KEY.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut command = child::command(args, scratch.folder())?;
    command.env("DAYBOOK_DATABASE", &scratch.address).env("DAYBOOK_SECRETS_KEY", key);
    Ok(command)
}

impl BenchServer {
    /// Starts a server on the benchmark's database and waits until it is ready.
    pub fn start(scratch: &Scratch) -> Result<BenchServer, Failure> {
        let mut command = command_on(scratch, &["serve", "--listen", "127.0.0.1:0", "--log-level", "error"])?;
        command.env("DAYBOOK_BOOTSTRAP_CLIENT_ID", CLIENT_ID).env("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", CLIENT_SECRET);
        // The log is of no use here; the reason of a failed start is in the file.
        let log = std::fs::File::create(scratch.folder().join("server.log")).map_err(Failure::Output)?;
        command.stdout(Stdio::piped()).stderr(log);
        let watch = Stopwatch::start();
        let mut child = command.spawn().map_err(Failure::Output)?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(Failure::Output)?;
        }
        let ready_after = watch.elapsed();
        match line.trim_end().strip_prefix(READY).and_then(|address| address.parse().ok()) {
            Some(address) => Ok(BenchServer { child, address, ready_after }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                let log = std::fs::read_to_string(scratch.folder().join("server.log")).unwrap_or_default();
                Err(Failure::Failed(format!("the server does not start: {}", log.trim())))
            }
        }
    }

    /// A client with the key of the first organization.
    pub fn client(&self) -> Client {
        Client::new(&format!("http://{}", self.address), ApiKey::new(CLIENT_ID, CLIENT_SECRET))
    }

    /// The key of the first organization, as `--key` takes it.
    pub fn key() -> String {
        format!("{CLIENT_ID}:{CLIENT_SECRET}")
    }

    /// A connection for calls.
    pub async fn connect(&self) -> Result<BenchConnection, Failure> {
        BenchConnection::open(self.address).await.map_err(Failure::Output)
    }

    /// A count of its memory, `VmHWM` or `VmRSS`, in MiB.
    pub fn memory_mib(&self, name: &str) -> Option<f64> {
        memory_kib(&self.child.id().to_string(), name).map(|kib| kib as f64 / 1024.0)
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().and_then(|()| self.child.wait()).map_err(Failure::Output)?;
        Ok(())
    }

    /// Stops it and waits for its end.
    pub async fn stop(mut self) -> Result<(), Failure> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM).map_err(|error| Failure::Output(error.into()))?;
        }
        let ended = tokio::task::spawn_blocking(move || self.child.wait());
        let status = ended.await.map_err(|error| Failure::Failed(error.to_string()))?.map_err(Failure::Output)?;
        match status.success() {
            true => Ok(()),
            false => Err(Failure::Failed(format!("the server ended with {status}"))),
        }
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

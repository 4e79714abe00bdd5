//! Starts and queries the receiver process.

use super::receiver::Said;
use crate::commands::Failure;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A receiver in a separate process, which ends when this is dropped.
#[derive(Debug)]
pub struct ReceiverProcess {
    child: Child,
    asking: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Its address.
    pub address: SocketAddr,
}

impl ReceiverProcess {
    /// Starts a receiver.
    pub fn start() -> Result<ReceiverProcess, Failure> {
        let mut child = std::env::current_exe()
            .and_then(|own| {
                let mut command = Command::new(own);
                command.args(["bench", "webhook-receiver"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
            })
            .map_err(Failure::Output)?;
        let silent = || Failure::Failed("the receiver does not respond".to_owned());
        let mut answers = BufReader::new(child.stdout.take().ok_or_else(silent)?);
        let mut port = String::new();
        answers.read_line(&mut port).map_err(Failure::Output)?;
        let port = port.trim().parse().map_err(|_| silent())?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok(ReceiverProcess { asking: child.stdin.take(), child, answers, address })
    }

    /// Requests a report.
    pub fn ask(&mut self) -> Result<Said, Failure> {
        let asking = self.asking.as_mut().ok_or_else(|| Failure::Failed("the receiver has ended".to_owned()))?;
        asking.write_all(b"?\n").map_err(Failure::Output)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(Failure::Output)?;
        serde_json::from_str(&line)
            .map_err(|error| Failure::Failed(format!("the receiver's output cannot be read: {error}")))
    }
}

impl Drop for ReceiverProcess {
    fn drop(&mut self) {
        drop(self.asking.take());
        // The process ends with its stdin.
        let _ = self.child.wait();
    }
}

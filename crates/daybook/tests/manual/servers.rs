//! A server in a separate terminal: started by a script, ready when it prints so, stopped by Ctrl-C or a service
//! manager.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

/// The line that a server prints when it is ready.
const READY: &str = "daybook ready on ";

/// A script that ends with a server.
#[derive(Debug)]
pub struct Serving {
    child: Child,
    /// Collects its stderr until the last process of the script has ended.
    said: Option<JoinHandle<String>>,
    /// Collects its stdout after it was ready.
    printed: Option<JoinHandle<String>>,
}

impl Serving {
    /// Starts it and waits until it is ready, or returns how it ended.
    pub fn start(mut command: Command) -> Result<Serving, String> {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("bash starts");
        let mut stderr = child.stderr.take().expect("stderr is a pipe");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let said = thread::spawn(move || everything(&mut stderr));
        let (mut lines, mut line) = (String::new(), String::new());
        while stdout.read_line(&mut line).expect("stdout is text") > 0 {
            if line.starts_with(READY) {
                let printed = thread::spawn(move || everything(&mut stdout));
                return Ok(Serving { child, said: Some(said), printed: Some(printed) });
            }
            lines.push_str(&std::mem::take(&mut line));
        }
        let status = child.wait().expect("it ends");
        let said = said.join().expect("the reader ends");
        Err(format!("the server ended with {status} before it was ready\n{lines}{said}"))
    }

    /// Stops it, and waits until it has stopped.
    pub fn stop(mut self) -> Result<(), String> {
        self.signal(Signal::TERM);
        for pipe in [self.printed.take(), self.said.take()].into_iter().flatten() {
            let text = pipe.join().expect("the reader ends");
            if text.contains("panicked") {
                return Err(text);
            }
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        // It may already have ended.
        let _ = kill_process_group(pid, signal);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

fn everything(pipe: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

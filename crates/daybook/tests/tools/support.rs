//! A server that sends at once, and a command that runs until it is stopped.

use crate::common::api_client::{ApiClient, until};
use crate::common::installation::SECRET;
use daybook_testkit::server::{Daybook, Server};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use tempfile::TempDir;

/// Flags of a server that sends at once and retries soon.
const AT_ONCE: [&str; 4] = ["--webhook-batch-interval", "0s", "--webhook-retry-first", "1s"];

/// A folder, a server in it, and the command.
#[derive(Debug)]
pub struct DevServer {
    pub daybook: Daybook,
    pub client: ApiClient,
    pub server: Server,
    /// Dropped last.
    folder: TempDir,
}

impl DevServer {
    /// With a server in `--dev` mode.
    pub fn open() -> DevServer {
        DevServer::with(&["--dev"])
    }

    /// With a server that sends at once, with these flags.
    pub fn with(flags: &[&str]) -> DevServer {
        let all: Vec<&str> = AT_ONCE.iter().chain(flags).copied().collect();
        DevServer::serving(&all)
    }

    /// With a server with these flags and no others.
    pub fn serving(flags: &[&str]) -> DevServer {
        let folder = tempfile::tempdir().expect("a folder");
        let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path())
            .with("DAYBOOK_BOOTSTRAP_CLIENT_ID", "tests")
            .with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", SECRET)
            .with("DAYBOOK_LOG_LEVEL", "warn");
        let server = daybook.serve(flags);
        DevServer { daybook, client: ApiClient::to(server.url()), server, folder }
    }

    /// Starts a command that keeps running.
    pub fn start(&self, args: &[&str]) -> Going {
        Going::start(self.folder.path(), args)
    }

    /// Starts `daybook listen` and waits until it is subscribed.
    pub fn listen(&self, args: &[&str]) -> Going {
        let listening = self.start(&[&["listen"], args].concat());
        listening.wait_for_talk("Listening on ");
        listening
    }

    /// All subscriptions.
    pub fn subscriptions(&self) -> Vec<Value> {
        self.client.get("/organization/subscriptions").good()["results"].as_array().expect("a list").clone()
    }

    /// Creates a customer, which causes one message.
    pub fn make_customer(&self, id: &str) {
        self.client.post("/customers", &json!({ "customer_id": id, "name_last": "Torres" })).good();
    }

    /// The active keys.
    pub fn working_keys(&self) -> Vec<String> {
        let keys = self.daybook.json_of(&["keys", "list", "--json"]);
        let keys = keys["results"].as_array().expect("a list").clone();
        let working = keys.iter().filter(|key| key["revoked_at"].is_null());
        working.map(|key| key["client_id"].as_str().expect("a text").to_owned()).collect()
    }
}

/// A running command, and its output so far.
#[derive(Debug)]
pub struct Going {
    child: Child,
    stdout: Said,
    stderr: Said,
}

#[derive(Clone, Debug, Default)]
struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    fn from(pipe: impl Read + Send + 'static) -> Said {
        let said = Said::default();
        let shared = said.clone();
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                shared.0.lock().expect("no reader panicked").push(line);
            }
        });
        said
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no reader panicked").clone()
    }
}

impl Going {
    fn start(folder: &Path, args: &[&str]) -> Going {
        let mut command = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_daybook")));
        command.env_clear().current_dir(folder).args(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let stdout = Said::from(child.stdout.take().expect("stdout is a pipe"));
        let stderr = Said::from(child.stderr.take().expect("stderr is a pipe"));
        Going { child, stdout, stderr }
    }

    /// Waits until stdout has this many lines.
    pub fn wait_for_lines(&self, count: usize) -> Vec<String> {
        until("so many lines", || {
            let lines = self.stdout.lines();
            if lines.len() >= count { Ok(lines) } else { Err(format!("{lines:?} {:?}", self.stderr.lines())) }
        })
    }

    /// Waits until stderr has a line that begins with a text. Returns the line.
    pub fn wait_for_talk(&self, beginning: &str) -> String {
        until("a line on stderr", || {
            let lines = self.stderr.lines();
            let found = lines.iter().find(|line| line.starts_with(beginning));
            found.cloned().ok_or_else(|| format!("{lines:?}"))
        })
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().expect("a process id is small")).expect("a process id");
        kill_process(pid, signal).expect("the command is there");
    }

    /// Waits until it exits. Returns its exit code.
    pub fn end(&mut self) -> Option<i32> {
        let child = &mut self.child;
        let ended = until("the end of the command", || {
            let status = child.try_wait().expect("the command is ours");
            status.ok_or_else(|| "it goes on".to_owned())
        });
        ended.code()
    }

    /// All lines on stdout so far.
    pub fn lines(&self) -> Vec<String> {
        self.stdout.lines()
    }

    /// All lines on stderr so far.
    pub fn talk(&self) -> Vec<String> {
        self.stderr.lines()
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

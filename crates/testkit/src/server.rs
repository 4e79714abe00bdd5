//! The built command, running as a server: started, called, stopped, killed.
//!
//! A server gets its own folder and an empty environment. It listens on a free port; its ready line states which. Its
//! stderr is collected. A server that a test does not stop is killed.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The ready line of a server, before its address.
const READY: &str = "daybook ready on ";
/// How often to look at a pipe, and the interval between looks.
const LOOKS: u32 = 1_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A way to run the command: the binary, the folder, and the environment.
#[derive(Clone, Debug)]
pub struct Daybook {
    binary: PathBuf,
    folder: PathBuf,
    variables: Vec<(String, String)>,
}

impl Daybook {
    /// The command in a folder, with an empty environment.
    pub fn new(binary: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Daybook {
        Daybook { binary: binary.into(), folder: folder.into(), variables: Vec::new() }
    }

    /// The same with one more variable in its environment.
    pub fn with(mut self, name: &str, value: &str) -> Daybook {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, started through another program that runs the command.
    pub fn run_by(self, binary: impl Into<PathBuf>) -> Daybook {
        Daybook { binary: binary.into(), ..self }
    }

    /// The folder it runs in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().envs(self.variables.iter().cloned()).current_dir(&self.folder).args(args);
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the command starts")
    }

    /// Runs a command that must succeed, and returns its stdout.
    pub fn stdout_of(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("stdout is text")
    }

    /// Runs a command that must succeed, and returns the JSON on its stdout.
    pub fn json_of(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.stdout_of(args)).expect("stdout is JSON")
    }

    /// Runs a command that must fail, and returns its exit code and stderr.
    pub fn failure_of(&self, args: &[&str]) -> (i32, String) {
        let output = self.run(args);
        let code = output.status.code().expect("the command ends by itself");
        assert_ne!(code, 0, "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
        (code, String::from_utf8(output.stderr).expect("stderr is text"))
    }

    /// Starts a server that must become ready, with `serve` flags; on a free port, unless the flags set one.
    pub fn serve(&self, flags: &[&str]) -> Server {
        self.try_serve(flags).unwrap_or_else(|(status, stderr)| panic!("the server ended with {status}: {stderr}"))
    }

    /// Starts a server. If it ends instead of becoming ready, returns its exit status and stderr.
    pub fn try_serve(&self, flags: &[&str]) -> Result<Server, (ExitStatus, String)> {
        let own: &[&str] = if flags.contains(&"--listen") { &["serve"] } else { &["serve", "--listen", "127.0.0.1:0"] };
        let args = [own, flags].concat();
        let mut command = self.command(&args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let stderr = Collected::from(child.stderr.take().expect("stderr is a pipe"));
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("stdout is text");
        match line.trim_end().strip_prefix(READY) {
            Some(url) => {
                let folder = self.folder.clone();
                Ok(Server { child, folder, url: url.to_owned(), stdout, stderr, agent: agent() })
            }
            None => {
                // Any other first line is a failure too.
                let _ = child.kill();
                let status = child.wait().expect("the server ends");
                Err((status, stderr.all()))
            }
        }
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    folder: PathBuf,
    url: String,
    stdout: BufReader<std::process::ChildStdout>,
    stderr: Collected,
    agent: ureq::Agent,
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerResponse {
    /// The status.
    pub status: u16,
    /// The body as text.
    pub text: String,
}

impl ServerResponse {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The body as JSON of a request that must have succeeded.
    pub fn good(&self) -> Value {
        assert!((200..300).contains(&self.status), "status {}: {}", self.status, self.text);
        self.json()
    }
}

impl Server {
    /// Its URL: `http://127.0.0.1:40001`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process's resident memory, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// Its stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.so_far()
    }

    /// The text that its first start shows once: in a file in its folder, since it has no terminal.
    pub fn keepsakes(&self) -> String {
        let files =
            std::fs::read_dir(&self.folder).expect("the folder can be read").map(|entry| entry.expect("a file").path());
        let kept: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|end| end == "first-start")).collect();
        assert!(kept.len() < 2, "{kept:?}");
        let kept = kept.first().map(|path| std::fs::read_to_string(path).expect("it can be read"));
        kept.unwrap_or_else(|| self.stderr())
    }

    /// A value that its first start shows once, by its label: `Client secret`. The text after the label, up to a blank.
    pub fn told(&self, head: &str) -> Option<String> {
        let shown = self.keepsakes();
        let line = shown.lines().find_map(|line| line.trim_start().strip_prefix(head))?;
        line.split_whitespace().next().map(str::to_owned)
    }

    /// The secret of the first API key, as shown at the first start. It is written before the ready line, but not to
    /// stdout, so it may become visible later.
    pub fn first_secret(&self) -> String {
        for _ in 0..LOOKS {
            match self.told("Client secret") {
                Some(secret) => return secret,
                None => thread::sleep(BETWEEN_LOOKS),
            }
        }
        panic!("no secret was told: {}", self.stderr())
    }

    /// `GET`.
    pub fn get(&self, path: &str, bearer: &str) -> ServerResponse {
        let request = self.agent.get(format!("{}{path}", self.url));
        answer(request.header("authorization", format!("Bearer {bearer}")).call())
    }

    /// `POST`.
    pub fn post(&self, path: &str, bearer: &str, body: &Value) -> ServerResponse {
        self.send(self.agent.post(format!("{}{path}", self.url)), bearer, body)
    }

    /// `POST` with many requests, one per line.
    pub fn post_lines(&self, path: &str, bearer: &str, lines: &str) -> ServerResponse {
        let request =
            self.agent.post(format!("{}{path}", self.url)).header("authorization", format!("Bearer {bearer}"));
        answer(request.header("content-type", "application/x-ndjson").send(lines))
    }

    /// `PUT`.
    pub fn put(&self, path: &str, bearer: &str, body: &Value) -> ServerResponse {
        self.send(self.agent.put(format!("{}{path}", self.url)), bearer, body)
    }

    /// `PATCH`.
    pub fn patch(&self, path: &str, bearer: &str, body: &Value) -> ServerResponse {
        self.send(self.agent.patch(format!("{}{path}", self.url)), bearer, body)
    }

    fn send(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        bearer: &str,
        body: &Value,
    ) -> ServerResponse {
        let request = request.header("authorization", format!("Bearer {bearer}"));
        answer(request.header("content-type", "application/json").send(body.to_string()))
    }

    /// Sends SIGTERM.
    pub fn signal_stop(&self) {
        let pid = Pid::from_raw(self.child.id().try_into().expect("a process id is small")).expect("a process id");
        kill_process(pid, Signal::TERM).expect("the server is there");
    }

    /// Waits until it ends; returns its exit status, its stdout after the ready line, and its stderr.
    pub fn wait(mut self) -> (ExitStatus, String, String) {
        let status = self.child.wait().expect("the server ends");
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).expect("stdout is text");
        (status, stdout, self.stderr.all())
    }

    /// Stops it, which must succeed; returns its stderr.
    pub fn stop(self) -> String {
        self.signal_stop();
        let (status, _, stderr) = self.wait();
        assert_eq!(status.code(), Some(0), "{stderr}");
        stderr
    }

    /// Kills it, as a power failure would.
    pub fn kill(mut self) {
        self.child.kill().expect("the server is there");
        self.child.wait().expect("the server ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("the server's log:\n{}", self.stderr.so_far());
        }
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().new_agent()
}

fn answer(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> ServerResponse {
    let mut response = response.expect("the server answers");
    let text = response.body_mut().read_to_string().expect("an answer is text");
    ServerResponse { status: response.status().as_u16(), text }
}

/// The output of a pipe, collected by its own thread so that the pipe never fills up.
#[derive(Debug)]
struct Collected {
    text: Arc<Mutex<String>>,
    reader: Mutex<Option<JoinHandle<()>>>,
}

impl Collected {
    fn from(pipe: ChildStderr) -> Collected {
        let text = Arc::new(Mutex::new(String::new()));
        let shared = text.clone();
        let reader = thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut text = shared.lock().expect("no reader panicked");
                text.push_str(&line);
                text.push('\n');
            }
        });
        Collected { text, reader: Mutex::new(Some(reader)) }
    }

    fn so_far(&self) -> String {
        self.text.lock().expect("no reader panicked").clone()
    }

    /// The whole output, once the other end is closed.
    fn all(&self) -> String {
        if let Some(reader) = self.reader.lock().expect("no waiter panicked").take() {
            reader.join().expect("the reader ends");
        }
        self.so_far()
    }
}

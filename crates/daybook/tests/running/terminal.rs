//! What a first start shows only once, with and without a terminal, by `script`, which every Debian system has.
//!
//! The test creates the terminal. Output that the shell redirects goes into files, like a log.

use crate::support::fresh;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The number of checks for the ready line in a file, and the pause between them.
const LOOKS: u32 = 6_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const READY: &str = "daybook ready on ";

/// Where secrets appear after a first start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecretDestination {
    Terminal,
    File,
}

/// All output of a start, by destination.
#[derive(Debug)]
struct Written {
    terminal: String,
    stdout: String,
    stderr: String,
    file: String,
}

/// The word after a label.
fn after(head: &str, text: &str) -> Option<String> {
    let rest = text.split(head).nth(1)?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// Runs a shell command in a separate terminal without input.
fn in_terminal(folder: &Path, command: &str) -> Child {
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", command, "/dev/null"]).current_dir(folder).env_clear();
    script.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").stdin(Stdio::null());
    script.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("script(1) is there")
}

/// The process of a server, by the id that the shell printed.
fn process(pid: &str) -> Pid {
    Pid::from_raw(pid.parse().expect("a number")).expect("a process")
}

/// Starts a server, waits until it is ready, stops it, and returns all its output.
fn first_start(flags: &str, redirected: &str) -> Written {
    let (folder, _) = fresh();
    let path = |name: &str| folder.path().join(name);
    let read = |name: &str| fs::read_to_string(path(name)).unwrap_or_default();
    let binary = env!("CARGO_BIN_EXE_daybook");
    let serve = format!("{binary} serve --listen 127.0.0.1:0 {flags} {redirected}");
    let command = format!("sh -c 'echo pid $$; exec {serve}'; echo ended with $?");
    let mut child = in_terminal(folder.path(), &command);
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    output.read_line(&mut first).expect("text");
    let pid = process(first.trim().strip_prefix("pid ").unwrap_or_else(|| panic!("{first}")));
    let mut terminal = String::new();
    if redirected.contains(" >out") {
        let mut looks = (0..LOOKS).inspect(|_| thread::sleep(BETWEEN_LOOKS));
        assert!(looks.any(|_| read("out").contains(READY)), "it is not ready: {}{}", read("out"), read("log"));
    } else {
        while !terminal.contains(READY) {
            assert_ne!(output.read_line(&mut terminal).expect("text"), 0, "it is not ready: {terminal}{}", read("log"));
        }
    }
    kill_process(pid, Signal::TERM).expect("the server is there");
    output.read_to_string(&mut terminal).expect("text");
    child.wait().expect("it ends");
    assert!(terminal.contains("ended with 0"), "{terminal}{}", read("log"));
    Written { terminal, stdout: read("out"), stderr: read("log"), file: read("daybook.db.first-start") }
}

fn check(flags: &str, redirected: &str, place: SecretDestination) {
    let case = format!("{flags} {redirected}");
    let written = first_start(flags, redirected);
    let (kept, others) = match place {
        SecretDestination::Terminal => (&written.terminal, [&written.stdout, &written.stderr, &written.file]),
        SecretDestination::File => (&written.file, [&written.stdout, &written.stderr, &written.terminal]),
    };
    for head in ["Client secret", "/console/welcome/"] {
        let secret = after(head, kept).unwrap_or_else(|| panic!("{case}: {head} in {written:?}"));
        assert!(secret.len() >= 20, "{case}: {secret}");
        assert!(!others.iter().any(|text| text.contains(&secret)), "{case}: {written:?}");
    }
    assert_eq!(written.file.is_empty(), place == SecretDestination::Terminal, "{case}: {written:?}");
    let log = if redirected.contains("2>log") { &written.stderr } else { &written.terminal };
    let shows_more_than_log = place == SecretDestination::Terminal && !redirected.contains("2>log");
    if flags.contains("json") && !shows_more_than_log {
        assert!(log.contains("\"ready\""), "{case}: {written:?}");
        for line in log.lines().filter(|line| !line.starts_with("ended with ")) {
            let told: Result<Value, _> = serde_json::from_str(line);
            assert!(told.is_ok_and(|told| told.is_object()), "{case}: {line}");
        }
    }
}

#[test]
fn with_a_terminal_secrets_go_there_and_into_no_file() {
    check("", "", SecretDestination::Terminal);
    check("", "2>log", SecretDestination::Terminal);
    check("", " >out", SecretDestination::Terminal);
    check("--log-format json", "", SecretDestination::Terminal);
    check("--log-format json --log-level trace", "2>log", SecretDestination::Terminal);
}

#[test]
fn without_a_terminal_no_secret_goes_into_a_log() {
    check("", " >out 2>log", SecretDestination::File);
    check("--log-level trace", " >out 2>log", SecretDestination::File);
    check("--log-format json", " >out 2>log", SecretDestination::File);
    // Its log goes to the terminal and contains only JSON.
    check("--log-format json", " >out", SecretDestination::File);
}

#[test]
fn a_developers_first_start_is_no_exception() {
    check("--dev", "", SecretDestination::Terminal);
    check("--dev", " >out 2>log", SecretDestination::File);
}

/// As `./start` does. It prints the key to any destination, because the data are made up.
#[test]
fn a_demo_prints_its_secrets_unless_its_log_is_json() {
    check("--dev --demo", "", SecretDestination::Terminal);
    let written = first_start("--dev --demo", " >out 2>log");
    for head in ["Client secret", "/console/welcome/"] {
        assert!(after(head, &written.stderr).is_some_and(|secret| secret.len() >= 20), "{head}: {written:?}");
    }
    assert_eq!(written.file, "");
    check("--dev --demo --log-format json", " >out 2>log", SecretDestination::File);
    let started =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../start")).expect("./start is there");
    assert!(started.contains(" serve --dev --demo \"$@\""), "{started}");
}

#[test]
fn the_first_secret_is_told_last_below_the_log_of_the_demo() {
    let told = first_start("--demo --dev", "").terminal;
    let place = |words: &str| told.rfind(words).unwrap_or_else(|| panic!("{words} in {told}"));
    let secret = after("Client secret", &told).expect("the secret");
    assert!(place("Loaded ") < told.find(&secret).expect("the secret"), "{told}");
    assert!(place("a release is complete") < place("This is the first start. Keep these:"), "{told}");
    // Only the console link is between the key and the end of the start.
    let below = &told[place("Client secret")..];
    let log: Vec<&str> = below.lines().filter(|line| line.contains("INFO") && !line.contains("stop")).collect();
    assert_eq!(log, Vec::<&str>::new(), "{told}");
}

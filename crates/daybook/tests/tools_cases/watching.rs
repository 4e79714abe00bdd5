//! `--watch`: runs again when a file changes, and ends with the exit code of the last run.

use crate::folder::{fresh, text_of, write};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const LATE: &str = "03-backdated-payment-as-posted.toml";

#[test]
fn a_change_is_seen_and_the_last_run_counts() {
    let (folder, _) = fresh();
    write(folder.path(), "late.toml", text_of(LATE));
    let mut command = Command::new(env!("CARGO_BIN_EXE_daybook"));
    command.args(["test", "--watch", "late.toml"]).current_dir(folder.path()).env_clear();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    let mut until = |end: &str| {
        let said = lines.by_ref().map(|line| line.expect("a line")).find(|line| line.starts_with(end));
        said.unwrap_or_else(|| panic!("it never said {end}"))
    };
    assert_eq!(until("1 case: "), "1 case: 1 passed");
    write(folder.path(), "late.toml", &text_of(LATE).replace("days_past_due = 0", "days_past_due = 12"));
    assert_eq!(until("1 case: "), "1 case: 0 passed, 1 FAILED");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::INT).expect("it is told to end");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

//! The Python programs that tests compare the engine with.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A number from an environment variable, or the default.
pub fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Keeps lines in a file, so that a program can be run on them again by hand.
pub fn kept(file: &str, lines: &[String]) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    fs::write(&file, lines.join("\n")).unwrap();
    file
}

/// Runs a program of the tests folder, such as `calculators/schedules.py`.
pub fn run(script: &str, arguments: &[&str], input: Option<&Path>) -> Output {
    let python = env::var("DAYBOOK_PYTHON")
        .expect("DAYBOOK_PYTHON names a Python with the calculators: run `./check tests`, which makes one and sets it");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let input = input.map_or_else(Stdio::null, |input| fs::File::open(input).unwrap().into());
    let mut command = Command::new(&python);
    // Time zones are those of the pinned package, not the machine's.
    command.arg("-B").arg(script).args(arguments).env("PYTHONTZPATH", "").stdin(input);
    command.output().unwrap_or_else(|error| panic!("{python}, which DAYBOOK_PYTHON names, does not start: {error}"))
}

/// The output of a program; only its beginning if it is long.
pub fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().collect();
    let more = lines.len().saturating_sub(60);
    let end =
        if more > 0 { format!("\n... {more} lines more, the last: {}", lines[lines.len() - 1]) } else { "".into() };
    lines[..lines.len() - more].join("\n") + &end
}

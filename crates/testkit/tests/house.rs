//! The house rules: checks that no compiler makes.
//!
//! Three rules, each a pure function over plain data, so that its own tests can show what it refuses:
//!
//! - [`arrows`]: workspace crates depend on each other in one direction only;
//! - [`purity`]: no code that reads time, randomness, files or the network reaches the engine;
//! - [`tidiness`]: no unfinished code, no floats in the engine, no dead links in the documents.
//!
//! The last test of each module applies the rule to this repository.
#![cfg(test)]

#[path = "house/arrows.rs"]
mod arrows;
#[path = "house/purity.rs"]
mod purity;
#[path = "house/tidiness.rs"]
mod tidiness;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root, two levels above this crate.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace root exists")
}

/// The output of a command run in the repository's root, or why it failed.
fn output_of(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).current_dir(root()).output();
    let output = output.map_err(|error| format!("{program} {args:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{program} {args:?}: {error}"))
}

/// Fails with one line per offence.
fn assert_none(offences: &[String]) {
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

//! The house rules: checks that no compiler makes.
//!
//! Each rule is a pure function over plain data, so that its own tests can show what it refuses:
//!
//! - [`api_paths`]: paths of the API are written in the table of operations only;
//! - [`arrows`]: workspace crates depend on each other in one direction only;
//! - [`circles`]: no circle of imports between files of different folders of a crate;
//! - [`purity`]: no code that reads time, randomness, files or the network reaches the engine;
//! - [`sizes`]: no file is longer than 500 lines, and no function longer than 70;
//! - [`tidiness`]: no unfinished code, no floats in the engine, no dead links in the documents.
//!
//! The last test of each module applies the rule to this repository. [`rust_text`] reads Rust source for them.
#![cfg(test)]

#[path = "house/api_paths.rs"]
mod api_paths;
#[path = "house/arrows.rs"]
mod arrows;
#[path = "house/circles.rs"]
mod circles;
#[path = "house/purity.rs"]
mod purity;
#[path = "house/rust_text.rs"]
mod rust_text;
#[path = "house/sizes.rs"]
mod sizes;
#[path = "house/tidiness.rs"]
mod tidiness;

use std::fs;
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

/// The project's files: those that git tracks or would track; without git, all but generated and hidden ones.
fn project_files() -> Vec<PathBuf> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let files = match output_of("git", &args) {
        Ok(list) => list.split_terminator('\0').map(|file| root().join(file)).collect(),
        Err(_) => walk(&root()),
    };
    // A file deleted but not yet staged is still listed.
    files.into_iter().filter(|file| file.is_file()).collect()
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("a folder's entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files.extend(walk(&path));
        } else if path.is_file() {
            files.push(path);
        }
    }
    files
}

/// Fails with one line per offence.
fn assert_none(offences: &[String]) {
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

//! npm packages for tests, installed once into the build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of a package with its version (`name@1.2.3`); its dependencies are in `node_modules` there. `None`
/// without npm.
pub fn package(name: &str) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if place.exists() {
        return Some(place);
    }
    if !is_there("npm") {
        return None;
    }
    // Installed atomically, because other tests may do the same.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let quietly = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
    let mut npm = Command::new("npm");
    let output = npm.arg("install").args(quietly).arg("--prefix").arg(folder.path()).arg(name).output();
    let output = output.expect("npm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    if let Err(error) = fs::rename(folder.path(), &place) {
        assert!(place.exists(), "{error}");
    }
    Some(place)
}

/// Whether a program is installed.
pub fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

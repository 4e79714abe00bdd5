//! A folder with cases to run the command in.

use daybook_cases::builtin;
use daybook_testkit::server::Daybook;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// An empty folder, and the command in it.
pub fn fresh() -> (TempDir, Daybook) {
    let folder = tempfile::tempdir().expect("a folder");
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path());
    (folder, daybook)
}

/// The text of a built-in case.
pub fn text_of(file: &str) -> &'static str {
    builtin().iter().find(|(name, _)| *name == file).unwrap_or_else(|| panic!("there is no case {file}")).1
}

/// Writes a built-in case with a change.
#[track_caller]
pub fn write_changed(folder: &Path, name: &str, file: &str, change: &str, to: &str) {
    let text = text_of(file);
    assert!(text.contains(change), "nothing to change: {change}");
    write(folder, name, &text.replacen(change, to, 1));
}

/// Writes a file and creates its folders.
pub fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is made");
    fs::write(path, text).expect("the file is written");
}

/// Writes every built-in case into the folder `scenarios`.
pub fn write_all(folder: &Path) {
    for (file, text) in builtin() {
        write(folder, &format!("scenarios/{file}"), text);
    }
}

/// Exit code, stdout and stderr.
pub fn said(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (output.status.code().expect("it ends by itself"), text(output.stdout), text(output.stderr))
}

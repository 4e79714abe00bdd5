//! What a first start shows once, such as the first key's secret, and where it goes: never into a log.
//!
//! | who reads | where it goes |
//! |---|---|
//! | a terminal | to the terminal: stderr, or stdout where stderr is elsewhere or writes JSON |
//! | a log, a pipe, a service manager | into a file for its owner alone, whose path is logged; with `--dev` too |
//! | whatever reads stderr, with `--demo` (text) | to stderr: the data are made up, and the secret opens nothing else |
//!
//! What is kept for the end of the start is shown at the latest when it is dropped: a start that fails or is stopped
//! shows it all the same.

use super::say;
use crate::config::Settings;
use crate::config::values::LogFormat;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The end of the file's name.
const SUFFIX: &str = "first-start";

/// Where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Stderr,
    Stdout,
    File,
}

/// What is shown once.
#[derive(Debug)]
pub struct Keepsakes {
    text: String,
    holds_secret: bool,
    way: Way,
    file: PathBuf,
}

impl Keepsakes {
    /// Nothing yet.
    pub fn of(settings: &Settings) -> Keepsakes {
        let way = way(settings.log_format, settings.demo, io::stderr().is_terminal(), io::stdout().is_terminal());
        Keepsakes { text: String::new(), holds_secret: false, way, file: file_of(settings) }
    }

    /// Keeps something for later.
    pub fn keep(&mut self, text: &str, holds_secret: bool) {
        self.text.push_str(text);
        self.holds_secret |= holds_secret;
    }

    /// Reminds of the file of an earlier start, if this start has nothing to show.
    pub fn remind(&self) {
        if self.text.is_empty() && self.file.exists() {
            let file = self.file.display();
            tracing::warn!(%file, "the secrets of the first start are still in a file: keep them elsewhere, and delete it");
        }
    }

    /// Shows it, once.
    pub fn show(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        match self.way {
            Way::Stderr => say(&text),
            // A closed terminal does not stop the server.
            Way::Stdout => drop(io::stdout().lock().write_all(text.as_bytes())),
            Way::File if !self.holds_secret => tracing::info!("this is the first start; every secret was chosen"),
            Way::File => self.write(&text),
        }
    }

    fn write(&self, text: &str) {
        let file = self.file.display();
        match write_for_owner(&self.file, text) {
            Ok(()) => tracing::info!(
                %file,
                "this is the first start: its secrets are in a file; keep them elsewhere, and delete it"
            ),
            Err(error) => tracing::error!(
                %file,
                %error,
                "the secrets of the first start cannot be written; `daybook keys create` and `daybook people link` make others"
            ),
        }
    }
}

impl Drop for Keepsakes {
    fn drop(&mut self) {
        self.show();
    }
}

fn way(format: LogFormat, is_demo: bool, stderr_is_terminal: bool, stdout_is_terminal: bool) -> Way {
    if format == LogFormat::Text && (is_demo || stderr_is_terminal) {
        Way::Stderr
    } else if stdout_is_terminal {
        Way::Stdout
    } else {
        Way::File
    }
}

/// In the folder of the database's file; on PostgreSQL in that of the secrets key.
fn file_of(settings: &Settings) -> PathBuf {
    match settings.sqlite_path() {
        Some(path) => {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{SUFFIX}"));
            PathBuf::from(name)
        }
        None => settings.secrets_key_file.with_file_name(format!("daybook.{SUFFIX}")),
    }
}

/// Whole or not at all, and never readable by others. One that lies there is of a database that is gone.
fn write_for_owner(path: &Path, text: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secrets_go_to_a_terminal_or_a_file() {
        use LogFormat::{Json, Text};
        let cases = [
            ((Text, false, true, true), Way::Stderr),
            ((Text, false, true, false), Way::Stderr),
            ((Text, false, false, true), Way::Stdout),
            ((Text, false, false, false), Way::File),
            ((Text, true, false, false), Way::Stderr),
            ((Json, false, true, true), Way::Stdout),
            ((Json, false, false, true), Way::Stdout),
            ((Json, true, true, false), Way::File),
            ((Json, true, false, false), Way::File),
        ];
        for ((format, demo, stderr, stdout), expected) in cases {
            assert_eq!(way(format, demo, stderr, stdout), expected, "{format:?} demo {demo} {stderr} {stdout}");
        }
    }

    #[test]
    fn the_file_is_for_its_owner_alone_whatever_lay_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("daybook.db.first-start");
        fs::write(&path, "of an earlier database").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
        write_for_owner(&path, "secret").expect("it can be written");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "secret");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
    }
}

//! What a first start shows only once, such as the secret of the first key. It never goes to a log.
//!
//! | reader | destination |
//! |---|---|
//! | a terminal | the terminal: stderr, or stdout if stderr is redirected or is JSON |
//! | a log, a pipe, a service manager | a file readable only by its owner, whose path is logged; also with `--dev` |
//! | any reader of stderr, with `--demo` (text) | stderr: the data are made up, and the secret opens nothing else |
//!
//! The text is shown at the end of the start, and at the latest on drop: a start that fails or is stopped shows it too.

use super::say;
use crate::config::Settings;
use crate::config::values::LogFormat;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The suffix of the file's name.
const SUFFIX: &str = "first-start";

/// The destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecretDestination {
    Stderr,
    Stdout,
    File,
}

/// The text to show once.
#[derive(Debug)]
pub struct FirstStartSecrets {
    text: String,
    holds_secret: bool,
    destination: SecretDestination,
    file: PathBuf,
}

impl FirstStartSecrets {
    /// An empty text.
    pub fn of(settings: &Settings) -> FirstStartSecrets {
        let destination =
            destination(settings.log_format, settings.demo, io::stderr().is_terminal(), io::stdout().is_terminal());
        FirstStartSecrets { text: String::new(), holds_secret: false, destination, file: file_of(settings) }
    }

    /// Adds a text to be shown later.
    pub fn keep(&mut self, text: &str, holds_secret: bool) {
        self.text.push_str(text);
        self.holds_secret |= holds_secret;
    }

    /// Logs a reminder if the file of an earlier start still exists and this start has nothing to show.
    pub fn remind(&self) {
        if self.text.is_empty() && self.file.exists() {
            let file = self.file.display();
            tracing::warn!(%file, "the secrets of the first start are still in this file: store them elsewhere and delete the file");
        }
    }

    /// Shows the text, once.
    pub fn show(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        match self.destination {
            SecretDestination::Stderr => say(&text),
            // A closed terminal does not stop the server.
            SecretDestination::Stdout => drop(io::stdout().lock().write_all(text.as_bytes())),
            SecretDestination::File if !self.holds_secret => {
                tracing::info!("this is the first start; all its secrets were given as settings")
            }
            SecretDestination::File => self.write(&text),
        }
    }

    fn write(&self, text: &str) {
        let file = self.file.display();
        match write_for_owner(&self.file, text) {
            Ok(()) => tracing::info!(
                %file,
                "this is the first start; its secrets are in this file: store them elsewhere and delete the file"
            ),
            Err(error) => tracing::error!(
                %file,
                %error,
                "the secrets of the first start cannot be written; create others: `daybook keys create`, `daybook people link`"
            ),
        }
    }
}

impl Drop for FirstStartSecrets {
    fn drop(&mut self) {
        self.show();
    }
}

/// The file with the secrets of an earlier start, if it still exists.
pub fn left(settings: &Settings) -> Option<PathBuf> {
    Some(file_of(settings)).filter(|file| file.exists())
}

fn destination(
    format: LogFormat,
    is_demo: bool,
    stderr_is_terminal: bool,
    stdout_is_terminal: bool,
) -> SecretDestination {
    if format == LogFormat::Text && (is_demo || stderr_is_terminal) {
        SecretDestination::Stderr
    } else if stdout_is_terminal {
        SecretDestination::Stdout
    } else {
        SecretDestination::File
    }
}

/// The file, in the folder of the SQLite database, or of the secrets key for PostgreSQL.
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

/// Writes the file atomically and readable only by its owner. An existing file belongs to a database that no longer
/// exists.
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
            ((Text, false, true, true), SecretDestination::Stderr),
            ((Text, false, true, false), SecretDestination::Stderr),
            ((Text, false, false, true), SecretDestination::Stdout),
            ((Text, false, false, false), SecretDestination::File),
            ((Text, true, false, false), SecretDestination::Stderr),
            ((Json, false, true, true), SecretDestination::Stdout),
            ((Json, false, false, true), SecretDestination::Stdout),
            ((Json, true, true, false), SecretDestination::File),
            ((Json, true, false, false), SecretDestination::File),
        ];
        for ((format, demo, stderr, stdout), expected) in cases {
            assert_eq!(destination(format, demo, stderr, stdout), expected, "{format:?} demo {demo} {stderr} {stdout}");
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

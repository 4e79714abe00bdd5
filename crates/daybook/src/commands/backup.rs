//! `daybook backup`: copies a SQLite database while it is in use.
//!
//! The copy is a consistent snapshot, and it is muted: a server on it sends nothing until it is unmuted. The command
//! creates the target file, readable only by its owner, and refuses an existing one. It copies under another name and
//! renames the copy when it is complete. If the copy fails, both files are removed, so a file with the name of a backup
//! is always complete.

use super::opening::open_store_as;
use super::{Failure, prepare, say, wait_for};
use crate::cli::BackupArgs;
use crate::config::Settings;
use daybook_clock::{Clock, System};
use daybook_service::muting::{self, MUTED, OF_A_BACKUP};
use daybook_store::{Store, Tables, address};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Makes a copy.
pub fn run(args: &BackupArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    if !settings.database.starts_with("sqlite:") {
        let database = address::shown(&settings.database);
        return Err(Failure::Failed(format!(
            "{database} is not a SQLite database: back it up with PostgreSQL's own tools, such as pg_dump"
        )));
    }
    wait_for(copy(&settings, &args.to))?;
    say(&format!(
        "Copied to {}. A server on the copy sends nothing and runs no timers until `daybook unmute`.\n\
         Also keep a copy of {}, in another place: without this key, the secrets in the copy cannot be read.\n",
        args.to.display(),
        settings.secrets_key_file.display()
    ));
    Ok(())
}

async fn copy(settings: &Settings, to: &Path) -> Result<(), Failure> {
    // The tables may have any version: a backup is made before an upgrade.
    let store = open_store_as(settings, Tables::AsTheyAre).await?;
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("the copy {}: {error}", to.display()));
    let taken = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => failed(&"the file already exists and is not overwritten"),
        _ => failed(&error),
    };
    make(to).map_err(taken)?;
    let unfinished = beside(to);
    let copied = copy_under_another_name(&*store, &unfinished, to).await;
    if copied.is_err() {
        // The remaining files are not a backup. If they cannot be removed, the first error is still the one to report.
        let _ = fs::remove_file(to);
        let _ = fs::remove_file(unfinished);
    }
    copied.map_err(|error| failed(&error))
}

async fn copy_under_another_name(store: &dyn Store, unfinished: &Path, to: &Path) -> Result<(), String> {
    let told = |error: io::Error| error.to_string();
    // A killed run may have left a file.
    match fs::remove_file(unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(error)),
        _ => {}
    }
    make(unfinished).map_err(told)?;
    let muted = muting::mark(OF_A_BACKUP, System.now());
    store.backup(unfinished, &[(MUTED, &muted)]).await.map_err(|error| error.to_string())?;
    File::open(unfinished).and_then(|file| file.sync_all()).map_err(told)?;
    fs::rename(unfinished, to).and_then(|()| keep(to)).map_err(told)
}

/// Creates a file that only its owner can read. Fails if it exists.
fn make(file: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map(drop)
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".unfinished");
    PathBuf::from(name)
}

/// Syncs the file and its directory entry to disk.
fn keep(file: &Path) -> io::Result<()> {
    File::open(file)?.sync_all()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

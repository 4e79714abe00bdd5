//! `daybook backup`: a copy of a SQLite database, made while it is in use.
//!
//! The copy is the database as of one moment, and is muted: a server on it sends nothing until it is told. Its file is
//! made here, for its owner alone and only if there is none. It is copied under another name and gets its own when it is
//! whole; when the copying fails both are removed again, so that a file with the name of a backup is one.

use super::opening::open_store_as;
use super::{Failure, prepare, say, wait_for};
use crate::cli::BackupArgs;
use crate::config::Settings;
use crate::config::values::without_password;
use daybook_clock::{Clock, System};
use daybook_service::muting::{self, MUTED, OF_A_BACKUP};
use daybook_store::{Store, Tables};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Makes a copy.
pub fn run(args: &BackupArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    if !settings.database.starts_with("sqlite:") {
        let database = without_password(&settings.database);
        return Err(Failure::Failed(format!(
            "{database} is no SQLite database: use the server's own tools, as pg_dump"
        )));
    }
    wait_for(copy(&settings, &args.to))?;
    say(&format!(
        "Copied to {}. A server on the copy sends nothing and runs no timers until `daybook unmute`.\n\
         Keep a copy of {} too, in another place: without the key its secrets cannot be read.\n",
        args.to.display(),
        settings.secrets_key_file.display()
    ));
    Ok(())
}

async fn copy(settings: &Settings, to: &Path) -> Result<(), Failure> {
    // Of whatever version its tables are: a copy is made before they are brought up to date.
    let store = open_store_as(settings, Tables::AsTheyAre).await?;
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("the copy {}: {error}", to.display()));
    let taken = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => failed(&"there is such a file already, and it is not overwritten"),
        _ => failed(&error),
    };
    make(to).map_err(taken)?;
    let unfinished = beside(to);
    let copied = copy_under_another_name(&*store, &unfinished, to).await;
    if copied.is_err() {
        // What is left is no backup. If it cannot be removed, the failure that is told is the first one.
        let _ = fs::remove_file(to);
        let _ = fs::remove_file(unfinished);
    }
    copied.map_err(|error| failed(&error))
}

async fn copy_under_another_name(store: &dyn Store, unfinished: &Path, to: &Path) -> Result<(), String> {
    let told = |error: io::Error| error.to_string();
    // One that was killed may have left some.
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

/// Makes a file for its owner alone, if there is none.
fn make(file: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map(drop)
}

fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".unfinished");
    PathBuf::from(name)
}

/// Returns when the file and its name are on the disk.
fn keep(file: &Path) -> io::Result<()> {
    File::open(file)?.sync_all()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

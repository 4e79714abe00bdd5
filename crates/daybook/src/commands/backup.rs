//! `daybook backup`: a copy of a SQLite database, made while it is in use.
//!
//! The copy is the database as of one moment. Its file is made here, for its owner alone and only if there is none; when
//! the copying fails it is removed again, so that a file with the name of a backup is one.

use super::opening::open_store_as;
use super::{Failure, prepare, say, wait_for};
use crate::cli::BackupArgs;
use crate::config::Settings;
use crate::config::values::without_password;
use daybook_store::Tables;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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
        "Copied to {}. Keep a copy of {} too, in another place: without the key its secrets cannot be read.\n",
        args.to.display(),
        settings.secrets_key_file.display()
    ));
    Ok(())
}

async fn copy(settings: &Settings, to: &Path) -> Result<(), Failure> {
    // Of whatever version its tables are: a copy is made before they are brought up to date.
    let store = open_store_as(settings, Tables::AsTheyAre).await?;
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("the copy {}: {error}", to.display()));
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => failed(&"there is such a file already, and it is not overwritten"),
        _ => failed(&error),
    })?;
    let copied = match store.backup(to).await {
        Ok(()) => keep(to).map_err(|error| failed(&error)),
        Err(error) => Err(failed(&error)),
    };
    if copied.is_err() {
        // What is left is no backup. If it cannot be removed, the failure that is told is the first one.
        let _ = fs::remove_file(to);
    }
    copied
}

/// Returns when the file and its name are on the disk.
fn keep(file: &Path) -> io::Result<()> {
    File::open(file)?.sync_all()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

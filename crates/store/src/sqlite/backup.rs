//! Copies the database while it is in use, and checks its structures.

use super::connection::broken;
use super::dialect;
use crate::Result;
use crate::error::StoreError;
use crate::settings;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode};
use std::path::Path;

/// Copies the database as it is now, and writes settings into the copy. The copy is made in one transaction on its
/// side; until this returns it lacks the settings.
pub(super) fn backup(connection: &Connection, to: &Path, values: &[(String, Vec<u8>)]) -> Result<()> {
    let mut copy = Connection::open(to).map_err(broken)?;
    let backup = Backup::new(connection, &mut copy).map_err(broken)?;
    // All pages in one step: the reader keeps its snapshot, and writers continue meanwhile.
    let StepResult::Done = backup.step(-1).map_err(broken)? else {
        return Err(StoreError::Unavailable(format!("the copy at {} is in use by another process", to.display())));
    };
    drop(backup);
    for (name, value) in values {
        dialect::run(&copy, &[settings::put(name, value)])?;
    }
    // Closing the last connection to a file removes its write-ahead log.
    copy.close().map_err(|(_, error)| broken(error))
}

/// Problems that SQLite finds in its own structures.
pub(super) fn check(connection: &Connection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    match find_damage(connection, &mut found) {
        Ok(()) => Ok(found),
        // Damage can prevent the check itself from continuing.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            found.push(error.to_string());
            Ok(found)
        }
        Err(error) => Err(broken(error)),
    }
}

fn find_damage(connection: &Connection, found: &mut Vec<String>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    for sentence in statement.query_map([], |row| row.get::<_, String>(0))? {
        let sentence = sentence?;
        if sentence != "ok" {
            found.push(sentence);
        }
    }
    Ok(())
}

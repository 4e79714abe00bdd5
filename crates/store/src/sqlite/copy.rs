//! Copying the database while it is in use, and checking its structures.

use super::connection::broken;
use super::registry;
use crate::Result;
use crate::error::StoreError;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode};
use std::path::Path;

/// Copies the database as it is now, and writes values about itself into the copy. The copy is made in one transaction on
/// its side; until this returns it lacks the values.
pub(super) fn backup(connection: &Connection, to: &Path, settings: &[(String, Vec<u8>)]) -> Result<()> {
    let mut copy = Connection::open(to).map_err(broken)?;
    let backup = Backup::new(connection, &mut copy).map_err(broken)?;
    // All pages in one step: the reader keeps its moment, and writers go on meanwhile.
    let StepResult::Done = backup.step(-1).map_err(broken)? else {
        return Err(StoreError::Unavailable(format!("the copy at {} is in use by somebody else", to.display())));
    };
    drop(backup);
    for (name, value) in settings {
        registry::put_setting(&copy, name, value)?;
    }
    // The last connection to a file takes its write-ahead log with it.
    copy.close().map_err(|(_, error)| broken(error))
}

/// What SQLite finds wrong with its own structures.
pub(super) fn check(connection: &Connection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    match find_damage(connection, &mut found) {
        Ok(()) => Ok(found),
        // Damage can be such that the check itself cannot go on.
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

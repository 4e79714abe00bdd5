//! Errors of the store.

use std::fmt;

/// Why a call to the store failed.
#[derive(Debug)]
pub enum StoreError {
    /// The database is unreachable or overloaded: the same call may work later. It is unknown whether a commit
    /// took effect.
    Unavailable(String),
    /// The storage of the database's file refused: the disk is full or failing, or became read-only. The same call may
    /// work later.
    Storage(String),
    /// The database's file is damaged, or is not a database.
    Damaged(String),
    /// The database rejected a statement, or holds an invalid value: a bug.
    Broken(String),
    /// The address, as it may be shown, names no known kind of database.
    Address(String),
    /// This program does not trust the server's certificate, or the server does not accept the one of this program: a
    /// retry cannot succeed.
    Untrusted(String),
    /// The tables have another version.
    Tables(String),
    /// This dialect does not support the call.
    Unsupported(&'static str),
}

impl StoreError {
    /// Whether the database cannot be used at the moment. The call itself was valid.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, StoreError::Unavailable(_) | StoreError::Storage(_) | StoreError::Damaged(_))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unavailable(why) | StoreError::Storage(why) => {
                write!(f, "the database is not available: {why}")
            }
            StoreError::Damaged(why) => write!(
                f,
                "the database file is damaged or is not a database ({why}): stop the server, keep a copy of the file, \
                 and restore a backup (docs/operating/lost-files.md)"
            ),
            StoreError::Broken(why) => write!(f, "database error: {why}"),
            StoreError::Address(shown) => {
                write!(f, "the database address {shown} must start with sqlite: or postgres://")
            }
            StoreError::Untrusted(why) | StoreError::Tables(why) => f.write_str(why),
            StoreError::Unsupported(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for StoreError {}

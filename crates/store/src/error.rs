//! Why the store could not do what it was asked.

use std::fmt;

/// Why the store could not do what it was asked.
#[derive(Debug)]
pub enum StoreError {
    /// The database is away, overloaded or full: the same call may work later. Whether a commit took place is unknown.
    Unavailable(String),
    /// The database refused a statement, or holds what it cannot hold: a bug, or damage.
    Broken(String),
    /// The address is of no known database.
    Address(String),
    /// Its tables are of another version.
    Tables(String),
    /// This dialect cannot do it.
    Unsupported(&'static str),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unavailable(why) => write!(f, "the database is not available: {why}"),
            StoreError::Broken(why) => write!(f, "the database refused: {why}"),
            StoreError::Address(address) => write!(
                f,
                "\"{}\" is no database address: it starts with sqlite: or postgres://",
                address.split_once('@').map_or(address.as_str(), |(_, after)| after)
            ),
            StoreError::Tables(why) => f.write_str(why),
            StoreError::Unsupported(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for StoreError {}

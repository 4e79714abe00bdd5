//! How a database stands, for those who watch over it: what is late, what failed, how far releases are, how much room
//! there is.
//!
//! Everything here is found through indexes that hold only what is asked for, and cheap whatever the number of accounts;
//! but for [`Monitoring::releases`], which looks at every account that is still to be released.

use crate::Result;
use async_trait::async_trait;
use daybook_engine::time::Time;

/// Failed accounts are counted up to this number.
pub const MOST_FAILED_COUNTED: i64 = 10_000;

/// What is late and what failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The earliest moment of an account that has come and is not worked on yet; without products that hold their events or
    /// are being released, whose moments may be years old.
    pub oldest_due: Option<Time>,
    /// The earliest moment of a message that has come without the message having got into the log.
    pub oldest_unpublished: Option<Time>,
    /// Accounts that could not be processed, up to [`MOST_FAILED_COUNTED`].
    pub failed_accounts: u64,
}

/// Releases that are under way, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// Products that are being released.
    pub products: u64,
    /// Events that they held when their release began.
    pub events: u64,
    /// Events that they still hold, those of failed accounts included.
    pub held_events: u64,
    /// Accounts that still hold events, without those that failed.
    pub held_accounts: u64,
    /// Accounts that failed.
    pub failed_accounts: u64,
}

/// Connections to the database's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// The most there may be.
    pub limit: u64,
    /// Those that are open.
    pub open: u64,
    /// Those that are in use.
    pub in_use: u64,
    /// Callers that wait for one.
    pub waiting: u64,
}

/// Room that the database takes, and that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of the database.
    pub database_bytes: u64,
    /// What else is known where the database is files of this machine.
    pub files: Option<FilesRoom>,
}

/// The same for the files of a database on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesRoom {
    /// Bytes of the write-ahead log's file.
    pub log_bytes: u64,
    /// Bytes of the file system that this program may still fill.
    pub free_bytes: u64,
    /// Bytes of the whole file system.
    pub disk_bytes: u64,
}

/// Watching over a database.
#[async_trait]
pub trait Monitoring: Send + Sync {
    /// The last migration that this program knows.
    fn schema(&self) -> i64;

    /// Connections to the database's server, where there is one.
    fn connections(&self) -> Option<Connections> {
        None
    }

    /// What is late by `now`, and what failed.
    async fn standing(&self, now: Time) -> Result<Standing>;

    /// Releases that are under way.
    async fn releases(&self) -> Result<Releases>;

    /// How much room the database takes; nothing for one in memory.
    async fn room(&self) -> Result<Option<Room>>;
}

//! The state of a database, for operators: overdue work, failures, progress of releases, disk space.
//!
//! All queries use indexes that hold only the rows in question, and are cheap for any number of accounts, except
//! [`Monitoring::releases`], which reads every account that is still to be released.

use crate::Result;
use async_trait::async_trait;
use daybook_engine::time::Time;

/// Failed accounts are counted up to this number.
pub const MOST_FAILED_COUNTED: i64 = 10_000;

/// Overdue work and failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverdueWork {
    /// The earliest moment of an account that has passed and is not processed yet. Products that hold their events or
    /// are being released are excluded, because their moments may be years old.
    pub oldest_due: Option<Time>,
    /// The earliest due moment that has passed of a message that is not in the log yet.
    pub oldest_unpublished: Option<Time>,
    /// Accounts that could not be processed, up to [`MOST_FAILED_COUNTED`].
    pub failed_accounts: u64,
}

/// All releases in progress, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// Products that are being released.
    pub products: u64,
    /// Events that were held when the release began.
    pub events: u64,
    /// Events still held, including those of failed accounts.
    pub held_events: u64,
    /// Accounts that still hold events, excluding failed ones.
    pub held_accounts: u64,
    /// Accounts that failed.
    pub failed_accounts: u64,
}

/// Connections to the database's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// The maximum.
    pub limit: u64,
    /// Open connections.
    pub open: u64,
    /// Connections in use.
    pub in_use: u64,
    /// Callers waiting for a connection.
    pub waiting: u64,
}

/// Disk space used and left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageSpace {
    /// Size of the database in bytes.
    pub database_bytes: u64,
    /// Further figures, if the database is a file on this machine.
    pub files: Option<DiskSpace>,
}

/// Disk space of a database on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Size of the write-ahead log file in bytes.
    pub log_bytes: u64,
    /// Bytes of the file system that this program can still use.
    pub free_bytes: u64,
    /// Size of the whole file system in bytes.
    pub disk_bytes: u64,
}

/// Monitoring of a database.
#[async_trait]
pub trait Monitoring: Send + Sync {
    /// The last migration that this program knows.
    fn schema(&self) -> i64;

    /// Connections to the database server; `None` if there is no server.
    fn connections(&self) -> Option<Connections> {
        None
    }

    /// Overdue work by `now`, and failures.
    async fn overdue_work(&self, now: Time) -> Result<OverdueWork>;

    /// Releases in progress.
    async fn releases(&self) -> Result<Releases>;

    /// Disk space used by the database; `None` for a database in memory.
    async fn storage_space(&self) -> Result<Option<StorageSpace>>;
}

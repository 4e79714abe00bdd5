//! SQLite: the whole database in one file, nothing to install.
//!
//! One thread writes, a few connections read ([`threads`]). A commit is durable when its result is returned: WAL with
//! `synchronous=FULL` ([`connection`]). Only one process uses the file, so due accounts are not leased: two requests
//! without a commit in between return the same accounts.
//!
//! | module | what it does |
//! |---|---|
//! | [`connection`] | opens connections; classifies errors |
//! | [`identity`], [`log_file`] | check that the file is still the one that was opened, and its log is whole |
//! | [`health`] | remembers that the storage refused a write, or that the file is damaged |
//! | [`threads`] | runs the SQL |
//! | [`checkpointer`] | copies the log into the file |
//! | [`migrations`] | migrates the tables |
//! | [`rows`] | reads rows |
//! | [`organizations`] | organizations |
//! | [`read`] | loads accounts; items, messages |
//! | [`journals`] | reads a portfolio on a connection of its own |
//! | [`due`] | due work |
//! | [`commit`], [`mod@unit`], [`log`] | a batch, a unit of it, its messages |
//! | [`portfolio_queries`], [`search_index`] | counts for charts; search by words and past-due accounts |
//! | [`outbox`] | webhook subscriptions and deliveries |
//! | [`audit`] | the audit trail |
//! | [`dialect`] | runs the statements that both dialects share: settings, keys, people, most reads |
//! | [`monitoring`] | overdue work, failures, disk space |
//! | [`refolds`] | accounts to be folded again by newer rules |
//! | [`mod@backup`] | backup and check |

mod audit;
mod backup;
mod checkpointer;
mod commit;
mod connection;
mod dialect;
mod due;
mod earlier_messages;
mod grouped_messages;
mod guards;
mod health;
mod identity;
mod journals;
mod log;
mod log_file;
mod message_checks;
mod migrations;
mod monitoring;
mod organizations;
mod outbox;
mod portfolio_queries;
mod read;
mod refolds;
mod rows;
mod search_index;
mod threads;
mod unit;
mod upkeep;

use crate::batch::{Batch, Claimed};
use crate::error::StoreError;
use crate::message_groups;
use crate::records::{AccountKey, ItemRow, MessageRow, OrgId, Organization, ProductKey};
use crate::sharing::{self, Sharing};
use crate::{AccountToLoad, Audited, DueAccount, LoadedAccount, LogSize, Result, Store, Tables};
use async_trait::async_trait;
use checkpointer::{Checkpointer, Watching};
use daybook_engine::time::Time;
use health::Health;
use identity::Identity;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use threads::{Readers, Writer};

/// The path of a database that lives as long as its store.
const MEMORY: &str = ":memory:";
/// How many reads run at once. More would only wait for the processor.
const READERS: usize = 4;

/// A database in a file, or in memory.
pub struct Sqlite {
    path: String,
    /// `None` for a database in memory and for one that is only inspected, where the writer also reads. Dropped before
    /// the writer, so that the writer closes the file last and leaves no log behind.
    readers: Option<Arc<Readers>>,
    /// Stopped before the writer, because it may send jobs to it.
    _checkpointer: Option<Checkpointer>,
    writer: Writer,
    identity: Option<Arc<Identity>>,
    health: Arc<Health>,
    watching: Arc<Watching>,
    sharing: Arc<Sharing>,
    /// The migrations that were run on opening.
    migrated: Vec<i64>,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens a file, which is created if it does not exist, or `:memory:`.
    pub async fn open(path: &str) -> Result<Sqlite> {
        Sqlite::open_as(path, Tables::BringUpToDate).await
    }

    /// Opens a file. Changes the tables only if `tables` requests a migration.
    pub async fn open_as(path: &str, tables: Tables) -> Result<Sqlite> {
        let path = path.to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            if tables == Tables::OnlyRead {
                return Sqlite::open_to_inspect(path);
            }
            let mut connection = connection::open_writer(&path)?;
            let migrated = match tables {
                Tables::BringUpToDate => migrations::migrate(&mut connection)?,
                Tables::MustBeCurrent => {
                    migrations::standing(&connection)?.must_be_current()?;
                    Vec::new()
                }
                Tables::AsTheyAre | Tables::OnlyRead => Vec::new(),
            };
            let identity = if path == MEMORY { None } else { Some(Identity::of(&connection, Path::new(&path))?) };
            let identity = identity.map(Arc::new);
            let health = Arc::new(Health::new(PathBuf::from(&path)));
            let new_readers =
                |identity| Arc::new(Readers::new(PathBuf::from(&path), identity, health.clone(), READERS));
            let readers = identity.clone().map(new_readers);
            let writer = Writer::start(connection, identity.clone(), health.clone())?;
            let watched = writer.watched().filter(|_| path != MEMORY);
            let watching = Arc::new(Watching::default());
            let checkpointer = watched.zip(identity.clone()).map(|((jobs, has_written), identity)| {
                let connection = connection::open_checkpointer(Path::new(&path))?;
                Checkpointer::start(connection, has_written, jobs, identity, watching.clone())
            });
            let (checkpointer, sharing) = (checkpointer.transpose()?, Sharing::of(READERS));
            Ok(Sqlite {
                _checkpointer: checkpointer,
                path,
                readers,
                writer,
                identity,
                health,
                watching,
                sharing,
                migrated,
            })
        });
        opening.await.map_err(|error| StoreError::Unavailable(format!("opening it was interrupted: {error}")))?
    }

    /// Opens a file on one connection, which leaves the file as it is. The identity of the file is not checked: nothing
    /// is acknowledged.
    fn open_to_inspect(path: String) -> Result<Sqlite> {
        let connection = connection::open_inspector(&path)?;
        let health = Arc::new(Health::new(PathBuf::from(&path)));
        let writer = Writer::start(connection, None, health.clone())?;
        let (watching, sharing) = (Arc::default(), Sharing::of(READERS));
        let (readers, checkpointer, identity, migrated) = (None, None, None, Vec::new());
        Ok(Sqlite { _checkpointer: checkpointer, path, readers, writer, identity, health, watching, sharing, migrated })
    }

    async fn read<T, F>(&self, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        match &self.readers {
            Some(readers) => readers.run(read).await,
            None => {
                let _turn = sharing::turn().await?;
                self.writer.run(|connection| threads::at_one_moment(connection, read)).await
            }
        }
    }

    async fn write<T, F>(&self, write: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    {
        self.writer.run(write).await
    }

    /// Runs a write in one transaction and, if it changed anything, writes its audit record.
    async fn write_audited<T, F>(&self, audit: Audited<'_>, changed: fn(&T) -> bool, write: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let record = audit.cloned();
        self.write(move |connection| {
            outbox::whole(connection, |transaction| {
                let written = write(transaction)?;
                if changed(&written) {
                    audit::append(transaction, &record)?;
                }
                Ok(written)
            })
        })
        .await
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn describe(&self) -> Result<String> {
        Ok(format!("SQLite {}", rusqlite::version()))
    }

    async fn ping(&self) -> Result<()> {
        if let Some(identity) = self.identity.clone() {
            // A file system that hangs must not block the server's threads.
            let checking = tokio::task::spawn_blocking(move || identity.check());
            checking.await.map_err(|_| StoreError::Unavailable("its file could not be checked".to_owned()))??;
        }
        self.read(|connection| read::one(connection, "SELECT 1 FROM migrations", [], |_| Ok(())).map(|_| ())).await
    }

    async fn try_write(&self) -> Result<()> {
        let health = self.health.clone();
        self.write(move |connection| health.try_write(connection)).await
    }

    fn log_size(&self) -> Option<LogSize> {
        self.identity.as_ref()?;
        Some(LogSize {
            pages: self.watching.pages.load(Ordering::Relaxed),
            held_back: self.watching.held_back.load(Ordering::Relaxed),
        })
    }

    /// One thread writes; meanwhile another batch can be folded.
    fn writers(&self) -> usize {
        2
    }

    fn sharing(&self) -> &Arc<Sharing> {
        &self.sharing
    }

    async fn backup(&self, to: &Path, settings: &[(&str, &[u8])]) -> Result<()> {
        let to = to.to_owned();
        let settings: Vec<_> = settings.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
        match &self.readers {
            Some(readers) => readers.run_alone(move |connection| backup::backup(connection, &to, &settings)).await,
            None => self.write(move |connection| backup::backup(connection, &to, &settings)).await,
        }
    }

    async fn check(&self) -> Result<Vec<String>> {
        match &self.readers {
            // Not within a transaction, because ending it would fail too if the file is damaged.
            Some(readers) => readers.run_alone(backup::check).await,
            None => self.write(|connection| backup::check(connection)).await,
        }
    }

    /// A file may be moved, and a copy of it has the same bytes.
    async fn whereabouts(&self) -> Result<Option<String>> {
        Ok(None)
    }

    async fn database_time(&self) -> Result<Option<Time>> {
        Ok(None)
    }

    async fn create_organization(&self, organization: &Organization, audit: Audited<'_>) -> Result<OrgId> {
        let organization = organization.clone();
        self.write_audited(audit, |_| true, move |write| organizations::create_organization(write, &organization)).await
    }

    async fn rotate_signing_key(
        &self,
        org: OrgId,
        old: &[u8],
        new: &[u8],
        old_until: Time,
        audit: Audited<'_>,
    ) -> Result<bool> {
        let (old, new) = (old.to_owned(), new.to_owned());
        let rotate = move |write: &Connection| organizations::rotate_signing_key(write, org, &old, &new, old_until);
        self.write_audited(audit, |rotated| *rotated, rotate).await
    }

    async fn organizations(&self) -> Result<Vec<Organization>> {
        self.read(organizations::organizations).await
    }

    async fn customers_exist(&self, org: OrgId, customer_ids: &[Arc<str>]) -> Result<Vec<bool>> {
        let customer_ids = customer_ids.to_owned();
        self.read(move |connection| read::customers_exist(connection, org, &customer_ids)).await
    }

    async fn load(&self, wanted: &[AccountToLoad]) -> Result<Vec<Option<LoadedAccount>>> {
        let wanted = wanted.to_owned();
        self.read(move |connection| read::load(connection, &wanted)).await
    }

    async fn items_of(&self, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>> {
        let keys = keys.to_owned();
        self.read(move |connection| keys.iter().map(|key| read::items(connection, key)).collect()).await
    }

    async fn items_by_id(&self, key: &AccountKey, item_ids: &[Arc<str>]) -> Result<Vec<ItemRow>> {
        let (key, item_ids) = (key.clone(), item_ids.to_owned());
        self.read(move |connection| read::items_by_id(connection, &key, &item_ids)).await
    }

    async fn messages_of(&self, key: &AccountKey, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
        let key = key.clone();
        self.read(move |connection| read::messages_of(connection, &key, after, limit)).await
    }

    async fn messages_by_cause(
        &self,
        key: &AccountKey,
        causes: &[&str],
        before_cause: Option<&str>,
    ) -> Result<Vec<MessageRow>> {
        let causes: Vec<String> = causes.iter().map(|cause| (*cause).to_owned()).collect();
        let (key, before) = (key.clone(), before_cause.map(str::to_owned));
        self.read(move |connection| read::messages_by_cause(connection, &key, &causes, before.as_deref())).await
    }

    async fn messages(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
        self.read(move |connection| read::messages(connection, org, after, limit)).await
    }

    async fn take_due(&self, now: Time, limit: usize, _lease_until: Time) -> Result<Vec<DueAccount>> {
        self.read(move |connection| due::take_due(connection, now, limit)).await
    }

    async fn next_due(&self, now: Time) -> Result<Option<Time>> {
        self.read(move |connection| due::next_due(connection, now)).await
    }

    async fn count_due(&self, now: Time) -> Result<u64> {
        self.read(move |connection| due::count_due(connection, now)).await
    }

    async fn retry_failed(&self, key: &ProductKey, now: Time) -> Result<u64> {
        let key = key.clone();
        self.write(move |connection| due::retry_failed(connection, &key, now)).await
    }

    async fn publish_due(&self, now: Time, limit: usize) -> Result<u64> {
        self.write(move |connection| due::publish_due(connection, now, limit)).await
    }

    async fn expire_answers(&self, now: Time, limit: usize) -> Result<u64> {
        self.write(move |connection| due::expire_answers(connection, now, limit)).await
    }

    async fn commit(&self, mut batch: Batch) -> Result<Vec<Claimed>> {
        message_groups::compress_batch(&mut batch)?;
        let health = self.health.clone();
        self.write(move |connection| {
            let claimed = commit::commit(connection, &batch)?;
            if claimed.contains(&Claimed::Written) {
                health.note_commit();
            }
            Ok(claimed)
        })
        .await
    }
}

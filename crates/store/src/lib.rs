//! The SQL store.
//!
//! The store knows nothing of loans: terms, states and inputs are bytes to it. One trait, [`Store`], has two
//! implementations: [`sqlite`] (one file, built in, the default) and [`postgres`] (a server, many nodes). [`open`]
//! picks one by the address of the database and migrates its tables.
//!
//! Every change to an account goes through one call, [`Store::commit`], which writes a [`Batch`] of units, each
//! independent of the others. A unit is *claimed* first (its account still has the version that was loaded, its product
//! still has the mode that was read, its idempotency key is still free). If a unit cannot be claimed, none of its rows
//! are written, and the caller loads and computes it again. Messages get their positions last, so that the order of
//! positions is the order of commits.
//!
//! Committing, publishing, loading and sending have statements of their own in each dialect, tuned to its planner.
//! Other subjects (people, keys, settings, most reads and lists) are one trait and one module each, with one statement
//! for both dialects: see `dialect`. Rows of both dialects are read by the same functions: see `rows`.
//!
//! | table | a row is |
//! |---|---|
//! | `organizations`, `keys` | a tenant; an API key |
//! | `products` | a product, and whether it holds its events |
//! | `customers`, `account_customers` | a person or business; a link between a customer and an account |
//! | `accounts` | terms, state, the next moment to process, the version |
//! | `inputs` | a request to an account, in order of arrival: the source of truth |
//! | `line_items` | a line item, computed from the inputs by the fold |
//! | `message_groups`, `message_events` | messages in the log, by position; the events of a row of several: see `message_groups` |
//! | `waiting_messages`, `log_heads` | a message that is due later; the end of an organization's log |
//! | `subscriptions`, `failures`, `ranges`, `attempts` | a webhook subscription; deliveries to it: see [`outbox`] |
//! | `search_index`, `delivery_hours` | a search word of a record; deliveries by the hour: see [`portfolio_queries`] |
//! | `accounts_to_refold`, `refolds` | an account to fold again by newer rules; what that changed: see [`refolds`] |
//! | `migrations` | a migration that was run |
//! | `answers` | a response kept for an idempotency key |
//! | `people`, `sessions`, `invitations`, `guesses` | a console user, and how they sign in: see [`people`] |
//! | `settings` | a value about the database itself |
//! | `audit`, `audit_heads` | a record of the audit trail; the end of its chain: see [`audit`] |
//!
//! All amounts are integers (cents) and all times are integers (microseconds since 1970). Every key begins with the
//! organization.

pub mod address;
pub mod audit;
pub mod batch;
mod dialect;
pub mod error;
pub mod guards;
pub mod journals;
pub mod keys;
mod message_groups;
pub mod monitoring;
pub mod outbox;
pub mod people;
pub mod portfolio_queries;
pub mod postgres;
pub mod reads;
pub mod records;
pub mod refolds;
mod rows;
pub mod search;
pub mod settings;
pub mod sharing;
pub mod sqlite;
pub mod upkeep;

use async_trait::async_trait;
use audit::NewAuditRecord;
use batch::{Batch, Claimed};
use daybook_engine::time::Time;
use error::StoreError;
use records::{AccountKey, AccountRow, InputRow, ItemRow, MessageRow, OrgId, Organization, ProductKey};
use std::sync::Arc;

/// The audit record of a write. It is written in the same transaction, and only if the write changes something. `None`
/// if the program makes the change on its own, without a caller.
pub type Audited<'a> = Option<&'a NewAuditRecord>;

/// The result of a call to the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Opens the database at an address and migrates its tables.
///
/// `sqlite:PATH` is a file, created if it does not exist; `sqlite::memory:` lives as long as the store; `postgres://…`
/// (or `postgresql://…`) is a server.
pub async fn open(address: &str) -> Result<Arc<dyn Store>> {
    open_as(address, Tables::BringUpToDate).await
}

/// What to do with the tables of a database when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// Migrate them.
    BringUpToDate,
    /// Do not change them; reject tables of another version.
    MustBeCurrent,
    /// Do not change them; accept any version.
    AsTheyAre,
    /// Change nothing in the database, not even the journal mode of a file; accept any version.
    OnlyRead,
}

/// Opens the database at an address. Unless its tables are to be migrated, the database must exist.
pub async fn open_as(address: &str, tables: Tables) -> Result<Arc<dyn Store>> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        return Ok(Arc::new(sqlite::Sqlite::open_as(path, tables).await?));
    }
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        return Ok(Arc::new(postgres::Postgres::open_as(address, tables).await?));
    }
    Err(StoreError::Address(address::shown(address)))
}

/// Which of an account's inputs to load with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// None.
    None,
    /// Those that are not processed yet: held (`seq > settled_seq`) or scheduled (`applies_at > processed_through`).
    Pending,
    /// All.
    All,
}

/// An account to load.
#[derive(Clone, Debug)]
pub struct AccountToLoad {
    /// The account.
    pub key: AccountKey,
    /// Which of its inputs to load.
    pub inputs: Inputs,
    /// Further inputs to load by name, processed or not.
    pub names: Vec<Arc<str>>,
}

/// An account as loaded.
#[derive(Clone, Debug)]
pub struct LoadedAccount {
    /// The account's row.
    pub row: AccountRow,
    /// The requested inputs, by `seq`, without duplicates.
    pub inputs: Vec<InputRow>,
}

/// An account that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueAccount {
    /// The account.
    pub key: AccountKey,
    /// Its product.
    pub product: Arc<str>,
    /// The number of its inputs if it holds events; otherwise 0.
    pub held: i64,
}

/// The state of a write-ahead log that this program copies into the database file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSize {
    /// Pages in the log when it was last copied.
    pub pages: i64,
    /// How often a long read prevented the log from restarting at its beginning.
    pub held_back: u64,
}

/// A database.
#[async_trait]
pub trait Store:
    audit::Audit
    + audit::AuditChains
    + journals::PortfolioJournals
    + keys::Keys
    + outbox::Outbox
    + people::People
    + portfolio_queries::PortfolioFigures
    + portfolio_queries::PortfolioQueries
    + monitoring::Monitoring
    + reads::Reads
    + refolds::Refolds
    + search::Search
    + settings::DatabaseSettings
    + upkeep::Upkeep
{
    /// The dialect and its version, for display: `SQLite 3.50.2`, `PostgreSQL 15.18`.
    async fn describe(&self) -> Result<String>;

    /// Fails unless the database responds.
    async fn ping(&self) -> Result<()>;

    /// Fails unless the database accepts a write: rewrites a row unchanged, or writes more if that might not show that
    /// a payment can be written.
    async fn try_write(&self) -> Result<()>;

    /// The state of the write-ahead log, if this program manages it.
    fn log_size(&self) -> Option<LogSize> {
        None
    }

    /// Whether several nodes may use the database at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// How many transactions it is useful to run at once.
    fn writers(&self) -> usize;

    /// Shares the readers between organizations.
    fn sharing(&self) -> &Arc<sharing::Sharing>;

    /// Copies the whole database to a file while it is in use, and writes these settings into the copy. SQLite only.
    async fn backup(&self, to: &std::path::Path, settings: &[(&str, &[u8])]) -> Result<()>;

    /// Checks the database's own structures; returns a sentence for each problem.
    async fn check(&self) -> Result<Vec<String>>;

    // --- The database itself -------------------------------------------------------------------------------------

    /// Identifies where the tables are, to distinguish a restored dump from its original: restoring a dump creates
    /// other tables, in another database or on another server. `None` if a copy cannot be distinguished from its
    /// original.
    async fn whereabouts(&self) -> Result<Option<String>>;

    /// The time of the database's own clock; `None` if it uses this machine's.
    async fn database_time(&self) -> Result<Option<Time>>;

    // --- Organizations -------------------------------------------------------------------------------------------

    /// Creates an organization and returns its number. The number in the argument is ignored.
    async fn create_organization(&self, organization: &Organization, audit: Audited<'_>) -> Result<OrgId>;

    /// Gives an organization a new signing key, unless its key is no longer `old`. The old key is kept as the previous
    /// one until a moment. Units that were computed with the old key and are not written yet become stale: the modes of
    /// the organization's products go up by one version. Returns whether the key was changed.
    async fn rotate_signing_key(
        &self,
        org: OrgId,
        old: &[u8],
        new: &[u8],
        old_until: Time,
        audit: Audited<'_>,
    ) -> Result<bool>;

    /// All organizations, by number.
    async fn organizations(&self) -> Result<Vec<Organization>>;

    // --- Reading -------------------------------------------------------------------------------------------------

    /// Which of these customers exist.
    async fn customers_exist(&self, org: OrgId, customer_ids: &[Arc<str>]) -> Result<Vec<bool>>;

    /// Accounts with inputs, in one query; `None` for those that do not exist. Results are in the order of the request.
    async fn load(&self, wanted: &[AccountToLoad]) -> Result<Vec<Option<LoadedAccount>>>;

    /// Some line items of an account, by id; those that do not exist are left out.
    async fn items_by_id(&self, key: &AccountKey, item_ids: &[Arc<str>]) -> Result<Vec<ItemRow>>;

    /// The line items of several accounts, each by id; in the order of the request.
    async fn items_of(&self, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>>;

    /// Messages about an account, in the log and waiting, by sequence: those after `after`, at most `limit`.
    async fn messages_of(&self, key: &AccountKey, after: i64, limit: usize) -> Result<Vec<MessageRow>>;

    /// Messages about an account with one of these causes, by sequence; with `before_cause`, only those that precede its
    /// messages.
    async fn messages_by_cause(
        &self,
        key: &AccountKey,
        causes: &[&str],
        before_cause: Option<&str>,
    ) -> Result<Vec<MessageRow>>;

    /// The log of an organization: messages at positions after `after`, in order, at most `limit`.
    async fn messages(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>>;

    // --- Work that is due ----------------------------------------------------------------------------------------

    /// Accounts with `next_moment <= now` in products that do not hold, at most `limit`, shared fairly between
    /// products. If several nodes share a database, an account returned here is not given to another node until
    /// `lease_until`, or until it is committed.
    async fn take_due(&self, now: Time, limit: usize, lease_until: Time) -> Result<Vec<DueAccount>>;

    /// The earliest `next_moment` after `now` in products that do not hold, so that the caller can sleep until then.
    /// `None` if there is none.
    async fn next_due(&self, now: Time) -> Result<Option<Time>>;

    /// How many accounts have `next_moment <= now` in products that do not hold.
    async fn count_due(&self, now: Time) -> Result<u64>;

    /// Makes the failed accounts of a product due again; returns how many.
    async fn retry_failed(&self, key: &ProductKey, now: Time) -> Result<u64>;

    /// Moves waiting messages with `due_at <= now` into the log, oldest first, at most `limit`; returns how many.
    async fn publish_due(&self, now: Time, limit: usize) -> Result<u64>;

    /// Removes responses that expired by `now`, at most `limit`; returns how many.
    async fn expire_answers(&self, now: Time, limit: usize) -> Result<u64>;

    // --- Writing -------------------------------------------------------------------------------------------------

    /// Writes the units that can be claimed, in one transaction. Returns the result of each unit, in the order given.
    async fn commit(&self, batch: Batch) -> Result<Vec<Claimed>>;
}

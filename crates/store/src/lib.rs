//! SQL: the rows that everything else is made of.
//!
//! The store keeps what it is told and knows nothing of loans: terms, states and inputs are bytes to it. It has two
//! dialects behind one trait, [`Store`]: [`sqlite`] (one file, built in, the default) and [`postgres`] (a server, many
//! nodes). [`open`] picks one by the address of the database and brings its tables up to date.
//!
//! Everything that changes an account is written by one call, [`Store::commit`]: a [`Batch`] of units,
//! each of which stands or falls by itself. A unit is *claimed* first (its account is still the version that was
//! loaded, its product is still in the mode that was read, its idempotency key is still free); rows of a unit that
//! could not be claimed are not written, and the caller loads and computes it again. Messages get their positions last,
//! so that the order of positions is the order of commits.
//!
//! | table | what a row is |
//! |---|---|
//! | `organizations`, `keys` | a tenant; who may call for it |
//! | `products` | a product, and whether it holds its events |
//! | `customers`, `account_customers` | a person or business; which accounts are theirs |
//! | `accounts` | terms, state, the next moment something happens, the version |
//! | `inputs` | what was asked of an account, in order of arrival: the truth |
//! | `line_items` | what the fold made of it |
//! | `messages`, `waiting_messages`, `log_heads` | what is announced, by position; what is to be announced later |
//! | `subscriptions`, `failures`, `ranges`, `attempts` | who gets messages, and what became of them: see [`outbox`] |
//! | `words`, `delivery_hours` | what things are found by; how sending went, by the hour: see [`figures`] |
//! | `accounts_to_refold`, `refolds` | accounts to be folded again by newer rules; what that moved: see [`refolds`] |
//! | `migrations` | the steps that made the tables |
//! | `answers` | answers kept for callers who repeat themselves |
//! | `people`, `sessions`, `invitations`, `guesses` | who uses the console, and how they come in: see [`people`] |
//! | `settings` | a few values about the database itself |
//! | `audit`, `audit_heads` | who did what, as a chain; its end: see [`audit`] |
//!
//! All money is integers (cents) and all time is integers (microseconds since 1970). Keys lead with the organization.

pub mod audit;
pub mod batch;
pub mod error;
pub mod figures;
pub mod guards;
pub mod monitoring;
pub mod outbox;
pub mod people;
pub mod postgres;
pub mod records;
pub mod refolds;
pub mod sqlite;
pub mod upkeep;

use async_trait::async_trait;
use audit::NewAuditRecord;
use batch::{Batch, Claimed};
use daybook_engine::time::Time;
use error::StoreError;
use records::{
    AccountKey, AccountRow, Answer, CustomerRow, HeldCounts, InputRow, ItemRow, KeyRow, MessageRow, OrgId,
    Organization, Page, ProductKey, ProductRow,
};
use std::sync::Arc;

/// The setting that holds the latest moment known: microseconds in eight bytes, the highest first, so that bytes compare as
/// moments do.
const LATEST_MOMENT: &str = "latest_moment";

fn moment_bytes(at: Time) -> [u8; 8] {
    at.micros().max(0).to_be_bytes()
}

fn moment_of(bytes: Option<Vec<u8>>) -> Option<Time> {
    Some(Time::from_micros(i64::from_be_bytes(bytes?.try_into().ok()?)))
}

/// What is recorded about a write, in the same transaction and only if the write changes something. `None`: the program does
/// it by itself, and no caller asked.
pub type Audited<'a> = Option<&'a NewAuditRecord>;

/// What a call to the store gives.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Opens the database at an address and brings its tables up to date.
///
/// `sqlite:PATH` is a file, made if it is not there; `sqlite::memory:` lives as long as the store;
/// `postgres://…` (or `postgresql://…`) is a server.
pub async fn open(address: &str) -> Result<Arc<dyn Store>> {
    open_as(address, Tables::BringUpToDate).await
}

/// What is done with the tables of a database that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// They are brought up to date.
    BringUpToDate,
    /// They are not changed; tables of another version are refused.
    MustBeCurrent,
    /// They are not changed, and may be of any version.
    AsTheyAre,
}

/// Opens the database at an address. Unless its tables are to be brought up to date, it must be there.
pub async fn open_as(address: &str, tables: Tables) -> Result<Arc<dyn Store>> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        return Ok(Arc::new(sqlite::Sqlite::open_as(path, tables).await?));
    }
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        return Ok(Arc::new(postgres::Postgres::open_as(address, tables).await?));
    }
    Err(StoreError::Address(address.to_owned()))
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
pub struct Want {
    /// Which.
    pub key: AccountKey,
    /// Which of its inputs.
    pub inputs: Inputs,
    /// Further inputs to load, by name, whatever their state.
    pub names: Vec<Arc<str>>,
}

/// An account as loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its row.
    pub row: AccountRow,
    /// Its inputs that were asked for, by `seq`, each once.
    pub inputs: Vec<InputRow>,
}

/// An account that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which.
    pub key: AccountKey,
    /// Its product.
    pub product: Arc<str>,
    /// If it holds events back: how many inputs it has. Else nothing.
    pub held: i64,
}

/// How a write-ahead log is doing that is copied into the database's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSize {
    /// Pages in it when it was last copied.
    pub pages: i64,
    /// How often it should have begun anew, and a long read held it back.
    pub held_back: u64,
}

/// A database.
#[async_trait]
pub trait Store:
    audit::Audit
    + outbox::Outbox
    + people::People
    + figures::Figures
    + monitoring::Monitoring
    + refolds::Refolds
    + upkeep::Upkeep
{
    /// Which dialect, for people: `SQLite 3.50.2`, `PostgreSQL 15.18`.
    async fn describe(&self) -> Result<String>;

    /// Whether the database answers.
    async fn ping(&self) -> Result<()>;

    /// Whether the database takes a write: writes a row as it is.
    async fn try_write(&self) -> Result<()>;

    /// How the write-ahead log is doing, where that is this program's to look after.
    fn log_size(&self) -> Option<LogSize> {
        None
    }

    /// How many transactions it makes sense to have under way at once.
    fn writers(&self) -> usize;

    /// Copies the whole database to a file while it is in use, and has the copy keep these values about itself. SQLite only.
    async fn backup(&self, to: &std::path::Path, settings: &[(&str, &[u8])]) -> Result<()>;

    /// Checks the database's own structures; the sentences say what is wrong. Empty: nothing.
    async fn check(&self) -> Result<Vec<String>>;

    // --- Settings ------------------------------------------------------------------------------------------------

    /// A value about the database itself.
    async fn setting(&self, name: &str) -> Result<Option<Vec<u8>>>;

    /// Keeps a value unless there is one already; gives the one that is kept.
    async fn keep_setting(&self, name: &str, value: &[u8]) -> Result<Vec<u8>>;

    /// Keeps a value in place of the one there is, if there is one.
    async fn put_setting(&self, name: &str, value: &[u8], audit: Audited<'_>) -> Result<()>;

    /// Removes a value; gives whether there was one.
    async fn remove_setting(&self, name: &str, audit: Audited<'_>) -> Result<bool>;

    /// Where the tables are, for telling a restored dump from the database it was made of: a dump that is restored makes
    /// other tables, in another database or on another server. `None` where a copy cannot be told from its original.
    async fn whereabouts(&self) -> Result<Option<String>>;

    // --- Time ----------------------------------------------------------------------------------------------------

    /// What the database's own clock shows; `None` where it has only the machine's.
    async fn database_time(&self) -> Result<Option<Time>>;

    /// The latest moment that a server noted here while it ran.
    async fn latest_moment(&self) -> Result<Option<Time>>;

    /// Notes a moment, unless a later one is noted; `even_back` notes it whatever is noted.
    async fn note_moment(&self, at: Time, even_back: bool) -> Result<()>;

    // --- Organizations and keys ----------------------------------------------------------------------------------

    /// Makes an organization and gives it its number. The number in the argument is not looked at.
    async fn create_organization(&self, organization: &Organization, audit: Audited<'_>) -> Result<OrgId>;

    /// Gives an organization a new signing key, unless its key is no longer `old`; the old one is kept as the previous
    /// one until a moment. Everything that was computed with the old key and is not written yet becomes stale: the modes
    /// of the organization's products go up by one version. Gives whether it was done.
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

    /// Makes a key; false if the client id is taken.
    async fn create_key(&self, key: &KeyRow, audit: Audited<'_>) -> Result<bool>;

    /// A key by its client id.
    async fn key(&self, client_id: &str) -> Result<Option<KeyRow>>;

    /// The key whose secret has this hash.
    async fn key_by_secret(&self, secret_hash: &[u8]) -> Result<Option<KeyRow>>;

    /// An organization's keys, by time of making.
    async fn keys(&self, org: OrgId) -> Result<Vec<KeyRow>>;

    /// Revokes a key, unless it is revoked already; false if there is none.
    async fn revoke_key(&self, org: OrgId, client_id: &str, at: Time, audit: Audited<'_>) -> Result<bool>;

    /// Notes when keys were last used. Never moves a time back.
    async fn touch_keys(&self, used: &[(String, Time)]) -> Result<()>;

    // --- Reading -------------------------------------------------------------------------------------------------

    /// A product.
    async fn product(&self, key: &ProductKey) -> Result<Option<ProductRow>>;

    /// Products by id.
    async fn products(&self, org: OrgId, page: &Page) -> Result<Vec<ProductRow>>;

    /// Products whose release is under way, of all organizations.
    async fn releasing_products(&self) -> Result<Vec<ProductKey>>;

    /// How much a product's accounts hold back.
    async fn held_counts(&self, key: &ProductKey) -> Result<HeldCounts>;

    /// Accounts of a product that could not be processed: id and reason, by id, at most `limit`.
    async fn failed_accounts(&self, key: &ProductKey, limit: usize) -> Result<Vec<(Arc<str>, String)>>;

    /// A customer.
    async fn customer(&self, org: OrgId, customer_id: &str) -> Result<Option<CustomerRow>>;

    /// Customers by id.
    async fn customers(&self, org: OrgId, page: &Page) -> Result<Vec<CustomerRow>>;

    /// Which of these customers exist.
    async fn customers_exist(&self, org: OrgId, customer_ids: &[Arc<str>]) -> Result<Vec<bool>>;

    /// The accounts of a customer, with the role: by account id, at most `limit`.
    async fn customer_accounts(&self, org: OrgId, customer_id: &str, limit: usize) -> Result<Vec<(Arc<str>, String)>>;

    /// Accounts with inputs, in one go; `None` for those that do not exist. Answers come in the order asked.
    async fn load(&self, wanted: &[Want]) -> Result<Vec<Option<Loaded>>>;

    /// The first inputs of an account's timeline, in its order (`applies_at`, `rank`, `seq`), at most `limit`.
    async fn first_inputs(&self, key: &AccountKey, limit: usize) -> Result<Vec<InputRow>>;

    /// Whether an account has an input whose payload begins with one of these.
    async fn has_input_beginning(&self, key: &AccountKey, beginnings: &[Vec<u8>]) -> Result<bool>;

    /// Accounts by id.
    async fn accounts(&self, org: OrgId, page: &Page) -> Result<Vec<AccountRow>>;

    /// The line items of an account, by id.
    async fn items(&self, key: &AccountKey) -> Result<Vec<ItemRow>>;

    /// Some line items of an account, by id; those that do not exist are left out.
    async fn items_by_id(&self, key: &AccountKey, item_ids: &[Arc<str>]) -> Result<Vec<ItemRow>>;

    /// Messages about an account, in the log and waiting, by their sequence: those after `after`, at most `limit`.
    async fn messages_of(&self, key: &AccountKey, after: i64, limit: usize) -> Result<Vec<MessageRow>>;

    /// Messages about an account with one of these causes, by their sequence.
    async fn messages_by_cause(&self, key: &AccountKey, causes: &[&str]) -> Result<Vec<MessageRow>>;

    /// The log of an organization: messages at positions after `after`, in order, at most `limit`.
    async fn messages(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>>;

    /// The answer kept for an idempotency key, unless it expired by `now`.
    async fn answer(&self, org: OrgId, key: &str, now: Time) -> Result<Option<Answer>>;

    // --- Work that is due ----------------------------------------------------------------------------------------

    /// Accounts with `next_moment <= now` in products that do not hold, at most `limit`, shared fairly between products.
    /// Where several nodes share a database, an account taken here is not given to another until `lease_until`, or
    /// until it is committed.
    async fn take_due(&self, now: Time, limit: usize, lease_until: Time) -> Result<Vec<Due>>;

    /// The earliest `next_moment` after `now` in products that do not hold, looking no further than some products'
    /// first; for sleeping until then. `None`: nothing is to come.
    async fn next_due(&self, now: Time) -> Result<Option<Time>>;

    /// How many accounts have `next_moment <= now` in products that do not hold.
    async fn count_due(&self, now: Time) -> Result<u64>;

    /// Makes the failed accounts of a product due again; gives how many.
    async fn retry_failed(&self, key: &ProductKey, now: Time) -> Result<u64>;

    /// Moves waiting messages with `due_at <= now` into the log, oldest first, at most `limit`; gives how many.
    async fn publish_due(&self, now: Time, limit: usize) -> Result<u64>;

    /// Removes answers that expired by `now`, at most `limit`; gives how many.
    async fn expire_answers(&self, now: Time, limit: usize) -> Result<u64>;

    // --- Writing -------------------------------------------------------------------------------------------------

    /// Writes the units that can be claimed, in one transaction, and says which those were, in the order given.
    async fn commit(&self, batch: Batch) -> Result<Vec<Claimed>>;
}

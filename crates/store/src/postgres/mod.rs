//! PostgreSQL: one server, many nodes.
//!
//! Nodes share only the database and may die at any time. These parts keep them from interfering with each other:
//!
//! | part | what it coordinates |
//! |---|---|
//! | [`migrate`] | nodes that start at once: one migrates the tables, the others wait for it |
//! | [`claim`] | commits: an account, an idempotency key or a product's mode belongs to one transaction at a time |
//! | [`commit`], [`write`] | writers of one organization's log: positions are assigned last, under its head's lock |
//! | [`due`] | workers: an account that one has taken is leased, and skipped by the others |
//! | [`outbox`] | senders: a subscription that one has taken is leased, and its row is locked for each change |
//! | [`dialect`] | statements that both dialects share: rows by which a call decides are locked |
//! | [`audit`] | writers of one organization's audit trail: its head is locked last |
//!
//! A call takes a connection from the pool ([`server`]), sends as many statements as it can in one flight ([`flight`]),
//! and returns the connection. READ COMMITTED is enough: rows that must not change are locked, and unique keys are a
//! second safeguard. Rows are passed as arrays ([`arrays`]): one statement per table for any number of rows.

mod arrays;
mod audit;
mod borrowed_connection;
mod cells;
mod claim;
mod commit;
mod dialect;
mod due;
mod earlier_messages;
mod flight;
mod grouped_messages;
mod growth;
mod guards;
mod health;
mod heartbeat;
mod journals;
mod load;
mod message_checks;
mod migrate;
mod monitoring;
mod organizations;
mod outbox;
mod portfolio_queries;
mod publish;
mod reading;
mod refolds;
mod retry;
mod rotate;
mod search_index;
mod server;
mod tls;
mod upkeep;
mod write;

use crate::batch::{Batch, Claimed};
use crate::error::StoreError;
use crate::message_groups;
use crate::records::{AccountKey, ItemRow, MessageRow, OrgId, Organization, ProductKey};
use crate::sharing::Sharing;
use crate::{AccountToLoad, Audited, DueAccount, LoadedAccount, Result, Store, Tables};
use async_trait::async_trait;
use daybook_engine::time::Time;
use growth::Growth;
use server::PostgresServer;
use std::path::Path;
use std::sync::Arc;

/// How many commits are useful in parallel: enough to fold one while another waits for the disk.
const WRITERS: usize = 4;

/// A database on a PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    server: PostgresServer,
    growth: Growth,
    sharing: Arc<Sharing>,
    /// The migrations that were run on opening.
    migrated: Vec<i64>,
}

impl Postgres {
    /// Connects to the server at a `postgres://` address and migrates the tables.
    pub async fn open(address: &str) -> Result<Postgres> {
        Postgres::open_as(address, Tables::BringUpToDate).await
    }

    /// Connects to the server. Changes the tables only if `tables` requests a migration.
    pub async fn open_as(address: &str, tables: Tables) -> Result<Postgres> {
        let server = PostgresServer::at(address)?;
        if !matches!(tables, Tables::AsTheyAre | Tables::OnlyRead) {
            server.meet().await?;
        }
        let migrated = match tables {
            Tables::BringUpToDate => migrate::bring_up_to_date(&server).await?,
            Tables::MustBeCurrent => {
                migrate::standing(&server).await?.must_be_current()?;
                Vec::new()
            }
            Tables::AsTheyAre | Tables::OnlyRead => Vec::new(),
        };
        Ok(Postgres { server, growth: Growth::default(), sharing: Sharing::of(server::CONNECTIONS), migrated })
    }
}

#[async_trait]
impl Store for Postgres {
    async fn describe(&self) -> Result<String> {
        health::describe(&self.server).await
    }

    async fn ping(&self) -> Result<()> {
        health::ping(&self.server).await
    }

    async fn try_write(&self) -> Result<()> {
        health::try_write(&self.server).await
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn writers(&self) -> usize {
        WRITERS
    }

    fn sharing(&self) -> &Arc<Sharing> {
        &self.sharing
    }

    async fn backup(&self, _to: &Path, _settings: &[(&str, &[u8])]) -> Result<()> {
        Err(StoreError::Unsupported("a PostgreSQL database is backed up with pg_dump or with the server's own tools"))
    }

    async fn check(&self) -> Result<Vec<String>> {
        health::check(&self.server).await
    }

    async fn whereabouts(&self) -> Result<Option<String>> {
        health::whereabouts(&self.server).await.map(Some)
    }

    async fn database_time(&self) -> Result<Option<Time>> {
        health::database_time(&self.server).await
    }

    async fn create_organization(&self, organization: &Organization, audit: Audited<'_>) -> Result<OrgId> {
        organizations::create_organization(&self.server, organization, audit).await
    }

    async fn rotate_signing_key(
        &self,
        org: OrgId,
        old: &[u8],
        new: &[u8],
        old_until: Time,
        audit: Audited<'_>,
    ) -> Result<bool> {
        rotate::rotate_signing_key(&self.server, org, old, new, old_until, audit).await
    }

    async fn organizations(&self) -> Result<Vec<Organization>> {
        organizations::organizations(&self.server).await
    }

    async fn customers_exist(&self, org: OrgId, customer_ids: &[Arc<str>]) -> Result<Vec<bool>> {
        reading::customers_exist(&self.server, org, customer_ids).await
    }

    async fn load(&self, wanted: &[AccountToLoad]) -> Result<Vec<Option<LoadedAccount>>> {
        load::load(&self.server, wanted).await
    }

    async fn items_of(&self, keys: &[AccountKey]) -> Result<Vec<Vec<ItemRow>>> {
        reading::items_of(&self.server, keys).await
    }

    async fn items_by_id(&self, key: &AccountKey, item_ids: &[Arc<str>]) -> Result<Vec<ItemRow>> {
        reading::items_by_id(&self.server, key, item_ids).await
    }

    async fn messages_of(&self, key: &AccountKey, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
        reading::messages_of(&self.server, key, after, limit).await
    }

    async fn messages_by_cause(
        &self,
        key: &AccountKey,
        causes: &[&str],
        before_cause: Option<&str>,
    ) -> Result<Vec<MessageRow>> {
        reading::messages_by_cause(&self.server, key, causes, before_cause).await
    }

    async fn messages(&self, org: OrgId, after: i64, limit: usize) -> Result<Vec<MessageRow>> {
        reading::messages(&self.server, org, after, limit).await
    }

    async fn take_due(&self, now: Time, limit: usize, lease_until: Time) -> Result<Vec<DueAccount>> {
        due::take_due(&self.server, now, limit, lease_until).await
    }

    async fn next_due(&self, now: Time) -> Result<Option<Time>> {
        due::next_due(&self.server, now).await
    }

    async fn count_due(&self, now: Time) -> Result<u64> {
        due::count_due(&self.server, now).await
    }

    async fn retry_failed(&self, key: &ProductKey, now: Time) -> Result<u64> {
        due::retry_failed(&self.server, key, now).await
    }

    async fn publish_due(&self, now: Time, limit: usize) -> Result<u64> {
        publish::publish_due(&self.server, now, limit).await
    }

    async fn expire_answers(&self, now: Time, limit: usize) -> Result<u64> {
        due::expire_answers(&self.server, now, limit).await
    }

    async fn commit(&self, mut batch: Batch) -> Result<Vec<Claimed>> {
        message_groups::compress_batch(&mut batch)?;
        // An account with thousands of payments grows the tables as much as thousands of accounts do.
        let accounts = batch.units.iter().flat_map(|unit| &unit.accounts);
        let grown = accounts.map(|account| 1 + account.inputs.len() as u64).sum();
        let claimed = commit::commit(&self.server, batch).await?;
        self.growth.wrote(&self.server, grown);
        Ok(claimed)
    }
}

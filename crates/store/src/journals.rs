//! Reads all accounts of a product with their whole journals, from one snapshot of the database.
//!
//! A portfolio does not fit into memory. It is read in batches, each sent through a channel: the reader waits while the
//! receiver is busy, and stops when the receiver is dropped. A batch is limited by its accounts and by their inputs. All
//! batches come from one snapshot; changes that are committed meanwhile are not seen, and are not delayed.

use crate::records::ProductKey;
use crate::{LoadedAccount, Result};
use async_trait::async_trait;
use tokio::sync::mpsc;

/// The largest number of accounts in a batch.
pub(crate) const MOST_ACCOUNTS: usize = 200;
/// A batch ends with the account that brings it to this many inputs.
pub(crate) const MANY_INPUTS: usize = 8_192;

/// An account of a portfolio.
#[derive(Clone, Debug)]
pub struct PortfolioAccount {
    /// The account, with all its inputs.
    pub loaded: LoadedAccount,
    /// The stored bodies of its customers, if they were requested.
    pub customers: Vec<String>,
}

/// Accounts, by id.
pub type AccountBatch = Vec<PortfolioAccount>;

/// Reading a portfolio.
#[async_trait]
pub trait PortfolioJournals: std::fmt::Debug + Send + Sync {
    /// How many accounts a product has.
    async fn count_accounts_of(&self, key: &ProductKey) -> Result<u64>;

    /// Reads the accounts of a product, by id, and sends them in batches. Ends early, without an error, if the receiver
    /// is dropped.
    async fn read_portfolio(
        &self,
        key: &ProductKey,
        with_customers: bool,
        batches: mpsc::Sender<AccountBatch>,
    ) -> Result<()>;
}

/// A batch that is being filled.
#[derive(Debug, Default)]
pub(crate) struct FillingBatch {
    accounts: AccountBatch,
    inputs: usize,
}

impl FillingBatch {
    /// Adds an account. Returns the batch if it is full.
    pub(crate) fn add(&mut self, account: PortfolioAccount) -> Option<AccountBatch> {
        self.inputs += account.loaded.inputs.len();
        self.accounts.push(account);
        let is_full = self.accounts.len() >= MOST_ACCOUNTS || self.inputs >= MANY_INPUTS;
        if is_full { self.rest() } else { None }
    }

    /// What is left.
    pub(crate) fn rest(&mut self) -> Option<AccountBatch> {
        self.inputs = 0;
        let accounts = std::mem::take(&mut self.accounts);
        (!accounts.is_empty()).then_some(accounts)
    }
}

//! Reads a portfolio and folds it on several threads.
//!
//! The store sends batches from one snapshot; some batches are folded at the same time; their results are taken in the
//! order of the accounts. So memory is bounded by a few batches, whatever the size of the portfolio.

use super::compare::AccountResult;
use super::question::{Comparison, WhatIfQuestion};
use super::summary::WhatIfSummary;
use crate::Service;
use crate::access::Caller;
use crate::boxed;
use crate::problem::Problem;
use daybook_store::journals::AccountBatch;
use daybook_store::records::OrgId;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Batches that are read and not yet folded.
const READ_AHEAD: usize = 2;

/// Sees the results while a what-if runs. An error ends it.
pub trait Observer: Send {
    /// The portfolio has this many accounts.
    fn begins(&mut self, accounts: u64) -> Result<(), Problem>;
    /// These accounts are done. The results are in the order of their ids.
    fn done(&mut self, results: &[AccountResult]) -> Result<(), Problem>;
}

/// Where accounts are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// On all processors: the process has no other work.
    All,
    /// In the places that long reads of an organization share with those of others.
    Shared,
}

impl Service {
    /// Folds the accounts of a product as they are and as they would be, on all processors. For a command that has the
    /// machine to itself; a server runs [`Service::start_what_if`].
    #[boxed]
    pub async fn what_if(
        &self,
        who: &Caller,
        asked: &WhatIfQuestion,
        observer: &mut dyn Observer,
    ) -> Result<WhatIfSummary, Problem> {
        let comparison = self.comparison(who, asked).await?;
        self.run_what_if(Arc::new(comparison), Places::All, observer).await
    }

    pub(super) async fn run_what_if(
        &self,
        comparison: Arc<Comparison>,
        places: Places,
        observer: &mut dyn Observer,
    ) -> Result<WhatIfSummary, Problem> {
        let key = &comparison.product.key;
        observer.begins(self.store.count_accounts_of(key).await?)?;
        let (sender, batches) = mpsc::channel(READ_AHEAD);
        let with_customers = comparison.conditions.need_customers();
        let reading = async { Ok(self.store.read_portfolio(key, with_customers, sender).await?) };
        let folding = self.fold_batches(&comparison, places, batches, observer);
        let ((), summary) = tokio::try_join!(reading, folding)?;
        Ok(summary)
    }

    async fn fold_batches(
        &self,
        comparison: &Arc<Comparison>,
        places: Places,
        mut batches: mpsc::Receiver<AccountBatch>,
        observer: &mut dyn Observer,
    ) -> Result<WhatIfSummary, Problem> {
        let at_once = std::thread::available_parallelism().map_or(1, usize::from) + 1;
        let mut summary = WhatIfSummary::default();
        let mut folding = VecDeque::with_capacity(at_once);
        loop {
            let next = batches.recv().await;
            let is_last = next.is_none();
            folding.extend(next.map(|batch| self.fold_batch(comparison.clone(), places, batch)));
            while folding.len() >= at_once || (is_last && !folding.is_empty()) {
                let Some(first) = folding.pop_front() else { break };
                let stopped = |_| Problem::internal("the work of a what-if was stopped");
                let results: Vec<AccountResult> = first.await.map_err(stopped)??;
                results.iter().for_each(|result| summary.add(result));
                observer.done(&results)?;
            }
            if is_last {
                return Ok(summary);
            }
        }
    }

    fn fold_batch(
        &self,
        comparison: Arc<Comparison>,
        places: Places,
        batch: AccountBatch,
    ) -> JoinHandle<Result<Vec<AccountResult>, Problem>> {
        let org: OrgId = comparison.product.key.org;
        let work = move || Ok(batch.into_iter().map(|account| comparison.compare(account)).collect());
        match places {
            Places::All => tokio::task::spawn_blocking(work),
            Places::Shared => {
                let readers = self.readers.clone();
                tokio::spawn(async move { readers.run(org, work).await })
            }
        }
    }
}

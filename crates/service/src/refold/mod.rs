//! Folds accounts again after the rules have changed.
//!
//! ```text
//! migration ─► accounts_to_refold ─► load ─► fold by the current rules ─► one transaction a batch ─► refolds
//!                                            (state, line items, terms)  (claimed by version)     (what moved)
//! ```
//!
//! A database written by earlier rules is folded again before it is served ([`Service::refold`]). Each batch is one
//! transaction, which also removes its accounts from the waiting list, so a crash leaves whole batches done and the
//! others waiting. Several nodes may do this at the same time: the node that claims an account first writes it. If a
//! node of an earlier build writes an account later, the account is folded again when it is loaded ([`load`]).
//!
//! Nothing is announced. Accounts whose balances or status moved are listed, with the values before and after. An
//! account that cannot be folded again keeps its stored data and is marked as failed with the reason; it is retried at
//! every start and every time it is loaded.
//!
//! | file | contents |
//! |---|---|
//! | `earlier` | reading data that earlier rules wrote |
//! | `balances_and_status` | the balances and status of an account |
//! | `report` | accounts that moved, for people and programs |

pub mod balances_and_status;
pub mod earlier;
mod report;

pub use report::Moved;

use crate::Service;
use crate::account::book::Book;
use crate::account::message_writer::NOTICE;
use crate::account::outdated::is_outdated;
use crate::boxed;
use crate::catalog::{Catalog, ProductInfo};
use crate::problem::Problem;
use balances_and_status::BalancesAndStatus;
use daybook_clock::Stopwatch;
use daybook_engine::terms::RULES_VERSION;
use daybook_engine::time::Time;
use daybook_store::batch::{AccountClaim, AccountWrite, Batch, Cancel, Claimed, RefoldWrite, Unit};
use daybook_store::records::{AccountKey, ItemRow, ProductKey};
use daybook_store::refolds::RefoldRow;
use daybook_store::{AccountToLoad, Inputs, LoadedAccount, Store};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The number of accounts folded again in one transaction.
const BATCH: usize = 200;
/// How often an account is retried when another node has changed it.
const MOST_ROUNDS: usize = 20;
/// The time between two log lines.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The result of folding accounts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refolded {
    /// Accounts that were folded again.
    pub accounts: u64,
    /// Of these, accounts whose balances or status moved.
    pub moved: u64,
    /// Accounts that could not be folded again.
    pub failed: u64,
}

impl Refolded {
    fn add(&mut self, more: Refolded) {
        self.accounts += more.accounts;
        self.moved += more.moved;
        self.failed += more.failed;
    }
}

impl Service {
    /// Folds every account again that earlier rules wrote. `progress` is called with the number of accounts done.
    #[boxed]
    pub async fn refold(&self, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Refolded, Problem> {
        let waiting = self.store.count_to_refold().await?;
        let mut done = Refolded::default();
        if waiting == 0 {
            return Ok(done);
        }
        tracing::info!(accounts = waiting, rules_version = RULES_VERSION, "recalculating accounts under newer rules");
        let mut since_line = Stopwatch::start();
        let mut after: Option<AccountKey> = None;
        loop {
            let keys = self.store.accounts_to_refold(after.as_ref(), BATCH).await?;
            let Some(last) = keys.last() else { break };
            after = Some(last.clone());
            done.add(refold_keys(self.store.as_ref(), &self.catalog, keys, self.clock.now(), &by_rules()).await?);
            progress(done.accounts);
            if since_line.elapsed() >= BETWEEN_LINES {
                tracing::info!(done = done.accounts, of = waiting, "recalculating accounts");
                since_line = Stopwatch::start();
            }
        }
        let Refolded { accounts, moved, failed } = done;
        tracing::info!(accounts, moved, failed, "accounts were recalculated; `daybook rules-report` lists the changes");
        if failed > 0 {
            tracing::error!(
                failed,
                "some accounts could not be recalculated; `daybook rules-report` gives the reasons"
            );
        }
        Ok(done)
    }

    /// How many accounts wait to be folded again.
    #[boxed]
    pub async fn accounts_to_refold(&self) -> Result<i64, Problem> {
        Ok(self.store.count_to_refold().await?)
    }
}

/// Loads accounts; those written by earlier rules are folded again first.
pub(crate) async fn load(
    store: &dyn Store,
    catalog: &Catalog,
    wanted: &[AccountToLoad],
    now: Time,
) -> Result<Vec<Option<LoadedAccount>>, Problem> {
    let loaded = store.load(wanted).await?;
    let outdated = loaded.iter().flatten().filter(|loaded| is_outdated(&loaded.row));
    let keys: Vec<AccountKey> = outdated.map(|loaded| loaded.row.key.clone()).collect();
    if keys.is_empty() {
        return Ok(loaded);
    }
    refold_keys(store, catalog, keys, now, &by_rules()).await?;
    Ok(store.load(wanted).await?)
}

/// Folds accounts again, and retries until each is written by this node or by another.
#[boxed]
pub(crate) async fn refold_keys(
    store: &dyn Store,
    catalog: &Catalog,
    mut keys: Vec<AccountKey>,
    now: Time,
    how: &Folding,
) -> Result<Refolded, Problem> {
    let mut done = Refolded::default();
    for _ in 0..MOST_ROUNDS {
        let (some, stale) = refold_once(store, catalog, keys, now, how).await?;
        done.add(some);
        if stale.is_empty() {
            return Ok(done);
        }
        keys = stale;
    }
    Err(Problem::unavailable("accounts change too often to be recalculated now: try again"))
}

/// An account to fold again, with its line items.
pub(crate) type AccountToRefold = (LoadedAccount, Arc<ProductInfo>, Vec<ItemRow>);

/// Folds an account again: returns the result and the rows to write.
pub(crate) type Folding = Arc<dyn Fn(AccountToRefold, Time) -> (AccountKey, Refolded, Unit) + Send + Sync>;

fn by_rules() -> Folding {
    Arc::new(refold_one)
}

/// One attempt. Returns the result, and the accounts that another node changed in the meantime.
async fn refold_once(
    store: &dyn Store,
    catalog: &Catalog,
    keys: Vec<AccountKey>,
    now: Time,
    how: &Folding,
) -> Result<(Refolded, Vec<AccountKey>), Problem> {
    let wanted: Vec<AccountToLoad> =
        keys.iter().map(|key| AccountToLoad { key: key.clone(), inputs: Inputs::All, names: Vec::new() }).collect();
    let loaded = store.load(&wanted).await?;
    let items = store.items_of(&keys).await?;
    let mut ready: Vec<AccountToRefold> = Vec::with_capacity(keys.len());
    for (loaded, items) in loaded.into_iter().zip(items) {
        // An account that no longer exists is skipped.
        let Some(loaded) = loaded else { continue };
        let key = ProductKey { org: loaded.row.key.org, product: loaded.row.product.clone() };
        let missing = || Problem::internal("an account has no product");
        match catalog.product(&key).await.and_then(|product| product.ok_or_else(missing)) {
            Ok(product) => ready.push((loaded, product, items)),
            Err(problem) if problem.is_unavailable() => return Err(problem),
            // The account stays listed and is retried at the next start.
            Err(problem) => {
                tracing::error!(account = %loaded.row.key.account, %problem, "an account was not recalculated")
            }
        }
    }
    let how = how.clone();
    let folding = tokio::task::spawn_blocking(move || ready.into_iter().map(|ready| how(ready, now)).collect());
    let folded: Vec<(AccountKey, Refolded, Unit)> =
        folding.await.map_err(|_| Problem::unavailable("the server is stopping"))?;
    let mut outcomes = Vec::with_capacity(folded.len());
    let mut batch = Batch::default();
    for (key, outcome, unit) in folded {
        outcomes.push((key, outcome));
        batch.units.push(unit);
    }
    let mut done = Refolded::default();
    let mut stale = Vec::new();
    for ((key, outcome), claimed) in outcomes.into_iter().zip(store.commit(batch).await?) {
        match claimed {
            Claimed::Written => done.add(outcome),
            Claimed::Stale => stale.push(key),
        }
    }
    Ok((done, stale))
}

/// Folds one account again. If that fails or panics, only this account is marked as failed.
fn refold_one((loaded, product, items): AccountToRefold, now: Time) -> (AccountKey, Refolded, Unit) {
    let key = loaded.row.key.clone();
    let folded = catch_unwind(AssertUnwindSafe(|| fold_again(loaded.clone(), &product, &items, now)));
    let folded = folded.unwrap_or_else(|_| Err(Problem::internal("processing the account failed: this is a bug")));
    match folded {
        Ok((outcome, unit)) => (key, outcome, unit),
        Err(problem) => {
            tracing::error!(account = %key.account, %problem, "an account could not be recalculated");
            (key, Refolded { failed: 1, ..Refolded::default() }, failed(loaded, &problem.message, now))
        }
    }
}

fn fold_again(
    loaded: LoadedAccount,
    product: &Arc<ProductInfo>,
    items: &[ItemRow],
    now: Time,
) -> Result<(Refolded, Unit), Problem> {
    let row = &loaded.row;
    if !is_outdated(row) {
        // The account only has to be removed from the list.
        let unit = unit(
            row.key.clone(),
            row.version,
            row.now.clone(),
            RefoldWrite { terms: Some(row.terms.clone()), listed: None },
        );
        return Ok((Refolded { accounts: 1, ..Refolded::default() }, unit));
    }
    let (key, version, before, updated_at) =
        (row.key.clone(), row.version, earlier::balances_and_status(row), row.now.updated_at);
    let terms = earlier::terms(row, product)?;
    let mut book = Book::outdated(loaded, product.clone(), terms)?;
    if book.now.failure.as_deref().is_some_and(earlier::is_failure) {
        book.now.failure = None;
    }
    book.refold(items, now)?;
    book.close(now)?;
    let after = BalancesAndStatus::of(&book);
    let moved = before != after;
    if !moved {
        book.now.updated_at = updated_at;
    }
    let listed = moved.then(|| RefoldRow {
        key: key.clone(),
        rules_version: i64::from(RULES_VERSION),
        recorded_at: now,
        before: before.as_ref().and_then(|values| serde_json::to_string(values).ok()),
        after: after.as_ref().and_then(|values| serde_json::to_string(values).ok()),
        failure: None,
    });
    Ok((Refolded { accounts: 1, moved: u64::from(moved), failed: 0 }, written(book, version, listed)?))
}

/// The rows to write for an account that was folded again.
pub(crate) fn written(mut book: Book, version: i64, listed: Option<RefoldRow>) -> Result<Unit, Problem> {
    let terms = Some(book.terms_bytes()?);
    let mut writes = std::mem::take(&mut book.writes);
    let (items, item_changes) = writes.take_items();
    let mut unit = unit(book.key.clone(), version, book.now.clone(), RefoldWrite { terms, listed });
    // If newer rules close the account, its notices are cancelled from then on, as they would have been.
    let closed_at = book.state.status.is_closed().then(|| book.state.loan().closed_at);
    if let [write] = unit.accounts.as_mut_slice() {
        write.cancel = closed_at.map(|at| Cancel { cause_prefix: NOTICE, at });
        (write.inputs, write.items, write.item_changes) = (book.take_rows(&writes.inputs), items, item_changes);
    }
    Ok(unit)
}

/// Marks an account as failed because it could not be folded again. Its other data stays as stored.
fn failed(loaded: LoadedAccount, why: &str, now: Time) -> Unit {
    let row = loaded.row;
    let failure = format!("{} (version {RULES_VERSION}): {why}", earlier::FAILURE);
    let listed = RefoldRow {
        key: row.key.clone(),
        rules_version: i64::from(RULES_VERSION),
        recorded_at: now,
        before: earlier::balances_and_status(&row).as_ref().and_then(|values| serde_json::to_string(values).ok()),
        after: None,
        failure: Some(failure.clone()),
    };
    let mut account = row.now;
    account.failure = Some(failure);
    account.next_moment = None;
    unit(row.key, row.version, account, RefoldWrite { terms: None, listed: Some(listed) })
}

pub(crate) fn unit(
    key: AccountKey,
    version: i64,
    now: daybook_store::records::AccountNow,
    refold: RefoldWrite,
) -> Unit {
    let write = AccountWrite {
        claim: AccountClaim::Update { key, version, now: Box::new(now) },
        inputs: Vec::new(),
        removed_inputs: Vec::new(),
        items: Vec::new(),
        item_changes: Vec::new(),
        customers: None,
        publish_until: None,
        cancel: None,
        refold: Some(refold),
    };
    Unit { accounts: vec![write], ..Unit::default() }
}

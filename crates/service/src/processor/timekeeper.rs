//! The timekeeper processes due accounts up to their clocks, ends releases, publishes messages that are due, and
//! deletes expired rows.
//!
//! It queries the store for accounts whose next moment has passed, in products that do not hold their events. A release
//! needs nothing more: once a product no longer holds events, its accounts with held events are due.

use super::{Processor, Shared};
use crate::announcing::News;
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use crate::view;
use crate::webhooks::events::OwnEvent;
use daybook_engine::time::Time;
use daybook_operations::Operation;
use daybook_store::batch::{Batch, Claimed, ProductWrite, Unit};
use daybook_store::records::{AccountKey, MessageRow, Mode, ProductKey};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The maximum number of accounts fetched at once.
const MOST_DUE: usize = 4_000;
/// How long a due account is leased to this node.
const LEASE_MICROS: i64 = 10_000_000;
/// The longest sleep between two ticks.
const LONGEST_SLEEP: Duration = Duration::from_millis(1_000);
/// The shortest sleep between two ticks.
const SHORTEST_SLEEP: Duration = Duration::from_millis(5);
/// The maximum number of rows moved or deleted in one step.
const STEP_ROWS: usize = 1_000;

/// Processes due work.
#[derive(Clone, Debug)]
pub struct Timekeeper {
    shared: Arc<Shared>,
    processor: Processor,
    wake: Arc<Notify>,
}

impl Timekeeper {
    /// A timekeeper that uses a processor.
    pub fn new(shared: Arc<Shared>, processor: Processor) -> Timekeeper {
        Timekeeper { shared, processor, wake: Arc::default() }
    }

    /// Wakes it at once because an account became due.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Ticks until it is stopped.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let sleep = match self.tick().await {
                Ok(0) => self.until_next().await,
                Ok(_) => continue,
                Err(problem) => {
                    tracing::warn!(%problem, "due accounts could not be processed; they are retried");
                    LONGEST_SLEEP
                }
            };
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                () = self.wake.notified() => {}
                _ = stop.changed() => {}
            }
        }
    }

    async fn until_next(&self) -> Duration {
        let now = self.shared.clock.now();
        match self.shared.store.next_due(now).await {
            Ok(Some(next)) => {
                let micros = u64::try_from(next.micros().saturating_sub(now.micros())).unwrap_or(0);
                Duration::from_micros(micros).clamp(SHORTEST_SLEEP, LONGEST_SLEEP)
            }
            _ => LONGEST_SLEEP,
        }
    }

    /// Processes everything that is due now, once, and returns the number of accounts. If nothing is due, it deletes
    /// expired rows. It does nothing while the time cannot be trusted, the database is muted, or a newer build has
    /// changed the tables.
    pub async fn tick(&self) -> Result<usize, Problem> {
        let is_stopped = self.shared.nudge.is_muted() || self.shared.superseded.is_so();
        if self.shared.clock.trouble().is_some() || is_stopped {
            return Ok(0);
        }
        let now = self.shared.clock.now();
        let due = self.shared.store.take_due(now, MOST_DUE, now.plus_micros(LEASE_MICROS)).await?;
        let count = due.len();
        let mut settled = Ok(());
        if count > 0 {
            let whole = self.is_releasing(due.iter().map(|due| (due.key.org, &due.product))).await?;
            let due: Vec<(AccountKey, u64)> = due.into_iter().map(|due| (due.key, cost(due.held))).collect();
            self.shared.metrics.due.add(count as u64);
            // An account that cannot be read must not block the rest.
            settled = self.processor.settle(due, whole).await;
        }
        for product in self.shared.store.releasing_products().await? {
            match self.end_release(&product).await {
                Err(problem) if problem.is_unavailable() => return Err(problem),
                // A product that cannot be read must not block the rest either.
                Err(problem) => settled = Err(problem),
                Ok(()) => {}
            }
        }
        let published = self.shared.store.publish_due(now, STEP_ROWS).await?;
        if published > 0 {
            self.shared.nudge.announced();
        }
        if count == 0 && published == 0 {
            self.shared.store.expire_answers(now, STEP_ROWS).await?;
            self.shared.store.expire_people(now, STEP_ROWS).await?;
            self.shared.access.flush().await?;
        }
        settled.map(|()| count + published as usize)
    }

    /// Whether any of these products is being released; whole journals are then needed.
    async fn is_releasing<'a>(&self, products: impl Iterator<Item = (i64, &'a Arc<str>)>) -> Result<bool, Problem> {
        let mut last: Option<(i64, &Arc<str>)> = None;
        for product in products {
            if last == Some(product) {
                continue;
            }
            last = Some(product);
            let key = ProductKey { org: product.0, product: product.1.clone() };
            match self.shared.catalog.product(&key).await {
                Ok(Some(info)) if info.mode.releasing || info.mode.holding => return Ok(true),
                Err(problem) if problem.is_unavailable() => return Err(problem),
                // A product that cannot be read fails its own accounts only, when they are settled.
                _ => {}
            }
        }
        Ok(false)
    }

    /// Ends a release once no account holds events.
    async fn end_release(&self, key: &ProductKey) -> Result<(), Problem> {
        let counts = self.shared.store.held_counts(key).await?;
        if counts.accounts > 0 {
            return Ok(());
        }
        let Some(product) = self.shared.catalog.fresh_product(key).await? else { return Ok(()) };
        if !product.mode.releasing {
            return Ok(());
        }
        let now = self.shared.clock.now();
        let mode = Mode {
            version: product.mode.version + 1,
            releasing: false,
            suppress_before: None,
            finished_at: Some(now),
            ..product.mode.clone()
        };
        let message = released_message(&product, &mode, counts.failed_accounts, now);
        let unit = Unit {
            products: vec![ProductWrite::Mode(key.clone(), mode)],
            messages: vec![(key.org, message)],
            ..Unit::default()
        };
        let claimed = self.shared.store.commit(Batch { units: vec![unit] }).await?;
        self.shared.catalog.forget(key);
        if claimed == [Claimed::Written] {
            let (product, failed) = (&key.product, counts.failed_accounts);
            if failed == 0 {
                tracing::info!(%product, failed, "a release is complete");
            } else {
                tracing::warn!(
                    %product,
                    failed,
                    "a release is complete, but accounts failed: `{}` lists them",
                    Operation::GetMigrationMode.request(["PRODUCT"])
                );
            }
            self.shared.nudge.announced();
        }
        Ok(())
    }
}

/// The approximate number of steps for an account with this many held events: each may bring a due date and the end of
/// a grace period.
fn cost(held: i64) -> u64 {
    2 * u64::try_from(held).unwrap_or(0) + 2
}

/// The message that announces the end of a release. `mode` is the new mode.
pub(crate) fn released_message(product: &ProductInfo, mode: &Mode, failed_accounts: i64, now: Time) -> MessageRow {
    let local = |time| view::time::Local::new(time, &product.facts.zone);
    let released = view::MigrationReleased {
        product_id: &product.key.product,
        accounts_total: mode.accounts_total,
        events_total: mode.events_total,
        failed_accounts,
        started_at: mode.started_at.map(local),
        finished_at: local(now),
    };
    News {
        event: OwnEvent::MigrationReleased,
        event_id: product.event_ids.of_release(&product.key.product, mode.version),
        subject: &product.key.product,
        at: view::time::Stamp::Local(released.finished_at),
        now,
        object: &released,
    }
    .message(&product.signing)
}

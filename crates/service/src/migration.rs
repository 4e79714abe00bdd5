//! Migration mode: a product holds its events while history is loaded, and then releases them in order.
//!
//! Turning it on or off changes one row. When it is off, the product's accounts with held events are due now, and the
//! timekeeper releases them in batches like all due accounts. The progress of a release is counted, not stored: the
//! remaining events are those that accounts still hold. A count is kept for a few seconds only for pages, which should
//! not wait.

use crate::Service;
use crate::access::{Caller, Right};
use crate::audit::Act;
use crate::boxed;
use crate::form::SetMigrationMode;
use crate::problem::Problem;
use crate::processor::job::IdempotencyKey;
use crate::products::migration_state;
use crate::view::render;
use crate::view::{self, MigrationState};
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::batch::{ProductWrite, Unit};
use daybook_store::records::{HeldCounts, Mode, ProductKey, ProductRow};
use std::sync::Arc;
use std::time::Duration;

/// The largest number of failed accounts shown.
const MOST_FAILED: usize = 1_000;
/// How often a change is retried when a concurrent request changes the mode too.
const MOST_TRIES: usize = 20;

/// How long a page waits for a count.
const PATIENCE: Duration = Duration::from_millis(60);
/// The maximum age of a count that is shown instead.
const RECENT_MICROS: i64 = 10_000_000;

/// The events that a product's accounts hold.
#[derive(Clone, Debug)]
struct HeldEvents {
    counts: HeldCounts,
    /// Accounts that could not be processed, and why.
    failed: Vec<(Arc<str>, String)>,
}

/// A count, when it was made, and the version of the product's mode at that time.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    version: i64,
    at: Time,
    held: HeldEvents,
}

/// The progress of a release, for a page.
#[derive(Clone, Debug)]
pub struct Glance {
    /// The progress.
    pub progress: view::MigrationProgress,
    /// Whether it was counted now; otherwise it is a few seconds old.
    pub is_of_now: bool,
}

impl Service {
    /// Turns migration mode on or off.
    #[boxed]
    pub async fn set_migration_mode(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        product: &str,
        form: SetMigrationMode,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        form.check()?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        for _ in 0..MOST_TRIES {
            let row = self.product_row(who, product).await?;
            let counts = self.store.held_counts(&row.key).await?;
            let (events, accounts) = (counts.events + counts.failed_events, counts.accounts + counts.failed_accounts);
            let answer = render(&view::MigrationMode::new(form.migration_mode, events as u64, accounts as u64));
            let Some(mode) = self.next_mode(&row.mode, &form, events, accounts) else {
                return self.keep_answer(who, idempotency_key, answer).await;
            };
            if !form.migration_mode && counts.failed_accounts > 0 {
                self.store.retry_failed(&row.key, self.clock.now()).await?;
            }
            let act = Act::on("set_migration_mode", "product", product).asked(&form).with("held_events", events);
            let audit = self.recorded(who, act).into_iter().collect();
            let unit = Unit { products: vec![ProductWrite::Mode(row.key.clone(), mode)], audit, ..Unit::default() };
            let written = self.write_alone(who, unit, idempotency_key.clone(), &answer).await;
            self.catalog.forget(&row.key);
            if written? {
                self.timekeeper.wake();
                return Ok(answer);
            }
            if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
                return Ok(answer);
            }
        }
        Err(Problem::unavailable("the product's mode is being changed too often: try again"))
    }

    /// The mode to change to; `None` if no change is needed.
    fn next_mode(&self, mode: &Mode, form: &SetMigrationMode, events: i64, accounts: i64) -> Option<Mode> {
        let now = self.clock.now();
        if form.migration_mode {
            let on = Mode {
                version: mode.version + 1,
                holding: true,
                releasing: false,
                suppress_before: None,
                ..mode.clone()
            };
            return (!mode.holding).then_some(on);
        }
        if !mode.holding && (mode.releasing || accounts == 0) {
            return None;
        }
        Some(Mode {
            version: mode.version + 1,
            holding: false,
            releasing: true,
            suppress_before: form.suppresses_history().then_some(now),
            started_at: Some(now),
            finished_at: None,
            accounts_total: accounts,
            events_total: events,
        })
    }

    /// The same caller, restricted to changes that are held. A program that loads history must stop if migration mode
    /// is turned off.
    #[boxed]
    pub async fn only_while_held(&self, who: &Caller, product: &str) -> Result<Caller, Problem> {
        who.may(Right::Write)?;
        let key = ProductKey { org: who.org, product: Arc::from(product) };
        let info = self.catalog.fresh_product(&key).await?;
        let info = info.ok_or_else(|| Problem::invalid("held_by", "there is no product with this id"))?;
        if info.mode.holding { Ok(Caller { only_held: true, ..who.clone() }) } else { Err(not_held(&info.key)) }
    }

    /// The progress of a release.
    #[boxed]
    pub async fn get_migration_mode(&self, who: &Caller, product: &str) -> Result<view::MigrationProgress, Problem> {
        who.may(Right::Read)?;
        let row = self.product_row(who, product).await?;
        let held = self.count_held(&row.key).await?;
        self.show_progress(row, held).await
    }

    /// The progress of a release for a page, which does not wait long; `None` if the count takes longer.
    #[boxed]
    pub async fn glance_at_migration_mode(&self, who: &Caller, product: &str) -> Result<Option<Glance>, Problem> {
        who.may(Right::Read)?;
        let row = self.product_row(who, product).await?;
        let Some((held, is_of_now)) = self.glance_at_held(&row).await? else { return Ok(None) };
        Ok(Some(Glance { progress: self.show_progress(row, held).await?, is_of_now }))
    }

    /// The held events, and whether they were counted now.
    async fn glance_at_held(&self, row: &ProductRow) -> Result<Option<(HeldEvents, bool)>, Problem> {
        let (service, key, version) = (self.clone(), row.key.clone(), row.mode.version);
        let now = self.clock.now();
        let is_old = |counted: &Counted| !(0..=RECENT_MICROS).contains(&(now.micros() - counted.at.micros()));
        self.held.forget(is_old);
        let waiting = self.held.count(&row.key, async move {
            let at = service.clock.now();
            Ok(Counted { version, at, held: service.reading_for(key.org, service.count_held(&key)).await? })
        });
        let (counted, is_of_now) = match waiting.within(PATIENCE).await {
            Some(counted) => (Some(counted?), true),
            None => (self.held.kept(&row.key).filter(|counted| !is_old(counted)), false),
        };
        match counted.filter(|counted| counted.version == version) {
            Some(counted) => Ok(Some((counted.held, is_of_now))),
            None => self.held.failure(&row.key).map_or(Ok(None), Err),
        }
    }

    async fn count_held(&self, key: &ProductKey) -> Result<HeldEvents, Problem> {
        let counts = self.store.held_counts(key).await?;
        Ok(HeldEvents { counts, failed: self.store.failed_accounts(key, MOST_FAILED).await? })
    }

    async fn show_progress(&self, row: ProductRow, held: HeldEvents) -> Result<view::MigrationProgress, Problem> {
        let HeldEvents { counts, failed } = held;
        let info = self.catalog.keep(row.clone()).await?;
        let mode = &row.mode;
        let state = migration_state(mode);
        let held_events = (counts.events + counts.failed_events) as u64;
        let holding = state == MigrationState::Holding;
        let total = if holding { counts.accounts + counts.failed_accounts } else { mode.accounts_total };
        let left = counts.accounts + counts.failed_accounts;
        let done = if holding { 0 } else { (total - left).max(0) };
        let events_done = if holding { 0 } else { (mode.events_total - held_events as i64).max(0) };
        let local = |time| view::time::Local::new(time, &info.facts.zone);
        Ok(view::MigrationProgress {
            migration_mode: mode.holding,
            state,
            held_events,
            accounts_total: total as u64,
            accounts_done: done as u64,
            events_done: events_done as u64,
            failed_accounts: failed
                .into_iter()
                .map(|(account_id, reason)| view::FailedAccount { account_id: account_id.to_string(), reason })
                .collect(),
            started_at: mode.started_at.filter(|_| !holding).map(local),
            finished_at: mode.finished_at.filter(|_| !holding).map(local),
            eta_seconds: self.eta(state, mode, events_done),
        })
    }

    /// The estimated seconds until a release is done, based on its pace so far.
    fn eta(&self, state: MigrationState, mode: &Mode, events_done: i64) -> Option<u64> {
        let (MigrationState::Releasing, Some(started)) = (state, mode.started_at) else { return None };
        let passed = self.clock.now().micros() - started.micros();
        if events_done <= 0 || passed <= 0 {
            return None;
        }
        let left = i128::from(mode.events_total - events_done) * i128::from(passed) / i128::from(events_done);
        u64::try_from(left / 1_000_000 + 1).ok()
    }
}

/// The error for an input that must be held but would be processed.
pub(crate) fn not_held(product: &ProductKey) -> Problem {
    let message = format!("product \"{}\" is not in migration mode; this request requires it", product.product);
    Problem::new("migration_mode", message)
}

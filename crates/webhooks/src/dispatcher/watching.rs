//! Watches for overdue retries: either this program is at fault, or a URL accepts too little.

use super::Dispatcher;
use daybook_engine::time::Time;
use daybook_store::error::StoreError;
use daybook_store::outbox::SubscriptionId;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// A retry that has been due for longer than this is overdue.
const OVERDUE_MICROS: i64 = 60_000_000;
/// How often the same subscription is logged.
const SAY_EVERY_MICROS: i64 = 600_000_000;
/// The most subscriptions that are read at once.
const MOST: usize = 1_000;

/// When each subscription was last logged.
#[derive(Debug, Default)]
pub(super) struct LastLogged(HashMap<SubscriptionId, Time>);

impl Dispatcher {
    /// Counts overdue retries, logs their subscriptions, and makes their workers look for them. A retry that waits
    /// because this node's worker respects a 429 is not overdue.
    pub(super) async fn watch(&self, now: Time, last_logged: &mut LastLogged) -> Result<(), StoreError> {
        let before = now.plus_micros(-OVERDUE_MICROS);
        let mut overdue = self.shared.outbox.overdue_retries(before, MOST).await?;
        let registry = self.registry.lock().await;
        overdue.retain_mut(|one| {
            let held_until =
                registry.workers.get(&one.id).map_or(i64::MIN, |hand| hand.held_until.load(Ordering::Relaxed));
            one.since = one.since.max(Time::from_micros(held_until));
            one.since < before
        });
        let count: u64 = overdue.iter().map(|one| one.retries).sum();
        self.shared.metrics.overdue.set(count);
        last_logged
            .0
            .retain(|id, at| now < at.plus_micros(SAY_EVERY_MICROS) && overdue.iter().any(|overdue| overdue.id == *id));
        for one in overdue {
            if let Some(hand) = registry.workers.get(&one.id) {
                hand.look.notify_one();
            }
            if last_logged.0.insert(one.id, now).is_none() {
                let overdue_s = (now.micros() - one.since.micros()) / 1_000_000;
                tracing::warn!(
                    org = one.org, webhook_uuid = %one.uuid, retries = one.retries, overdue_s,
                    "retries of a webhook URL are overdue"
                );
            }
        }
        Ok(())
    }

    /// Looks for overdue retries by the clock now. [`Dispatcher::run`] does this automatically.
    pub async fn look_for_overdue(&self) -> Result<(), StoreError> {
        self.watch(self.shared.clock.now(), &mut LastLogged::default()).await
    }
}

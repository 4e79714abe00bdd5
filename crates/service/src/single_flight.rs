//! Runs slow counts in the background. Each key has at most one count at a time, and callers need not wait until it is
//! done.
//!
//! The result of the last count is kept, and so is the error if it failed. A caller that requests a count in progress
//! waits for that one. A count continues even if no caller waits for it any more.

use crate::lock::lock;
use crate::problem::Problem;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The result of a count; `None` until it is done.
type FlightResult<V> = Option<Result<V, Problem>>;

/// Counts by key.
#[derive(Debug)]
pub(crate) struct SingleFlight<K, V> {
    things: Arc<Mutex<HashMap<K, Thing<V>>>>,
}

#[derive(Debug)]
struct Thing<V> {
    kept: Option<V>,
    failure: Option<Problem>,
    counting: Option<watch::Receiver<FlightResult<V>>>,
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> SingleFlight<K, V> {
        SingleFlight { things: Arc::default() }
    }
}

impl<V> Default for Thing<V> {
    fn default() -> Thing<V> {
        Thing { kept: None, failure: None, counting: None }
    }
}

impl<V> Thing<V> {
    /// The count in progress. A count that panicked is not in progress.
    fn under_way(&self) -> Option<watch::Receiver<FlightResult<V>>> {
        self.counting.clone().filter(|counting| counting.has_changed().is_ok())
    }
}

impl<K, V> SingleFlight<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// The result of the last count, if there was one.
    pub fn kept(&self, key: &K) -> Option<V> {
        lock(&self.things).get(key).and_then(|thing| thing.kept.clone())
    }

    /// Why the last count failed; `None` if it succeeded.
    pub fn failure(&self, key: &K) -> Option<Problem> {
        lock(&self.things).get(key).and_then(|thing| thing.failure.clone())
    }

    /// Removes results that are too old; failures are kept.
    pub fn forget(&self, is_old: impl Fn(&V) -> bool) {
        let is_wanted = |thing: &Thing<V>| thing.kept.as_ref().is_some_and(|kept| !is_old(kept));
        lock(&self.things)
            .retain(|_, thing| is_wanted(thing) || thing.failure.is_some() || thing.under_way().is_some());
    }

    /// Starts a count, or joins the one in progress.
    pub fn count(
        &self,
        key: &K,
        work: impl Future<Output = Result<V, Problem>> + Send + 'static,
    ) -> CountInProgress<V> {
        let mut things = lock(&self.things);
        let thing = things.entry(key.clone()).or_default();
        if let Some(counting) = thing.under_way() {
            return CountInProgress(counting);
        }
        let (sender, receiver) = watch::channel(None);
        thing.counting = Some(receiver.clone());
        let (things, key) = (self.things.clone(), key.clone());
        tokio::spawn(async move {
            let counted = work.await;
            {
                let mut things = lock(&things);
                let thing = things.entry(key).or_default();
                thing.counting = None;
                thing.failure = counted.as_ref().err().cloned();
                if let Ok(counted) = &counted {
                    thing.kept = Some(counted.clone());
                }
            }
            sender.send_replace(Some(counted));
        });
        CountInProgress(receiver)
    }
}

/// A count in progress.
#[derive(Debug)]
#[must_use = "call `unattended` if the result is not needed"]
pub(crate) struct CountInProgress<V>(watch::Receiver<FlightResult<V>>);

impl<V: Clone> CountInProgress<V> {
    /// Waits until it is done.
    pub async fn until_done(mut self) -> Result<V, Problem> {
        match self.0.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone()) {
            Some(counted) => counted,
            None => Err(Problem::internal("the count was abandoned")),
        }
    }

    /// Waits for at most this long; `None` if the count takes longer.
    pub async fn within(self, patience: Duration) -> Option<Result<V, Problem>> {
        timeout(patience, self.until_done()).await.ok()
    }

    /// Does not wait; the count continues.
    pub fn unattended(self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn who_comes_later_joins_the_count_that_is_under_way() {
        let counts: SingleFlight<u8, u32> = SingleFlight::default();
        let (done, told) = oneshot::channel();
        let first = counts.count(&1, async { told.await.map_err(|_| Problem::internal("untold")) });
        let second = counts.count(&1, async { Ok(8) });
        let other = counts.count(&2, async { Ok(9) });
        assert_eq!(other.until_done().await, Ok(9), "others are not in the way");
        assert_eq!(counts.count(&1, pending()).within(Duration::ZERO).await, None);
        done.send(7).expect("somebody listens");
        assert_eq!((first.until_done().await, second.until_done().await), (Ok(7), Ok(7)));
        assert_eq!(counts.count(&1, async { Ok(10) }).until_done().await, Ok(10), "the next one counts anew");
    }

    #[tokio::test]
    async fn what_nobody_waited_for_is_kept() {
        let counts: SingleFlight<u8, u32> = SingleFlight::default();
        counts.count(&1, async { Ok(7) }).unattended();
        while counts.kept(&1).is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!((counts.kept(&1), counts.failure(&1)), (Some(7), None));
        counts.forget(|kept| *kept < 7);
        assert_eq!(counts.kept(&1), Some(7));
        counts.forget(|kept| *kept < 8);
        assert_eq!(counts.kept(&1), None);
    }

    #[tokio::test]
    async fn a_failure_is_told_and_takes_nothing_away() {
        let counts: SingleFlight<u8, u32> = SingleFlight::default();
        let broken = || Problem::internal("broken");
        assert_eq!(counts.count(&1, async { Ok(7) }).until_done().await, Ok(7));
        assert_eq!(counts.count(&1, async move { Err(broken()) }).until_done().await, Err(broken()));
        assert_eq!((counts.kept(&1), counts.failure(&1)), (Some(7), Some(broken())));
        assert_eq!(counts.count(&1, async { Ok(8) }).until_done().await, Ok(8));
        assert_eq!((counts.kept(&1), counts.failure(&1)), (Some(8), None));
    }

    #[tokio::test]
    async fn a_count_that_panicked_is_begun_anew() {
        let counts: SingleFlight<u8, u32> = SingleFlight::default();
        let lost = counts.count(&1, async { panic!("on purpose") }).until_done().await;
        assert!(lost.is_err());
        assert_eq!(counts.count(&1, async { Ok(7) }).until_done().await, Ok(7));
    }
}

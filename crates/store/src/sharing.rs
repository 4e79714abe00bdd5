//! Organizations share the readers of a database fairly.
//!
//! A database runs a limited number of reads at a time: SQLite has a few connections that read, PostgreSQL has a pool.
//! The calls of one organization get at most half of them, so the slow reads of one organization never stop another
//! one's calls. Further reads of the same organization wait for their turn, in order.
//!
//! ```text
//! call ─► within_a_share ─► authentication ─► Sharing::join(org) ─► reads: each takes a turn of the organization,
//!         (no share yet)    (no turn needed)                               then a reader, and returns both
//! ```
//!
//! A read holds one turn, and takes no other while it runs, so turns cannot deadlock. If a caller gives up, its turn is
//! returned when its read has ended. Work that runs outside a call, such as a payment's batch, takes no turns. An
//! organization without calls in progress takes no memory.

use crate::Result;
use crate::error::StoreError;
use crate::records::OrgId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The share of a call; empty until its organization is known.
type Slot = Arc<OnceLock<Membership>>;

tokio::task_local! {
    static SHARE: Slot;
}

/// Shares the readers of one database.
#[derive(Debug)]
pub struct Sharing {
    most_each: usize,
    shares: Mutex<HashMap<OrgId, OrganizationShare>>,
    waiting: AtomicUsize,
}

/// The share of an organization with calls in progress.
#[derive(Debug)]
struct OrganizationShare {
    turns: Arc<Semaphore>,
    members: usize,
}

/// A call in progress, or a turn that outlives its call.
#[derive(Debug)]
struct Membership {
    sharing: Arc<Sharing>,
    org: OrgId,
    turns: Arc<Semaphore>,
}

/// A turn to read. The turn is returned before the membership.
#[derive(Debug)]
pub struct ReadPermit {
    _permit: OwnedSemaphorePermit,
    _membership: Slot,
}

/// Runs a call whose reads use the share of its organization, once [`Sharing::join`] has named the organization.
pub async fn within_a_share<T>(call: impl Future<Output = T>) -> T {
    SHARE.scope(Slot::default(), call).await
}

/// Waits until the current call may read. `None` if it has no share.
pub(crate) async fn turn() -> Result<Option<ReadPermit>> {
    match SHARE.try_with(Arc::clone) {
        Ok(slot) => turn_in(slot).await,
        Err(_) => Ok(None),
    }
}

async fn turn_in(slot: Slot) -> Result<Option<ReadPermit>> {
    let Some(Membership { sharing, turns, .. }) = slot.get() else { return Ok(None) };
    let turns = turns.clone();
    let permit = match turns.clone().try_acquire_owned() {
        Ok(permit) => Ok(permit),
        Err(_) => {
            let _waiting = WaitingRead::one_more(&sharing.waiting);
            turns.acquire_owned().await
        }
    };
    let permit = permit.map_err(|_| StoreError::Unavailable("its readers have stopped".to_owned()))?;
    Ok(Some(ReadPermit { _permit: permit, _membership: slot }))
}

impl Sharing {
    /// Shares this many readers.
    pub fn of(readers: usize) -> Arc<Sharing> {
        Arc::new(Sharing { most_each: (readers / 2).max(1), shares: Mutex::default(), waiting: AtomicUsize::new(0) })
    }

    /// From now on, the reads of the current call use the share of an organization. Does nothing outside
    /// [`within_a_share`].
    pub fn join(self: &Arc<Self>, org: OrgId) {
        // A call has one organization: the first one stays.
        let _ = SHARE.try_with(|slot| slot.get_or_init(|| self.member(org)).org);
    }

    /// Waits for a turn of an organization, outside a call.
    pub async fn turn_of(self: &Arc<Self>, org: OrgId) -> Result<Option<ReadPermit>> {
        turn_in(Arc::new(OnceLock::from(self.member(org)))).await
    }

    /// How many reads of one organization run at the same time.
    pub fn most_each(&self) -> usize {
        self.most_each
    }

    /// How many reads wait for a turn.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// How many organizations have calls in progress.
    pub fn organizations(&self) -> usize {
        self.lock().len()
    }

    fn member(self: &Arc<Self>, org: OrgId) -> Membership {
        let mut shares = self.lock();
        let new = || OrganizationShare { turns: Arc::new(Semaphore::new(self.most_each)), members: 0 };
        let share = shares.entry(org).or_insert_with(new);
        share.members += 1;
        Membership { sharing: self.clone(), org, turns: share.turns.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, OrganizationShare>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut shares = self.sharing.lock();
        if let Some(share) = shares.get_mut(&self.org) {
            share.members -= 1;
            if share.members == 0 {
                shares.remove(&self.org);
            }
        }
    }
}

/// Counts a read that waits, also if its caller gives up.
struct WaitingRead<'a>(&'a AtomicUsize);

impl WaitingRead<'_> {
    fn one_more(count: &AtomicUsize) -> WaitingRead<'_> {
        count.fetch_add(1, Ordering::AcqRel);
        WaitingRead(count)
    }
}

impl Drop for WaitingRead<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task that takes a turn of an organization within a call.
    fn taking(sharing: &Arc<Sharing>, org: OrgId) -> tokio::task::JoinHandle<Option<ReadPermit>> {
        let sharing = sharing.clone();
        tokio::spawn(within_a_share(async move {
            sharing.join(org);
            turn().await.expect("turns are given out")
        }))
    }

    async fn until_waiting(sharing: &Sharing, count: usize) {
        while sharing.waiting() != count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_organization_gets_half_and_its_other_reads_wait_in_order() {
        let sharing = Sharing::of(4);
        let held = [taking(&sharing, 1).await, taking(&sharing, 1).await].map(|turn| turn.expect("it ran"));
        assert!(held.iter().all(Option::is_some));
        let third = taking(&sharing, 1);
        until_waiting(&sharing, 1).await;
        let fourth = taking(&sharing, 1);
        until_waiting(&sharing, 2).await;
        let other = taking(&sharing, 2).await.expect("it ran");
        assert!(other.is_some(), "another organization has its own turns");
        let [first, second] = held;
        drop(first);
        let third = third.await.expect("it ran");
        assert!(third.is_some() && !fourth.is_finished(), "one turn was returned, and the first in line has it");
        drop(second);
        assert!(fourth.await.expect("it ran").is_some());
    }

    #[tokio::test]
    async fn an_idle_organization_takes_no_memory() {
        let sharing = Sharing::of(2);
        let held = taking(&sharing, 1).await.expect("it ran");
        assert_eq!(sharing.organizations(), 1, "a turn that outlives its call keeps the share");
        let given_up = taking(&sharing, 1);
        until_waiting(&sharing, 1).await;
        given_up.abort();
        assert!(given_up.await.is_err());
        assert_eq!((sharing.organizations(), sharing.waiting()), (1, 0));
        drop(held);
        assert_eq!(sharing.organizations(), 0);
    }

    #[tokio::test]
    async fn only_a_call_with_an_organization_takes_turns() {
        let sharing = Sharing::of(2);
        sharing.join(1);
        assert!(turn().await.expect("it is not refused").is_none(), "outside a call");
        let before = within_a_share(async { turn().await.expect("it is not refused").is_none() }).await;
        assert!(before, "authentication needs no turn");
        assert_eq!(sharing.organizations(), 0);
    }
}

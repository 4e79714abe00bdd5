//! Reads are shared fairly between organizations: the processors, and the readers of the database.
//!
//! Work that folds a whole journal runs outside the threads that serve requests. As many run at the same time as there
//! are processors. One organization gets at most all but one of these places, so a caller of another organization never
//! waits for more than one read to end.
//!
//! A call that reads runs within [`Service::reading`]. Once its organization is known, [`Service::begin_read`] takes a
//! slot for it ([`crate::call_slots`]), and it uses its organization's share of the database's readers
//! ([`daybook_store::sharing`]).

use crate::Service;
use crate::boxed;
use crate::call_slots::{CallCounts, CallKind, CallSlot, within_a_slot};
use crate::lock::lock;
use crate::problem::Problem;
use daybook_store::records::OrgId;
use daybook_store::sharing::{self, ReadPermit};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// The minimum number of reads that run at the same time.
const FEWEST: usize = 2;

/// Runs long reads.
#[derive(Debug)]
pub(crate) struct Readers {
    all: Arc<Semaphore>,
    most_each: usize,
    each: Mutex<HashMap<OrgId, Arc<Semaphore>>>,
}

impl Default for Readers {
    fn default() -> Readers {
        Readers::with(std::thread::available_parallelism().map_or(FEWEST, |count| count.get().max(FEWEST)))
    }
}

impl Readers {
    fn with(places: usize) -> Readers {
        Readers { all: Arc::new(Semaphore::new(places)), most_each: places - 1, each: Mutex::default() }
    }

    /// Runs work that may take long. If the caller disconnects, the place is still taken until the work is done.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        org: OrgId,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let own = lock(&self.each).entry(org).or_insert_with(|| Arc::new(Semaphore::new(self.most_each))).clone();
        let stopping = |_| Problem::unavailable("the server is stopping: try again");
        let own = own.acquire_owned().await.map_err(stopping)?;
        let place = self.all.clone().acquire_owned().await.map_err(stopping)?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop((place, own));
            done
        });
        working.await.unwrap_or_else(|error| Err(Problem::internal(format!("a read was stopped: {error}"))))
    }
}

impl Service {
    /// Runs a call that reads. [`Service::begin_read`] names its organization.
    pub async fn reading<T>(&self, call: impl Future<Output = T>) -> T {
        within_a_slot(sharing::within_a_share(call)).await
    }

    /// Begins the current call's reads for an organization. Waits for a slot, which the call has until it ends; from now
    /// on, its reads use the organization's share of the database's readers. A call outside [`Service::reading`], such
    /// as a payment, does not wait.
    #[boxed]
    pub async fn begin_read(&self, org: OrgId, kind: CallKind) -> Result<(), Problem> {
        self.call_slots.begin(org, kind).await?;
        self.store.sharing().join(org);
        Ok(())
    }

    /// Waits until a bulk call may begin for an organization. It may run until the slot is dropped.
    #[boxed]
    pub async fn begin_bulk(&self, org: OrgId) -> Result<CallSlot, Problem> {
        self.call_slots.take(org, CallKind::Bulk).await
    }

    /// Runs a part of a call, or work in the background, whose reads use an organization's share of the database's
    /// readers. It takes no slot.
    pub async fn reading_for<T>(&self, org: OrgId, call: impl Future<Output = T>) -> T {
        let named = async {
            self.store.sharing().join(org);
            call.await
        };
        sharing::within_a_share(named).await
    }

    /// How many calls of a kind are in progress, and how many wait for a slot.
    pub fn call_counts(&self, kind: CallKind) -> CallCounts {
        self.call_slots.counts(kind)
    }

    /// Takes all slots for calls of a kind that an organization may have. For tests.
    #[boxed]
    pub async fn take_call_slots(&self, org: OrgId, kind: CallKind) -> Result<Vec<CallSlot>, Problem> {
        self.call_slots.take_all(org, kind).await
    }

    /// Takes all turns of an organization to read. Its calls that read wait until they are dropped. For tests.
    #[boxed]
    pub async fn hold_reads(&self, org: OrgId) -> Result<Vec<ReadPermit>, Problem> {
        let sharing = self.store.sharing();
        let mut turns = Vec::new();
        for _ in 0..sharing.most_each() {
            turns.extend(sharing.turn_of(org).await?);
        }
        Ok(turns)
    }

    /// How many reads wait for their organization's turn. For tests.
    pub fn reads_waiting(&self) -> usize {
        self.store.sharing().waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// An organization that uses all its places leaves one for another.
    #[tokio::test]
    async fn one_organization_does_not_take_every_place() {
        let readers = Arc::new(Readers::with(2));
        let (let_go, waits) = mpsc::channel::<()>();
        let waits = Arc::new(Mutex::new(waits));
        let mut long = Vec::new();
        for _ in 0..3 {
            let (readers, waits) = (readers.clone(), waits.clone());
            long.push(tokio::spawn(async move { readers.run(1, move || Ok(lock(&waits).recv().is_ok())).await }));
        }
        while readers.all.available_permits() == 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(readers.run(2, || Ok(7)).await.expect("it runs"), 7, "the other organization has its turn");
        assert_eq!(readers.all.available_permits(), 1, "the first one has one place");
        for _ in 0..3 {
            let_go.send(()).expect("they wait");
        }
        for task in long {
            assert!(task.await.expect("it ends").expect("it runs"));
        }
    }
}

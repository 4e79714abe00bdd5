//! Slots for reads: a limit on the memory that concurrent reads take, shared fairly between organizations.
//!
//! A read holds rows and a response in memory while it is in progress, however long it waits for the database. So a read
//! takes a slot before it begins. Lists and reads of one object have separate slots: a read of one object does not wait
//! for lists.
//!
//! ```text
//! call ─► within_a_slot ─► authentication ─► ReadSlots::begin(org, kind) ─► read, response ─► slot is free
//!         (no slot yet)    (no slot needed)      │ all in use                                     │
//!                                                └─► waiting list ◄── the next organization ◄─────┘
//!                                                       └─► after PATIENCE, or if the list is full: 503
//! ```
//!
//! Each organization has a limit, and all organizations together have one. A free slot goes to the organization with the
//! fewest reads in progress; among equals, to the read that has waited longest. The waiting list is limited too. If it
//! is full, the organization with the most waiting reads loses its last one, so one organization cannot fill the list.
//!
//! A call holds at most one slot, and only while it runs. If its caller gives up, the slot or the place in the waiting
//! list is free again at once. Work outside [`within_a_slot`], such as payments and timers, needs no slots.

use crate::lock::lock;
use crate::problem::Problem;
use daybook_store::records::OrgId;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

/// The beginning of the message for a read that got no slot.
pub const TOO_MANY_READS: &str = "too many reads are in progress";
/// How long a read waits for a slot.
const PATIENCE: Duration = Duration::from_secs(30);
/// After how many seconds a read that got no slot should be repeated.
const RETRY_SECONDS: u32 = 5;

/// Limits for lists.
const LISTS: Limits = Limits { in_progress_each: 8, in_progress: 32, waiting: 2_048 };
/// Limits for reads of one object.
const OBJECTS: Limits = Limits { in_progress_each: 4, in_progress: 16, waiting: 2_048 };

tokio::task_local! {
    /// The slot of the current call.
    static SLOT: OnceCell<ReadSlot>;
}

/// Runs a call that takes a slot with [`ReadSlots::begin`]. The slot is free again when the call ends.
pub(crate) async fn within_a_slot<T>(call: impl Future<Output = T>) -> T {
    SLOT.scope(OnceCell::new(), call).await
}

/// What a call reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// A list, a page with lists, or a file.
    List,
    /// One object.
    Object,
}

impl ReadKind {
    /// All kinds.
    pub const ALL: [ReadKind; 2] = [ReadKind::List, ReadKind::Object];

    /// What is at a route: one object if the route ends with a parameter (`/accounts/{account_id}`), otherwise a list.
    pub fn of_route(route: &str) -> ReadKind {
        if route.ends_with('}') { ReadKind::Object } else { ReadKind::List }
    }

    /// The kind's name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            ReadKind::List => "list",
            ReadKind::Object => "object",
        }
    }
}

/// How many reads there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Reads that have a slot.
    pub in_progress: usize,
    /// Reads that wait for one.
    pub waiting: usize,
}

/// The slots of a server.
#[derive(Debug)]
pub(crate) struct ReadSlots {
    lists: Arc<Slots>,
    objects: Arc<Slots>,
}

impl Default for ReadSlots {
    fn default() -> ReadSlots {
        ReadSlots { lists: Slots::new(LISTS), objects: Slots::new(OBJECTS) }
    }
}

impl ReadSlots {
    fn of(&self, kind: ReadKind) -> &Arc<Slots> {
        match kind {
            ReadKind::List => &self.lists,
            ReadKind::Object => &self.objects,
        }
    }

    /// Waits until the current call may read for an organization. A call outside [`within_a_slot`] does not wait.
    pub(crate) async fn begin(&self, org: OrgId, kind: ReadKind) -> Result<(), Problem> {
        // A second slot for one call could deadlock.
        if SLOT.try_with(|slot| slot.get().is_some()).unwrap_or(true) {
            return Ok(());
        }
        let taken = self.of(kind).take(org).await?;
        // The call has no slot: it was checked above, and a call is one task.
        let _ = SLOT.try_with(|slot| slot.set(taken));
        Ok(())
    }

    /// How many reads of a kind there are.
    pub(crate) fn counts(&self, kind: ReadKind) -> ReadCounts {
        let state = lock(&self.of(kind).state);
        ReadCounts { in_progress: state.in_progress, waiting: state.waiting }
    }

    /// Takes all slots that an organization may have. For tests.
    pub(crate) async fn take_all(&self, org: OrgId, kind: ReadKind) -> Result<Vec<ReadSlot>, Problem> {
        let slots = self.of(kind);
        let mut taken = Vec::new();
        for _ in 0..slots.limits.in_progress_each {
            taken.push(slots.take(org).await?);
        }
        Ok(taken)
    }
}

/// The most reads of one kind.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// In progress, of one organization.
    in_progress_each: usize,
    /// In progress, of all organizations.
    in_progress: usize,
    /// Waiting, of all organizations.
    waiting: usize,
}

/// The slots for reads of one kind.
#[derive(Debug)]
struct Slots {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    in_progress: usize,
    waiting: usize,
    next_ticket: u64,
    /// Organizations with reads; others take no memory.
    organizations: HashMap<OrgId, OrganizationReads>,
}

#[derive(Debug, Default)]
struct OrganizationReads {
    in_progress: usize,
    /// The waiting reads by ticket, in the order of arrival. A read whose sender is dropped is refused.
    waiting: BTreeMap<u64, oneshot::Sender<ReadSlot>>,
}

/// A slot. Dropping it gives it to the next read.
#[derive(Debug)]
pub struct ReadSlot {
    slots: Arc<Slots>,
    org: OrgId,
}

/// A read that waits. Dropping it removes it from the waiting list.
#[derive(Debug)]
struct WaitingRead {
    slots: Arc<Slots>,
    org: OrgId,
    ticket: u64,
    granted: oneshot::Receiver<ReadSlot>,
}

/// The place that a read gets at first.
#[derive(Debug)]
enum Place {
    Slot(ReadSlot),
    WaitingList(WaitingRead),
}

/// The slots that became free, with the reads that get them.
type Grants = Vec<(oneshot::Sender<ReadSlot>, ReadSlot)>;

impl Slots {
    fn new(limits: Limits) -> Arc<Slots> {
        Arc::new(Slots { limits, state: Mutex::default() })
    }

    /// Takes a slot for an organization, or waits for one.
    async fn take(self: &Arc<Self>, org: OrgId) -> Result<ReadSlot, Problem> {
        let mut waiting = match self.take_or_wait(org)? {
            Place::Slot(slot) => return Ok(slot),
            Place::WaitingList(waiting) => waiting,
        };
        match tokio::time::timeout(PATIENCE, &mut waiting.granted).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) => Err(waiting_list_full()),
            Err(_) => Err(too_many(&format!("this one has waited for {} s", PATIENCE.as_secs()))),
        }
    }

    /// A slot if one is free, otherwise a place in the waiting list.
    fn take_or_wait(self: &Arc<Self>, org: OrgId) -> Result<Place, Problem> {
        let mut state = lock(&self.state);
        // If a slot is free, all waiting reads belong to organizations at their limit: no read is overtaken.
        let own = state.organizations.get(&org).map_or(0, |reads| reads.in_progress);
        if state.in_progress < self.limits.in_progress && own < self.limits.in_progress_each {
            state.begin(org);
            return Ok(Place::Slot(ReadSlot { slots: self.clone(), org }));
        }
        if state.waiting >= self.limits.waiting && !state.refuse_last_of_largest(org) {
            return Err(waiting_list_full());
        }
        let (sender, granted) = oneshot::channel();
        let ticket = state.wait(org, sender);
        Ok(Place::WaitingList(WaitingRead { slots: self.clone(), org, ticket, granted }))
    }

    /// Ends a read, and chooses the reads that get the free slots.
    fn end(self: &Arc<Self>, org: OrgId) -> Grants {
        let mut state = lock(&self.state);
        state.end(org);
        let mut grants = Vec::new();
        while let Some((next, sender)) = state.next(self.limits) {
            grants.push((sender, ReadSlot { slots: self.clone(), org: next }));
        }
        grants
    }
}

impl State {
    fn begin(&mut self, org: OrgId) {
        self.in_progress += 1;
        self.organizations.entry(org).or_default().in_progress += 1;
    }

    fn end(&mut self, org: OrgId) {
        self.in_progress -= 1;
        if let Some(reads) = self.organizations.get_mut(&org) {
            reads.in_progress -= 1;
        }
        self.forget_if_idle(org);
    }

    fn wait(&mut self, org: OrgId, sender: oneshot::Sender<ReadSlot>) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting += 1;
        self.organizations.entry(org).or_default().waiting.insert(ticket, sender);
        ticket
    }

    fn stop_waiting(&mut self, org: OrgId, ticket: u64) {
        let Some(reads) = self.organizations.get_mut(&org) else { return };
        if reads.waiting.remove(&ticket).is_some() {
            self.waiting -= 1;
        }
        self.forget_if_idle(org);
    }

    /// Begins the waiting read whose turn it is, if a slot is free.
    fn next(&mut self, limits: Limits) -> Option<(OrgId, oneshot::Sender<ReadSlot>)> {
        if self.in_progress >= limits.in_progress {
            return None;
        }
        let turns = self.organizations.iter().filter(|(_, reads)| reads.in_progress < limits.in_progress_each);
        let turns = turns.filter_map(|(org, reads)| Some((reads.in_progress, *reads.waiting.keys().next()?, *org)));
        let (_, ticket, org) = turns.min()?;
        let sender = self.organizations.get_mut(&org)?.waiting.remove(&ticket)?;
        self.waiting -= 1;
        self.begin(org);
        Some((org, sender))
    }

    /// Frees a place in the waiting list for a read of an organization, unless no other one has more waiting reads.
    fn refuse_last_of_largest(&mut self, org: OrgId) -> bool {
        let own = self.organizations.get(&org).map_or(0, |reads| reads.waiting.len());
        let largest = self.organizations.iter().max_by_key(|(_, reads)| reads.waiting.len());
        let Some(largest) = largest.filter(|(_, reads)| reads.waiting.len() > own + 1).map(|(org, _)| *org) else {
            return false;
        };
        let last = self.organizations.get_mut(&largest).and_then(|reads| reads.waiting.pop_last());
        self.waiting -= usize::from(last.is_some());
        self.forget_if_idle(largest);
        last.is_some()
    }

    fn forget_if_idle(&mut self, org: OrgId) {
        if self.organizations.get(&org).is_some_and(|reads| reads.in_progress == 0 && reads.waiting.is_empty()) {
            self.organizations.remove(&org);
        }
    }
}

impl Drop for ReadSlot {
    fn drop(&mut self) {
        for (sender, slot) in self.slots.end(self.org) {
            // If its caller has given up meanwhile, the slot comes back here and is dropped too.
            drop(sender.send(slot));
        }
    }
}

impl Drop for WaitingRead {
    fn drop(&mut self) {
        // A slot that was granted meanwhile is in the channel, and is dropped with it.
        lock(&self.slots.state).stop_waiting(self.org, self.ticket);
    }
}

fn waiting_list_full() -> Problem {
    too_many("too many others wait")
}

fn too_many(why: &str) -> Problem {
    let message = format!("{TOO_MANY_READS}, and {why}; retry in {RETRY_SECONDS} s");
    Problem { wait_seconds: RETRY_SECONDS, ..Problem::unavailable(message) }
}

#[cfg(test)]
mod tests;

//! Slots for calls: a limit on the memory that concurrent reads and bulk calls take, shared fairly between organizations.
//!
//! A read holds rows and a response in memory while it is in progress, however long it waits for the database, and a bulk
//! call holds its lines and their responses. So each takes a slot before it begins. Lists, reads of one object and bulk
//! calls have separate slots: a read of one object does not wait for lists.
//!
//! ```text
//! read ─► within_a_slot ─► authentication ─► CallSlots::begin(org, kind) ─► read, response ─► slot is free
//!         (no slot yet)    (no slot needed)      │ all in use                                     │
//!                                                └─► waiting list ◄── the next organization ◄─────┘
//!                                                       └─► after PATIENCE, or if the list is full: 503
//! ```
//!
//! Each organization has a limit, and all organizations together have one. A free slot goes to the organization with the
//! fewest calls of the kind in progress; among equals, to the call that has waited longest. The waiting list is limited
//! too. If it is full, the organization with the most waiting calls loses its last one, so one organization cannot fill
//! the list.
//!
//! A call holds at most one slot, and only while it runs. If its caller gives up, the slot or the place in the waiting
//! list is free again at once. A bulk call takes its slot after its body has arrived, so a slow sender holds none. Single
//! payments, timers and other work outside [`within_a_slot`] need no slots.

use crate::lock::lock;
use crate::problem::Problem;
use daybook_store::records::OrgId;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

/// The beginning of the message for a call that got no slot.
pub const TOO_MANY_CALLS: &str = "too many calls of this kind are in progress";
/// How long a call waits for a slot.
const PATIENCE: Duration = Duration::from_secs(30);
/// After how many seconds a call that got no slot should be repeated.
const RETRY_SECONDS: u32 = 5;

/// Limits for lists.
const LISTS: SlotLimits = SlotLimits { in_progress_each: 8, in_progress: 32, waiting: 2_048 };
/// Limits for reads of one object.
const OBJECTS: SlotLimits = SlotLimits { in_progress_each: 4, in_progress: 16, waiting: 2_048 };
/// Limits for bulk calls.
const BULK: SlotLimits = SlotLimits { in_progress_each: 4, in_progress: 12, waiting: 512 };

tokio::task_local! {
    /// The slot of the current call.
    static SLOT: OnceCell<CallSlot>;
}

/// Runs a call that takes a slot with [`CallSlots::begin`]. The slot is free again when the call ends.
pub(crate) async fn within_a_slot<T>(call: impl Future<Output = T>) -> T {
    SLOT.scope(OnceCell::new(), call).await
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// It reads a list, a page with lists, or a file.
    List,
    /// It reads one object.
    Object,
    /// It is a bulk call: many calls in one.
    Bulk,
}

impl CallKind {
    /// All kinds.
    pub const ALL: [CallKind; 3] = [CallKind::List, CallKind::Object, CallKind::Bulk];

    /// What is at a route: one object if the route ends with a parameter (`/accounts/{account_id}`), otherwise a list.
    pub fn of_route(route: &str) -> CallKind {
        if route.ends_with('}') { CallKind::Object } else { CallKind::List }
    }

    /// The kind's name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            CallKind::List => "list",
            CallKind::Object => "object",
            CallKind::Bulk => "bulk",
        }
    }
}

/// How many calls of a kind there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls that have a slot.
    pub in_progress: usize,
    /// Calls that wait for one.
    pub waiting: usize,
}

/// The slots of a server.
#[derive(Debug)]
pub(crate) struct CallSlots {
    lists: Arc<Slots>,
    objects: Arc<Slots>,
    bulk: Arc<Slots>,
}

impl Default for CallSlots {
    fn default() -> CallSlots {
        CallSlots { lists: Slots::new(LISTS), objects: Slots::new(OBJECTS), bulk: Slots::new(BULK) }
    }
}

impl CallSlots {
    fn of(&self, kind: CallKind) -> &Arc<Slots> {
        match kind {
            CallKind::List => &self.lists,
            CallKind::Object => &self.objects,
            CallKind::Bulk => &self.bulk,
        }
    }

    /// Waits until the current call may read for an organization. A call outside [`within_a_slot`] does not wait.
    pub(crate) async fn begin(&self, org: OrgId, kind: CallKind) -> Result<(), Problem> {
        // A second slot for one call could deadlock.
        if SLOT.try_with(|slot| slot.get().is_some()).unwrap_or(true) {
            return Ok(());
        }
        let taken = self.of(kind).take(org).await?;
        // The call has no slot: it was checked above, and a call is one task.
        let _ = SLOT.try_with(|slot| slot.set(taken));
        Ok(())
    }

    /// Waits until a call may begin for an organization. It has the slot until the slot is dropped.
    pub(crate) async fn take(&self, org: OrgId, kind: CallKind) -> Result<CallSlot, Problem> {
        self.of(kind).take(org).await
    }

    /// How many calls of a kind there are.
    pub(crate) fn counts(&self, kind: CallKind) -> CallCounts {
        let state = lock(&self.of(kind).state);
        CallCounts { in_progress: state.in_progress, waiting: state.waiting }
    }

    /// Takes all slots that an organization may have. For tests.
    pub(crate) async fn take_all(&self, org: OrgId, kind: CallKind) -> Result<Vec<CallSlot>, Problem> {
        let slots = self.of(kind);
        let mut taken = Vec::new();
        for _ in 0..slots.limits.in_progress_each {
            taken.push(slots.take(org).await?);
        }
        Ok(taken)
    }
}

/// The most calls of one kind.
#[derive(Clone, Copy, Debug)]
struct SlotLimits {
    /// In progress, of one organization.
    in_progress_each: usize,
    /// In progress, of all organizations.
    in_progress: usize,
    /// Waiting, of all organizations.
    waiting: usize,
}

/// The slots for calls of one kind.
#[derive(Debug)]
struct Slots {
    limits: SlotLimits,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    in_progress: usize,
    waiting: usize,
    next_ticket: u64,
    /// Organizations with calls; others take no memory.
    organizations: HashMap<OrgId, OrganizationCalls>,
}

#[derive(Debug, Default)]
struct OrganizationCalls {
    in_progress: usize,
    /// The waiting calls by ticket, in the order of arrival. A call whose sender is dropped is refused.
    waiting: BTreeMap<u64, oneshot::Sender<CallSlot>>,
}

/// A slot. Dropping it gives it to the next call.
#[derive(Debug)]
pub struct CallSlot {
    slots: Arc<Slots>,
    org: OrgId,
}

/// A call that waits. Dropping it removes it from the waiting list.
#[derive(Debug)]
struct WaitingCall {
    slots: Arc<Slots>,
    org: OrgId,
    ticket: u64,
    granted: oneshot::Receiver<CallSlot>,
}

/// The place that a call gets at first.
#[derive(Debug)]
enum Admission {
    Slot(CallSlot),
    WaitingList(WaitingCall),
}

/// The slots that became free, with the calls that get them.
type Grants = Vec<(oneshot::Sender<CallSlot>, CallSlot)>;

impl Slots {
    fn new(limits: SlotLimits) -> Arc<Slots> {
        Arc::new(Slots { limits, state: Mutex::default() })
    }

    /// Takes a slot for an organization, or waits for one.
    async fn take(self: &Arc<Self>, org: OrgId) -> Result<CallSlot, Problem> {
        let mut waiting = match self.take_or_wait(org)? {
            Admission::Slot(slot) => return Ok(slot),
            Admission::WaitingList(waiting) => waiting,
        };
        match tokio::time::timeout(PATIENCE, &mut waiting.granted).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) => Err(waiting_list_full()),
            Err(_) => Err(too_many(&format!("; this call waited {} s and was not started", PATIENCE.as_secs()))),
        }
    }

    /// A slot if one is free, otherwise a place in the waiting list.
    fn take_or_wait(self: &Arc<Self>, org: OrgId) -> Result<Admission, Problem> {
        let mut state = lock(&self.state);
        // If a slot is free, all waiting calls belong to organizations at their limit: no call is overtaken.
        let own = state.organizations.get(&org).map_or(0, |calls| calls.in_progress);
        if state.in_progress < self.limits.in_progress && own < self.limits.in_progress_each {
            state.begin(org);
            return Ok(Admission::Slot(CallSlot { slots: self.clone(), org }));
        }
        if state.waiting >= self.limits.waiting && !state.refuse_last_of_largest(org) {
            return Err(waiting_list_full());
        }
        let (sender, granted) = oneshot::channel();
        let ticket = state.wait(org, sender);
        Ok(Admission::WaitingList(WaitingCall { slots: self.clone(), org, ticket, granted }))
    }

    /// Ends a call, and chooses the calls that get the free slots.
    fn end(self: &Arc<Self>, org: OrgId) -> Grants {
        let mut state = lock(&self.state);
        state.end(org);
        let mut grants = Vec::new();
        while let Some((next, sender)) = state.next(self.limits) {
            grants.push((sender, CallSlot { slots: self.clone(), org: next }));
        }
        grants
    }
}

impl SlotState {
    fn begin(&mut self, org: OrgId) {
        self.in_progress += 1;
        self.organizations.entry(org).or_default().in_progress += 1;
    }

    fn end(&mut self, org: OrgId) {
        self.in_progress -= 1;
        if let Some(calls) = self.organizations.get_mut(&org) {
            calls.in_progress -= 1;
        }
        self.forget_if_idle(org);
    }

    fn wait(&mut self, org: OrgId, sender: oneshot::Sender<CallSlot>) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting += 1;
        self.organizations.entry(org).or_default().waiting.insert(ticket, sender);
        ticket
    }

    fn stop_waiting(&mut self, org: OrgId, ticket: u64) {
        let Some(calls) = self.organizations.get_mut(&org) else { return };
        if calls.waiting.remove(&ticket).is_some() {
            self.waiting -= 1;
        }
        self.forget_if_idle(org);
    }

    /// Begins the waiting call whose turn it is, if a slot is free.
    fn next(&mut self, limits: SlotLimits) -> Option<(OrgId, oneshot::Sender<CallSlot>)> {
        if self.in_progress >= limits.in_progress {
            return None;
        }
        let turns = self.organizations.iter().filter(|(_, calls)| calls.in_progress < limits.in_progress_each);
        let turns = turns.filter_map(|(org, calls)| Some((calls.in_progress, *calls.waiting.keys().next()?, *org)));
        let (_, ticket, org) = turns.min()?;
        let sender = self.organizations.get_mut(&org)?.waiting.remove(&ticket)?;
        self.waiting -= 1;
        self.begin(org);
        Some((org, sender))
    }

    /// Frees a place in the waiting list for a call of an organization, unless no other one has more waiting calls.
    fn refuse_last_of_largest(&mut self, org: OrgId) -> bool {
        let own = self.organizations.get(&org).map_or(0, |calls| calls.waiting.len());
        let largest = self.organizations.iter().max_by_key(|(_, calls)| calls.waiting.len());
        let Some(largest) = largest.filter(|(_, calls)| calls.waiting.len() > own + 1).map(|(org, _)| *org) else {
            return false;
        };
        let last = self.organizations.get_mut(&largest).and_then(|calls| calls.waiting.pop_last());
        self.waiting -= usize::from(last.is_some());
        self.forget_if_idle(largest);
        last.is_some()
    }

    fn forget_if_idle(&mut self, org: OrgId) {
        if self.organizations.get(&org).is_some_and(|calls| calls.in_progress == 0 && calls.waiting.is_empty()) {
            self.organizations.remove(&org);
        }
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        for (sender, slot) in self.slots.end(self.org) {
            // If its caller has given up meanwhile, the slot comes back here and is dropped too.
            drop(sender.send(slot));
        }
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        // A slot that was granted meanwhile is in the channel, and is dropped with it.
        lock(&self.slots.state).stop_waiting(self.org, self.ticket);
    }
}

fn waiting_list_full() -> Problem {
    too_many(", and too many calls are already waiting")
}

fn too_many(why: &str) -> Problem {
    let message = format!("{TOO_MANY_CALLS}{why}; retry in {RETRY_SECONDS} s");
    Problem { wait_seconds: RETRY_SECONDS, ..Problem::unavailable(message) }
}

#[cfg(test)]
mod tests;

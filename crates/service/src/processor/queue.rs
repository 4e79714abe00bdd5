//! The queue of a lane: organizations take turns, and long work waits separately from short work.
//!
//! ```text
//! callers ──► short work, a queue for each organization ──► short batches of all waiting jobs
//!                │ turns out to be long                            │
//! timers,        ▼                                                 ▼ jobs for an account that is in long work join it
//! releases, ──► long work, a queue for each organization ──► long batches, bounded by their cost
//! openings far back                ▲                               │
//!                                  └── rest after a slice ─────────┘
//! ```
//!
//! An account in long work also gets all jobs that arrive for it in the meantime. So the jobs of one account are always
//! done in order of arrival.

use super::job::{Job, Work};
use crate::lock::lock;
use daybook_store::records::{AccountKey, OrgId};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::Notify;

/// Work that costs more than this many steps is long.
pub const LONG: u64 = 64;
/// The maximum number of accounts in a long batch.
const MOST_ACCOUNTS: usize = 500;

/// The jobs of one account, in order of arrival.
#[derive(Debug)]
pub struct JobGroup {
    /// The account.
    pub key: AccountKey,
    /// Its jobs.
    pub jobs: Vec<Job>,
    /// Whether its whole journal is needed.
    pub whole: bool,
    /// How often it was retried because another node had changed the account.
    pub tries: usize,
}

impl JobGroup {
    /// The estimated number of steps.
    fn cost(&self) -> u64 {
        self.jobs.iter().map(Job::cost).sum()
    }
}

/// The queue of a lane.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Mutex<JobQueues>,
    short: Notify,
    long: Notify,
    /// The total number of short jobs that arrived.
    came: AtomicU64,
}

#[derive(Debug, Default)]
struct JobQueues {
    short: Turns<Job>,
    long: Turns<AccountKey>,
    /// Accounts in long work.
    accounts: HashMap<AccountKey, Long>,
    is_closed: bool,
}

/// An account in long work.
#[derive(Debug)]
enum Long {
    /// It waits for its turn.
    Waits(JobGroup),
    /// It is being worked on; these jobs arrived in the meantime.
    Worked(Vec<Job>),
}

impl Queue {
    /// Adds a job.
    pub fn put(&self, job: Job) {
        let mut waiting = lock(&self.waiting);
        match waiting.accounts.get_mut(&job.key) {
            Some(Long::Waits(group)) => {
                group.whole |= job.work.needs_all();
                group.jobs.push(job);
            }
            Some(Long::Worked(jobs)) => jobs.push(job),
            None if job.cost() > LONG || matches!(job.work, Work::Settle { .. }) => {
                let group = JobGroup { key: job.key.clone(), whole: job.work.needs_all(), jobs: vec![job], tries: 0 };
                waiting.wait_long(group, false);
                self.long.notify_one();
            }
            None => {
                self.came.fetch_add(1, Relaxed);
                waiting.short.push(job.key.org, job);
                self.short.notify_one();
            }
        }
    }

    /// The next short jobs, one of each organization in turn; `None` once the queue is closed and empty.
    pub async fn take_short(&self, most: usize) -> Option<Vec<Job>> {
        loop {
            {
                let mut waiting = lock(&self.waiting);
                let mut jobs = Vec::new();
                while jobs.len() < most
                    && let Some(job) = waiting.short.take()
                {
                    jobs.push(job);
                }
                if !jobs.is_empty() {
                    return Some(jobs);
                }
                if waiting.is_closed {
                    return None;
                }
            }
            self.short.notified().await;
        }
    }

    /// The next accounts of long work, one of each organization in turn, up to about this cost; `None` once the queue
    /// is closed and empty. The caller must pass each one to [`back`](Queue::back) or [`done`](Queue::done).
    pub async fn take_long(&self, most_cost: u64) -> Option<Vec<JobGroup>> {
        loop {
            {
                let mut waiting = lock(&self.waiting);
                let groups = waiting.take_long(most_cost);
                if !groups.is_empty() {
                    return Some(groups);
                }
                if waiting.is_closed && waiting.accounts.is_empty() {
                    return None;
                }
            }
            self.long.notified().await;
        }
    }

    /// Moves a group from short to long work.
    pub fn make_long(&self, group: JobGroup) {
        let mut waiting = lock(&self.waiting);
        match waiting.accounts.get_mut(&group.key) {
            // The group's jobs arrived before the jobs that are queued here.
            Some(Long::Waits(other)) => {
                other.whole |= group.whole;
                other.jobs.splice(0..0, group.jobs);
            }
            Some(Long::Worked(jobs)) => drop(jobs.splice(0..0, group.jobs)),
            None => {
                waiting.wait_long(group, false);
                self.long.notify_one();
            }
        }
    }

    /// Puts short work for which a batch had no room at the front of its organization's queue.
    pub fn put_back(&self, group: JobGroup) {
        let mut waiting = lock(&self.waiting);
        for job in group.jobs.into_iter().rev() {
            waiting.short.push_first(job.key.org, job);
        }
        self.short.notify_one();
    }

    /// Queues unfinished long work again: at the front or the back of its organization's queue.
    pub fn back(&self, mut group: JobGroup, is_next: bool) {
        let mut waiting = lock(&self.waiting);
        if let Some(Long::Worked(jobs)) = waiting.accounts.remove(&group.key) {
            group.whole |= jobs.iter().any(|job| job.work.needs_all());
            group.jobs.extend(jobs);
        }
        waiting.wait_long(group, is_next);
        self.long.notify_one();
    }

    /// Ends long work on an account, and queues the jobs that arrived in the meantime.
    pub fn done(&self, key: &AccountKey) {
        let came = match lock(&self.waiting).accounts.remove(key) {
            Some(Long::Worked(jobs)) => jobs,
            _ => Vec::new(),
        };
        came.into_iter().for_each(|job| self.put(job));
        // Wakes a lane that waits for the last account to be done.
        self.long.notify_one();
    }

    /// The total number of short jobs that arrived.
    pub fn came(&self) -> u64 {
        self.came.load(Relaxed)
    }

    /// Closes the queue: no more jobs will arrive.
    pub fn close(&self) {
        lock(&self.waiting).is_closed = true;
        self.short.notify_one();
        self.long.notify_one();
    }
}

impl JobQueues {
    fn wait_long(&mut self, group: JobGroup, is_next: bool) {
        let key = group.key.clone();
        if is_next {
            self.long.push_first(key.org, key.clone());
        } else {
            self.long.push(key.org, key.clone());
        }
        self.accounts.insert(key, Long::Waits(group));
    }

    fn take_long(&mut self, most_cost: u64) -> Vec<JobGroup> {
        let (mut groups, mut cost) = (Vec::new(), 0);
        while groups.len() < MOST_ACCOUNTS && cost < most_cost {
            let Some(key) = self.long.take() else { break };
            let Some(waits) = self.accounts.remove(&key) else { continue };
            match waits {
                Long::Waits(mut group) => {
                    // The response to a roll covers everything it did, so no other job runs with it.
                    let rest = group.jobs.split_off(alone(&group.jobs));
                    cost += group.cost();
                    groups.push(group);
                    self.accounts.insert(key, Long::Worked(rest));
                }
                worked => drop(self.accounts.insert(key, worked)),
            }
        }
        groups
    }
}

/// The number of jobs at the front that run together.
fn alone(jobs: &[Job]) -> usize {
    let is_roll = |job: &Job| matches!(job.work, Work::Roll { .. });
    match jobs.iter().position(is_roll) {
        Some(0) => 1,
        Some(place) => place,
        None => jobs.len(),
    }
}

/// Entries with a queue for each organization; organizations take turns.
#[derive(Debug)]
struct Turns<T> {
    queues: HashMap<OrgId, VecDeque<T>>,
    order: VecDeque<OrgId>,
}

impl<T> Default for Turns<T> {
    fn default() -> Turns<T> {
        Turns { queues: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> Turns<T> {
    fn push(&mut self, org: OrgId, thing: T) {
        self.queue(org).push_back(thing);
    }

    fn push_first(&mut self, org: OrgId, thing: T) {
        self.queue(org).push_front(thing);
    }

    fn queue(&mut self, org: OrgId) -> &mut VecDeque<T> {
        let order = &mut self.order;
        self.queues.entry(org).or_insert_with(|| {
            order.push_back(org);
            VecDeque::new()
        })
    }

    /// The next entry of the organization whose turn it is.
    fn take(&mut self) -> Option<T> {
        loop {
            let org = self.order.pop_front()?;
            let Some(queue) = self.queues.get_mut(&org) else { continue };
            let thing = queue.pop_front();
            if queue.is_empty() {
                self.queues.remove(&org);
            } else {
                self.order.push_back(org);
            }
            if thing.is_some() {
                return thing;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::sync::oneshot;

    fn job(org: OrgId, account: &str, cost: u64) -> Job {
        let key = AccountKey { org, account: Arc::from(account) };
        let (reply, _) = oneshot::channel();
        let work = Work::Settle { whole: false, cost };
        Job { key, work, idempotency_key: None, only_held: false, record: None, reply, place: None }
    }

    fn payment(org: OrgId, account: &str) -> Job {
        Job { work: Work::Withdraw(Arc::from("p")), ..job(org, account, 0) }
    }

    fn names(groups: &[JobGroup]) -> Vec<&str> {
        groups.iter().map(|group| &*group.key.account).collect()
    }

    #[tokio::test]
    async fn organizations_take_turns_in_short_work() {
        let queue = Queue::default();
        ["a1", "a2", "a3"].iter().for_each(|account| queue.put(payment(1, account)));
        queue.put(payment(2, "b1"));
        let taken = queue.take_short(3).await.expect("there is some");
        let taken: Vec<&str> = taken.iter().map(|job| &*job.key.account).collect();
        assert_eq!(taken, ["a1", "b1", "a2"]);
    }

    #[tokio::test]
    async fn long_work_is_bounded_by_its_cost_and_organizations_take_turns() {
        let queue = Queue::default();
        ["a1", "a2", "a3"].iter().for_each(|account| queue.put(job(1, account, 100)));
        queue.put(job(2, "b1", 100));
        assert_eq!(names(&queue.take_long(150).await.expect("there is some")), ["a1", "b1"]);
        assert_eq!(names(&queue.take_long(150).await.expect("there is some")), ["a2", "a3"]);
    }

    #[tokio::test]
    async fn one_account_is_taken_however_much_it_costs() {
        let queue = Queue::default();
        ["a1", "a2"].iter().for_each(|account| queue.put(job(1, account, 1_000_000)));
        assert_eq!(names(&queue.take_long(64).await.expect("there is some")), ["a1"]);
    }

    #[tokio::test]
    async fn what_comes_for_an_account_in_long_work_waits_for_it_in_order() {
        let queue = Queue::default();
        queue.put(job(1, "a", 100));
        queue.put(payment(1, "a"));
        let mut groups = queue.take_long(1).await.expect("there is some");
        let group = groups.pop().expect("one account");
        assert_eq!(group.jobs.len(), 2, "what came before it began is done with it");
        queue.put(payment(1, "a"));
        queue.back(group, false);
        let groups = queue.take_long(1).await.expect("there is some");
        assert_eq!(groups[0].jobs.len(), 3, "what came meanwhile is done after it");
        queue.put(payment(1, "a"));
        queue.done(&groups[0].key);
        assert_eq!(queue.take_short(10).await.expect("there is some").len(), 1);
    }

    #[tokio::test]
    async fn a_closed_queue_gives_what_waits_and_then_nothing() {
        let queue = Queue::default();
        queue.put(payment(1, "a"));
        queue.put(job(1, "b", 100));
        queue.close();
        assert_eq!(queue.take_short(10).await.map(|jobs| jobs.len()), Some(1));
        assert!(queue.take_short(10).await.is_none());
        let groups = queue.take_long(1).await.expect("there is some");
        queue.done(&groups[0].key);
        assert!(queue.take_long(1).await.is_none());
    }
}

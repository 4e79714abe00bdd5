//! A lane takes waiting jobs as one batch, loads, folds, commits and answers; then takes the next batch.
//!
//! Two tasks run at the same time. One takes all short work that waits and folds it, usually inline. The other takes
//! long work, at most a fraction of a second's worth at a time, and folds it outside the threads that serve requests.
//! So a caller waits for at most one batch of each.

use super::Shared;
use super::answering::{answer, answer_repeats, is_refused_by_old_mode, refuse};
use super::folding::{BatchLimits, Folded, LoadedGroup, Worked, fold_all};
use super::job::{Job, Work};
use super::queue::{JobGroup, LONG, Queue};
use super::work::JobResult;
use crate::account::slice::Slice;
use crate::problem::Problem;
use daybook_clock::Stopwatch;
use daybook_engine::time::Time;
use daybook_store::batch::{Batch, Claimed};
use daybook_store::records::{AccountKey, MessageRow, ProductKey};
use daybook_store::{AccountToLoad, Inputs, LoadedAccount};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of jobs in a short batch.
const MOST_SHORT: usize = 1_000;
/// The limits of a short batch.
const SHORT: BatchLimits = BatchLimits { slice: Slice { steps: LONG, bytes: 1 << 20 }, rows: 20_000, bytes: 8 << 20 };
/// A short batch with more accounts than this is folded outside the threads that serve requests.
const FOLDED_INLINE: usize = 64;
/// The steps of a long batch: initially, at most, and at least.
const FIRST_STEPS: u64 = 1_024;
const MOST_STEPS: u64 = 16_384;
const LEAST_STEPS: u64 = 64;
/// The maximum number of steps of one account in a long batch.
const MOST_SLICE: u64 = 512;
/// The maximum number of bytes in a long batch.
const LONG_BYTES: usize = 8 << 20;
/// The target duration of a long batch. If a batch takes longer, callers wait for it, so the next one is smaller. The
/// target is shorter while callers are active.
const LONG_BATCH: Duration = Duration::from_millis(200);
const LONG_BATCH_WITH_CALLERS: Duration = Duration::from_millis(40);
/// Callers count as active until this many long batches have passed without a request.
const CALLERS_EXPECTED: u32 = 16;
/// How often an account is retried when another node has changed it.
const MOST_ROUNDS: usize = 50;

/// Does short work until the queue is closed and empty.
pub async fn run_short(shared: Arc<Shared>, queue: Arc<Queue>) {
    while let Some(jobs) = queue.take_short(MOST_SHORT).await {
        let watch = Stopwatch::start();
        let count = jobs.len();
        let mut groups = grouped(jobs);
        while !groups.is_empty() {
            groups = round(&shared, &queue, groups, false, SHORT).await;
        }
        shared.metrics.batch(count, watch.elapsed());
    }
}

/// Does long work until the queue is closed and empty.
pub async fn run_long(shared: Arc<Shared>, queue: Arc<Queue>) {
    let mut steps = FIRST_STEPS;
    let (mut came, mut quiet) = (queue.came(), 0);
    while let Some(groups) = queue.take_long(steps).await {
        let watch = Stopwatch::start();
        let count = groups.len();
        let slice = Slice { steps: steps.min(MOST_SLICE), bytes: LONG_BYTES / 2 };
        let limits = BatchLimits { slice, rows: 8 * steps as usize, bytes: LONG_BYTES };
        for group in round(&shared, &queue, groups, true, limits).await {
            queue.back(group, true);
        }
        quiet = if queue.came() == came { quiet + 1 } else { 0 };
        came = queue.came();
        let limit = if quiet < CALLERS_EXPECTED { LONG_BATCH_WITH_CALLERS } else { LONG_BATCH };
        steps = next_steps(steps, watch.elapsed(), limit);
        shared.metrics.batch(count, watch.elapsed());
    }
}

/// The number of steps of the next long batch: fewer if the last one took too long.
fn next_steps(steps: u64, took: Duration, limit: Duration) -> u64 {
    if took > limit {
        let share = limit.as_secs_f64() / took.as_secs_f64();
        ((steps as f64 * share) as u64).max(LEAST_STEPS)
    } else if took < limit / 2 {
        (steps * 2).min(MOST_STEPS)
    } else {
        steps
    }
}

fn grouped(jobs: Vec<Job>) -> Vec<JobGroup> {
    let mut places: HashMap<AccountKey, usize> = HashMap::with_capacity(jobs.len());
    let mut groups: Vec<JobGroup> = Vec::with_capacity(jobs.len());
    for job in jobs {
        let place = *places.entry(job.key.clone()).or_insert_with(|| {
            groups.push(JobGroup { key: job.key.clone(), jobs: Vec::with_capacity(1), whole: false, tries: 0 });
            groups.len() - 1
        });
        groups[place].whole |= job.work.needs_all();
        groups[place].jobs.push(job);
    }
    groups
}

/// One attempt at a batch. Returns the groups to retry at once; unfinished long work goes back to the queue.
async fn round(
    shared: &Arc<Shared>,
    queue: &Queue,
    groups: Vec<JobGroup>,
    is_long: bool,
    limits: BatchLimits,
) -> Vec<JobGroup> {
    let now = shared.clock.now();
    let (groups, answered): (Vec<JobGroup>, Vec<JobGroup>) =
        answer_repeats(shared, groups, now).await.into_iter().partition(|group| !group.jobs.is_empty());
    let round = Round { shared, queue, is_long, now };
    answered.iter().for_each(|group| round.over(&group.key));
    if groups.is_empty() {
        return groups;
    }
    let ready = match load(&round, groups).await {
        Ok(ready) => ready,
        Err((groups, problem)) => {
            groups.into_iter().for_each(|group| round.refuse(group, &problem));
            return Vec::new();
        }
    };
    let secrets = shared.secrets.clone();
    let folded = if is_long {
        let folding = shared.off_the_threads_that_serve(move || fold_all(ready, &limits, &secrets, now));
        match folding.await {
            Ok(folded) => folded,
            // Panics are caught for each account; this error means that the runtime is shutting down.
            Err(_) => return Vec::new(),
        }
    } else if ready.len() > FOLDED_INLINE {
        match tokio::task::spawn_blocking(move || fold_all(ready, &limits, &secrets, now)).await {
            Ok(folded) => folded,
            Err(_) => return Vec::new(),
        }
    } else {
        fold_all(ready, &limits, &secrets, now)
    };
    round.commit(folded).await
}

/// Loads accounts. An account whose product cannot be read is refused; the others go on.
async fn load(round: &Round<'_>, groups: Vec<JobGroup>) -> Result<Vec<LoadedGroup>, (Vec<JobGroup>, Problem)> {
    let (shared, now) = (round.shared, round.now);
    let wanted: Vec<AccountToLoad> = groups.iter().map(want).collect();
    let loaded = match crate::refold::load(shared.store.as_ref(), &shared.catalog, &wanted, now).await {
        Ok(loaded) => loaded,
        Err(problem) => return Err((groups, problem)),
    };
    let mut ready = Vec::with_capacity(groups.len());
    let mut groups = groups.into_iter();
    let mut loaded = loaded.into_iter();
    while let (Some(group), Some(loaded)) = (groups.next(), loaded.next()) {
        let product = loaded.as_ref().map(|loaded| loaded.row.product.clone()).or_else(|| {
            group.jobs.iter().find_map(|job| match &job.work {
                Work::Open(opening) => Some(opening.product.product.clone()),
                _ => None,
            })
        });
        let found = match product {
            Some(product) => shared.catalog.product(&ProductKey { org: group.key.org, product }).await,
            None => Ok(None),
        };
        let waiting = waiting_messages(shared, &group, loaded.as_ref(), now).await;
        match (found, waiting) {
            (Ok(product), Ok(waiting_messages)) => ready.push(LoadedGroup { group, loaded, product, waiting_messages }),
            (Err(problem), _) if !problem.is_unavailable() => round.refuse(group, &problem),
            (Err(problem), _) | (_, Err(problem)) => {
                let mut all: Vec<JobGroup> = ready.into_iter().map(|ready| ready.group).collect();
                all.push(group);
                all.extend(groups);
                return Err((all, problem));
            }
        }
    }
    Ok(ready)
}

fn want(group: &JobGroup) -> AccountToLoad {
    let mut names = Vec::new();
    if !group.whole {
        group.jobs.iter().for_each(|job| job.work.names(&mut names));
    }
    AccountToLoad { key: group.key.clone(), inputs: if group.whole { Inputs::All } else { Inputs::Pending }, names }
}

/// The number of messages of earlier rolls that a roll with webhooks sends.
async fn waiting_messages(
    shared: &Shared,
    group: &JobGroup,
    loaded: Option<&LoadedAccount>,
    now: Time,
) -> Result<u64, Problem> {
    let until = group.jobs.iter().find_map(|job| match job.work {
        Work::Roll { to, webhooks: true, .. } => Some(to),
        _ => None,
    });
    let (Some(until), Some(loaded)) = (until, loaded) else { return Ok(0) };
    if loaded.row.now.rolled_to.is_none_or(|rolled| rolled <= now) {
        return Ok(0);
    }
    const PAGE: usize = 1_000;
    let (mut waiting, mut after) = (0, 0);
    loop {
        let messages = shared.store.messages_of(&group.key, after, PAGE).await?;
        let is_sent =
            |message: &&MessageRow| message.cancelled_at.is_none() && message.due_at.is_some_and(|due| due <= until);
        waiting += messages.iter().filter(is_sent).count() as u64;
        match messages.last() {
            Some(last) if messages.len() == PAGE => after = last.sequence,
            _ => return Ok(waiting),
        }
    }
}

/// One attempt at a batch.
struct Round<'a> {
    shared: &'a Arc<Shared>,
    queue: &'a Queue,
    is_long: bool,
    now: Time,
}

impl Round<'_> {
    /// Writes the results in one transaction, and answers. Returns the groups to retry.
    async fn commit(&self, folded: Vec<Folded>) -> Vec<JobGroup> {
        let mut again = Vec::new();
        let mut written: Vec<Worked> = Vec::with_capacity(folded.len());
        let mut batch = Batch::default();
        for folded in folded {
            match folded {
                Folded::NeedsAll(group) => again.extend(self.again(group)),
                Folded::Later(group) if self.is_long => self.queue.back(group, true),
                Folded::Later(group) => self.queue.put_back(group),
                Folded::Worked(mut worked) => match worked.unit.take() {
                    Some(unit) => {
                        batch.units.push(unit);
                        written.push(*worked);
                    }
                    None if worked.is_part => self.go_on(*worked),
                    None if is_refused_by_old_mode(self.shared, &worked).await => {
                        again.extend(self.again(worked.group))
                    }
                    None => self.answer(*worked).await,
                },
            }
        }
        if batch.units.is_empty() {
            return again;
        }
        self.shared.metrics.written(&batch);
        let announces: Vec<bool> = batch.units.iter().map(|unit| unit.message_count() > 0).collect();
        let hurries = batch.units.iter().any(|unit| unit.hurry);
        match self.shared.store.commit(batch).await {
            Ok(claimed) => {
                if claimed.iter().zip(announces).any(|(claimed, announces)| *claimed == Claimed::Written && announces) {
                    self.shared.nudge.announced();
                }
                if hurries {
                    self.shared.nudge.changed();
                }
                for (worked, claimed) in written.into_iter().zip(claimed) {
                    match claimed {
                        Claimed::Written if worked.is_part => self.go_on(worked),
                        Claimed::Written => self.answer(worked).await,
                        Claimed::Stale => {
                            if let Some(product) = &worked.product {
                                self.shared.catalog.forget(&product.key);
                            }
                            again.extend(self.again(worked.group));
                        }
                    }
                }
            }
            Err(error) => {
                let problem = Problem::from(error);
                tracing::warn!(%problem, "a batch could not be written; its requests fail");
                written.into_iter().for_each(|worked| self.refuse(worked.group, &problem));
            }
        }
        again
    }

    /// A slice and its record are written; the rest waits for its turn.
    fn go_on(&self, mut worked: Worked) {
        self.shared.metrics.slices.add(1);
        if let (Some(job), Some(JobResult::ToMore(more))) = (worked.group.jobs.first_mut(), worked.came.first())
            && let Work::Roll { done, .. } = &mut job.work
        {
            *done = *more;
            job.record = None;
        }
        let group = JobGroup { tries: 0, ..worked.group };
        if self.is_long { self.queue.back(group, false) } else { self.queue.make_long(group) }
    }

    /// Returns a group to retry, unless it was retried too often.
    fn again(&self, mut group: JobGroup) -> Option<JobGroup> {
        group.tries += 1;
        if group.tries < MOST_ROUNDS {
            return Some(group);
        }
        self.refuse(group, &Problem::unavailable("the account is being changed too often: try again"));
        None
    }

    fn refuse(&self, group: JobGroup, problem: &Problem) {
        let key = group.key.clone();
        refuse(group, problem);
        self.over(&key);
    }

    async fn answer(&self, worked: Worked) {
        let key = worked.group.key.clone();
        answer(self.shared, worked, self.now).await;
        self.over(&key);
    }

    /// Marks a group as done.
    fn over(&self, key: &AccountKey) {
        if self.is_long {
            self.queue.done(key);
        }
    }
}

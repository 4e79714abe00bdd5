//! A lane: takes what is waiting as one batch, loads, folds, commits, answers; then the next.

use super::Shared;
use super::job::{Job, Work};
use super::work::{Came, NeedsAll, answer_to_keep, unit, work};
use crate::account::book::Book;
use crate::answers::reused;
use crate::catalog::ProductInfo;
use crate::items::{Stored, item_of_row};
use crate::migration::not_held;
use crate::problem::Problem;
use crate::view::{self, render};
use bytes::Bytes;
use daybook_clock::Stopwatch;
use daybook_engine::time::Time;
use daybook_store::batch::{Batch, Claimed, NewAnswer, Unit};
use daybook_store::records::{AccountKey, MessageRow, ProductKey};
use daybook_store::{Inputs, Loaded, Want};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The most jobs of callers in a batch.
const MOST_CALLERS: usize = 1_000;
/// The accounts of timers and releases in a batch: at first, at most, and at least.
const FIRST_BACKGROUND: usize = 64;
const MOST_BACKGROUND: usize = 500;
const LEAST_BACKGROUND: usize = 8;
/// A batch of the background that takes longer keeps callers waiting: the next one is smaller. While callers really wait,
/// it may take less; while none does, one that comes waits for so long.
const LONG_BATCH: Duration = Duration::from_millis(200);
const LONG_BATCH_WITH_CALLERS: Duration = Duration::from_millis(40);
/// A batch with more accounts than this is folded off the threads that serve callers.
const FOLDED_INLINE: usize = 64;
/// How often an account is tried again when somebody else changed it meanwhile.
const MOST_ROUNDS: usize = 50;

/// Runs until nobody can put jobs any more and all are done. Callers and background take turns, so that neither waits for
/// more than one batch of the other, and background batches are kept short.
pub async fn run(shared: Arc<Shared>, mut callers: mpsc::Receiver<Job>, mut background: mpsc::Receiver<Job>) {
    let mut room = FIRST_BACKGROUND;
    loop {
        let mut jobs = waiting(&mut callers, MOST_CALLERS);
        if !jobs.is_empty() {
            batch(&shared, jobs).await;
        }
        jobs = waiting(&mut background, room);
        if !jobs.is_empty() {
            let watch = Stopwatch::start();
            batch(&shared, jobs).await;
            let limit = if callers.is_empty() { LONG_BATCH } else { LONG_BATCH_WITH_CALLERS };
            room = next_room(room, watch.elapsed(), limit);
            continue;
        }
        let next = tokio::select! {
            biased;
            Some(job) = callers.recv() => (job, &mut callers, MOST_CALLERS),
            Some(job) = background.recv() => (job, &mut background, room),
            else => return,
        };
        let (first, queue, most) = next;
        let mut jobs = vec![first];
        jobs.extend(waiting(queue, most - 1));
        batch(&shared, jobs).await;
    }
}

/// What is waiting in a queue, as far as there is room for it.
fn waiting(queue: &mut mpsc::Receiver<Job>, room: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    while jobs.len() < room
        && let Ok(job) = queue.try_recv()
    {
        jobs.push(job);
    }
    jobs
}

/// How many accounts the next batch of the background takes: fewer when the last one kept callers waiting.
fn next_room(room: usize, took: Duration, limit: Duration) -> usize {
    if took > limit {
        let share = limit.as_secs_f64() / took.as_secs_f64();
        ((room as f64 * share) as usize).max(LEAST_BACKGROUND)
    } else if took < limit / 2 {
        (room * 2).min(MOST_BACKGROUND)
    } else {
        room
    }
}

/// The jobs of one account, in order of arrival.
struct Group {
    key: AccountKey,
    jobs: Vec<Job>,
    whole: bool,
}

/// A group with what was loaded for it.
struct Ready {
    group: Group,
    loaded: Option<Loaded>,
    product: Option<Arc<ProductInfo>>,
    waiting_messages: u64,
}

/// A group that was worked on.
struct Worked {
    group: Group,
    came: Vec<Came>,
    unit: Option<Unit>,
    product: Option<Arc<ProductInfo>>,
}

/// What working on a group gave.
enum Folded {
    Worked(Box<Worked>),
    NeedsAll(Group),
}

async fn batch(shared: &Arc<Shared>, jobs: Vec<Job>) {
    let watch = Stopwatch::start();
    let count = jobs.len();
    let mut groups = grouped(jobs);
    for _ in 0..MOST_ROUNDS {
        if groups.is_empty() {
            break;
        }
        groups = round(shared, groups).await;
    }
    for job in groups.into_iter().flat_map(|group| group.jobs) {
        let _ = job.reply.send(Err(Problem::unavailable("the account is being changed too often: try again")));
    }
    shared.metrics.batch(count, watch.elapsed());
}

fn grouped(jobs: Vec<Job>) -> Vec<Group> {
    let mut places: HashMap<AccountKey, usize> = HashMap::with_capacity(jobs.len());
    let mut groups: Vec<Group> = Vec::with_capacity(jobs.len());
    for job in jobs {
        let place = *places.entry(job.key.clone()).or_insert_with(|| {
            groups.push(Group { key: job.key.clone(), jobs: Vec::with_capacity(1), whole: false });
            groups.len() - 1
        });
        groups[place].whole |= job.work.needs_all();
        groups[place].jobs.push(job);
    }
    groups
}

/// One try at a batch. Gives what has to be tried again.
async fn round(shared: &Arc<Shared>, groups: Vec<Group>) -> Vec<Group> {
    let now = shared.clock.now();
    let groups = match answer_repeats(shared, groups, now).await {
        Ok(groups) => groups,
        Err(()) => return Vec::new(),
    };
    if groups.is_empty() {
        return groups;
    }
    let ready = match load(shared, groups, now).await {
        Ok(ready) => ready,
        Err((groups, problem)) => {
            refuse(groups, &problem);
            return Vec::new();
        }
    };
    let folded = if ready.len() > FOLDED_INLINE {
        let folding = tokio::task::spawn_blocking(move || fold_all(ready, now));
        match folding.await {
            Ok(folded) => folded,
            // Panics are caught account by account; this is the runtime going down.
            Err(_) => return Vec::new(),
        }
    } else {
        fold_all(ready, now)
    };
    commit(shared, folded, now).await
}

/// Answers calls whose idempotency key was used before.
async fn answer_repeats(shared: &Shared, groups: Vec<Group>, now: Time) -> Result<Vec<Group>, ()> {
    if groups.iter().all(|group| group.jobs.iter().all(|job| job.repeat.is_none())) {
        return Ok(groups);
    }
    let mut left = Vec::with_capacity(groups.len());
    for mut group in groups {
        let mut jobs = Vec::with_capacity(group.jobs.len());
        for job in group.jobs {
            let Some(repeat) = &job.repeat else {
                jobs.push(job);
                continue;
            };
            match shared.store.answer(job.key.org, &repeat.key, now).await {
                Ok(None) => jobs.push(job),
                Ok(Some(answer)) if answer.content_hash == repeat.content_hash => {
                    let _ = job.reply.send(Ok(answer.body));
                }
                Ok(Some(_)) => {
                    let _ = job.reply.send(Err(reused()));
                }
                Err(error) => {
                    let _ = job.reply.send(Err(error.into()));
                }
            }
        }
        group.jobs = jobs;
        if !group.jobs.is_empty() {
            left.push(group);
        }
    }
    Ok(left)
}

async fn load(shared: &Shared, groups: Vec<Group>, now: Time) -> Result<Vec<Ready>, (Vec<Group>, Problem)> {
    let wanted: Vec<Want> = groups.iter().map(want).collect();
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
            (Ok(product), Ok(waiting_messages)) => ready.push(Ready { group, loaded, product, waiting_messages }),
            (Err(problem), _) | (_, Err(problem)) => {
                let mut all: Vec<Group> = ready.into_iter().map(|ready| ready.group).collect();
                all.push(group);
                all.extend(groups);
                return Err((all, problem));
            }
        }
    }
    Ok(ready)
}

fn want(group: &Group) -> Want {
    let mut names = Vec::new();
    if !group.whole {
        group.jobs.iter().for_each(|job| job.work.names(&mut names));
    }
    Want { key: group.key.clone(), inputs: if group.whole { Inputs::All } else { Inputs::Pending }, names }
}

/// How many messages of earlier rolls a roll with webhooks sends.
async fn waiting_messages(shared: &Shared, group: &Group, loaded: Option<&Loaded>, now: Time) -> Result<u64, Problem> {
    let until = group.jobs.iter().find_map(|job| match job.work {
        Work::Roll { to, webhooks: true } => Some(to),
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

fn refuse(groups: Vec<Group>, problem: &Problem) {
    for job in groups.into_iter().flat_map(|group| group.jobs) {
        let _ = job.reply.send(Err(problem.clone()));
    }
}

fn fold_all(ready: Vec<Ready>, now: Time) -> Vec<Folded> {
    ready.into_iter().map(|ready| fold_one(ready, now)).collect()
}

/// Works on one account. Should that panic, the account fails alone.
fn fold_one(ready: Ready, now: Time) -> Folded {
    let Ready { group, loaded, product, waiting_messages } = ready;
    let kept = product.clone();
    let worked = catch_unwind(AssertUnwindSafe(|| jobs_done(&group, loaded.clone(), product, waiting_messages, now)));
    let worked = match worked {
        Ok(worked) => worked,
        Err(_) => Ok(broken(&group, loaded, kept.clone(), now)),
    };
    match worked {
        Ok((came, unit)) => Folded::Worked(Box::new(Worked { group, came, unit, product: kept })),
        Err(NeedsAll) => Folded::NeedsAll(Group { whole: true, ..group }),
    }
}

type Done = (Vec<Came>, Option<Unit>);

fn jobs_done(
    group: &Group,
    loaded: Option<Loaded>,
    product: Option<Arc<ProductInfo>>,
    waiting_messages: u64,
    now: Time,
) -> Result<Done, NeedsAll> {
    let mut came = Vec::with_capacity(group.jobs.len());
    let mut answers: Vec<NewAnswer> = Vec::new();
    let mut book = match (loaded, &product) {
        (Some(loaded), Some(product)) => match Book::read(loaded, product.clone(), group.whole) {
            Ok(book) => Some(book),
            Err(problem) => return Ok((vec![Came::ToProblem(problem); group.jobs.len()], None)),
        },
        _ => None,
    };
    for job in &group.jobs {
        if book.is_none()
            && let (Work::Open(opening), Some(product)) = (&job.work, &product)
        {
            let opening = opening.as_ref().clone();
            let opened = Book::open(
                group.key.clone(),
                product.clone(),
                opening.terms,
                opening.profile,
                opening.content_hash,
                now,
            );
            book = opened.ok();
        }
        let Some(book) = &mut book else {
            came.push(Came::ToProblem(Problem::not_found("account", &group.key.account)));
            continue;
        };
        book.waiting_messages = waiting_messages;
        if job.only_held && !book.product.mode.holding {
            came.push(Came::ToProblem(not_held(&book.product.key)));
            continue;
        }
        if let Some(earlier) =
            job.repeat.as_ref().and_then(|repeat| answers.iter().find(|answer| answer.key == repeat.key))
        {
            let same = job.repeat.as_ref().is_some_and(|repeat| repeat.content_hash == earlier.answer.content_hash);
            came.push(if same { Came::To(earlier.answer.body.clone()) } else { Came::ToProblem(reused()) });
            continue;
        }
        let done = work(book, &job.work, now)?;
        if let Came::To(body) = &done {
            answers.extend(answer_to_keep(job, body, now));
        }
        came.push(done);
    }
    let Some(mut book) = book else { return Ok((came, None)) };
    if book.loaded_version.is_none() && came.iter().all(|came| matches!(came, Came::ToProblem(_))) {
        // It was never opened.
        return Ok((came, None));
    }
    match unit(&mut book, answers, now) {
        Ok(unit) => Ok((came, unit)),
        Err(problem) => Ok((vec![Came::ToProblem(problem); group.jobs.len()], None)),
    }
}

/// A panic is a bug. Callers hear of it; an account that a timer cannot work on is noted as failed.
fn broken(group: &Group, loaded: Option<Loaded>, product: Option<Arc<ProductInfo>>, now: Time) -> Done {
    tracing::error!(account = %group.key.account, "working on an account panicked");
    let problem = Problem::internal("working on the account failed: this is a bug");
    let came = vec![Came::ToProblem(problem.clone()); group.jobs.len()];
    let only_settles = group.jobs.iter().all(|job| matches!(job.work, Work::Settle { .. }));
    let (Some(loaded), Some(product), true) = (loaded, product, only_settles) else { return (came, None) };
    let Ok(mut book) = Book::read(loaded, product, group.whole) else { return (came, None) };
    book.fail(problem.message, now);
    match unit(&mut book, Vec::new(), now) {
        Ok(unit) => (vec![Came::To(Bytes::new()); group.jobs.len()], unit),
        Err(_) => (came, None),
    }
}

/// Writes what was worked out, in one transaction, and answers. Gives what has to be tried again.
async fn commit(shared: &Arc<Shared>, folded: Vec<Folded>, now: Time) -> Vec<Group> {
    let mut again = Vec::new();
    let mut written: Vec<Worked> = Vec::with_capacity(folded.len());
    let mut batch = Batch::default();
    for folded in folded {
        match folded {
            Folded::NeedsAll(group) => again.push(group),
            Folded::Worked(mut worked) => match worked.unit.take() {
                Some(unit) => {
                    batch.units.push(unit);
                    written.push(*worked);
                }
                None if is_refused_by_old_mode(shared, &worked).await => again.push(worked.group),
                None => answer(shared, *worked, now).await,
            },
        }
    }
    if batch.units.is_empty() {
        return again;
    }
    shared.metrics.written(&batch);
    let announces: Vec<bool> = batch.units.iter().map(|unit| !unit.messages.is_empty()).collect();
    let hurries = batch.units.iter().any(|unit| unit.hurry);
    match shared.store.commit(batch).await {
        Ok(claimed) => {
            if claimed.iter().zip(announces).any(|(claimed, announces)| *claimed == Claimed::Written && announces) {
                shared.nudge.announced();
            }
            if hurries {
                shared.nudge.changed();
            }
            for (worked, claimed) in written.into_iter().zip(claimed) {
                match claimed {
                    Claimed::Written => answer(shared, worked, now).await,
                    Claimed::Stale => {
                        if let Some(product) = &worked.product {
                            shared.catalog.forget(&product.key);
                        }
                        again.push(worked.group);
                    }
                }
            }
        }
        Err(error) => {
            let problem = Problem::from(error);
            tracing::warn!(%problem, "a batch could not be written");
            refuse(written.into_iter().map(|worked| worked.group).collect(), &problem);
        }
    }
    again
}

/// Whether a call was refused under a mode that its product is no longer in. What is written says which mode it was
/// computed under; a refusal writes nothing, so it is asked.
async fn is_refused_by_old_mode(shared: &Shared, worked: &Worked) -> bool {
    let Some(product) = &worked.product else { return false };
    if !worked.came.iter().any(|came| matches!(came, Came::ToProblem(_) | Came::ToItemIf(..))) {
        return false;
    }
    let fresh = shared.catalog.fresh_product(&product.key).await;
    fresh.is_ok_and(|fresh| fresh.is_some_and(|fresh| fresh.mode.version != product.mode.version))
}

async fn answer(shared: &Shared, worked: Worked, now: Time) {
    let Worked { group, came, product, .. } = worked;
    for (job, came) in group.jobs.into_iter().zip(came) {
        let written_with_it = matches!(came, Came::To(_));
        let answer = match came {
            Came::To(body) => Ok(body),
            Came::ToProblem(problem) => Err(problem),
            Came::ToItem(name) => stored_item(shared, &job.key, &name, product.as_deref(), None).await,
            Came::ToItemIf(name, status, problem) => {
                match stored_item(shared, &job.key, &name, product.as_deref(), Some(status)).await {
                    Ok(body) => Ok(body),
                    Err(other) if other.code == "not_found" => Err(problem),
                    Err(other) => Err(other),
                }
            }
        };
        if let (Ok(body), Some(_), false) = (&answer, &job.repeat, written_with_it) {
            keep_answer(shared, &job, body, now).await;
        }
        let _ = job.reply.send(answer);
    }
}

/// Keeps the answer to a call that changed nothing. The answers of others were written with what they changed.
async fn keep_answer(shared: &Shared, job: &Job, body: &Bytes, now: Time) {
    let unit = Unit { answers: answer_to_keep(job, body, now).into_iter().collect(), ..Unit::default() };
    if let Err(error) = shared.store.commit(Batch { units: vec![unit] }).await {
        tracing::warn!(%error, "an answer could not be kept");
    }
}

/// A line item as it is in the store, or as it waits there.
async fn stored_item(
    shared: &Shared,
    key: &AccountKey,
    name: &str,
    product: Option<&ProductInfo>,
    status: Option<&str>,
) -> Result<Bytes, Problem> {
    let missing = || Problem::not_found("line item", name);
    let product = product.ok_or_else(missing)?;
    let stored = Stored::read(shared.store.as_ref(), key, name).await?.ok_or_else(missing)?;
    if status.is_some_and(|status| stored.row.status != status) {
        return Err(missing());
    }
    let item = item_of_row(&stored.row)?;
    Ok(render(&view::LineItem::new(&item, &stored.facts(key, &product.facts))))
}

//! Works on the loaded accounts of a batch, one after the other, until the batch is full. Pure.
//!
//! How one account is folded is in `account/folding.rs`.

use super::job::{Job, Work};
use super::queue::JobGroup;
use super::work::{JobResult, NeedsAll, answer_to_keep, begin, unit, work};
use crate::account::book::{Book, Halt};
use crate::account::slice::Slice;
use crate::catalog::ProductInfo;
use crate::idempotency::reused;
use crate::migration::not_held;
use crate::problem::Problem;
use crate::secrets::Secrets;
use crate::withdrawals::with_records;
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::LoadedAccount;
use daybook_store::audit::NewAuditRecord;
use daybook_store::batch::{NewKeptResponse, Unit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimits {
    /// For each account.
    pub slice: Slice,
    /// Rows of all accounts.
    pub rows: usize,
    /// Bytes of all accounts.
    pub bytes: usize,
}

/// A group and the data loaded for it.
pub struct LoadedGroup {
    /// The jobs.
    pub group: JobGroup,
    /// The account; `None` if it does not exist.
    pub loaded: Option<LoadedAccount>,
    /// Its product.
    pub product: Option<Arc<ProductInfo>>,
    /// Messages of earlier rolls that a roll with webhooks would send.
    pub waiting_messages: u64,
}

/// A group after its jobs were worked on.
pub struct Worked {
    /// The jobs.
    pub group: JobGroup,
    /// The result of each job.
    pub came: Vec<JobResult>,
    /// The rows to write.
    pub unit: Option<Unit>,
    /// The account's product.
    pub product: Option<Arc<ProductInfo>>,
    /// Whether this was one slice and more work is left.
    pub is_part: bool,
}

/// The result of working on a group.
pub enum Folded {
    /// The group, or a slice of it, is done.
    Worked(Box<Worked>),
    /// The whole journal has to be loaded.
    NeedsAll(JobGroup),
    /// The batch had no room left.
    Later(JobGroup),
}

/// Works on accounts until the batch is full.
pub fn fold_all(ready: Vec<LoadedGroup>, limits: &BatchLimits, secrets: &Secrets, now: Time) -> Vec<Folded> {
    let (mut rows, mut bytes) = (0, 0);
    let mut folded = Vec::with_capacity(ready.len());
    for ready in ready {
        if rows >= limits.rows || bytes >= limits.bytes {
            folded.push(Folded::Later(ready.group));
            continue;
        }
        let mut one = fold_one(ready, limits.slice, secrets, now);
        if let Folded::Worked(worked) = &mut one
            && let Some(unit) = &mut worked.unit
        {
            let (more_rows, more_bytes) = size(unit);
            rows += more_rows;
            bytes += more_bytes;
            // Here and not in the commit, which runs on a thread that serves callers. The commit reports an error.
            let _ = unit.compress_messages();
        }
        folded.push(one);
    }
    folded
}

/// The approximate size of the writes: rows, and bytes of messages and states.
fn size(unit: &Unit) -> (usize, usize) {
    let messages: usize = unit.messages.iter().map(|(_, message)| message.data.len() + 256).sum();
    let of_account = |write: &daybook_store::batch::AccountWrite| write.inputs.len() + write.items.len() + 1;
    let rows: usize = unit.accounts.iter().map(of_account).sum();
    (rows + unit.messages.len(), messages + 256 * rows)
}

/// Works on one account. If that panics, only this account fails.
fn fold_one(ready: LoadedGroup, slice: Slice, secrets: &Secrets, now: Time) -> Folded {
    let LoadedGroup { group, loaded, product, waiting_messages } = ready;
    let kept = product.clone();
    let again = loaded.clone();
    let working = || jobs_done(&group, loaded, product, waiting_messages, slice, secrets, now);
    let worked = catch_unwind(AssertUnwindSafe(working));
    let done = match worked {
        Ok(Ok(done)) => done,
        Ok(Err(NeedsAll)) => return Folded::NeedsAll(JobGroup { whole: true, ..group }),
        Err(_) => broken(&group, again, kept.clone(), now),
    };
    let Done { came, unit, is_part } = done;
    Folded::Worked(Box::new(Worked { group, came, unit, product: kept, is_part }))
}

/// The result of working on an account.
struct Done {
    came: Vec<JobResult>,
    unit: Option<Unit>,
    is_part: bool,
}

impl Done {
    fn refused(jobs: &[Job], problem: &Problem) -> Done {
        Done { came: vec![JobResult::ToProblem(problem.clone()); jobs.len()], unit: None, is_part: false }
    }
}

fn jobs_done(
    group: &JobGroup,
    loaded: Option<LoadedAccount>,
    product: Option<Arc<ProductInfo>>,
    waiting_messages: u64,
    slice: Slice,
    secrets: &Secrets,
    now: Time,
) -> Result<Done, NeedsAll> {
    let mut came = Vec::with_capacity(group.jobs.len());
    let (mut answers, mut audit): (Vec<NewKeptResponse>, Vec<NewAuditRecord>) = Default::default();
    let mut book = match (loaded, &product) {
        (Some(loaded), Some(product)) => match Book::read(loaded, product.clone(), group.whole) {
            Ok(book) => Some(book),
            Err(problem) => return Ok(Done::refused(&group.jobs, &problem)),
        },
        _ => None,
    };
    let mut is_opened_already = false;
    for job in &group.jobs {
        book = book.or_else(|| opened(group, &job.work, product.as_ref(), now));
        let Some(book) = &mut book else {
            came.push(JobResult::ToProblem(Problem::not_found("account", &group.key.account)));
            continue;
        };
        book.waiting_messages = waiting_messages;
        let is_opened = matches!(job.work, Work::Open(_)) && book.loaded_version.is_none() && !is_opened_already;
        if let Some(result) = result_without_work(book, job, &answers) {
            came.push(result);
            continue;
        }
        // A slice is written without the results of earlier jobs, so only the first job waits for one.
        let begun = begin(book, &job.work, now, came.is_empty().then_some(slice));
        let before = asked_so_far(book);
        let done = match begun {
            Ok(true) => work(book, &job.work, now, |answer| answer.render())?,
            Ok(false) => {
                let record = job.record.as_ref().filter(|_| is_opened).cloned();
                return Ok(part(book, group, came, record, now));
            }
            Err(Halt::Problem(problem)) => JobResult::ToProblem(problem),
            Err(Halt::NeedsAll) => return Err(NeedsAll),
        };
        let changed = match &job.work {
            // A roll is recorded with its first slice; later slices have no record.
            Work::Roll { .. } => true,
            _ => is_opened || asked_so_far(book) != before,
        };
        let is_recorded = changed && !matches!(done, JobResult::ToProblem(_));
        let record = record_of(job, book, before.1, secrets).filter(|_| is_recorded);
        match &done {
            JobResult::To(body) => answers.extend(answer_to_keep(job, body, now)),
            JobResult::ToMore(_) => return Ok(part(book, group, vec![done], record, now)),
            _ => {}
        }
        audit.extend(record);
        is_opened_already |= is_opened && is_recorded;
        came.push(done);
    }
    let Some(mut book) = book else { return Ok(Done { came, unit: None, is_part: false }) };
    if book.loaded_version.is_none() && came.iter().all(|came| matches!(came, JobResult::ToProblem(_))) {
        // It was never created.
        return Ok(Done { came, unit: None, is_part: false });
    }
    match unit(&mut book, answers, audit, now) {
        Ok(unit) => Ok(Done { came, unit, is_part: false }),
        Err(problem) => Ok(Done::refused(&group.jobs, &problem)),
    }
}

/// The book of an account that a job opens; `None` if the job does something else or the terms do not fit.
fn opened(group: &JobGroup, work: &Work, product: Option<&Arc<ProductInfo>>, now: Time) -> Option<Book> {
    let (Work::Open(opening), Some(product)) = (work, product) else { return None };
    let opening = opening.as_ref().clone();
    let (terms, profile, content_hash) = (opening.terms, opening.profile, opening.content_hash);
    Book::open(group.key.clone(), product.clone(), terms, profile, content_hash, now).ok()
}

/// The result of a job that is refused because its product holds no events, or that repeats a job of this batch.
fn result_without_work(book: &Book, job: &Job, answers: &[NewKeptResponse]) -> Option<JobResult> {
    if job.only_held && !book.product.mode.holding {
        return Some(JobResult::ToProblem(not_held(&book.product.key)));
    }
    let idempotency_key = job.idempotency_key.as_ref()?;
    let earlier = answers.iter().find(|answer| answer.key == idempotency_key.key)?;
    let same = idempotency_key.content_hash == earlier.answer.content_hash;
    Some(if same { JobResult::To(earlier.answer.body.clone()) } else { JobResult::ToProblem(reused()) })
}

/// Counts the changes that callers have made to an account; the counts differ if a job changed something.
fn asked_so_far(book: &Book) -> (usize, usize, bool) {
    (book.writes.inputs.len(), book.writes.removed_inputs.len(), book.writes.customers_changed)
}

/// The audit record of a job. `removed_before` is how many records earlier jobs withdrew.
fn record_of(job: &Job, book: &Book, removed_before: usize, secrets: &Secrets) -> Option<NewAuditRecord> {
    let removed = book.writes.removed_inputs.get(removed_before..).unwrap_or_default();
    job.record.clone().map(|record| with_records(record, removed, secrets))
}

/// Finishes a slice: it is written, and the jobs wait for the next one.
fn part(book: &mut Book, group: &JobGroup, came: Vec<JobResult>, record: Option<NewAuditRecord>, now: Time) -> Done {
    match unit(book, Vec::new(), record.into_iter().collect(), now) {
        Ok(unit) => Done { came, unit, is_part: true },
        Err(problem) => Done::refused(&group.jobs, &problem),
    }
}

/// Handles a panic, which is a bug. Callers get an error; an account that a timer cannot process is marked as failed.
fn broken(group: &JobGroup, loaded: Option<LoadedAccount>, product: Option<Arc<ProductInfo>>, now: Time) -> Done {
    tracing::error!(account = %group.key.account, "processing an account panicked");
    let problem = Problem::internal("processing the account failed: this is a bug");
    let refused = Done::refused(&group.jobs, &problem);
    let only_settles = group.jobs.iter().all(|job| matches!(job.work, Work::Settle { .. }));
    let (Some(loaded), Some(product), true) = (loaded, product, only_settles) else { return refused };
    let Ok(mut book) = Book::read(loaded, product, group.whole) else { return refused };
    book.fail(problem.message, now);
    match unit(&mut book, Vec::new(), Vec::new(), now) {
        Ok(unit) => Done { came: vec![JobResult::To(Bytes::new()); group.jobs.len()], unit, is_part: false },
        Err(_) => refused,
    }
}

//! Answers callers with the results of their jobs, once everything is written.

use super::Shared;
use super::folding::Worked;
use super::job::Job;
use super::queue::JobGroup;
use super::work::{JobResult, answer_to_keep};
use crate::catalog::ProductInfo;
use crate::idempotency::reused;
use crate::items::ShownItem;
use crate::problem::Problem;
use crate::view::{self, render};
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::batch::{Batch, Unit};
use daybook_store::records::AccountKey;

/// Answers requests whose idempotency key was used before, and returns the other jobs. Groups without remaining jobs
/// are returned too.
pub async fn answer_repeats(shared: &Shared, groups: Vec<JobGroup>, now: Time) -> Vec<JobGroup> {
    if groups.iter().all(|group| group.jobs.iter().all(|job| job.idempotency_key.is_none())) {
        return groups;
    }
    let mut left = Vec::with_capacity(groups.len());
    for mut group in groups {
        let mut jobs = Vec::with_capacity(group.jobs.len());
        for job in group.jobs {
            let Some(idempotency_key) = &job.idempotency_key else {
                jobs.push(job);
                continue;
            };
            match shared.store.answer(job.key.org, &idempotency_key.key, now).await {
                Ok(None) => jobs.push(job),
                Ok(Some(answer)) if answer.content_hash == idempotency_key.content_hash => {
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
        left.push(group);
    }
    left
}

/// Refuses all jobs of an account.
pub fn refuse(group: JobGroup, problem: &Problem) {
    for job in group.jobs {
        let _ = job.reply.send(Err(problem.clone()));
    }
}

/// Whether a request was refused under a mode that its product is no longer in. A write states the mode it was computed
/// under, but a refusal writes nothing, so the current mode is read here.
pub async fn is_refused_by_old_mode(shared: &Shared, worked: &Worked) -> bool {
    let Some(product) = &worked.product else { return false };
    if !worked.came.iter().any(|came| matches!(came, JobResult::ToProblem(_) | JobResult::ToItemIf(..))) {
        return false;
    }
    let fresh = shared.catalog.fresh_product(&product.key).await;
    fresh.is_ok_and(|fresh| fresh.is_some_and(|fresh| fresh.mode.version != product.mode.version))
}

/// Answers the callers of an account.
pub async fn answer(shared: &Shared, worked: Worked, now: Time) {
    let Worked { group, came, product, .. } = worked;
    for (job, came) in group.jobs.into_iter().zip(came) {
        let written_with_it = matches!(came, JobResult::To(_));
        let answer = match came {
            JobResult::To(body) => Ok(body),
            JobResult::ToProblem(problem) => Err(problem),
            JobResult::ToMore(_) => Err(Problem::internal("a roll did not finish")),
            JobResult::ToItem(name) => stored_item(shared, &job.key, &name, product.as_deref(), None).await,
            JobResult::ToItemIf(name, status, problem) => {
                match stored_item(shared, &job.key, &name, product.as_deref(), Some(status)).await {
                    Ok(body) => Ok(body),
                    Err(other) if other.code == "not_found" => Err(problem),
                    Err(other) => Err(other),
                }
            }
        };
        if let (Ok(body), Some(_), false) = (&answer, &job.idempotency_key, written_with_it) {
            keep_answer(shared, &job, body, now).await;
        }
        let _ = job.reply.send(answer);
    }
}

/// Keeps the response to a request that changed nothing. Other responses are written together with their changes.
async fn keep_answer(shared: &Shared, job: &Job, body: &Bytes, now: Time) {
    let unit = Unit { answers: answer_to_keep(job, body, now).into_iter().collect(), ..Unit::default() };
    if let Err(error) = shared.store.commit(Batch { units: vec![unit] }).await {
        tracing::warn!(%error, "a response could not be stored for its Idempotency-Key");
    }
}

/// A line item from the store: processed, held or scheduled.
async fn stored_item(
    shared: &Shared,
    key: &AccountKey,
    name: &str,
    product: Option<&ProductInfo>,
    status: Option<&str>,
) -> Result<Bytes, Problem> {
    let missing = || Problem::not_found("line item", name);
    let product = product.ok_or_else(missing)?;
    let stored = ShownItem::read(shared.store.as_ref(), key, name).await?.ok_or_else(missing)?;
    if status.is_some_and(|status| stored.item.status.name() != status) {
        return Err(missing());
    }
    Ok(render(&view::LineItem::new(&stored.item, &stored.facts(key, &product.facts))))
}

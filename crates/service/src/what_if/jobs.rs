//! What-ifs in the background of a server: one at a time for each organization, a few for all.
//!
//! A what-if folds in the places that long reads share, and reads the database with its organization's share of the
//! readers. So it leaves a processor and readers for the calls of other organizations. Its last result is kept in
//! memory, on the node that ran it.

use super::compare::AccountResult;
use super::question::{Comparison, WhatIfQuestion};
use super::running::{Observer, Places};
use super::summary::WhatIfSummary;
use crate::Service;
use crate::access::{Caller, Right};
use crate::boxed;
use crate::lock::lock;
use crate::problem::Problem;
use daybook_engine::time::Time;
use daybook_store::records::OrgId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// How many what-ifs run at the same time; others wait.
const MOST_AT_ONCE: usize = 2;
/// How many organizations' what-ifs are kept. Beyond that, the ones that ended first are removed.
const MOST_KEPT: usize = 200;

/// The state of a what-if.
#[derive(Clone, Debug)]
pub enum JobState {
    /// It waits until another organization's ends.
    Waiting,
    /// It runs.
    Running {
        /// Accounts that are done.
        done: u64,
        /// All accounts of the product.
        accounts: u64,
    },
    /// It ended.
    Done(Arc<WhatIfSummary>),
    /// It failed.
    Failed(Problem),
    /// It was cancelled.
    Cancelled,
}

impl JobState {
    /// Whether it has not ended.
    pub fn is_in_progress(&self) -> bool {
        matches!(self, JobState::Waiting | JobState::Running { .. })
    }
}

/// A what-if of an organization.
#[derive(Clone, Debug)]
pub struct WhatIfJob {
    /// What was asked.
    pub question: Arc<WhatIfQuestion>,
    /// When it was started.
    pub started_at: Time,
    /// Its state.
    pub state: JobState,
}

/// The what-ifs of a server.
#[derive(Debug)]
pub(crate) struct WhatIfJobs {
    jobs: Mutex<HashMap<OrgId, Arc<Job>>>,
    turns: Arc<Semaphore>,
}

impl Default for WhatIfJobs {
    fn default() -> WhatIfJobs {
        WhatIfJobs { jobs: Mutex::default(), turns: Arc::new(Semaphore::new(MOST_AT_ONCE)) }
    }
}

#[derive(Debug)]
struct Job {
    question: Arc<WhatIfQuestion>,
    started_at: Time,
    is_cancelled: AtomicBool,
    has_begun: AtomicBool,
    done: AtomicU64,
    accounts: AtomicU64,
    /// The end, once it has ended.
    end: Mutex<Option<Result<Arc<WhatIfSummary>, Problem>>>,
}

impl Job {
    fn state(&self) -> JobState {
        match &*lock(&self.end) {
            Some(Ok(summary)) => JobState::Done(summary.clone()),
            Some(Err(_)) if self.is_cancelled.load(Ordering::Relaxed) => JobState::Cancelled,
            Some(Err(problem)) => JobState::Failed(problem.clone()),
            None if self.has_begun.load(Ordering::Relaxed) => JobState::Running {
                done: self.done.load(Ordering::Relaxed),
                accounts: self.accounts.load(Ordering::Relaxed),
            },
            None => JobState::Waiting,
        }
    }

    fn shown(&self) -> WhatIfJob {
        WhatIfJob { question: self.question.clone(), started_at: self.started_at, state: self.state() }
    }
}

/// Counts the accounts of a job, and ends it when it is cancelled.
struct Watching<'a> {
    job: &'a Job,
    service: &'a Service,
}

impl Watching<'_> {
    fn check(&self) -> Result<(), Problem> {
        if self.job.is_cancelled.load(Ordering::Relaxed) {
            return Err(Problem::internal("the what-if was cancelled"));
        }
        if *self.service.stop.borrow() {
            return Err(Problem::unavailable("the server is stopping"));
        }
        Ok(())
    }
}

impl Observer for Watching<'_> {
    fn begins(&mut self, accounts: u64) -> Result<(), Problem> {
        self.job.accounts.store(accounts, Ordering::Relaxed);
        self.job.has_begun.store(true, Ordering::Relaxed);
        self.check()
    }

    fn done(&mut self, results: &[AccountResult]) -> Result<(), Problem> {
        self.job.done.fetch_add(results.len() as u64, Ordering::Relaxed);
        self.check()
    }
}

impl Service {
    /// Starts a what-if in the background. An organization has one at a time.
    #[boxed]
    pub async fn start_what_if(&self, who: &Caller, asked: WhatIfQuestion) -> Result<WhatIfJob, Problem> {
        let comparison = self.comparison(who, &asked).await?;
        let job = Arc::new(Job {
            question: Arc::new(asked),
            started_at: self.clock.now(),
            is_cancelled: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            done: AtomicU64::new(0),
            accounts: AtomicU64::new(0),
            end: Mutex::new(None),
        });
        self.what_ifs.keep(who.org, job.clone())?;
        let (service, org, running) = (self.clone(), who.org, job.clone());
        tokio::spawn(async move {
            let ended = service.run_job(org, &running, comparison).await;
            *lock(&running.end) = Some(ended.map(Arc::new));
        });
        Ok(job.shown())
    }

    async fn run_job(&self, org: OrgId, job: &Job, comparison: Comparison) -> Result<WhatIfSummary, Problem> {
        let stopping = |_| Problem::unavailable("the server is stopping");
        let _turn = self.what_ifs.turns.clone().acquire_owned().await.map_err(stopping)?;
        let mut watching = Watching { job, service: self };
        watching.check()?;
        let running = self.run_what_if(Arc::new(comparison), Places::Shared, &mut watching);
        self.reading_for(org, running).await
    }

    /// The last what-if of the caller's organization on this node.
    pub fn last_what_if(&self, who: &Caller) -> Result<Option<WhatIfJob>, Problem> {
        who.may(Right::Read)?;
        Ok(lock(&self.what_ifs.jobs).get(&who.org).map(|job| job.shown()))
    }

    /// Cancels the what-if of the caller's organization. It ends after the accounts that are being folded.
    pub fn cancel_what_if(&self, who: &Caller) -> Result<(), Problem> {
        who.may(Right::Read)?;
        let job = lock(&self.what_ifs.jobs).get(&who.org).cloned();
        let job = job.filter(|job| job.state().is_in_progress());
        let job = job.ok_or_else(|| Problem::new("not_found", "no what-if is running"))?;
        job.is_cancelled.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl WhatIfJobs {
    /// Keeps a new job, unless the organization has one that has not ended.
    fn keep(&self, org: OrgId, job: Arc<Job>) -> Result<(), Problem> {
        let mut jobs = lock(&self.jobs);
        if jobs.get(&org).is_some_and(|last| last.state().is_in_progress()) {
            let message = "a what-if is already running: wait until it ends, or cancel it";
            return Err(Problem::new("conflict", message));
        }
        jobs.insert(org, job);
        while jobs.len() > MOST_KEPT {
            let ended = jobs.iter().filter(|(_, job)| !job.state().is_in_progress());
            let Some(first) = ended.min_by_key(|(_, job)| job.started_at).map(|(org, _)| *org) else { break };
            jobs.remove(&first);
        }
        Ok(())
    }
}

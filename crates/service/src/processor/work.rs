//! Applies jobs to a book: pure.
//!
//! The response to a job is a view of the book. The processor renders it at once; a rehearsal keeps a copy of it.

use super::job::{AccountOpening, Job, Show, Work};
use crate::account::book::{Applied, Book, Halt, RequestedInput, Rolled};
use crate::account::message_writer::{NOTICE, external_fields};
use crate::account::notices::notices;
use crate::account::slice::Slice;
use crate::form::fields::metro2_warning;
use crate::idempotency;
use crate::problem::Problem;
use crate::search_index::of_account;
use crate::view;
use crate::view::render;
use bytes::Bytes;
use daybook_engine::item::{ItemStatus, Name};
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::audit::NewAuditRecord;
use daybook_store::batch::{AccountClaim, AccountWrite, Cancel, NewKeptResponse, Unit};
use daybook_store::records::AccountRow;
use std::sync::Arc;

/// How much of a roll is done in one transaction.
const SLICE: Slice = Slice { steps: 500, bytes: 4 << 20 };

/// The response to a job, before it is rendered.
#[derive(Clone, Debug)]
pub enum JobResponse<'a> {
    /// The account.
    Account(Box<view::Account<'a>>),
    /// A line item.
    LineItem(Box<view::LineItem<'a>>),
    /// A change of the loan.
    Change(Box<view::LoanChange>),
    /// The configured notices.
    Notices(view::Results<view::NotificationSetting>),
    /// The result of a roll.
    Rolled(view::Rolled),
    /// No caller waits for a response.
    None,
}

impl JobResponse<'_> {
    /// Renders the response.
    pub fn render(self) -> Bytes {
        match self {
            JobResponse::Account(account) => render(&account),
            JobResponse::LineItem(item) => render(&item),
            JobResponse::Change(change) => render(&change),
            JobResponse::Notices(notices) => render(&notices),
            JobResponse::Rolled(rolled) => render(&rolled),
            JobResponse::None => Bytes::new(),
        }
    }

    /// The same response, with its own copy of everything it borrows.
    pub fn into_owned(self) -> JobResponse<'static> {
        match self {
            JobResponse::Account(account) => JobResponse::Account(Box::new(account.into_owned())),
            JobResponse::LineItem(item) => JobResponse::LineItem(Box::new(item.into_owned())),
            JobResponse::Change(change) => JobResponse::Change(change),
            JobResponse::Notices(notices) => JobResponse::Notices(notices),
            JobResponse::Rolled(rolled) => JobResponse::Rolled(rolled),
            JobResponse::None => JobResponse::None,
        }
    }
}

/// What to make of a response while the book is there that it borrows from.
pub type ShowAnswer<A> = fn(JobResponse<'_>) -> A;

/// The result of a job, before it is written.
#[derive(Clone, Debug)]
pub enum JobResult<A = Bytes> {
    /// The response, once everything is written.
    To(A),
    /// The response is a line item in the store.
    ToItem(Name),
    /// The response is a line item in the store if it has that status; otherwise the problem.
    ToItemIf(Name, &'static str, Problem),
    /// The job failed.
    ToProblem(Problem),
    /// A slice of a roll is done; more is left.
    ToMore(Rolled),
}

/// Checks whether a job may begin, and processes the account up to its clock, or one slice of that. Returns whether the
/// job may begin; if not, more slices are left. After `NeedsAll` the account must be loaded again.
pub fn begin(book: &mut Book, work: &Work, now: Time, slice: Option<Slice>) -> Result<bool, Halt> {
    // Another node's clock may be ahead of this one's.
    let now = book.time(now);
    match work {
        Work::Open(opening) => check_opening(book, opening)?,
        Work::Roll { to, .. } => check_roll(book, *to, now)?,
        Work::Withdraw(_) | Work::WithdrawChange(_) | Work::Settle { .. } if book.now.failure.is_some() => {
            return Ok(true);
        }
        _ => {}
    }
    match (book.settle_some(now, slice), work) {
        (Err(Halt::Problem(problem)), Work::Settle { .. }) => {
            // A timer or a release marks the account as failed. A caller gets the reason.
            book.fail(problem.message, now);
            Ok(true)
        }
        (settled, _) => settled.map_err(|halt| not_settled(book, halt)),
    }
}

/// The error for a caller whose account cannot be processed up to its clock.
pub fn not_settled(book: &Book, halt: Halt) -> Halt {
    let Halt::Problem(problem) = halt else { return halt };
    let message = format!("account \"{}\" has events that cannot be processed: {}", book.key.account, problem.message);
    Problem::new("account_failed", message).into()
}

/// Begins and applies a job on a book that is then discarded.
pub fn rehearse<A>(book: &mut Book, asked: &Work, now: Time, show: ShowAnswer<A>) -> Result<JobResult<A>, NeedsAll> {
    match begin(book, asked, now, None) {
        Ok(_) => work(book, asked, now, show),
        Err(Halt::Problem(problem)) => Ok(JobResult::ToProblem(problem)),
        Err(Halt::NeedsAll) => Err(NeedsAll),
    }
}

/// Applies a job that may begin. After `NeedsAll` the book's state is undefined, and the account must be loaded again.
pub fn work<A>(book: &mut Book, work: &Work, now: Time, show: ShowAnswer<A>) -> Result<JobResult<A>, NeedsAll> {
    let now = book.time(now);
    let came = match work {
        Work::Open(opening) => to_account(book, now, &opening.warnings, show),
        Work::Submit(asked, what) => submit(book, asked, *what, now, show),
        Work::Withdraw(name) => withdraw(book, name, now, show),
        Work::Change(asked) => {
            book.submit_change(asked, now).and_then(|_| Ok(JobResult::To(change(book, &asked.name, show)?)))
        }
        Work::WithdrawChange(name) => withdraw_change(book, name, now, show),
        Work::AddCustomers(customers) => {
            add_customers(book, customers, now).and_then(|()| to_account(book, now, &[], show))
        }
        Work::Roll { to, webhooks, done } => roll(book, *to, *webhooks, *done, now, show),
        Work::Settle { .. } => Ok(JobResult::To(show(JobResponse::None))),
    };
    match came {
        Ok(came) => Ok(came),
        Err(Halt::NeedsAll) => Err(NeedsAll),
        Err(Halt::Problem(problem)) => Ok(JobResult::ToProblem(problem)),
    }
}

/// The whole journal has to be loaded.
#[derive(Debug)]
pub struct NeedsAll;

fn check_opening(book: &Book, opening: &AccountOpening) -> Result<(), Problem> {
    if book.content_hash != opening.content_hash {
        return Err(Problem::id_taken("account_id", "account", &book.key.account));
    }
    if let (None, false, Some(problem)) = (book.loaded_version, book.product.mode.holding, &opening.too_far_back) {
        return Err(problem.clone());
    }
    Ok(())
}

fn check_roll(book: &Book, to: Time, now: Time) -> Result<(), Problem> {
    let mode = &book.product.mode;
    if mode.holding || mode.releasing {
        let what = if mode.holding { "is in migration mode" } else { "is releasing its held events" };
        let message = format!("product \"{}\" {what}; its accounts cannot be rolled now", book.product.key.product);
        return Err(Problem::new("migration_mode", message));
    }
    book.check_horizon("effective_at", to, now)
}

fn submit<A>(
    book: &mut Book,
    asked: &RequestedInput,
    what: Show,
    now: Time,
    show: ShowAnswer<A>,
) -> Result<JobResult<A>, Halt> {
    let applied = match (book.submit(asked, now), &asked.input) {
        // A decision that was made before is repeated if it was the same one.
        (Err(Halt::Problem(problem)), Input::PaymentStatus { payment, valid }) if problem.code == "status_is_final" => {
            let status = if *valid { ItemStatus::Valid } else { ItemStatus::Invalid };
            return Ok(JobResult::ToItemIf(payment.clone(), status.name(), problem));
        }
        (applied, _) => applied?,
    };
    // A decision about a payment makes no line item; it shows the payment, which may not be loaded.
    let (shown, is_in_store) = match &asked.input {
        Input::PaymentStatus { payment, .. } => (payment, !book.writes.items.contains_key(payment)),
        _ => (&asked.name, applied == Applied::Already),
    };
    match what {
        Show::Item if is_in_store => Ok(JobResult::ToItem(shown.clone())),
        Show::Item => Ok(JobResult::To(item(book, shown, show)?)),
        Show::Account => to_account(book, now, &[], show),
        Show::Notices => Ok(JobResult::To(show(JobResponse::Notices(notices(book))))),
        Show::Change => match &asked.input {
            Input::CancelChange { change: name, .. } => Ok(JobResult::To(change(book, name, show)?)),
            _ => Err(Problem::internal("a change was requested for an input that is about none").into()),
        },
    }
}

/// A change of the loan as the caller sees it.
fn change<A>(book: &Book, id: &str, show: ShowAnswer<A>) -> Result<A, Halt> {
    Ok(show(JobResponse::Change(Box::new(book.change(id)?))))
}

fn withdraw_change<A>(book: &mut Book, id: &str, now: Time, show: ShowAnswer<A>) -> Result<JobResult<A>, Halt> {
    let shown = change(book, id, show)?;
    book.withdraw_change(id, now)?;
    Ok(JobResult::To(shown))
}

fn withdraw<A>(book: &mut Book, name: &str, now: Time, show: ShowAnswer<A>) -> Result<JobResult<A>, Halt> {
    if book.named(name).is_some_and(|record| record.waiting_item().is_none()) {
        return Err(Problem::not_found("line item", name).into());
    }
    let shown = match book.named(name) {
        Some(_) => item(book, name, show)?,
        None => return Err(Problem::not_found("line item", name).into()),
    };
    book.withdraw(name, now)?;
    Ok(JobResult::To(shown))
}

/// Assigns customers to a settled account, or changes their roles.
pub fn add_customers(book: &mut Book, customers: &[view::AccountCustomer], now: Time) -> Result<(), Halt> {
    let mut profile = book.profile.clone();
    for customer in customers {
        match profile.customers.iter_mut().find(|known| known.customer_id == customer.customer_id) {
            Some(known) => *known = customer.clone(),
            None => profile.customers.push(customer.clone()),
        }
    }
    book.change_profile(profile, now)?;
    Ok(())
}

fn roll<A>(
    book: &mut Book,
    to: Time,
    webhooks: bool,
    mut done: Rolled,
    now: Time,
    show: ShowAnswer<A>,
) -> Result<JobResult<A>, Halt> {
    done.messages += if webhooks { book.waiting_messages } else { 0 };
    done.add(book.roll_some(to, webhooks, now, SLICE)?);
    if book.clock(now) < to {
        return Ok(JobResult::ToMore(done));
    }
    let Rolled { steps, refused, messages } = done;
    let answer = view::Rolled {
        account_id: book.key.account.to_string(),
        rolled_to: view::time::Local::new(book.clock(now), &book.terms.zone),
        successful_events: steps - refused.min(steps),
        failed_events: refused,
        total_attempted: steps,
        webhooks_sent: messages,
    };
    Ok(JobResult::To(show(JobResponse::Rolled(answer))))
}

fn to_account<A>(book: &Book, now: Time, warnings: &[String], show: ShowAnswer<A>) -> Result<JobResult<A>, Halt> {
    Ok(JobResult::To(show(JobResponse::Account(Box::new(account(book, now, warnings)?)))))
}

/// The account as the caller sees it.
pub fn account<'a>(book: &'a Book, now: Time, warnings: &[String]) -> Result<view::Account<'a>, Halt> {
    let at = book.reading_at(now);
    let reading = book.reading(&book.state, at)?;
    let mut shown = book.about().account(&book.state, &reading, at, book.now.updated_at);
    shown.processed_through = book.now.processed_through.map(|time| view::time::Local::new(time, &book.terms.zone));
    shown.held_events = book.now.held_events as u64;
    shown.warnings = match warnings {
        [] => metro2_warning(shown.metro2_config.is_some()).into_iter().collect(),
        given => given.to_vec(),
    };
    Ok(shown)
}

/// A line item as the caller sees it.
fn item<A>(book: &Book, name: &str, show: ShowAnswer<A>) -> Result<A, Halt> {
    let about = book.about();
    let show = |item: view::LineItem<'_>| show(JobResponse::LineItem(Box::new(item)));
    let record = book.named(name);
    if let Some(written) = book.writes.items.get(name) {
        let times = (written.created_at, written.updated_at);
        let extra = external_fields(written.extra.as_deref());
        return Ok(show(about.item(&written.item, times, view::ProcessingState::Processed, &extra)));
    }
    let Some(record) = record else { return Err(Problem::not_found("line item", name).into()) };
    let state = if book.is_held(record) {
        view::ProcessingState::Held
    } else if book.now.processed_through.is_none_or(|through| record.place.at > through) {
        view::ProcessingState::Scheduled
    } else {
        // It changed another item and made none: a reversal of a payment that was still scheduled.
        view::ProcessingState::Processed
    };
    match record.waiting_item() {
        Some(item) => {
            let extra = external_fields(record.row.extra.as_deref());
            Ok(show(about.item(&item, (record.row.recorded_at, record.row.recorded_at), state, &extra)))
        }
        None => Err(Problem::internal("a line item was requested for an input that creates none").into()),
    }
}

/// The rows to write for a book after its jobs; `None` if nothing changed.
pub fn unit(
    book: &mut Book,
    answers: Vec<NewKeptResponse>,
    audit: Vec<NewAuditRecord>,
    now: Time,
) -> Result<Option<Unit>, Problem> {
    let now = book.time(now);
    let processed_before = book.now.next_moment.is_some_and(|next| next <= now);
    let untouched = book.writes.is_empty()
        && !book.writes.failed
        && book.writes.publish_until.is_none()
        && book.loaded_version.is_some();
    if untouched && answers.is_empty() && audit.is_empty() && !processed_before {
        return Ok(None);
    }
    book.close(now)?;
    let mut writes = std::mem::take(&mut book.writes);
    let (items, item_changes) = writes.take_items();
    let customers = writes.customers_changed.then(|| {
        let of = |customer: &view::AccountCustomer| {
            (Arc::from(customer.customer_id.as_str()), customer.customer_account_role.name().to_owned())
        };
        book.profile.customers.iter().map(of).collect()
    });
    let claim = match book.loaded_version {
        Some(version) => AccountClaim::Update { key: book.key.clone(), version, now: Box::new(book.now.clone()) },
        None => AccountClaim::Insert(Box::new(AccountRow {
            key: book.key.clone(),
            product: book.product.key.product.clone(),
            version: 1,
            terms: book.terms_bytes()?,
            content_hash: book.content_hash.clone(),
            effective_at: book.terms.opening.effective_at,
            created_at: book.created_at,
            now: book.now.clone(),
        })),
    };
    let org = book.key.org;
    let words = match book.loaded_version {
        // The search words of an account never change.
        Some(_) => None,
        None => of_account(org, &book.key.account, &book.profile),
    };
    Ok(Some(Unit {
        modes: vec![(book.product.key.clone(), book.product.mode.version)],
        answers,
        accounts: vec![AccountWrite {
            claim,
            inputs: book.take_rows(&writes.inputs),
            removed_inputs: writes.removed_inputs,
            items,
            item_changes,
            customers,
            publish_until: writes.publish_until,
            cancel: writes.cancel_notices_at.map(|at| Cancel { cause_prefix: NOTICE, at }),
            refold: None,
        }],
        messages: writes.messages.into_iter().map(|message| (org, message)).collect(),
        words: words.into_iter().collect(),
        audit,
        // Only a roll with webhooks publishes waiting messages; it sends them at once.
        hurry: writes.publish_until.is_some(),
        ..Unit::default()
    }))
}

/// The response to keep, if the job has an idempotency key.
pub fn answer_to_keep(job: &Job, body: &Bytes, now: Time) -> Option<NewKeptResponse> {
    Some(idempotency::to_keep(job.key.org, job.idempotency_key.as_ref()?, body, now))
}

//! Previews: what a request would do, computed on a book in memory that is then discarded.
//!
//! The request runs with the same checks as a real one. The account is then compared with the account without the
//! request: its figures, its schedule, its line items and its messages. In migration mode, both are released in memory
//! first, so that the preview shows what the request will have done after the release.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::{Book, Halt};
use crate::accounts::{account_key, problem};
use crate::boxed;
use crate::catalog::ProductInfo;
use crate::changes::ChangeRequest;
use crate::form;
use crate::problem::Problem;
use crate::processor::job::Work;
use crate::processor::work::{self, JobResult};
use crate::view;
use bytes::Bytes;
use daybook_engine::installment::schedule::ScheduleRow;
use daybook_engine::item::LineItem;
use daybook_engine::replay::Ledger;
use daybook_engine::time::Time;
use daybook_store::Inputs;
use daybook_store::records::{MessageRow, Mode};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The answer to a request in a preview: bytes, or a line item that is stored already, with the status that it must
/// have.
type Answered = JobResult<Bytes>;

impl Service {
    /// What a change of an account would do.
    #[boxed]
    pub async fn preview(&self, who: &Caller, account: &str, change: ChangeRequest) -> Result<view::Preview, Problem> {
        change.check_right(who)?;
        let now = self.now();
        let book = self.load_book(&account_key(who, account), Inputs::All).await?;
        let asked = change.work()?;
        let previewed = self.readers.run(who.org, move || preview(book, &asked, now)).await?;
        let (answered, effects) = previewed;
        let answer = match answered {
            JobResult::To(body) => body,
            JobResult::ToItem(item) => view::render(&self.get_line_item(who, account, &item, None).await?),
            JobResult::ToItemIf(item, status, problem) => {
                let item = self.get_line_item(who, account, &item, None).await?;
                if item.line_item_overview.line_item_status != status {
                    return Err(problem);
                }
                view::render(&item)
            }
            JobResult::ToProblem(problem) => return Err(problem),
            JobResult::ToMore(_) => return Err(Problem::internal("a roll has no preview")),
        };
        previewed_as(&answer, effects)
    }

    /// What creating an account would do.
    #[boxed]
    pub async fn preview_opening(&self, who: &Caller, form: form::NewAccount) -> Result<view::Preview, Problem> {
        who.may(Right::Write)?;
        let (key, opening) = self.opening(who, &form).await?;
        let now = self.now();
        if form.account_id.is_some() && self.exists(&key).await? {
            let book = self.load_book(&key, Inputs::All).await?;
            let asked = Work::Open(Box::new(opening));
            return match self.readers.run(who.org, move || preview(book, &asked, now)).await? {
                (JobResult::To(body), effects) => previewed_as(&body, effects),
                (JobResult::ToProblem(problem), _) => Err(problem),
                _ => Err(Problem::internal("opening an account returned no account")),
            };
        }
        let product = self.catalog.fresh_product(&opening.product).await?;
        let product = product.ok_or_else(|| Problem::invalid("product_id", "there is no product with this id"))?;
        let (terms, profile, hash) = (opening.terms.clone(), opening.profile.clone(), opening.content_hash.clone());
        let mut book = Book::open(key, product, terms, profile, hash, now)?;
        let worked = self.readers.run(who.org, move || {
            let asked = Work::Open(Box::new(opening));
            let answered = rehearsed(&mut book, &asked, now)?;
            let after = Standing::of(released(book, now)?, now)?;
            Ok::<_, Problem>((answered, effects(None, &after, now)?))
        });
        match worked.await? {
            (JobResult::To(body), effects) => previewed_as(&body, effects),
            (JobResult::ToProblem(problem), _) => Err(problem),
            _ => Err(Problem::internal("opening an account returned no account")),
        }
    }
}

fn previewed_as(answer: &Bytes, effects: view::Effects) -> Result<view::Preview, Problem> {
    let unreadable = |error: String| Problem::internal(format!("a response cannot be read: {error}"));
    let text = String::from_utf8(answer.to_vec()).map_err(|error| unreadable(error.to_string()))?;
    let answer = RawValue::from_string(text).map_err(|error| unreadable(error.to_string()))?;
    Ok(view::Preview { preview: true, answer, effects })
}

/// Runs a request on a book. A request that is refused refuses its preview in the same way.
fn preview(mut book: Book, asked: &Work, now: Time) -> Result<(Answered, view::Effects), Problem> {
    let begun = work::begin(&mut book, asked, now, None).map_err(problem)?;
    debug_assert!(begun, "without a slice, an account is settled at once");
    let before = book.clone();
    let answered = match work::work(&mut book, asked, now, |answer| answer.render()) {
        Ok(JobResult::ToProblem(problem)) => return Err(problem),
        Ok(answered) => answered,
        Err(work::NeedsAll) => return Err(needs_all()),
    };
    let before = Standing::of(released(before, now).or_else(|(book, _)| Ok::<Book, Problem>(*book))?, now)?;
    let after = released(book, now).map_err(|(_, problem)| problem)?;
    let after = Standing::of(after, now)?;
    Ok((answered, effects(Some(&before), &after, now)?))
}

fn rehearsed(book: &mut Book, asked: &Work, now: Time) -> Result<Answered, Problem> {
    match work::rehearse(book, asked, now, |answer| answer.render()) {
        Ok(JobResult::ToProblem(problem)) => Err(problem),
        Ok(answered) => Ok(answered),
        Err(work::NeedsAll) => Err(needs_all()),
    }
}

fn needs_all() -> Problem {
    Problem::internal("the whole journal was loaded, but the fold requested it again")
}

/// The account after a release of its held events, if it holds any. If the release fails: the account as it was, and
/// why.
fn released(book: Book, now: Time) -> Result<Book, (Box<Book>, Problem)> {
    if book.now.held_events == 0 {
        return Ok(book);
    }
    let mut released = book.clone();
    let mode = Mode { holding: false, ..released.product.mode };
    released.product = Arc::new(ProductInfo { mode, ..ProductInfo::clone(&released.product) });
    match released.settle(released.time(now)) {
        Ok(_) => Ok(released),
        Err(halt) => match work::not_settled(&released, halt) {
            Halt::Problem(problem) => Err((Box::new(book), problem)),
            Halt::NeedsAll => Err((Box::new(book), needs_all())),
        },
    }
}

impl From<(Box<Book>, Problem)> for Problem {
    fn from((_, problem): (Box<Book>, Problem)) -> Problem {
        problem
    }
}

/// An account at its clock: what a preview compares.
struct Standing {
    book: Book,
    rows: Vec<ScheduleRow>,
    ledger: Ledger,
}

impl Standing {
    fn of(book: Book, now: Time) -> Result<Standing, Problem> {
        let at = book.now.processed_through.filter(|_| book.state.is_open());
        let (rows, ledger) = match at {
            Some(at) => {
                let then = book.as_settled(at).map_err(problem)?;
                (book.schedule_of(&then.state, at).map_err(problem)?, then.ledger)
            }
            None => (book.agreed_schedule().map_err(problem)?, Ledger::default()),
        };
        debug_assert!(at.is_none_or(|at| at <= book.clock(now)), "an account is not processed beyond its clock");
        Ok(Standing { book, rows, ledger })
    }

    fn figures(&self, now: Time) -> Result<view::AccountFigures, Problem> {
        Ok(view::AccountFigures::of(&work::account(&self.book, now, &[]).map_err(problem)?))
    }
}

/// What differs between two standings of an account.
fn effects(before: Option<&Standing>, after: &Standing, now: Time) -> Result<view::Effects, Problem> {
    let zone = &after.book.terms.zone;
    let rows_before = before.map_or(&[] as &[ScheduleRow], |before| &before.rows);
    let about = after.book.about();
    let is_known = |item: &LineItem| {
        let known = before.and_then(|before| before.ledger.get(&item.id));
        known.is_some_and(|known| is_alike(known, item))
    };
    let items = after.ledger.items().filter(|item| !is_known(item)).map(|item| {
        let recorded_at = about.recorded_at(&item.id, now);
        let fields = about.extra(&item.id);
        about.item(item, (recorded_at, now), view::ProcessingState::Processed, &fields).into_owned()
    });
    let gone = before.into_iter().flat_map(|before| before.ledger.items());
    let gone = gone.filter(|item| after.ledger.get(&item.id).is_none()).map(|item| {
        let item = invalid(item);
        about.item(&item, (now, now), view::ProcessingState::Processed, &[]).into_owned()
    });
    Ok(view::Effects {
        before: before.map(|before| before.figures(now)).transpose()?,
        after: after.figures(now)?,
        rows: view::RowEffect::between(rows_before, &after.rows),
        line_items: items.chain(gone).collect(),
        messages: new_messages(before, after)
            .into_iter()
            .map(|message| view::MessageEffect {
                event: message.event.clone(),
                effective_at: view::time::Local::new(message.effective_at, zone),
                is_sent_at_once: message.due_at.is_none(),
            })
            .collect(),
    })
}

/// Whether two states of a line item differ in nothing but the unpaid balance and the reversal.
fn is_alike(before: &LineItem, after: &LineItem) -> bool {
    let (balance, reversed_by) = (after.balance, after.reversed_by.clone());
    LineItem { balance, reversed_by, ..before.clone() } == *after
}

fn invalid(item: &LineItem) -> LineItem {
    let mut item = item.clone();
    item.invalidate();
    item
}

/// The messages that only the second standing wrote.
fn new_messages<'a>(before: Option<&Standing>, after: &'a Standing) -> Vec<&'a MessageRow> {
    let key = |message: &MessageRow| (message.event.clone(), message.subject.clone(), message.effective_at);
    let mut known: BTreeMap<(String, String, Time), usize> = BTreeMap::new();
    for message in before.into_iter().flat_map(|before| &before.book.writes.messages) {
        *known.entry(key(message)).or_default() += 1;
    }
    let is_new = |message: &&MessageRow| match known.get_mut(&key(message)) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    after.book.writes.messages.iter().filter(is_new).collect()
}

//! Rehearsals: the result of a request, computed on a book in memory that is then discarded. Nothing is written or
//! announced, and no id is used up.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::Book;
use crate::accounts::{account_key, problem};
use crate::boxed;
use crate::changes::ChangeRequest;
use crate::form;
use crate::problem::Problem;
use crate::processor::job::Work;
use crate::processor::work::{self, JobResponse, JobResult};
use crate::view;
use daybook_engine::item::ItemKind;
use daybook_store::records::AccountKey;
use daybook_store::{AccountToLoad, Inputs};
use std::collections::BTreeMap;

/// The result a change would have.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// The response the request would get.
    pub answer: JobResponse<'static>,
    /// The account after it.
    pub account: view::Account<'static>,
}

/// The result that creating an account would have.
#[derive(Clone, Debug)]
pub struct OpeningRehearsal {
    /// The account after it.
    pub account: view::Account<'static>,
    /// Whether an account with that id and the same content already exists; then nothing happens.
    pub is_there: bool,
    /// Whether it begins in the past.
    pub is_backdated: bool,
    /// How many late fees are charged at once.
    pub late_fees: u64,
    /// Their total.
    pub late_fee_cents: i64,
    /// How many webhooks are sent at once, by event.
    pub webhooks: BTreeMap<String, u64>,
}

impl Service {
    /// Computes the result of a change on a book that is then discarded. Nothing is written or announced.
    #[boxed]
    pub async fn rehearse(&self, who: &Caller, account: &str, change: ChangeRequest) -> Result<Rehearsal, Problem> {
        change.check_right(who)?;
        let now = self.clock.now();
        let mut book = self.load_book(&account_key(who, account), Inputs::All).await?;
        let mut asked = change.work()?;
        let worked = self.readers.run(who.org, move || {
            loop {
                let came = work::rehearse(&mut book, &asked, now, |answer| answer.into_owned())
                    .map_err(|_| Problem::internal("the whole journal was loaded, but the fold requested it again"))?;
                let (JobResult::ToMore(more), Work::Roll { done, .. }) = (&came, &mut asked) else {
                    return Ok::<(Book, JobResult<_>), Problem>((book, came));
                };
                *done = *more;
                book.writes.messages.clear();
            }
        });
        let (book, came) = worked.await?;
        let answer = match came {
            JobResult::To(answer) => answer,
            JobResult::ToItem(item) => {
                JobResponse::LineItem(Box::new(self.get_line_item(who, account, &item, None).await?))
            }
            JobResult::ToItemIf(_, _, problem) | JobResult::ToProblem(problem) => return Err(problem),
            JobResult::ToMore(_) => return Err(Problem::internal("a roll did not finish")),
        };
        let account = work::account(&book, now, &[]).map_err(problem)?.into_owned();
        Ok(Rehearsal { answer, account })
    }
}

impl Service {
    /// Computes the result of creating an account on a book that is then discarded. Nothing is written or announced,
    /// and no id is used up.
    #[boxed]
    pub async fn rehearse_opening(&self, who: &Caller, form: form::NewAccount) -> Result<OpeningRehearsal, Problem> {
        who.may(Right::Write)?;
        let (key, opening) = self.opening(who, &form).await?;
        let now = self.clock.now();
        let is_backdated = opening.terms.begins_at() < now;
        if form.account_id.is_some() && self.exists(&key).await? {
            let book = self.load_book(&key, Inputs::All).await?;
            if book.content_hash != opening.content_hash {
                return Err(Problem::id_taken("account_id", "account", &key.account));
            }
            let account = work::account(&book, now, &[]).map_err(problem)?.into_owned();
            let (late_fees, late_fee_cents, webhooks) = Default::default();
            return Ok(OpeningRehearsal { account, is_there: true, is_backdated, late_fees, late_fee_cents, webhooks });
        }
        let product = self.catalog.fresh_product(&opening.product).await?;
        let product = product.ok_or_else(|| Problem::invalid("product_id", "there is no product with this id"))?;
        let (terms, profile) = (opening.terms.clone(), opening.profile.clone());
        let mut book = Book::open(key, product, terms, profile, opening.content_hash.clone(), now)?;
        let worked = self.readers.run(who.org, move || {
            let came = work::rehearse(&mut book, &Work::Open(Box::new(opening)), now, |answer| answer.into_owned())
                .map_err(|_| Problem::internal("a new account requested earlier inputs"))?;
            Ok::<(Book, JobResult<_>), Problem>((book, came))
        });
        let (book, came): (Book, JobResult<_>) = worked.await?;
        let account = match came {
            JobResult::To(JobResponse::Account(account)) => *account,
            JobResult::ToProblem(problem) | JobResult::ToItemIf(_, _, problem) => return Err(problem),
            JobResult::To(_) | JobResult::ToItem(_) | JobResult::ToMore(_) => {
                return Err(Problem::internal("opening an account returned no account"));
            }
        };
        let items = book.writes.items.values().map(|written| &written.item);
        let late_fees: Vec<i64> =
            items.filter(|item| item.kind == ItemKind::LateFee).map(|item| item.amount.0).collect();
        let mut webhooks = BTreeMap::new();
        for message in book.writes.messages.iter().filter(|message| message.due_at.is_none()) {
            *webhooks.entry(message.event.clone()).or_default() += 1;
        }
        Ok(OpeningRehearsal {
            account,
            is_there: false,
            is_backdated,
            late_fees: late_fees.len() as u64,
            late_fee_cents: late_fees.iter().sum(),
            webhooks,
        })
    }

    pub(crate) async fn exists(&self, key: &AccountKey) -> Result<bool, Problem> {
        let want = AccountToLoad { key: key.clone(), inputs: Inputs::Pending, names: Vec::new() };
        Ok(self.store.load(&[want]).await?.into_iter().next().flatten().is_some())
    }
}

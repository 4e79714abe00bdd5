//! Changes to an account, as data: to apply or to rehearse.
//!
//! A [`ChangeRequest`] holds the form of a request and the object it is about. To apply it, the processor runs it. To
//! rehearse it, the same code runs on a book in memory that is then discarded, so that people see what a payment would
//! pay before they record it.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::{Book, RequestedInput, Rolled};
use crate::accounts::{account_key, content_hash, problem};
use crate::audit::Act;
use crate::boxed;
use crate::form;
use crate::form::fields::{ExternalField, Id, Moment};
use crate::ids::mint_id;
use crate::problem::Problem;
use crate::processor::job::{IdempotencyKey, Show, Work};
use crate::processor::work::{self, JobResult};
use crate::view;
use crate::withdrawals::WITHDRAWAL;
use bytes::Bytes;
use daybook_engine::item::{ItemId, ItemKind, Name};
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::records::AccountKey;
use daybook_store::{AccountToLoad, Inputs};
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::processor::work::JobResponse;

/// A change to an account.
#[derive(Clone, Debug)]
pub enum ChangeRequest {
    /// A payment is recorded.
    Payment(form::PaymentRecord),
    /// The status of a pending or authorized payment is decided.
    PaymentStatus(String, form::ChangeLineItem),
    /// A payment bounced.
    Reversal(String, form::PaymentReversal),
    /// A fee is charged.
    Fee(form::ManualFee),
    /// The unpaid part of a fee is waived.
    Waiver(String, form::FeeWaiver),
    /// The balance is raised.
    Credit(form::Offset),
    /// The balance is lowered.
    Debit(form::Offset),
    /// A held input is withdrawn.
    Withdrawal(String),
    /// The status is set.
    Status(form::SetStatus),
    /// A notice is configured.
    Notice(form::NotificationConfig),
    /// The clock is rolled.
    Roll(form::Roll),
}

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

impl ChangeRequest {
    /// Refuses callers that may not make it.
    fn check_right(&self, who: &Caller) -> Result<(), Problem> {
        if matches!(self, ChangeRequest::Roll(_)) { crate::rolling::may_roll(who) } else { who.may(Right::Write) }
    }

    /// The audit entry for it.
    fn act<'a>(&self, account: &'a str) -> Act<'a> {
        let (action, line_item) = match self {
            ChangeRequest::Payment(_) => ("record_payment", None),
            ChangeRequest::PaymentStatus(item, _) => ("change_line_item", Some(item)),
            ChangeRequest::Reversal(item, _) => ("reverse_payment", Some(item)),
            ChangeRequest::Fee(_) => ("charge_manual_fee", None),
            ChangeRequest::Waiver(item, _) => ("waive_fee", Some(item)),
            ChangeRequest::Credit(_) => ("credit_offset", None),
            ChangeRequest::Debit(_) => ("debit_offset", None),
            ChangeRequest::Withdrawal(item) => (WITHDRAWAL, Some(item)),
            ChangeRequest::Status(_) => ("set_account_status", None),
            ChangeRequest::Notice(_) => ("set_notification_config", None),
            ChangeRequest::Roll(_) => ("roll_account", None),
        };
        let act = Act::on(action, "account", account);
        let act = match self {
            ChangeRequest::Payment(form) => act.asked(form),
            ChangeRequest::PaymentStatus(_, form) => act.asked(form),
            ChangeRequest::Reversal(_, form) => act.asked(form),
            ChangeRequest::Fee(form) => act.asked(form),
            ChangeRequest::Waiver(_, form) => act.asked(form),
            ChangeRequest::Credit(form) | ChangeRequest::Debit(form) => act.asked(form),
            ChangeRequest::Withdrawal(_) => act,
            ChangeRequest::Status(form) => act.asked(form),
            ChangeRequest::Notice(form) => act.asked(form),
            ChangeRequest::Roll(form) => act.asked(form),
        };
        match line_item {
            Some(item) => act.with("of_line_item", item.as_str()),
            None => act,
        }
    }

    /// The work for the processor.
    pub(crate) fn work(self) -> Result<Work, Problem> {
        let asked = match &self {
            ChangeRequest::Payment(form) => {
                let name = Name::from(form.line_item_id.as_str());
                asked(name, form.effective_at.as_ref(), form.input(), form.external_fields.as_deref(), form)?
            }
            ChangeRequest::PaymentStatus(item, form) => {
                let input = Input::PaymentStatus { payment: Name::from(item.as_str()), valid: form.makes_valid() };
                asked(Arc::from(mint_id("change")), form.effective_at.as_ref(), input, None, form)?
            }
            ChangeRequest::Reversal(item, form) => {
                let name = chosen(form.line_item_id.as_ref(), || format!("dbk_reversal:{item}"));
                let input = Input::Reversal { payment: Name::from(item.as_str()) };
                let hashed = (item.as_str(), form);
                asked(name, form.effective_at.as_ref(), input, form.external_fields.as_deref(), &hashed)?
            }
            ChangeRequest::Fee(form) => {
                let name = chosen(form.line_item_id.as_ref(), || mint_id("fee"));
                asked(name, form.effective_at.as_ref(), form.input(), form.external_fields.as_deref(), form)?
            }
            ChangeRequest::Waiver(item, form) => {
                let name = chosen(form.line_item_id.as_ref(), || format!("dbk_waiver:{item}"));
                let input = Input::Waiver { fee: ItemId::parse(item) };
                let hashed = (item.as_str(), form);
                asked(name, form.effective_at.as_ref(), input, form.external_fields.as_deref(), &hashed)?
            }
            ChangeRequest::Credit(form) => {
                let name = chosen(form.line_item_id.as_ref(), || mint_id("credit"));
                let hashed = ("credit", form);
                asked(name, form.effective_at.as_ref(), form.credit(), form.external_fields.as_deref(), &hashed)?
            }
            ChangeRequest::Debit(form) => {
                let name = chosen(form.line_item_id.as_ref(), || mint_id("debit"));
                let hashed = ("debit", form);
                asked(name, form.effective_at.as_ref(), form.debit(), form.external_fields.as_deref(), &hashed)?
            }
            ChangeRequest::Withdrawal(item) => return Ok(Work::Withdraw(Name::from(item.as_str()))),
            ChangeRequest::Status(form) => {
                let input = Input::Status(form.status()?);
                let asked = asked(Arc::from(mint_id("status")), form.effective_at.as_ref(), input, None, form)?;
                return Ok(Work::Submit(Box::new(asked), Show::Account));
            }
            ChangeRequest::Notice(form) => {
                let input = Input::Notify(form.setting()?);
                let asked = asked(Arc::from(mint_id("notice")), form.effective_at.as_ref(), input, None, form)?;
                return Ok(Work::Submit(Box::new(asked), Show::Notices));
            }
            ChangeRequest::Roll(form) => {
                let order = form.clone().order()?;
                return Ok(Work::Roll { to: order.until, webhooks: order.roll_webhooks, done: Rolled::default() });
            }
        };
        Ok(Work::Submit(Box::new(asked), Show::Item))
    }
}

impl Service {
    /// The current time of the service's clock.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Applies a change to an account.
    #[boxed]
    pub async fn change_account(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        account: &str,
        change: ChangeRequest,
    ) -> Result<Bytes, Problem> {
        change.check_right(who)?;
        let withdrawn = match &change {
            ChangeRequest::Withdrawal(item) => Some(item.clone()),
            _ => None,
        };
        let act = (!who.is_recorded).then(|| change.act(account));
        let work = change.work()?;
        let act = act.map(|act| match &work {
            // If the caller chose no id, the item has a generated one by now.
            Work::Submit(asked, Show::Item) if !matches!(asked.input, Input::PaymentStatus { .. }) => {
                act.with("line_item_id", &*asked.name)
            }
            _ => act,
        });
        let record = act.and_then(|act| self.recorded(who, act));
        let key = account_key(who, account);
        let answer = self.processor.ask(key.clone(), work, idempotency_key, who.only_held, record).await;
        match (answer, withdrawn) {
            (Err(missing), Some(item)) if missing.code == "not_found" => {
                Err(self.explain_withdrawal(&key, &item, missing).await?)
            }
            (answer, _) => answer,
        }
    }

    /// Why an item could not be withdrawn that is not among the inputs. The engine makes line items of its own; they
    /// have no input, and are never held.
    async fn explain_withdrawal(&self, key: &AccountKey, item: &str, missing: Problem) -> Result<Problem, Problem> {
        if self.store.items_by_id(key, &[Arc::from(item)]).await?.is_empty() {
            return Ok(missing);
        }
        let message = "is not held; only line items that are held in migration mode can be withdrawn";
        Ok(Problem::new("not_held", format!("line item \"{item}\" {message}")))
    }

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
        let is_backdated = opening.terms.opening.effective_at < now;
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

    async fn exists(&self, key: &AccountKey) -> Result<bool, Problem> {
        let want = AccountToLoad { key: key.clone(), inputs: Inputs::Pending, names: Vec::new() };
        Ok(self.store.load(&[want]).await?.into_iter().next().flatten().is_some())
    }
}

fn chosen(id: Option<&Id>, made: impl FnOnce() -> String) -> Name {
    match id {
        Some(id) => Name::from(id.as_str()),
        None => Name::from(made()),
    }
}

fn asked<T: serde::Serialize>(
    name: Name,
    effective_at: Option<&Moment>,
    input: Input,
    fields: Option<&[ExternalField]>,
    form: &T,
) -> Result<RequestedInput, Problem> {
    let extra = match fields {
        Some(fields) if !fields.is_empty() => Some(Arc::from(
            serde_json::to_string(fields)
                .map_err(|error| Problem::internal(format!("fields cannot be serialized: {error}")))?,
        )),
        _ => None,
    };
    let effective_at = effective_at.map(|moment| *moment.get());
    Ok(RequestedInput { name, effective_at, input, extra, content_hash: content_hash(form)? })
}

//! Changes to an account, as data: to apply or to rehearse.
//!
//! A [`ChangeRequest`] holds the form of a request and the object it is about. To apply it, the processor runs it. To
//! rehearse it, the same code runs on a book in memory that is then discarded, so that people see what a payment would
//! pay before they record it.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::{RequestedInput, Rolled};
use crate::account::changes::{RequestedChange, cancel_name};
use crate::accounts::{account_key, content_hash};
use crate::audit::Act;
use crate::boxed;
use crate::form;
use crate::form::fields::{ExternalField, Id, Moment};
use crate::ids::mint_id;
use crate::problem::Problem;
use crate::processor::job::{IdempotencyKey, Show, Work};
use crate::withdrawals::{CHANGE_WITHDRAWAL, WITHDRAWAL};
use bytes::Bytes;
use daybook_engine::item::{ItemId, Name};
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_store::records::AccountKey;
use std::sync::Arc;

pub use crate::change_requests::change_request;
pub use crate::processor::work::JobResponse;
pub use crate::rehearsing::{OpeningRehearsal, Rehearsal};

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
    /// Surplus is paid out to the borrower.
    Refund(form::NewRefund),
    /// A refund came back.
    RefundReversal(String, form::RefundReversal),
    /// A held input is withdrawn.
    Withdrawal(String),
    /// The loan is changed.
    Loan(Box<form::LoanChange>),
    /// A change of the loan is cancelled.
    CancelChange(String, form::ChangeCancel),
    /// A held or scheduled change of the loan is withdrawn.
    WithdrawChange(String),
    /// The status is set.
    Status(form::SetStatus),
    /// A notice is configured.
    Notice(form::NotificationConfig),
    /// The clock is rolled.
    Roll(form::Roll),
}

impl ChangeRequest {
    /// Refuses callers that may not make it.
    pub(crate) fn check_right(&self, who: &Caller) -> Result<(), Problem> {
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
            ChangeRequest::Refund(_) => ("refund_surplus", None),
            ChangeRequest::RefundReversal(item, _) => ("reverse_refund", Some(item)),
            ChangeRequest::Withdrawal(item) => (WITHDRAWAL, Some(item)),
            ChangeRequest::Loan(form) => (form.action(), None),
            ChangeRequest::CancelChange(..) => ("cancel_change", None),
            ChangeRequest::WithdrawChange(_) => (CHANGE_WITHDRAWAL, None),
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
            ChangeRequest::Refund(form) => act.asked(form),
            ChangeRequest::RefundReversal(_, form) => act.asked(form),
            ChangeRequest::Withdrawal(_) => act,
            ChangeRequest::Loan(form) => form.in_audit(act),
            ChangeRequest::CancelChange(change, form) => act.asked(form).with("change_id", change.as_str()),
            ChangeRequest::WithdrawChange(change) => act.with("change_id", change.as_str()),
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
        match &self {
            ChangeRequest::Withdrawal(item) => Ok(Work::Withdraw(Name::from(item.as_str()))),
            ChangeRequest::WithdrawChange(change) => Ok(Work::WithdrawChange(Name::from(change.as_str()))),
            ChangeRequest::Status(form) => {
                let input = Input::Status(form.status()?);
                let asked = asked(Arc::from(mint_id("status")), form.effective_at.as_ref(), input, None, form)?;
                Ok(Work::Submit(Box::new(asked), Show::Account))
            }
            ChangeRequest::Notice(form) => {
                let input = Input::Notify(form.setting()?);
                let asked = asked(Arc::from(mint_id("notice")), form.effective_at.as_ref(), input, None, form)?;
                Ok(Work::Submit(Box::new(asked), Show::Notices))
            }
            ChangeRequest::Roll(form) => {
                let order = form.clone().order()?;
                Ok(Work::Roll { to: order.until, webhooks: order.roll_webhooks, done: Rolled::default() })
            }
            ChangeRequest::Loan(form) => Ok(Work::Change(Box::new(RequestedChange {
                name: chosen(form.change_id(), || mint_id("change")),
                extra: extra(form.external_fields())?,
                content_hash: content_hash(form)?,
                form: form.as_ref().clone(),
            }))),
            ChangeRequest::CancelChange(change, form) => {
                let (name, input) = (Name::from(cancel_name(change)), Name::from(change.as_str()));
                let input = Input::CancelChange { change: input, never_made: false };
                let fields = form.external_fields.as_deref();
                let asked = asked(name, form.effective_at.as_ref(), input, fields, form)?;
                Ok(Work::Submit(Box::new(asked), Show::Change))
            }
            _ => Ok(Work::Submit(Box::new(self.item_input()?), Show::Item)),
        }
    }

    /// The input of a request that creates a line item or decides about one.
    fn item_input(&self) -> Result<RequestedInput, Problem> {
        match self {
            ChangeRequest::Payment(form) => {
                let name = Name::from(form.line_item_id.as_str());
                asked(name, form.effective_at.as_ref(), form.input(), form.external_fields.as_deref(), form)
            }
            ChangeRequest::PaymentStatus(item, form) => {
                let input = Input::PaymentStatus { payment: Name::from(item.as_str()), valid: form.makes_valid() };
                asked(Arc::from(mint_id("change")), form.effective_at.as_ref(), input, None, form)
            }
            ChangeRequest::Reversal(item, form) => {
                let name = chosen(form.line_item_id.as_ref(), || format!("dbk_reversal:{item}"));
                let input = Input::Reversal { payment: Name::from(item.as_str()) };
                let hashed = (item.as_str(), form);
                asked(name, form.effective_at.as_ref(), input, form.external_fields.as_deref(), &hashed)
            }
            ChangeRequest::Fee(form) => {
                let name = chosen(form.line_item_id.as_ref(), || mint_id("fee"));
                asked(name, form.effective_at.as_ref(), form.input(), form.external_fields.as_deref(), form)
            }
            ChangeRequest::Waiver(item, form) => {
                let name = chosen(form.line_item_id.as_ref(), || format!("dbk_waiver:{item}"));
                let input = Input::Waiver { fee: ItemId::parse(item) };
                let hashed = (item.as_str(), form);
                asked(name, form.effective_at.as_ref(), input, form.external_fields.as_deref(), &hashed)
            }
            ChangeRequest::Credit(form) => {
                let name = chosen(form.line_item_id.as_ref(), || mint_id("credit"));
                let hashed = ("credit", form);
                asked(name, form.effective_at.as_ref(), form.credit(), form.external_fields.as_deref(), &hashed)
            }
            ChangeRequest::Debit(form) => {
                let name = chosen(form.line_item_id.as_ref(), || mint_id("debit"));
                let hashed = ("debit", form);
                asked(name, form.effective_at.as_ref(), form.debit(), form.external_fields.as_deref(), &hashed)
            }
            ChangeRequest::Refund(form) => {
                let name = Name::from(form.line_item_id.as_str());
                let input = Input::Refund { amount: form.original_amount_cents.get() };
                let hashed = ("refund", form);
                asked(name, form.effective_at.as_ref(), input, form.external_fields.as_deref(), &hashed)
            }
            ChangeRequest::RefundReversal(item, form) => {
                let name = chosen(form.line_item_id.as_ref(), || format!("dbk_refund_reversal:{item}"));
                let input = Input::RefundReversal { refund: Name::from(item.as_str()) };
                let hashed = ("refund", item.as_str(), form);
                asked(name, form.effective_at.as_ref(), input, form.external_fields.as_deref(), &hashed)
            }
            _ => Err(Problem::internal("a request that makes no line item was taken for one that does")),
        }
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
            Work::Change(asked) => act.with("change_id", &*asked.name),
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
    let effective_at = effective_at.map(|moment| *moment.get());
    Ok(RequestedInput { name, effective_at, input, extra: extra(fields)?, content_hash: content_hash(form)? })
}

/// External fields as JSON; `None` if there are none.
fn extra(fields: Option<&[ExternalField]>) -> Result<Option<Arc<str>>, Problem> {
    match fields {
        Some(fields) if !fields.is_empty() => {
            let text = serde_json::to_string(fields);
            let text = text.map_err(|error| Problem::internal(format!("fields cannot be serialized: {error}")))?;
            Ok(Some(Arc::from(text)))
        }
        _ => Ok(None),
    }
}

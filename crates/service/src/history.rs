//! The history of an account as the requests that would recreate it, for test cases written from real accounts.
//!
//! Terms, journal and messages are read and turned back into request bodies. No personal data is included: customers
//! and external fields are left out. A caller cannot choose an id that the service generated, so such an id is
//! replaced; [`History::renamed`] returns the new one.

use crate::Service;
use crate::access::{Caller, Right};
use crate::account::book::Book;
use crate::account::journal::{JournalEntry, Record};
use crate::account::timeline::EventProgress;
use crate::accounts::problem;
use crate::boxed;
use crate::form::fields::*;
use crate::form::{
    AccountSummary, ChangeLineItem, CycleType, FeeWaiver, ManualFee, NewRefund, NotificationConfig, Offset,
    PaymentRecord, PaymentReversal, PostPromoOverview, RefundReversal, SetStatus,
};
use crate::policy::{self, ContractFields};
use crate::problem::Problem;
use crate::view::ChangeDetails;
use crate::view::time::Local;
use daybook_engine::change::Change;
use daybook_engine::contract::ContractAmounts;
use daybook_engine::item::{Component, ItemStatus};
use daybook_engine::money::Cents;
use daybook_engine::notify::{Setting, When};
use daybook_engine::terms::ProductPolicy;
use daybook_engine::time::Time;
use daybook_engine::timeline::{FeeClass, Input};
use daybook_engine::zone::Zone;
use daybook_store::records::MessageRow;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// The maximum number of an account's messages that are counted.
const MOST_MESSAGES: usize = 100_000;

/// The requests to an account, and the messages about it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The body that created its product.
    pub product: Value,
    /// A body that would create it on the same terms, without the product's id.
    pub account: Value,
    /// Whether all inputs were loaded in migration mode and released at once.
    pub is_migrated: bool,
    /// The requests, in order of arrival.
    pub calls: Vec<PastCall>,
    /// Requests that have had no effect so far, described in sentences.
    pub left_out: Vec<String>,
    /// The account clock.
    pub clock: Time,
    /// The account clock, in the account's zone.
    pub clock_text: String,
    /// The number of messages of each event, for events that a replay of the history would announce equally.
    pub announced: BTreeMap<String, u64>,
    renamed: HashMap<String, String>,
}

/// A past request to an account.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// Its kind, such as `payment` or `fee_waiver`.
    pub kind: &'static str,
    /// The payment or fee that it is about.
    pub target: Option<String>,
    /// The body of the request, without its effective time.
    pub body: Value,
    /// When it takes effect, in the account's zone.
    pub effective_at: String,
    /// The account clock when it arrived, if it arrived late, or early and as a change of the loan.
    pub came_in_at: Option<String>,
}

impl History {
    /// The id of a line item when the history is replayed.
    pub fn renamed(&self, item_id: &str) -> String {
        if let Some(name) = self.renamed.get(item_id) {
            return name.clone();
        }
        match item_id.split_once(':') {
            Some((prefix, rest)) if prefix.starts_with("dbk_") => format!("{prefix}:{}", self.renamed(rest)),
            _ => item_id.to_owned(),
        }
    }
}

impl Service {
    /// The requests that would recreate an account.
    #[boxed]
    pub async fn account_history(&self, who: &Caller, account: &str) -> Result<History, Problem> {
        who.may(Right::Read)?;
        let now = self.clock.now();
        let mut book = self.whole_book(who, account).await?;
        let messages = self.store.messages_of(&book.key, 0, MOST_MESSAGES).await?;
        let announced = announced(&book, &messages, book.clock(now));
        let _ = book.as_it_stands(now);
        let clock = book.clock(now).max(book.terms.begins_at());
        let mut history = History {
            product: product(&book)?,
            account: opening(&book)?,
            is_migrated: is_migrated(&book),
            clock,
            clock_text: Local::new(clock, &book.terms.zone).to_string(),
            announced,
            renamed: renamed(&book),
            ..History::default()
        };
        let failed: HashMap<i64, Option<String>> = book
            .happenings(None)
            .map_err(problem)?
            .into_iter()
            .filter(|happening| happening.progress == EventProgress::Failed)
            .filter_map(|happening| Some((happening.seq?, happening.reason)))
            .collect();
        for record in &book.journal {
            let Record::Input(input) = &record.record else { continue };
            let what = || format!("{} \"{}\" of {}", record.record.kind(), record.row.name, record.row.effective_at);
            if let Some(reason) = failed.get(&record.seq()) {
                let reason = reason.as_deref().unwrap_or("no reason was recorded");
                history.left_out.push(format!("{} could not be applied: {reason}", what()));
            } else if record.place.at > clock {
                history.left_out.push(format!("{} is scheduled for later", what()));
            } else if let Some(call) = past_call(&book, record, input, &history)? {
                history.calls.push(call);
            }
        }
        Ok(history)
    }
}

/// Whether all inputs arrived while events were held, and were released once.
fn is_migrated(book: &Book) -> bool {
    let releases = book.journal.iter().filter(|record| matches!(record.record, Record::Release { .. })).count();
    let all_held =
        book.journal.iter().all(|record| !matches!(record.record, Record::Input(_)) || record.held.is_some());
    releases <= 1 && all_held
}

/// The number of messages of each event, without those that a replay would not write.
fn announced(book: &Book, messages: &[MessageRow], clock: Time) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let has = |is: fn(&JournalEntry) -> bool| book.journal.iter().any(is);
    let releases = book.journal.iter().filter(|record| matches!(record.record, Record::Release { .. })).count();
    let is_suppressed = has(|record| matches!(record.record, Record::Release { suppress_before: Some(_) }));
    let is_behind = book.now.held_events > 0 || book.now.next_moment.is_some_and(|next| next <= clock);
    let is_whole = messages.first().is_none_or(|first| first.sequence == 1) && messages.len() < MOST_MESSAGES;
    if releases != 1 || is_suppressed || is_behind || !is_whole {
        return counts;
    }
    for message in messages {
        *counts.entry(message.event.clone()).or_default() += 1;
    }
    // A cancelled notice would be sent if its moment came before the closing, which can happen in a replay.
    for message in messages.iter().filter(|message| message.cancelled_at.is_some()) {
        counts.remove(&message.event);
    }
    if has(|record| record.scheduled) {
        // Scheduled inputs are announced twice. In a replay they arrive when they are due.
        counts.retain(|event, _| !event.starts_with("line_item_"));
    }
    if has(|record| record.record == Record::Profile) {
        counts.remove("account_update");
    }
    counts
}

fn written<T: Serialize>(form: &T) -> Result<Value, Problem> {
    serde_json::to_value(form).map_err(|error| Problem::internal(format!("a form cannot be serialized: {error}")))
}

fn is_own(id: &str) -> bool {
    id.starts_with("dbk_")
}

/// The body that created the product, without its mode.
fn product(book: &Book) -> Result<Value, Problem> {
    let mut form = book.product.form.clone();
    form.admin = None;
    written(&form)
}

/// A body that would create the account on the same terms. Terms equal to the product's are left out.
fn opening(book: &Book) -> Result<Value, Problem> {
    let policy = policy::product_policy(&book.product.form, None);
    let usual = policy.map_err(|_| Problem::internal("the policy of a product cannot be read"))?;
    let ProductPolicy::Installment(usual_loan) = &usual.product;
    let (terms, loan) = (&book.terms, &book.terms.installment().policy);
    let (fee, usual_fee) = (&loan.late_fee, &usual_loan.late_fee);
    let life = book.product.form.product_lifecycle_policies.as_ref();
    let usual_limit = life.and_then(|life| life.default_attributes.as_ref()?.default_credit_limit_cents);
    let limit = book.profile.credit_limit_cents.map(|cents| AmountOrZero::known(Cents(cents)));
    let origination_fee = terms.opening.origination_fee;
    let agreed = &terms.opening.agreed;
    let is_new = agreed.boarded.is_none();
    let summary = AccountSummary {
        initial_principal_cents: is_new.then(|| Amount::known(terms.opening.principal)),
        origination_fee_cents: own(origination_fee, Cents::ZERO).map(AmountOrZero::known),
        late_fee_cents: own(fee.flat, usual_fee.flat).map(AmountOrZero::known),
        late_fee_cap_percent: own(fee.cap, usual_fee.cap).flatten().map(PercentText::known),
        payment_reversal_fee_cents: own(terms.reversal_fee, usual.reversal_fee).map(AmountOrZero::known),
        credit_limit_cents: own(limit, usual_limit).flatten(),
        ..AccountSummary::default()
    };
    let cycle = CycleType {
        first_cycle_interval: own(loan.first_cycle, usual_loan.first_cycle).flatten().map(IntervalText::known),
        late_fee_grace: own(fee.grace, usual_fee.grace).map(IntervalText::known),
    };
    let overview = PostPromoOverview {
        post_promo_len: own(loan.instalments, usual_loan.instalments)
            .filter(|_| !matches!(agreed.contract.amounts, ContractAmounts::Schedule(_)))
            .map(PositiveCount::known),
        post_promo_impl_interest_rate_percent: own(loan.rate, usual_loan.rate).map(PercentText::known),
    };
    let mut body = json!({
        "effective_at": Local::new(terms.opening.effective_at, &terms.zone).to_string(),
        "summary": written(&summary)?,
    });
    if let (Value::Object(body), Value::Object(contract)) = (&mut body, written(&ContractFields::of(agreed))?) {
        body.extend(contract);
    }
    if !is_own(&book.key.account) {
        body["account_id"] = Value::from(&*book.key.account);
    }
    if cycle != CycleType::default() {
        body["cycle_type"] = written(&cycle)?;
    }
    if overview != PostPromoOverview::default() {
        body["post_promo_overview"] = written(&overview)?;
    }
    Ok(body)
}

/// A value that differs from the usual one; `None` if it is equal.
fn own<T: PartialEq>(agreed: T, usual: T) -> Option<T> {
    (agreed != usual).then_some(agreed)
}

/// New ids for items whose ids no caller can choose.
fn renamed(book: &Book) -> HashMap<String, String> {
    let is_renamed = |record: &&JournalEntry| {
        let has_id = matches!(
            record.record,
            Record::Input(Input::Fee { .. } | Input::Credit { .. } | Input::Debit { .. } | Input::Change(_))
        );
        has_id && is_own(&record.row.name)
    };
    let name = |record: &JournalEntry| {
        let mut name = format!("{}-{}", record.record.kind(), record.seq());
        while book.named(&name).is_some() {
            name.push('x');
        }
        (record.row.name.to_string(), name)
    };
    book.journal.iter().filter(is_renamed).map(name).collect()
}

/// The request that made an input; `None` for the opening.
fn past_call(
    book: &Book,
    record: &JournalEntry,
    input: &Input,
    history: &History,
) -> Result<Option<PastCall>, Problem> {
    let Some((target, body)) = target_and_body(record, input, history, &book.terms.zone)? else { return Ok(None) };
    let local = |time: Time| Local::new(time, &book.terms.zone).to_string();
    // Only a scheduled change needs the time at which it was recorded: it may be cancelled before it takes effect.
    let (clock, effective_at) = (record.row.clock, record.row.effective_at);
    let is_scheduled_change = clock < effective_at && matches!(input, Input::Change(_));
    let is_at_another_time = record.held.is_none() && (clock > effective_at || is_scheduled_change);
    Ok(Some(PastCall {
        kind: record.record.kind(),
        target,
        body,
        effective_at: local(record.row.effective_at),
        came_in_at: is_at_another_time.then(|| local(record.row.clock)),
    }))
}

/// The line item that an input is about, and the body of its request; `None` for the opening.
fn target_and_body(
    record: &JournalEntry,
    input: &Input,
    history: &History,
    zone: &Zone,
) -> Result<Option<(Option<String>, Value)>, Problem> {
    let line_item_id = Id::read(&history.renamed(&record.row.name)).ok();
    let (target, body) = match input {
        Input::Open => return Ok(None),
        Input::Payment { amount, status, allocation } => {
            let form = PaymentRecord {
                line_item_id: line_item_id.ok_or_else(|| Problem::internal("a payment has no id from its caller"))?,
                original_amount_cents: Amount::known(*amount),
                line_item_status: own(*status, ItemStatus::Valid).map(Into::into),
                effective_at: None,
                allocation: allocation.map(Into::into),
                external_fields: None,
            };
            (None, written(&form)?)
        }
        Input::PaymentStatus { payment, valid } => {
            let line_item_status = if *valid { NewItemStatus::Valid } else { NewItemStatus::Invalid };
            (Some(payment.to_string()), written(&ChangeLineItem { line_item_status, effective_at: None })?)
        }
        Input::Reversal { payment } => {
            let form = PaymentReversal { line_item_id, effective_at: None, external_fields: None };
            (Some(payment.to_string()), written(&form)?)
        }
        Input::Fee { amount, class } => {
            let form = ManualFee {
                original_amount_cents: Amount::known(*amount),
                line_item_id,
                fee_class: own(*class, FeeClass::Fee).map(Into::into),
                effective_at: None,
                external_fields: None,
            };
            (None, written(&form)?)
        }
        Input::Waiver { fee } => {
            let form = FeeWaiver { line_item_id, effective_at: None, external_fields: None };
            (Some(history.renamed(&fee.to_string())), written(&form)?)
        }
        Input::Credit { amount, component } | Input::Debit { amount, component } => {
            (None, written(&offset(*amount, *component, line_item_id))?)
        }
        Input::Status(status) => {
            let form = SetStatus {
                account_status: status.standing().into(),
                account_substatus: status.reason().map(Into::into),
                effective_at: None,
            };
            (None, written(&form)?)
        }
        Input::Notify(setting) => (None, written(&notification(setting))?),
        Input::Change(change) => (None, change_body(record, change, history, zone)?),
        Input::CancelChange { change, .. } => (Some(history.renamed(change)), json!({})),
        Input::Refund { amount } => (None, written(&refund(*amount, line_item_id)?)?),
        Input::RefundReversal { refund } => {
            let form = RefundReversal { line_item_id, effective_at: None, external_fields: None };
            (Some(refund.to_string()), written(&form)?)
        }
    };
    Ok(Some((target, body)))
}

fn offset(amount: Cents, component: Component, line_item_id: Option<Id>) -> Offset {
    Offset {
        original_amount_cents: Amount::known(amount),
        line_item_id,
        allocation: own(component, Component::Principal).map(Into::into),
        effective_at: None,
        external_fields: None,
    }
}

fn refund(amount: Cents, line_item_id: Option<Id>) -> Result<NewRefund, Problem> {
    Ok(NewRefund {
        line_item_id: line_item_id.ok_or_else(|| Problem::internal("a refund has no id from its caller"))?,
        original_amount_cents: Amount::known(amount),
        effective_at: None,
        external_fields: None,
    })
}

/// The fields of the request that made a change.
fn change_body(record: &JournalEntry, change: &Change, history: &History, zone: &Zone) -> Result<Value, Problem> {
    let name = &*record.row.name;
    let details = ChangeDetails::new(name, change, record.row.effective_at, zone);
    let Value::Object(mut fields) = written(&details)? else { return Ok(Value::Null) };
    fields.retain(|field, value| !value.is_null() && field != "kind" && field != "interest_rate_id");
    fields.insert("change_id".to_owned(), Value::from(history.renamed(name)));
    Ok(Value::Object(fields))
}

fn notification(setting: &Setting) -> NotificationConfig {
    let (time_offset, interval) = match setting.when {
        When::Offset(days) => (Some(DayOffset::known(days)), None),
        When::Every(interval) => (None, Some(IntervalText::known(interval))),
    };
    NotificationConfig {
        notification_type: setting.kind.into(),
        time_offset,
        interval,
        time: setting.time.map(TimeOfDayText::known),
        enabled: (!setting.enabled).then_some(false),
        effective_at: None,
    }
}

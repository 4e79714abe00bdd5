//! Runs a case given as JSON and returns its result as JSON, to compare the engine with other calculators.
//!
//! A case has the `product` and the `account` of the API, `inputs` in loading order (all held, so each takes its place
//! at its own `effective_at`), and the times `read_at`.

use crate::book::Book;
use crate::exchange_changes::change;
use crate::product;
use daybook_engine::calendar::{Interval, TimeOfDay};
use daybook_engine::change::CapTag;
use daybook_engine::installment::reading::read;
use daybook_engine::installment::schedule::schedule;
use daybook_engine::item::{Component, ItemId, ItemReason, ItemStatus, Name};
use daybook_engine::money::Cents;
use daybook_engine::notify::{NoticeKind, Setting, When};
use daybook_engine::outcome::EventKind;
use daybook_engine::replay::{Ledger, replay};
use daybook_engine::state::State;
use daybook_engine::status::Status;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::{Entry, FeeClass, Input};
use serde_json::{Value, json};

/// Runs a case.
pub fn run(case: &Value) -> Value {
    result(case).unwrap_or_else(|error| json!({ "error": error }))
}

/// The held entries of a case.
pub fn entries(terms: &Terms, case: &Value) -> Result<Vec<Entry>, String> {
    let mut book = Book::held(terms.clone());
    // All inputs are held, so a cancelled change is as if it had never been made, even before its cancellation.
    let inputs = || case["inputs"].as_array().into_iter().flatten();
    let is_cancel = |input: &Value| input["kind"] == "change_cancel";
    let is_cancelled = |input: &Value| inputs().any(|other| is_cancel(other) && other["change"] == input["id"]);
    for input in inputs().filter(|input| !is_cancel(input) && !is_cancelled(input)) {
        let name = input["id"].as_str().ok_or("an input has no id")?;
        // Held inputs are refused at release, not here.
        let _ = book.submit(name, product::time(&input["effective_at"])?, self::input(terms, input)?);
    }
    Ok(book.entries)
}

fn result(case: &Value) -> Result<Value, String> {
    let terms = product::terms(&case["product"], &case["account"])?;
    let entries = entries(&terms, case)?;
    let mut reads = Vec::new();
    let mut last = (Vec::new(), Vec::new(), Vec::new());
    for at_text in case["read_at"].as_array().into_iter().flatten() {
        let at = product::time(at_text)?;
        let (state, outcome) = replay(&terms, &entries, at).map_err(|stop| format!("{stop:?}"))?;
        let reading = read(&terms, &state, at).map_err(|overflow| format!("{overflow:?}"))?;
        let rows = schedule(&terms, &state, at).map_err(|stop| format!("{stop:?}"))?;
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "row": row.instalment, "due_date": row.due_day.to_string(),
                    "interest_cents": row.interest.0, "principal_cents": row.principal.0,
                    "total_cents": row.total().0, "start_cents": row.start.0, "end_cents": row.end.0,
                    "paid_cents": row.paid.0, "outstanding_cents": row.outstanding.0, "retired": row.retired,
                    "deferred_cents": row.deferred.0, "shortfall_cents": row.shortfall.0,
                })
            })
            .collect();
        reads.push(json!({
            "at": at_text, "status": reading.status.standing().name(),
            "substatus": reading.status.reason().map(|reason| reason.name()),
            "principal_cents": reading.balances.principal.0, "interest_cents": reading.balances.interest.0,
            "fees_cents": reading.balances.fees.0, "surplus_cents": reading.balances.surplus.0,
            "payoff_cents": reading.payoff.0, "per_diem_cents": reading.per_diem.0,
            "days_past_due": reading.days_past_due, "past_due_cents": reading.past_due.0,
            "past_due_fees_cents": reading.past_due_fees.0,
            "consecutive_late_fees": reading.late_count, "schedule": rows,
            "interest_rate_percent": rate_on(&terms, &state, at),
            "is_active_scra": state.loan().rates.is_capped_by(CapTag::Scra, terms.zone.day_at(at)),
        }));
        let refused = outcome.refused.iter().filter_map(|(seq, _)| {
            entries.iter().find(|entry| entry.place.seq == *seq).map(|entry| entry.name.to_string())
        });
        last = (items(&Ledger::of(&outcome)), notices(&outcome.events), refused.collect());
    }
    Ok(json!({ "reads": reads, "items": last.0, "notices": last.1, "rejected": last.2 }))
}

/// The rate of a date, shortest form. Kept interest has that of the terms.
fn rate_on(terms: &Terms, state: &State, at: Time) -> String {
    let policy = &terms.installment().policy;
    let rate = if policy.method.keeps_interest() { policy.rate } else { state.loan().rates.on(terms.zone.day_at(at)) };
    rate.to_string()
}

fn items(ledger: &Ledger) -> Vec<Value> {
    let mut items: Vec<(Time, &str, Cents, Option<&str>)> = ledger
        .valid()
        .filter(|item| item.status != ItemStatus::Authorized)
        .map(|item| (item.effective_at, item.kind.name(), item.amount, item.reason.map(ItemReason::name)))
        .collect();
    items.sort();
    let json = |(at, kind, amount, reason): (Time, &str, Cents, Option<&str>)| json!({ "type": kind, "effective_at": at.to_string(), "amount_cents": amount.0, "reason": reason });
    items.into_iter().map(json).collect()
}

fn notices(events: &[daybook_engine::outcome::Event]) -> Vec<Value> {
    let json = |event: &daybook_engine::outcome::Event| {
        let row = match event.what {
            EventKind::DueDatePassed { instalment, .. } | EventKind::PaymentMissed { instalment } => Some(instalment),
            EventKind::Notice { kind: NoticeKind::LoanEndDate, .. } => None,
            EventKind::Notice { instalment, .. } => instalment,
            _ => return None,
        };
        Some(json!({ "event": event.what.name(), "at": event.at.to_string(), "row": row }))
    };
    events.iter().filter_map(json).collect()
}

/// Parses one input of a case.
pub fn input(terms: &Terms, value: &Value) -> Result<Input, String> {
    let text = |field: &str| value[field].as_str();
    let name = |field: &str| text(field).map(Name::from).ok_or_else(|| format!("{field} is missing"));
    let amount = |field: &str| product::cents(&value[field]).ok_or_else(|| format!("{field} is missing"));
    let component = || match text("allocation") {
        None => Ok(None),
        Some("PRINCIPAL") => Ok(Some(Component::Principal)),
        Some("INTEREST") => Ok(Some(Component::Interest)),
        Some("FEE") => Ok(Some(Component::Fee)),
        Some(other) => Err(format!("{other} is not an allocation")),
    };
    let some_component = || component()?.ok_or_else(|| "allocation is missing".to_owned());
    Ok(match text("kind").unwrap_or("") {
        "payment" => Input::Payment {
            amount: amount("original_amount_cents")?,
            status: match text("line_item_status") {
                None | Some("VALID") => ItemStatus::Valid,
                Some("PENDING") => ItemStatus::Pending,
                Some("AUTHORIZED") => ItemStatus::Authorized,
                Some(_) => ItemStatus::Invalid,
            },
            allocation: component()?,
        },
        "payment_status" => {
            Input::PaymentStatus { payment: name("payment")?, valid: text("line_item_status") == Some("VALID") }
        }
        "payment_reversal" => Input::Reversal { payment: name("payment")? },
        "manual_fee" => Input::Fee {
            amount: amount("amount_cents")?,
            class: if text("fee_class") == Some("PENALTY") { FeeClass::Penalty } else { FeeClass::Fee },
        },
        "fee_waiver" => Input::Waiver { fee: ItemId::parse(&name("fee")?) },
        "credit_offset" => Input::Credit { amount: amount("amount_cents")?, component: some_component()? },
        "debit_offset" => Input::Debit { amount: amount("amount_cents")?, component: some_component()? },
        "status" => {
            let status = Status::parse(text("account_status").unwrap_or(""), text("account_substatus"));
            Input::Status(status.ok_or("no such pair of statuses")?)
        }
        "notification_config" => Input::Notify(setting(value)?),
        "refund" => Input::Refund { amount: amount("original_amount_cents")? },
        "refund_reversal" => Input::RefundReversal { refund: name("refund")? },
        "change_cancel" => Input::CancelChange { change: name("change")?, never_made: true },
        other => match change(other, value, &terms.zone)? {
            Some(change) => Input::Change(Box::new(change)),
            None => return Err(format!("{other} is not a kind of input")),
        },
    })
}

fn setting(value: &Value) -> Result<Setting, String> {
    let text = |field: &str| value[field].as_str();
    let kind = match text("notification_type").unwrap_or("") {
        "payment_due_date" => NoticeKind::PaymentDueDate,
        "late_fee_date" => NoticeKind::LateFeeDate,
        "loan_end_date" => NoticeKind::LoanEndDate,
        "account_summary" => NoticeKind::AccountSummary,
        other => return Err(format!("{other} is not a notice")),
    };
    let interval = |field: &str| text(field).and_then(Interval::parse);
    let when = match (interval("time_offset"), interval("interval")) {
        (Some(offset), _) => When::Offset(offset.days),
        (None, Some(every)) => When::Every(every),
        (None, None) => return Err("a notice needs time_offset or interval".to_owned()),
    };
    let time = match text("time") {
        None => None,
        Some(text) => Some(TimeOfDay::parse(text).ok_or("time is not a time of day")?),
    };
    Ok(Setting { kind, when, time, enabled: value["enabled"].as_bool().unwrap_or(true) })
}

//! Compares the stored line items and messages of an account with those its journal gives.

use super::signed::SignedMessages;
use super::work::Worked;
use super::{Plan, is_signed};
use crate::account::refolding::is_same;
use crate::view::time::Local;
use crate::webhooks::event_ids::EventIds;
use daybook_engine::item::{ItemId, ItemStatus};
use daybook_engine::time::Time;
use daybook_store::records::{ItemRow, MessageRow};
use daybook_store::upkeep::{Correction, MessageFacts};
use daybook_webhooks::signature::SigningKey;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Compares line items. Update times are not compared.
pub(super) fn compare_items(
    stored: &[ItemRow],
    worked: &Worked,
    refolded_at: Option<Time>,
    signed: &SignedMessages<'_>,
    plan: &mut Plan,
    differ: &mut dyn FnMut(String),
) {
    let stored: BTreeMap<&str, &ItemRow> = stored.iter().map(|row| (&*row.item_id, row)).collect();
    for (id, row) in &worked.items {
        let Some(kept) = stored.get(&**id) else {
            differ(format!("line item {id} is missing"));
            plan.items.push(row.clone());
            continue;
        };
        let row = with_confirmed_fields(kept, row, signed, differ);
        if !is_same(kept, &row) {
            differ(format!(
                "line item {id} differs from the journal: stored {} with balance {}, recalculated {} with balance {}",
                kept.status, kept.balance, row.status, row.balance
            ));
            plan.items.push(ItemRow { updated_at: kept.updated_at, ..(*row).clone() });
        }
        let created_at = compare_with_record(kept, &row, worked, signed, differ);
        let correction = created_at.map(|at| Correction::ItemCreated(worked.book.key.clone(), id.clone(), at));
        plan.corrections.extend(correction);
    }
    let is_surplus =
        |(id, row): &(&&str, &&ItemRow)| !worked.items.contains_key(**id) && !is_left_over(row, refolded_at);
    for (id, row) in stored.iter().filter(is_surplus) {
        differ(format!("line item {id} is stored, but recalculating the journal does not give it"));
        plan.corrections.push(Correction::RemoveItem(worked.book.key.clone(), row.item_id.clone()));
    }
}

/// The line item that the journal gives, but with the stored external fields if no signed message confirms those of
/// the journal.
fn with_confirmed_fields<'a>(
    kept: &ItemRow,
    row: &'a ItemRow,
    signed: &SignedMessages<'_>,
    differ: &mut dyn FnMut(String),
) -> Cow<'a, ItemRow> {
    let id = &row.item_id;
    if kept.extra == row.extra || signed.confirm_item_fields(id, row.extra.as_deref()) {
        return Cow::Borrowed(row);
    }
    differ(format!(
        "the external fields of line item {id} differ from its journal record, and no signed message confirms the \
         record"
    ));
    Cow::Owned(ItemRow { extra: kept.extra.clone(), ..row.clone() })
}

/// Compares when a line item that a caller requested was created with its record. Returns the correction, if a signed
/// message confirms the record.
fn compare_with_record(
    kept: &ItemRow,
    row: &ItemRow,
    worked: &Worked,
    signed: &SignedMessages<'_>,
    differ: &mut dyn FnMut(String),
) -> Option<Time> {
    let id = &row.item_id;
    let is_asked_for = matches!(ItemId::parse(id), ItemId::Input(_)) && worked.book.named(id).is_some();
    if !is_asked_for || kept.created_at == row.created_at {
        return None;
    }
    differ(format!(
        "line item {id} is stored as created at {}, but by its journal record it was created at {}",
        kept.created_at, row.created_at
    ));
    signed.confirm_item_created(id, row.created_at).then_some(row.created_at)
}

/// Whether a line item is one that is no longer valid under newer rules. Such items are kept, with zero amounts.
pub(super) fn is_left_over(row: &ItemRow, refolded_at: Option<Time>) -> bool {
    row.status == ItemStatus::Invalid.name()
        && (row.balance, row.principal, row.interest, row.fees) == (0, 0, 0, 0)
        && refolded_at.is_some_and(|at| row.created_at <= at)
}

/// Compares messages. Retention may have removed old ones, from the beginning of the log.
pub(super) fn compare_messages(
    stored: &[&MessageRow],
    worked: &Worked,
    keys: &[SigningKey],
    plan: &mut Plan,
    differ: &mut dyn FnMut(String),
) {
    let messages = &worked.messages;
    if stored.len() > messages.len() {
        differ(format!("{} messages are stored, but recalculating the journal gives {}", stored.len(), messages.len()));
        return;
    }
    let by_sequence: BTreeMap<i64, &MessageRow> = messages.iter().map(|message| (message.sequence, message)).collect();
    for kept in stored {
        match by_sequence.get(&kept.sequence) {
            // The store leaves the id to the message's group, with the bytes.
            Some(_) if kept.event_id.is_empty() => differ(format!(
                "message {} cannot be read: it is stored together with messages that are damaged or missing",
                kept.sequence
            )),
            Some(expected) => {
                let mut wrong = compare_row(kept, expected);
                let correction = compare_bytes(kept, expected, worked, keys, &mut wrong);
                wrong.into_iter().for_each(|sentence| differ(format!("message {} {sentence}", kept.sequence)));
                plan.corrections.extend(correction);
            }
            None => differ(format!(
                "message {} is stored, but recalculating the journal gives no message with this number",
                kept.sequence
            )),
        }
    }
    compare_positions(stored, differ);
    // Of two messages that were published at once, the later has the higher position: if one is kept, all later ones
    // are. A message that waited for its moment may have been published long after later ones, or was cancelled.
    let at_once = stored.iter().find(|message| message.effective_at <= message.recorded_at);
    let first = at_once.map_or(i64::MAX, |first| first.sequence);
    let kept: BTreeSet<i64> = stored.iter().map(|message| message.sequence).collect();
    for missing in messages.iter().filter(|message| message.sequence >= first && !kept.contains(&message.sequence)) {
        differ(format!("message {} ({}) is missing", missing.sequence, missing.event));
    }
}

/// Checks that messages that were published at once are in the log in the order of their numbers.
fn compare_positions(stored: &[&MessageRow], differ: &mut dyn FnMut(String)) {
    let mut before: Option<(i64, i64)> = None;
    for message in stored.iter().filter(|message| message.effective_at <= message.recorded_at) {
        let Some(position) = message.position else { continue };
        if let Some((sequence, earlier)) = before.filter(|(_, earlier)| *earlier > position) {
            differ(format!(
                "message {} is at position {position} of the log, before message {sequence} at {earlier}",
                message.sequence
            ));
        }
        before = Some((message.sequence, position));
    }
}

/// Compares the columns of a message with those that the journal gives.
fn compare_row(kept: &MessageRow, expected: &MessageRow) -> Vec<String> {
    let is_waiting = kept.position.is_none();
    let mut wrong = Vec::new();
    if (&kept.event, kept.effective_at, &kept.subject) != (&expected.event, expected.effective_at, &expected.subject) {
        wrong.push(format!(
            "is {} of {}, but recalculating the journal gives {} of {}",
            kept.event, kept.effective_at, expected.event, expected.effective_at
        ));
    }
    if kept.cause != expected.cause {
        wrong.push(format!(
            "has the cause \"{}\", but recalculating the journal gives \"{}\"",
            kept.cause, expected.cause
        ));
    }
    if is_waiting && kept.due_at != Some(expected.effective_at) {
        wrong.push("is scheduled for a moment other than its effective time".to_owned());
    }
    if kept.cancelled_at.is_some() && expected.cancelled_at.is_none() {
        wrong.push("is cancelled, but its journal does not cancel it".to_owned());
    }
    if is_waiting && kept.cancelled_at.is_none() && expected.cancelled_at.is_some() {
        wrong.push("is not cancelled, but its journal cancels it".to_owned());
    }
    wrong
}

/// Compares the columns of a message with its bytes. Returns the correction, if the columns are to be changed. The id
/// follows from the organization's mark, the account and the message's number. An id that column and bytes agree on
/// stays. The moment is corrected only from bytes that a stored key signed.
fn compare_bytes(
    kept: &MessageRow,
    expected: &MessageRow,
    worked: &Worked,
    keys: &[SigningKey],
    wrong: &mut Vec<String>,
) -> Option<Correction> {
    let said: Value = serde_json::from_slice(&kept.data).unwrap_or_default();
    let account = &worked.book.key.account;
    // Messages written before organizations had marks keep their ids.
    let ids = [expected.event_id.clone(), EventIds::of_account_before_marks(account, kept.sequence)];
    let in_bytes = said["event_id"].as_str();
    let known = in_bytes.filter(|id| ids.iter().any(|known| known == id));
    let is_kept = ids.contains(&kept.event_id) || in_bytes == Some(kept.event_id.as_str());
    let event_id = known.unwrap_or(if is_kept { &kept.event_id } else { &ids[0] });
    let mut is_corrected = !wrong.is_empty();
    if kept.event_id != event_id {
        wrong.push(format!("has the id {}, but its account and number give {event_id}", kept.event_id));
        is_corrected = true;
    }
    if let Some(other) = in_bytes.filter(|_| known.is_none()) {
        wrong.push(format!("has bytes with the id {other}, but its account and number give {}", ids[0]));
    }
    let changed_at = said["changed_at"].as_str().and_then(Time::parse).unwrap_or(kept.recorded_at);
    let zone = &worked.book.terms.zone;
    let mut recorded_at = kept.recorded_at;
    if Local::new(kept.recorded_at, zone).to_string() != Local::new(changed_at, zone).to_string() {
        wrong.push(format!("was recorded at {}, but its bytes contain {changed_at}", kept.recorded_at));
        if known.is_some() && is_signed(kept, keys) {
            recorded_at = changed_at;
            is_corrected = true;
        }
    }
    let facts = MessageFacts {
        sequence: kept.sequence,
        event: expected.event.clone(),
        event_id: event_id.to_owned(),
        cause: expected.cause.clone(),
        subject: expected.subject.clone(),
        effective_at: expected.effective_at,
        recorded_at,
        waits: kept.position.is_none().then_some((expected.effective_at, expected.cancelled_at)),
    };
    is_corrected.then(|| Correction::Message(worked.book.key.clone(), Box::new(facts)))
}

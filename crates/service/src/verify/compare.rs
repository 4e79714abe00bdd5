//! Compares the stored line items and messages of an account with those its journal gives.

use super::Plan;
use super::work::Worked;
use crate::account::refolding::is_same;
use crate::view::time::Local;
use daybook_engine::item::{ItemId, ItemStatus};
use daybook_engine::time::Time;
use daybook_store::records::{ItemRow, MessageRow};
use daybook_store::upkeep::{Correction, MessageFacts};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Compares line items. Update times are not compared. Creation times are compared only for items that a caller
/// requested.
pub(super) fn compare_items(
    stored: &[ItemRow],
    worked: &Worked,
    refolded_at: Option<Time>,
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
        if !is_same(kept, row) {
            differ(format!(
                "line item {id} differs from the journal: stored {} with balance {}, recalculated {} with balance {}",
                kept.status, kept.balance, row.status, row.balance
            ));
            plan.items.push(ItemRow { updated_at: kept.updated_at, ..row.clone() });
        }
        let is_asked_for = matches!(ItemId::parse(id), ItemId::Input(_)) && worked.book.named(id).is_some();
        if is_asked_for && kept.created_at != row.created_at {
            differ(format!(
                "line item {id} was created at {}, but its journal gives {}",
                kept.created_at, row.created_at
            ));
            plan.corrections.push(Correction::ItemCreated(worked.book.key.clone(), id.clone(), row.created_at));
        }
    }
    // Items that are no longer valid under earlier or newer rules are kept, with zero amounts.
    let is_left_over = |row: &ItemRow| {
        row.status == ItemStatus::Invalid.name()
            && (row.balance, row.principal, row.interest, row.fees) == (0, 0, 0, 0)
            && refolded_at.is_some_and(|at| row.created_at <= at)
    };
    for (id, row) in stored.iter().filter(|(id, row)| !worked.items.contains_key(**id) && !is_left_over(row)) {
        differ(format!("line item {id} does not follow from the journal"));
        plan.corrections.push(Correction::RemoveItem(worked.book.key.clone(), row.item_id.clone()));
    }
}

/// Compares messages. Retention may have removed old ones, from the beginning of the log.
pub(super) fn compare_messages(
    stored: &[&MessageRow],
    worked: &Worked,
    plan: &mut Plan,
    differ: &mut dyn FnMut(String),
) {
    let messages = &worked.messages;
    if stored.len() > messages.len() {
        differ(format!("{} messages are stored, but its journal gives {}", stored.len(), messages.len()));
        return;
    }
    let by_sequence: BTreeMap<i64, &MessageRow> = messages.iter().map(|message| (message.sequence, message)).collect();
    for kept in stored {
        match by_sequence.get(&kept.sequence) {
            Some(expected) => compare_message(kept, expected, worked, plan, differ),
            None => differ(format!("message {} is stored, but its journal gives none with this number", kept.sequence)),
        }
    }
    // Of two messages that were published at once, the later has the higher position: if one is kept, all later ones
    // are. A message that waited for its moment may have been published long after later ones, or was cancelled.
    let at_once = stored.iter().find(|message| message.effective_at <= message.recorded_at);
    let first = at_once.map_or(i64::MAX, |first| first.sequence);
    let kept: BTreeSet<i64> = stored.iter().map(|message| message.sequence).collect();
    for missing in messages.iter().filter(|message| message.sequence >= first && !kept.contains(&message.sequence)) {
        differ(format!("message {} ({}) is missing", missing.sequence, missing.event));
    }
}

fn compare_message(
    kept: &MessageRow,
    expected: &MessageRow,
    worked: &Worked,
    plan: &mut Plan,
    differ: &mut dyn FnMut(String),
) {
    let is_waiting = kept.position.is_none();
    let mut wrong = Vec::new();
    if (&kept.event, kept.effective_at, &kept.subject) != (&expected.event, expected.effective_at, &expected.subject) {
        wrong.push(format!(
            "is {} of {}, but its journal gives {} of {}",
            kept.event, kept.effective_at, expected.event, expected.effective_at
        ));
    }
    if kept.cause != expected.cause {
        wrong.push(format!("has the cause \"{}\", but its journal gives \"{}\"", kept.cause, expected.cause));
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
    // The fields inside its bytes, which are signed.
    let said: Value = serde_json::from_slice(&kept.data).unwrap_or_default();
    let event_id = said["event_id"].as_str().unwrap_or(&kept.event_id).to_owned();
    if kept.event_id != event_id {
        wrong.push(format!("has the id {}, but its bytes contain {event_id}", kept.event_id));
    }
    let recorded_at = said["changed_at"].as_str().and_then(Time::parse).unwrap_or(kept.recorded_at);
    let zone = &worked.book.terms.zone;
    let is_recorded_then = Local::new(kept.recorded_at, zone).to_string() == Local::new(recorded_at, zone).to_string();
    if !is_recorded_then {
        wrong.push(format!("was recorded at {}, but its bytes contain {recorded_at}", kept.recorded_at));
    }
    if wrong.is_empty() {
        return;
    }
    for sentence in wrong {
        differ(format!("message {} {sentence}", kept.sequence));
    }
    let facts = MessageFacts {
        sequence: kept.sequence,
        event: expected.event.clone(),
        event_id,
        cause: expected.cause.clone(),
        subject: expected.subject.clone(),
        effective_at: expected.effective_at,
        recorded_at: if is_recorded_then { kept.recorded_at } else { recorded_at },
        waits: is_waiting.then_some((expected.effective_at, expected.cancelled_at)),
    };
    plan.corrections.push(Correction::Message(worked.book.key.clone(), Box::new(facts)));
}

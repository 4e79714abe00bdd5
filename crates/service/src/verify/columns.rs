//! Compares the columns of an account that follow from its journal, and the other rows that follow from the account.

use super::Plan;
use super::signed::SignedMessages;
use super::work::Worked;
use crate::account::book::Book;
use crate::account::journal::Record;
use crate::account::owner_of;
use crate::problem::Problem;
use crate::refold::earlier;
use crate::search_index::of_account;
use daybook_engine::snapshot;
use daybook_engine::state::State;
use daybook_engine::time::Time;
use daybook_store::portfolio_queries::{SearchWords, SearchedKind};
use daybook_store::records::{AccountNow, AccountRow};
use daybook_store::upkeep::Correction;
use std::fmt::Display;
use std::sync::Arc;

/// The columns that the journal gives. Columns that do not follow from it (the last update, customers and external
/// fields) are taken as stored.
pub(super) fn expected(row: &AccountRow, worked: &Worked, now: Time) -> Result<AccountNow, Problem> {
    let stored = &row.now;
    let mut book = worked.standing();
    book.close(now)?;
    let mut expected = book.now.clone();
    (expected.updated_at, expected.profile) = (stored.updated_at, stored.profile.clone());
    if expected.processed_through.is_none() {
        expected.state = Vec::new();
    }
    // Withdrawn inputs leave gaps, also at the end.
    expected.next_seq = expected.next_seq.max(stored.next_seq);
    if stored.failure.is_some() && still_fails(row, worked, now) {
        (expected.failure, expected.next_moment) = (stored.failure.clone(), None);
    }
    // If both moments have passed, the account is due either way; a retried account has the moment of its retry.
    let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
    if is_due(expected.next_moment) && is_due(stored.next_moment) {
        expected.next_moment = stored.next_moment;
    }
    // A different encoding of the same state is accepted.
    let owner = owner_of(&row.key);
    let stands_same =
        |state: &State| snapshot::write(state, owner.as_bytes()).is_ok_and(|bytes| bytes == expected.state);
    if snapshot::read(&stored.state, owner.as_bytes()).is_ok_and(|state| stands_same(&state)) {
        expected.state.clone_from(&stored.state);
    }
    Ok(expected)
}

/// Whether a failed account would fail again.
fn still_fails(row: &AccountRow, worked: &Worked, now: Time) -> bool {
    let by_rules = row.now.failure.as_deref().is_some_and(earlier::is_failure);
    by_rules || worked.tried().settle(now).is_err()
}

fn shown<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}

/// Compares every column.
pub(super) fn compare_columns(row: &AccountRow, expected: &AccountNow, differ: &mut dyn FnMut(String)) {
    let stored = &row.now;
    let mut column = |name: &str, kept: String, given: String| {
        if kept != given {
            differ(format!("{name} is {kept}; recalculated from the journal, it is {given}"));
        }
    };
    column("processed_through", shown(&stored.processed_through), shown(&expected.processed_through));
    column("rolled_to", shown(&stored.rolled_to), shown(&expected.rolled_to));
    column("next_moment", shown(&stored.next_moment), shown(&expected.next_moment));
    column("oldest_unpaid_due", shown(&stored.oldest_unpaid_due), shown(&expected.oldest_unpaid_due));
    column("status", stored.status.clone(), expected.status.clone());
    column("substatus", shown(&stored.substatus), shown(&expected.substatus));
    column("failure", shown(&stored.failure), shown(&expected.failure));
    for (name, kept, given) in [
        ("next_seq", stored.next_seq, expected.next_seq),
        ("settled_seq", stored.settled_seq, expected.settled_seq),
        ("held_events", stored.held_events, expected.held_events),
        ("scheduled_events", stored.scheduled_events, expected.scheduled_events),
        ("message_seq", stored.message_seq, expected.message_seq),
        ("balance", stored.balance, expected.balance),
    ] {
        column(name, kept.to_string(), given.to_string());
    }
}

/// Compares the effective and creation times of an account. The creation time is corrected only if a signed message
/// confirms the journal.
pub(super) fn compare_times(
    row: &AccountRow,
    worked: &Book,
    signed: &SignedMessages<'_>,
    plan: &mut Plan,
    differ: &mut dyn FnMut(String),
) {
    let effective_at = worked.terms.opening.effective_at;
    let opened = worked.journal.first().filter(|record| matches!(record.record, Record::Input(_)));
    let created_at = opened.map_or(row.created_at, |record| record.row.recorded_at);
    for (name, kept, given) in
        [("effective_at", row.effective_at, effective_at), ("created_at", row.created_at, created_at)]
    {
        if kept != given {
            differ(format!("{name} is {kept}; recalculated from the journal, it is {given}"));
        }
    }
    let is_kept = row.created_at == created_at || !signed.confirm_account_created(created_at);
    let created_at = if is_kept { row.created_at } else { created_at };
    if (row.effective_at, row.created_at) != (effective_at, created_at) {
        plan.corrections.push(Correction::AccountTimes(row.key.clone(), effective_at, created_at));
    }
}

/// Compares the links to customers and the search words with those the account implies.
pub(super) fn compare_links(
    stored: &Book,
    links: &[(Arc<str>, String)],
    words: &[String],
    plan: &mut Plan,
    differ: &mut dyn FnMut(String),
) {
    let of = |customer: &crate::view::AccountCustomer| {
        (Arc::from(customer.customer_id.as_str()), customer.customer_account_role.name().to_owned())
    };
    let mut expected: Vec<(Arc<str>, String)> = stored.profile.customers.iter().map(of).collect();
    expected.sort();
    if links != expected {
        let shown = |links: &[(Arc<str>, String)]| {
            let each: Vec<String> = links.iter().map(|(customer, role)| format!("{customer} ({role})")).collect();
            if each.is_empty() { "none".to_owned() } else { each.join(", ") }
        };
        differ(format!("its customers are listed as {}, but it has {}", shown(links), shown(&expected)));
        plan.customers = Some(expected);
    }
    let key = &stored.key;
    let given = of_account(key.org, &key.account, &stored.profile).map(|words| words.words).unwrap_or_default();
    if words != given {
        differ(format!("its search words are \"{}\", but its fields give \"{}\"", words.join(" "), given.join(" ")));
        let (org, id) = (key.org, key.account.clone());
        plan.words.push(SearchWords { org, kind: SearchedKind::Account, id, words: given, is_new: false });
    }
}

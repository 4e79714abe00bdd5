//! Changes of an account's loan: making one, withdrawing one, showing them.
//!
//! A change is an input with a form of its own. What the form leaves open, the account's terms and clock decide, so the
//! form is resolved here and not where the request arrives.

use super::book::{Applied, Book, Halt, RequestedInput};
use super::journal::{JournalEntry, Record};
use crate::account::message_writer::external_fields;
use crate::form;
use crate::problem::Problem;
use crate::view;
use daybook_engine::change::Change;
use daybook_engine::item::Name;
use daybook_engine::replay::replay;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use std::collections::HashMap;
use std::sync::Arc;

/// The beginning of the name of a cancel.
const CANCEL: &str = "dbk_cancel:";
/// The beginning of the name of a cancel that withdraws a scheduled change.
const WITHDRAWN: &str = "dbk_withdrawn:";

/// The name of the cancel of a change.
pub fn cancel_name(change: &str) -> String {
    format!("{CANCEL}{change}")
}

/// A change requested for an account.
#[derive(Clone, Debug)]
pub struct RequestedChange {
    /// Its id.
    pub name: Name,
    /// The change.
    pub form: form::LoanChange,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// A hash of the request's content.
    pub content_hash: Vec<u8>,
}

impl Book {
    /// Makes a change. The account must be settled, and its whole journal loaded.
    pub fn submit_change(&mut self, asked: &RequestedChange, now: Time) -> Result<Applied, Halt> {
        if let Some(before) = self.named(&asked.name) {
            if before.row.content_hash == asked.content_hash && !self.is_withdrawn(&asked.name) {
                return Ok(Applied::Already);
            }
            return Err(Problem::id_taken("change_id", "change", &asked.name).into());
        }
        let form::Resolved { effective_at, change } =
            asked.form.resolve(&self.terms, self.clock(now)).map_err(Problem::from)?;
        let input = RequestedInput {
            name: asked.name.clone(),
            effective_at,
            input: Input::Change(Box::new(change)),
            extra: asked.extra.clone(),
            content_hash: asked.content_hash.clone(),
        };
        let cancel = match asked.form.replaces() {
            None => None,
            Some(replaced) => self.cancel_of_rate(replaced)?,
        };
        self.attempt(|book| {
            if let Some(cancel) = &cancel {
                book.try_submit(cancel, now)?;
            }
            book.try_submit(&input, now)
        })?;
        Ok(Applied::Now)
    }

    /// The cancel of a rate that another one replaces; `None` if it is already cancelled.
    fn cancel_of_rate(&self, id: &str) -> Result<Option<RequestedInput>, Problem> {
        let is_rate = |change: &Change| change.kind() == "interest_rate";
        if !self.change_named(id).is_some_and(is_rate) || self.is_withdrawn(id) {
            return Err(Problem::not_found("interest rate", id));
        }
        let is_cancelled = self.cancel_of(id).is_some();
        Ok((!is_cancelled).then(|| cancel_input(id, cancel_name(id))))
    }

    /// Withdraws a change that is held or scheduled. A held one is removed; a scheduled one has been announced, so its
    /// withdrawal is recorded.
    pub fn withdraw_change(&mut self, id: &str, now: Time) -> Result<(), Halt> {
        if self.change_named(id).is_none() || self.is_withdrawn(id) {
            return Err(Problem::not_found("change", id).into());
        }
        let through = self.now.processed_through;
        let is_scheduled = |record: &JournalEntry| Some(record.place.at) > through;
        match self.named(id) {
            Some(record) if !self.is_held(record) && is_scheduled(record) && !self.product.mode.holding => {
                let cancel = cancel_input(id, format!("{WITHDRAWN}{id}"));
                self.attempt(|book| book.try_submit(&cancel, now))
            }
            _ => self.withdraw(id, now),
        }
    }

    /// The change with an id.
    fn change_named(&self, id: &str) -> Option<&Change> {
        match &self.named(id)?.record {
            Record::Input(Input::Change(change)) => Some(change),
            _ => None,
        }
    }

    /// The record that cancels a change.
    fn cancel_of(&self, id: &str) -> Option<&JournalEntry> {
        let cancels = |record: &&JournalEntry| matches!(&record.record, Record::Input(Input::CancelChange { change, .. }) if **change == *id);
        self.journal.iter().find(cancels)
    }

    /// Whether a change was withdrawn while it was scheduled.
    fn is_withdrawn(&self, id: &str) -> bool {
        self.cancel_of(id).is_some_and(|record| record.row.name.starts_with(WITHDRAWN))
    }

    /// A change as its caller sees it. Needs the whole journal.
    pub fn change(&self, id: &str) -> Result<view::LoanChange, Problem> {
        let change = match self.named(id) {
            Some(record) if !self.is_withdrawn(id) => self.show_change(record, &self.refused_inputs()),
            _ => None,
        };
        change.ok_or_else(|| Problem::not_found("change", id))
    }

    /// All changes, in order of arrival. Needs the whole journal.
    pub fn changes(&self) -> Vec<view::LoanChange> {
        let refused = self.refused_inputs();
        let standing = self.journal.iter().filter(|record| !self.is_withdrawn(&record.row.name));
        standing.filter_map(|record| self.show_change(record, &refused)).collect()
    }

    /// The processed inputs that could not be applied, with the rules they broke.
    fn refused_inputs(&self) -> HashMap<u64, &'static str> {
        let is_scheduled = |record: &&JournalEntry| record.row.scheduled || record.held.is_some();
        let Some(through) = self.now.processed_through else { return HashMap::new() };
        // An input that was processed when it arrived was applied.
        if !self.journal.iter().any(|record| is_scheduled(&record) && record.entry().is_some()) {
            return HashMap::new();
        }
        match replay(&self.terms, &self.settled_entries(through), through) {
            Ok((_, out)) => out.refused.iter().map(|(seq, refusal)| (*seq, refusal.rule())).collect(),
            Err(_) => HashMap::new(),
        }
    }

    fn show_change(&self, record: &JournalEntry, refused: &HashMap<u64, &'static str>) -> Option<view::LoanChange> {
        let Record::Input(Input::Change(change)) = &record.record else { return None };
        let zone = &self.terms.zone;
        let local = |time: Time| view::time::Local::new(time, zone);
        let is_held = self.is_held(record);
        let rule = refused.get(&record.place.seq);
        let processing_state = if is_held && self.now.failure.is_some() || rule.is_some() {
            view::ProcessingState::Failed
        } else if is_held {
            view::ProcessingState::Held
        } else if Some(record.place.at) > self.now.processed_through {
            view::ProcessingState::Scheduled
        } else {
            view::ProcessingState::Processed
        };
        let reason = match rule {
            Some(rule) => Some((*rule).to_owned()),
            None => self.now.failure.clone().filter(|_| is_held),
        };
        let id = &record.row.name;
        Some(view::LoanChange {
            change_id: id.to_string(),
            account_id: self.key.account.to_string(),
            effective_at: local(record.row.effective_at),
            applies_at: (!is_held).then(|| local(record.place.at)),
            created_at: local(record.row.recorded_at),
            processing_state,
            reason,
            cancelled_at: self.cancel_of(id).map(|cancel| local(cancel.place.at)),
            external_fields: external_fields(record.row.extra.as_deref()),
            details: view::ChangeDetails::new(id, change, record.row.effective_at, zone),
            made: view::change_text(change, view::Tense::Past),
            planned: view::change_text(change, view::Tense::Future),
        })
    }
}

fn cancel_input(change: &str, name: String) -> RequestedInput {
    RequestedInput {
        name: Name::from(name),
        effective_at: None,
        input: Input::CancelChange { change: Name::from(change), never_made: false },
        extra: None,
        content_hash: Vec::new(),
    }
}

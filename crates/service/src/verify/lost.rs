//! Signs that a journal lost a record.
//!
//! The journal is the source of every correction, so a journal that lost a record would destroy good data. A record
//! leaves traces when it is processed: the state, line items, messages, and the columns that a release or a roll
//! changes. They are written in the same transaction as the record. If a trace reaches further than the journal,
//! nothing of the account is corrected.
//!
//! A held or scheduled record is not processed yet. Its traces are its number and the counts of such records. Numbers of
//! withdrawn records are missing too; the audit trail states them, unless an earlier build made the withdrawal.

use super::is_signed;
use super::numbers::Missing;
use super::work::{Worked, is_given};
use crate::account::refolding::is_same;
use daybook_engine::item::ItemId;
use daybook_engine::snapshot;
use daybook_engine::state::State;
use daybook_store::records::{AccountRow, ItemRow, MessageRow};
use daybook_webhooks::signature::SigningKey;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The stored traces of an account's records.
pub(super) struct Traces<'a> {
    pub row: &'a AccountRow,
    /// The stored state, if it can be read.
    pub state: Option<&'a State>,
    /// The stored line items, without those that earlier rules left over.
    pub items: Vec<&'a ItemRow>,
    pub messages: &'a [MessageRow],
    pub keys: &'a [SigningKey],
    /// The number of records in the journal.
    pub records: usize,
    /// Numbers that no record has.
    pub missing: &'a Missing,
}

/// The account and the number that a message's bytes contain.
#[derive(Deserialize)]
struct Said {
    account_id: String,
    account_sequence: i64,
}

impl Traces<'_> {
    /// What the journal does not give, as one sentence.
    pub(super) fn of_lost_records(&self, worked: &Worked) -> Option<String> {
        let signs: Vec<String> = [
            self.of_items(worked),
            self.of_messages(worked),
            self.of_release(worked),
            self.of_roll(worked),
            self.of_state(worked),
            self.of_numbers(worked),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!signs.is_empty()).then(|| {
            format!(
                "its journal lost a record, or was changed: {}. The account is not corrected; restore the database \
                 from a backup",
                signs.join("; ")
            )
        })
    }

    /// Line items of callers that no record makes.
    fn of_items(&self, worked: &Worked) -> Option<String> {
        let is_lost = |row: &&&ItemRow| {
            let is_callers = matches!(ItemId::parse(&row.item_id), ItemId::Input(_));
            is_callers && !worked.items.contains_key(&row.item_id) && !self.is_renamed(row, worked)
        };
        let ids: Vec<&str> = self.items.iter().filter(is_lost).map(|row| &*row.item_id).collect();
        match ids.as_slice() {
            [] => None,
            [id] => Some(format!("a caller created line item {id}, but the journal has no record of it")),
            ids => {
                Some(format!("callers created line items {}, but the journal has no records of them", ids.join(", ")))
            }
        }
    }

    /// Whether only the id of a line item was changed: a line item that the journal gives is missing and equal in
    /// everything else, and messages name that one.
    fn is_renamed(&self, row: &ItemRow, worked: &Worked) -> bool {
        let stored: BTreeSet<&str> = self.items.iter().map(|row| &*row.item_id).collect();
        let is_named = |id: &str| self.messages.iter().any(|message| message.subject == id);
        if is_named(&row.item_id) {
            return false;
        }
        worked.items.iter().filter(|(id, _)| !stored.contains(&***id) && is_named(id)).any(|(id, made)| {
            let renamed = ItemRow { item_id: id.clone(), ..row.clone() };
            is_same(&renamed, made) && row.created_at == made.created_at
        })
    }

    /// Messages with numbers that the journal does not reach.
    fn of_messages(&self, worked: &Worked) -> Option<String> {
        let given = worked.book.now.message_seq;
        let beyond = self.messages.iter().filter(|message| message.sequence > given);
        let last = beyond.filter_map(|message| self.number_of(message)).max();
        let reached = last.unwrap_or(0).max(self.row.now.message_seq);
        (reached > given).then(|| {
            format!("its messages are numbered up to {reached}, but by its journal the last number is {given}")
        })
    }

    /// The number of a message: the one in its bytes if they are signed, since a column may have been altered. `None`
    /// if it belongs to another account.
    fn number_of(&self, message: &MessageRow) -> Option<i64> {
        let said = is_signed(message, self.keys).then(|| serde_json::from_slice::<Said>(&message.data));
        match said {
            Some(Ok(said)) => (said.account_id == *self.row.key.account).then_some(said.account_sequence),
            _ => Some(message.sequence),
        }
    }

    /// A release: its record is gone, and the inputs it released seem to be held, or to be released by a later record.
    fn of_release(&self, worked: &Worked) -> Option<String> {
        let (stored, given) = (&self.row.now, &worked.book.now);
        let seem_held = given.held_events > stored.held_events && given.settled_seq < stored.settled_seq;
        let is_lost = seem_held || worked.book.journal.len() > self.records;
        is_lost.then(|| "events were released, but the journal has no record of the release".to_owned())
    }

    /// A roll: the account was processed up to the moment it was rolled to.
    fn of_roll(&self, worked: &Worked) -> Option<String> {
        let to = self.row.now.rolled_to.filter(|to| Some(*to) > worked.book.now.rolled_to)?;
        let through = self.state?.processed_through;
        (self.is_own() && through >= Some(to))
            .then(|| format!("the account was rolled to {to}, but the journal has no record of the roll"))
    }

    /// A state that is intact and belongs to the account, and that the journal does not give.
    fn of_state(&self, worked: &Worked) -> Option<String> {
        let is_lost = self.is_own() && !is_given(self.state?, worked);
        is_lost.then(|| "its stored state is intact, but recalculating the journal gives a different state".to_owned())
    }

    /// Numbers of records that no withdrawal explains. If withdrawals may be unknown, the account must also count more
    /// records than its journal gives.
    fn of_numbers(&self, worked: &Worked) -> Option<String> {
        let Missing { gaps, is_certain } = self.missing;
        let counts = || {
            let (stored, given) = (&self.row.now, worked.standing().now);
            stored.held_events > given.held_events || stored.scheduled_events > given.scheduled_events
        };
        let is_lost = !gaps.is_empty() && (*is_certain || counts());
        let shown: Vec<String> = gaps.iter().map(ToString::to_string).collect();
        is_lost.then(|| format!("no record has number {}, and no withdrawal removed it", shown.join(", ")))
    }

    /// Whether the state is known to be intact and this account's. The checksum of an earlier version does not cover
    /// the account; the columns must agree with such a state.
    fn is_own(&self) -> bool {
        let (Some(state), now) = (self.state, &self.row.now) else { return false };
        match now.state.first() {
            Some(&snapshot::VERSION) => true,
            Some(&snapshot::UNBOUND) => {
                let reason = state.status.reason().map(|reason| reason.name());
                state.processed_through == now.processed_through
                    && state.balances().owed().0 == now.balance
                    && state.status.standing().name() == now.status
                    && reason == now.substatus.as_deref()
            }
            _ => false,
        }
    }
}

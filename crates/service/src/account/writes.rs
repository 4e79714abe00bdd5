//! The rows that a book collects to be written.

use super::journal::{JournalEntry, Names, named};
use super::message_writer::cancel_notices;
use daybook_engine::item::{ItemChangeKind, ItemId, ItemStatus, LineItem};
use daybook_engine::outcome::{FoldOutcome, Refusal};
use daybook_engine::time::Time;
use daybook_store::batch::ItemChange;
use daybook_store::records::{InputRow, ItemRow, MessageRow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows to write for an account.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// New records of the journal.
    pub inputs: Vec<InputRow>,
    /// Records that are withdrawn.
    pub removed_inputs: Vec<i64>,
    /// Line items that are new or replaced.
    pub items: BTreeMap<Arc<str>, ItemRow>,
    /// Changes to existing line items.
    pub changes: BTreeMap<Arc<str>, ItemChange>,
    /// The messages, in order.
    pub messages: Vec<MessageRow>,
    /// Inputs that could not be applied.
    pub refused: Vec<(u64, Refusal)>,
    /// Whether the account's customers changed.
    pub customers_changed: bool,
    /// Messages waiting for a moment up to this one are sent now.
    pub publish_until: Option<Time>,
    /// When the account was closed: notices due after this are cancelled.
    pub cancel_notices_at: Option<Time>,
    /// Whether the account failed.
    pub failed: bool,
}

impl Writes {
    /// Whether only the state is to be written.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
            && self.removed_inputs.is_empty()
            && self.items.is_empty()
            && self.changes.is_empty()
            && self.messages.is_empty()
    }

    /// Adds the rows of a later request.
    pub fn append(&mut self, later: Writes) {
        self.inputs.extend(later.inputs);
        self.removed_inputs.extend(later.removed_inputs);
        later.items.into_values().for_each(|row| self.put_row(row));
        later.changes.into_values().for_each(|change| self.put_change(change));
        if let Some(at) = later.cancel_notices_at {
            self.cancel_notices(at);
        }
        self.messages.extend(later.messages);
        self.refused.extend(later.refused);
        self.customers_changed |= later.customers_changed;
        self.publish_until = self.publish_until.max(later.publish_until);
        self.failed |= later.failed;
    }

    /// Cancels notices that are not due yet, including those of earlier transactions, because the account was closed.
    /// Later messages are not affected, as the account may be reopened.
    pub fn cancel_notices(&mut self, now: Time) {
        cancel_notices(&mut self.messages, now);
        self.cancel_notices_at = self.cancel_notices_at.max(Some(now));
    }

    /// Adds the line items and changes that a fold made.
    pub fn absorb(&mut self, out: &FoldOutcome, now: Time, journal: &[JournalEntry], names: Option<&Names>) {
        // If all loaded inputs were accepted just now and have no external fields, no lookup is needed.
        let any_held_or_extra = journal.iter().any(|record| record.extra.is_some() || record.recorded_at != now);
        for item in &out.items {
            let record = match &item.id {
                ItemId::Input(name) if any_held_or_extra => named(names, journal, name),
                _ => None,
            };
            let extra = record.and_then(|record| record.extra.clone());
            self.put_item(item, extra, record.map_or(now, |record| record.recorded_at), now);
        }
        for change in &out.changes {
            self.change_item(&change.id, &change.change, now);
        }
    }

    /// Adds a line item that is new or replaced.
    pub fn put_item(&mut self, item: &LineItem, extra: Option<Arc<str>>, recorded_at: Time, now: Time) {
        self.put_row(ItemRow { created_at: recorded_at, ..item_row(item, extra, now) });
    }

    fn put_row(&mut self, row: ItemRow) {
        self.changes.remove(&row.item_id);
        match self.items.get_mut(&row.item_id) {
            Some(before) => *before = ItemRow { created_at: before.created_at, ..row },
            None => {
                self.items.insert(row.item_id.clone(), row);
            }
        }
    }

    fn put_change(&mut self, later: ItemChange) {
        if let Some(row) = self.items.get_mut(&later.item_id) {
            change_row(row, &later);
            return;
        }
        match self.changes.get_mut(&later.item_id) {
            Some(change) => {
                change.balance = later.balance.or(change.balance);
                change.status = later.status.or(change.status);
                change.void |= later.void;
                change.reversed_by = later.reversed_by.or(change.reversed_by.take());
            }
            None => drop(self.changes.insert(later.item_id.clone(), later)),
        }
    }

    fn change_item(&mut self, id: &ItemId, change: &ItemChangeKind, now: Time) {
        let item_id: Arc<str> = Arc::from(id.to_string());
        if let Some(row) = self.items.get_mut(&item_id) {
            match change {
                ItemChangeKind::Balance(balance) => row.balance = balance.0,
                ItemChangeKind::Status(status) => row.status = status.name().to_owned(),
                ItemChangeKind::ReversedBy(reversal) => row.reversed_by = Some(reversal.clone()),
            }
            if *change == ItemChangeKind::Status(ItemStatus::Invalid) {
                (row.balance, row.principal, row.interest, row.fees) = (0, 0, 0, 0);
                row.splits.clear();
            }
            return;
        }
        let entry = self.changes.entry(item_id.clone()).or_insert(ItemChange {
            item_id,
            balance: None,
            status: None,
            void: false,
            reversed_by: None,
            updated_at: now,
        });
        match change {
            ItemChangeKind::Balance(balance) => entry.balance = Some(balance.0),
            ItemChangeKind::Status(status) => {
                entry.status = Some(status.name());
                entry.void |= *status == ItemStatus::Invalid;
            }
            ItemChangeKind::ReversedBy(reversal) => entry.reversed_by = Some(reversal.clone()),
        }
    }
}

/// Changes a line item as the store would.
pub fn change_row(row: &mut ItemRow, change: &ItemChange) {
    if change.void {
        (row.balance, row.principal, row.interest, row.fees) = (0, 0, 0, 0);
        row.splits.clear();
    } else {
        row.balance = change.balance.unwrap_or(row.balance);
        row.reversed_by = change.reversed_by.clone().or(row.reversed_by.take());
    }
    if let Some(status) = change.status {
        row.status = status.to_owned();
    }
    row.updated_at = change.updated_at;
}

/// A line item as the store keeps it.
pub fn item_row(item: &LineItem, extra: Option<Arc<str>>, now: Time) -> ItemRow {
    ItemRow {
        item_id: Arc::from(item.id.to_string()),
        kind: item.kind.name().to_owned(),
        status: item.status.name().to_owned(),
        effective_at: item.effective_at,
        applied_at: item.applied_at,
        created_at: now,
        updated_at: now,
        amount: item.amount.0,
        balance: item.balance.0,
        principal: item.principal.0,
        interest: item.interest.0,
        fees: item.fees.0,
        splits: if item.splits.is_empty() {
            Vec::new()
        } else {
            postcard::to_allocvec(&item.splits).unwrap_or_default()
        },
        extra,
        reversed_by: item.reversed_by.clone(),
    }
}

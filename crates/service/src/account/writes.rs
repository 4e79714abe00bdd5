//! What a book collects to be written. Line items stay as the engine made them until the rows are written.

use super::journal::{JournalEntry, Names, named};
use super::message_writer::cancel_notices;
use daybook_engine::item::{self, ItemChangeKind, ItemId, ItemStatus, LineItem};
use daybook_engine::outcome::Refusal;
use daybook_engine::time::Time;
use daybook_store::batch::ItemChange;
use daybook_store::records::{ItemRow, MessageRow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is to be written for an account.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// New records of the journal, by number, in order.
    pub inputs: Vec<i64>,
    /// Records that are withdrawn.
    pub removed_inputs: Vec<i64>,
    /// Line items that are new or replaced, by id.
    pub items: BTreeMap<Arc<str>, WrittenItem>,
    /// Changes to line items of earlier transactions, by id.
    pub changes: BTreeMap<Arc<str>, ItemChanges>,
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

/// A line item to write.
#[derive(Clone, Debug)]
pub struct WrittenItem {
    /// The line item.
    pub item: LineItem,
    /// External fields, as JSON.
    pub extra: Option<Arc<str>>,
    /// When it was created.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Changes to a line item of an earlier transaction, in order.
#[derive(Clone, Debug)]
pub struct ItemChanges {
    /// When they were made.
    pub updated_at: Time,
    /// What changed.
    pub changes: Vec<ItemChangeKind>,
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

    /// Adds what a later request collected.
    pub fn append(&mut self, later: Writes) {
        self.inputs.extend(later.inputs);
        self.removed_inputs.extend(later.removed_inputs);
        later.items.into_iter().for_each(|(id, item)| self.put(id, item));
        for (id, later) in later.changes {
            later.changes.into_iter().for_each(|change| self.change_item(&id, change, later.updated_at));
        }
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
    pub fn absorb(
        &mut self,
        items: Vec<LineItem>,
        changes: Vec<item::ItemChange>,
        now: Time,
        journal: &[JournalEntry],
        names: Option<&Names>,
    ) {
        // If all loaded inputs were accepted just now and have no external fields, no lookup is needed.
        let any_held_or_extra =
            journal.iter().any(|record| record.row.extra.is_some() || record.row.recorded_at != now);
        for item in items {
            let record = match &item.id {
                ItemId::Input(name) if any_held_or_extra => named(names, journal, name),
                _ => None,
            };
            let extra = record.and_then(|record| record.row.extra.clone());
            self.put_item(item, extra, record.map_or(now, |record| record.row.recorded_at), now);
        }
        for change in changes {
            self.change_item(&Arc::from(change.id.to_string()), change.change, now);
        }
    }

    /// Adds a line item that is new or replaced.
    pub fn put_item(&mut self, item: LineItem, extra: Option<Arc<str>>, created_at: Time, updated_at: Time) {
        self.put(Arc::from(item.id.to_string()), WrittenItem { item, extra, created_at, updated_at });
    }

    fn put(&mut self, id: Arc<str>, mut item: WrittenItem) {
        self.changes.remove(&id);
        if let Some(before) = self.items.get(&id) {
            item.created_at = before.created_at;
        }
        self.items.insert(id, item);
    }

    fn change_item(&mut self, id: &Arc<str>, change: ItemChangeKind, now: Time) {
        match self.items.get_mut(id) {
            Some(written) => written.item.change(&change),
            None => {
                let changes = || ItemChanges { updated_at: now, changes: Vec::with_capacity(1) };
                self.changes.entry(id.clone()).or_insert_with(changes).changes.push(change);
            }
        }
    }

    /// The rows of the line items, and of the changes to earlier ones.
    pub fn take_items(&mut self) -> (Vec<ItemRow>, Vec<ItemChange>) {
        let (items, changes) = (std::mem::take(&mut self.items), std::mem::take(&mut self.changes));
        let items = items.into_iter().map(|(id, item)| item.into_row(id));
        let changes = changes.into_iter().map(|(id, changes)| changes.into_row(id));
        (items.collect(), changes.collect())
    }
}

impl WrittenItem {
    /// The line item as the store keeps it.
    pub fn into_row(self, item_id: Arc<str>) -> ItemRow {
        let WrittenItem { item, extra, created_at, updated_at } = self;
        ItemRow {
            item_id,
            kind: item.kind.name().to_owned(),
            status: item.status.name().to_owned(),
            effective_at: item.effective_at,
            applied_at: item.applied_at,
            created_at,
            updated_at,
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
            reversed_by: item.reversed_by,
            reason: item.reason.map(|reason| Arc::from(reason.name())),
        }
    }
}

impl ItemChanges {
    /// The changes as the store makes them. The last change of each kind counts.
    pub fn into_row(self, item_id: Arc<str>) -> ItemChange {
        let mut row = ItemChange {
            item_id,
            balance: None,
            status: None,
            void: false,
            reversed_by: None,
            updated_at: self.updated_at,
        };
        for change in self.changes {
            match change {
                ItemChangeKind::Balance(balance) => row.balance = Some(balance.0),
                ItemChangeKind::Status(status) => {
                    row.status = Some(status.name());
                    row.void |= status == ItemStatus::Invalid;
                }
                ItemChangeKind::ReversedBy(reversal) => row.reversed_by = Some(reversal),
            }
        }
        row
    }
}

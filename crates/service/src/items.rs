//! Line items as views show them: read from the store's rows, or waiting in the journal.

use crate::account::journal::JournalEntry;
use crate::account::message_writer::external_fields;
use crate::form::fields::ExternalField;
use crate::problem::Problem;
use crate::view::{ItemFacts, ProcessingState, ProductFacts};
use daybook_engine::item::{ItemId, ItemKind, ItemReason, ItemStatus, LineItem, Split};
use daybook_engine::money::Cents;
use daybook_engine::time::Time;
use daybook_store::records::{AccountKey, ItemRow};
use daybook_store::{AccountToLoad, Inputs, Store};
use std::sync::Arc;

/// The names of all kinds of line items.
pub fn kind_names() -> impl Iterator<Item = &'static str> {
    ItemKind::ALL.iter().map(|kind| kind.name())
}

/// The names of all statuses of line items.
pub fn status_names() -> impl Iterator<Item = &'static str> {
    ItemStatus::ALL.iter().map(|status| status.name())
}

/// The engine's line item of a row.
fn item_of_row(row: &ItemRow) -> Result<LineItem, Problem> {
    let damaged = |what: &str| Problem::internal(format!("line item {} cannot be read: {what}", row.item_id));
    let splits: Vec<Split> = match row.splits.as_slice() {
        [] => Vec::new(),
        bytes => postcard::from_bytes(bytes).map_err(|error| damaged(&error.to_string()))?,
    };
    let kind = ItemKind::ALL.iter().find(|kind| kind.name() == row.kind);
    let kind = kind.ok_or_else(|| damaged("its kind is unknown"))?;
    let status = ItemStatus::ALL.iter().find(|status| status.name() == row.status);
    let status = status.ok_or_else(|| damaged("its status is unknown"))?;
    let reason = match &row.reason {
        None => None,
        Some(name) => {
            let reason = ItemReason::ALL.iter().find(|reason| reason.name() == &**name);
            Some(*reason.ok_or_else(|| damaged("its reason is unknown"))?)
        }
    };
    Ok(LineItem {
        id: ItemId::parse(&row.item_id),
        kind: *kind,
        status: *status,
        effective_at: row.effective_at,
        applied_at: row.applied_at,
        amount: Cents(row.amount),
        balance: Cents(row.balance),
        principal: Cents(row.principal),
        interest: Cents(row.interest),
        fees: Cents(row.fees),
        splits,
        reversed_by: row.reversed_by.clone(),
        reason,
    })
}

/// A line item that is shown: processed, held or scheduled.
#[derive(Clone, Debug)]
pub struct ShownItem {
    /// The line item.
    pub item: LineItem,
    /// When it was created.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// Its processing state.
    pub state: ProcessingState,
    /// Its external fields.
    pub external_fields: Vec<ExternalField>,
}

impl ShownItem {
    /// A processed line item, as it is stored.
    pub fn stored(row: &ItemRow) -> Result<ShownItem, Problem> {
        Ok(ShownItem {
            item: item_of_row(row)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
            state: ProcessingState::Processed,
            external_fields: external_fields(row.extra.as_deref()),
        })
    }

    /// A held or scheduled line item; `None` if the record makes no line item.
    pub fn waiting(record: &JournalEntry, held: bool) -> Option<ShownItem> {
        let state = if held { ProcessingState::Held } else { ProcessingState::Scheduled };
        let shown = ShownItem::as_of(record.waiting_item()?, record.row.extra.as_deref(), record.row.recorded_at);
        Some(ShownItem { state, ..shown })
    }

    /// A processed line item as of a moment.
    pub fn as_of(item: LineItem, extra: Option<&str>, recorded_at: Time) -> ShownItem {
        ShownItem {
            item,
            created_at: recorded_at,
            updated_at: recorded_at,
            state: ProcessingState::Processed,
            external_fields: external_fields(extra),
        }
    }

    /// Reads a line item by its id.
    pub async fn read(store: &dyn Store, key: &AccountKey, item_id: &str) -> Result<Option<ShownItem>, Problem> {
        let item_id: Arc<str> = Arc::from(item_id);
        if let Some(row) = store.items_by_id(key, std::slice::from_ref(&item_id)).await?.into_iter().next() {
            return Ok(Some(ShownItem::stored(&row)?));
        }
        let want = AccountToLoad { key: key.clone(), inputs: Inputs::None, names: vec![item_id.clone()] };
        let Some(loaded) = store.load(&[want]).await?.into_iter().next().flatten() else { return Ok(None) };
        let settled = loaded.row.now.settled_seq;
        let input = loaded.inputs.into_iter().find(|input| input.name == item_id);
        let Some(record) = input.map(JournalEntry::read).transpose()? else { return Ok(None) };
        Ok(ShownItem::waiting(&record, record.seq() > settled))
    }

    /// The facts that a view needs.
    pub fn facts<'a>(&'a self, key: &'a AccountKey, product: &'a ProductFacts) -> ItemFacts<'a> {
        ItemFacts {
            account_id: &key.account,
            product,
            created_at: self.created_at,
            updated_at: self.updated_at,
            processing_state: self.state,
            external_fields: &self.external_fields,
        }
    }
}

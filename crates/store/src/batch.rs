//! The rows that one transaction writes.
//!
//! A [`Batch`] is a list of [`Unit`]s. A unit is written completely or not at all, and states its assumptions: the
//! account still has the version that was loaded, the product still has the mode that was read, an id or an idempotency
//! key is still free. [`Store::commit`](crate::Store::commit) works in the order below. It sorts each step by key so
//! that two nodes never deadlock. PostgreSQL also locks existing accounts before step 2.
//!
//! 1. products' modes are read and locked until the commit; units that were computed under another mode are dropped,
//! 2. idempotency keys are inserted; units whose key is already taken are dropped,
//! 3. accounts are claimed (`UPDATE … WHERE version = loaded RETURNING`; new ones `ON CONFLICT DO NOTHING RETURNING`),
//!    then customers and products in the same way; units whose claim fails are dropped, and their idempotency keys are
//!    deleted again,
//! 4. the rows of the remaining units are written with multi-row statements: inputs, line items, customers of accounts,
//!    words, waiting messages,
//! 5. each organization's log head is advanced by the number of its messages (organizations in order), and the messages
//!    are written at those positions, in the order of the units and within a unit in the order given,
//! 6. the audit trail of each organization is appended to.
//!
//! A unit with one claim can be dropped without affecting the others. A unit with several claims (a customer that is
//! added to accounts) must be alone in its batch: if one of its claims fails, the transaction is rolled back.

use crate::audit::NewAuditRecord;
pub use crate::message_groups::CompressedMessages;
use crate::portfolio_queries::SearchWords;
use crate::records::{
    AccountKey, AccountNow, AccountRow, CustomerRow, InputRow, ItemRow, KeptResponse, MessageRow, Mode, OrgId,
    ProductKey, ProductRow,
};
use crate::refolds::RefoldRow;
use daybook_engine::time::Time;
use std::sync::Arc;

/// The rows that one transaction writes.
#[derive(Debug, Default)]
pub struct Batch {
    /// The units. Each is written or dropped independently of the others.
    pub units: Vec<Unit>,
}

/// Rows that are written together or not at all.
#[derive(Debug, Default)]
pub struct Unit {
    /// The modes of products that this unit was computed under.
    pub modes: Vec<(ProductKey, i64)>,
    /// The response to keep for the caller's idempotency key. A key is free if it does not exist or has expired by the
    /// new response's `recorded_at`.
    pub answers: Vec<NewKeptResponse>,
    /// Accounts.
    pub accounts: Vec<AccountWrite>,
    /// Customers.
    pub customers: Vec<CustomerWrite>,
    /// Products.
    pub products: Vec<ProductWrite>,
    /// Messages, in order. `position` is ignored. Messages with `due_at` become waiting messages (those with
    /// `cancelled_at` stay there); the others go into the log.
    pub messages: Vec<(OrgId, MessageRow)>,
    /// Messages that were compressed and come before the others: see [`Unit::compress_messages`].
    pub compressed: CompressedMessages,
    /// Search words of the records that this unit creates or changes.
    pub words: Vec<SearchWords>,
    /// Audit records of the change.
    pub audit: Vec<NewAuditRecord>,
    /// Whether the messages are sent without waiting for a batch: the organization's log is then sent at once up to its
    /// last message.
    pub hurry: bool,
}

impl Unit {
    /// How many messages it has, compressed or not.
    pub fn message_count(&self) -> u64 {
        self.messages.len() as u64 + self.compressed.count()
    }
}

/// An account and everything new about it.
#[derive(Debug)]
pub struct AccountWrite {
    /// The account itself.
    pub claim: AccountClaim,
    /// New inputs. The claim ensures that their names and numbers are free; if one is not, the unit is dropped.
    pub inputs: Vec<InputRow>,
    /// Inputs to remove, by number.
    pub removed_inputs: Vec<i64>,
    /// Line items that are new or were recomputed: inserted, or overwritten (except `created_at`).
    pub items: Vec<ItemRow>,
    /// Changes to existing line items.
    pub item_changes: Vec<ItemChange>,
    /// The complete new list of the account's customers; `None` if it did not change.
    pub customers: Option<Vec<(Arc<str>, String)>>,
    /// Waiting messages due by this moment are moved into the log now, before this unit's messages.
    pub publish_until: Option<Time>,
    /// Waiting messages to cancel, after `publish_until` is done and before this unit's messages are written.
    pub cancel: Option<Cancel>,
    /// Set if the account was folded again by newer rules, or could not be.
    pub refold: Option<RefoldWrite>,
}

/// Which waiting messages of an account are cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// Messages whose cause begins with this.
    pub cause_prefix: &'static str,
    /// Messages due after this moment, which is also recorded as the time of cancellation. Messages due by it are sent.
    pub at: Time,
}

/// The result of folding an account again by newer rules.
#[derive(Debug)]
pub struct RefoldWrite {
    /// The account's terms, as the newer rules write them; the account is then no longer pending. `None` if it could
    /// not be folded: it stays pending.
    pub terms: Option<Vec<u8>>,
    /// The row for the list of refolds; `None` if no balance or status changed.
    pub listed: Option<RefoldRow>,
}

/// How an account is claimed.
#[derive(Debug)]
pub enum AccountClaim {
    /// It is new.
    Insert(Box<AccountRow>),
    /// It still has the version that was loaded; its version goes up by one.
    Update {
        /// The account.
        key: AccountKey,
        /// The version that was loaded.
        version: i64,
        /// Its new values. `leased_until` is cleared if set.
        now: Box<AccountNow>,
    },
}

/// A change to an existing line item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// The line item's id.
    pub item_id: Arc<str>,
    /// Its new unpaid balance.
    pub balance: Option<i64>,
    /// Its new status.
    pub status: Option<&'static str>,
    /// Whether its balance, components and splits are cleared.
    pub void: bool,
    /// The id of the reversal, if this is a payment that bounced.
    pub reversed_by: Option<Arc<str>>,
    /// When the change was made.
    pub updated_at: Time,
}

/// A customer.
#[derive(Debug)]
pub enum CustomerWrite {
    /// It is new.
    Insert(Box<CustomerRow>),
    /// It has the version before the row's, and is replaced by the row.
    Update(Box<CustomerRow>),
}

/// A product.
#[derive(Debug)]
pub enum ProductWrite {
    /// It is new.
    Insert(Box<ProductRow>),
    /// The mode has the version before this one's, and is replaced by it.
    Mode(ProductKey, Mode),
}

/// A response to keep for an idempotency key.
#[derive(Debug)]
pub struct NewKeptResponse {
    /// The organization.
    pub org: OrgId,
    /// The caller's idempotency key.
    pub key: String,
    /// The response.
    pub answer: KeptResponse,
    /// When it was given.
    pub recorded_at: Time,
    /// Until when it is kept.
    pub expires_at: Time,
}

/// The result of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It was written.
    Written,
    /// One of its assumptions no longer held: load and compute it again.
    Stale,
}

//! What is written in one transaction.
//!
//! A [`Batch`] is a list of [`Unit`]s. A unit is written whole or not at all, and says what it takes for granted: that
//! an account is the version that was loaded, that a product's mode is the one that was read, that an id or an
//! idempotency key is free. [`Store::commit`](crate::Store::commit) works in this order, everything sorted by key so that
//! two nodes never wait for each other in a circle:
//!
//! 1. products' modes are read and kept from changing until the commit; units that read another mode are dropped,
//! 2. idempotency keys are taken; units whose key is taken already are dropped,
//! 3. accounts are claimed (`UPDATE … WHERE version = loaded RETURNING`; new ones `ON CONFLICT DO NOTHING RETURNING`),
//!    then customers and products in the same way; units without their claim are dropped, and the idempotency keys they
//!    took are given back,
//! 4. the rows of what is left are written with multi-row statements: inputs, line items, customers of accounts,
//!    words, waiting messages,
//! 5. each organization's log head is moved on by the number of its messages (organizations in order), and the messages
//!    are written at those positions, in the order of the units and within a unit in the order given,
//! 6. the audit trail of each organization is appended to.
//!
//! A unit with one claim can be dropped from among others. A unit with several (a customer that is put on accounts)
//! must come alone in its batch: if one of its claims fails, the transaction is rolled back.

use crate::audit::NewAuditRecord;
use crate::figures::Words;
use crate::records::{
    AccountKey, AccountNow, AccountRow, Answer, CustomerRow, InputRow, ItemRow, MessageRow, Mode, OrgId, ProductKey,
    ProductRow,
};
use crate::refolds::RefoldRow;
use daybook_engine::time::Time;
use std::sync::Arc;

/// What is written in one transaction.
#[derive(Debug, Default)]
pub struct Batch {
    /// Each stands or falls by itself.
    pub units: Vec<Unit>,
}

/// What is written whole or not at all.
#[derive(Debug, Default)]
pub struct Unit {
    /// Modes of products that this was computed under.
    pub modes: Vec<(ProductKey, i64)>,
    /// The answer to keep for the caller's idempotency key. A key is free if it is not there or has expired by the new
    /// answer's `recorded_at`.
    pub answers: Vec<NewAnswer>,
    /// Accounts.
    pub accounts: Vec<AccountWrite>,
    /// Customers.
    pub customers: Vec<CustomerWrite>,
    /// Products.
    pub products: Vec<ProductWrite>,
    /// What is announced, in order. `position` is not looked at; those with `due_at` go to the waiting messages (where
    /// those with `cancelled_at` stay), the others into the log.
    pub messages: Vec<(OrgId, MessageRow)>,
    /// Words of things that this unit makes or changes.
    pub words: Vec<Words>,
    /// What is recorded about it.
    pub audit: Vec<NewAuditRecord>,
    /// Whether what is announced is sent without waiting for a batch: the organization's log is then to be sent at once up
    /// to its last message.
    pub hurry: bool,
}

/// An account and all that is new about it.
#[derive(Debug)]
pub struct AccountWrite {
    /// The account itself.
    pub claim: AccountClaim,
    /// New inputs. Their names and numbers are free, as the claim ensures; should one not be, the unit is dropped.
    pub inputs: Vec<InputRow>,
    /// Inputs that are taken back, by number.
    pub removed_inputs: Vec<i64>,
    /// Line items that came to be or were made anew: inserted, or written over (all but `created_at`).
    pub items: Vec<ItemRow>,
    /// Changes to line items that are there.
    pub item_changes: Vec<ItemChange>,
    /// The customers of the account, when they changed: the whole new list.
    pub customers: Option<Vec<(Arc<str>, String)>>,
    /// Waiting messages due by this moment are moved into the log now, before what this unit announces.
    pub publish_until: Option<Time>,
    /// Waiting messages that are cancelled, after `publish_until` was done and before what this unit announces.
    pub cancel: Option<Cancel>,
    /// Where the account was folded again by newer rules, or could not be.
    pub refold: Option<RefoldWrite>,
}

/// Which waiting messages of an account are cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    /// Those whose cause begins with this.
    pub cause_prefix: &'static str,
    /// Those due after this moment, which is also when they were cancelled. What is due by it is sent.
    pub at: Time,
}

/// What folding an account again by newer rules leaves behind.
#[derive(Debug)]
pub struct RefoldWrite {
    /// Its terms, as the newer rules write them; the account then no longer waits to be folded again. Nothing where it
    /// could not be: it goes on waiting.
    pub terms: Option<Vec<u8>>,
    /// What is listed about it; `None` where nothing moved.
    pub listed: Option<RefoldRow>,
}

/// How an account is claimed.
#[derive(Debug)]
pub enum AccountClaim {
    /// It is new.
    Insert(Box<AccountRow>),
    /// It is the version that was loaded; its version goes up by one.
    Update {
        /// Which.
        key: AccountKey,
        /// The version that was loaded.
        version: i64,
        /// What it is now. `leased_until`, where there is one, is cleared.
        now: Box<AccountNow>,
    },
}

/// A change to a line item that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// Which.
    pub item_id: Arc<str>,
    /// What is unpaid of it now.
    pub balance: Option<i64>,
    /// Its status now.
    pub status: Option<&'static str>,
    /// Whether its balance, components and splits are wiped.
    pub void: bool,
    /// Of a payment that bounced: the id of its reversal.
    pub reversed_by: Option<Arc<str>>,
    /// When.
    pub updated_at: Time,
}

/// A customer.
#[derive(Debug)]
pub enum CustomerWrite {
    /// It is new.
    Insert(Box<CustomerRow>),
    /// It is the version before the row's, and becomes the row.
    Update(Box<CustomerRow>),
}

/// A product.
#[derive(Debug)]
pub enum ProductWrite {
    /// It is new.
    Insert(Box<ProductRow>),
    /// Its mode is the version before the mode's, and becomes the mode.
    Mode(ProductKey, Mode),
}

/// An answer to keep.
#[derive(Debug)]
pub struct NewAnswer {
    /// Whose.
    pub org: OrgId,
    /// The caller's key.
    pub key: String,
    /// The answer.
    pub answer: Answer,
    /// When it was given.
    pub recorded_at: Time,
    /// Until when it is kept.
    pub expires_at: Time,
}

/// What became of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It was written.
    Written,
    /// Something it took for granted was not so: load and compute again.
    Stale,
}

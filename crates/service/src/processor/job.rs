//! What can be asked of an account, and what is answered.

use super::queue::LONG;
use crate::account::book::{Asked, Rolled};
use crate::account::profile::Profile;
use crate::lock::lock;
use crate::problem::Problem;
use crate::view::AccountCustomer;
use bytes::Bytes;
use daybook_engine::item::Name;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_store::audit::NewAuditRecord;
use daybook_store::records::{AccountKey, ProductKey};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A caller's promise that a call with this key is the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The caller's key.
    pub key: String,
    /// A hash of the call.
    pub content_hash: Vec<u8>,
}

/// Something asked of an account.
#[derive(Debug)]
pub struct Job {
    /// Of which account.
    pub key: AccountKey,
    /// What.
    pub work: Work,
    /// Whether it may be a repeat.
    pub repeat: Option<Repeat>,
    /// Whether it is refused unless the account's product holds its events.
    pub only_held: bool,
    /// What is recorded of it, if it changes something.
    pub record: Option<NewAuditRecord>,
    /// Where the answer goes: JSON.
    pub reply: oneshot::Sender<Result<Bytes, Problem>>,
    /// Its place among those that wait, until it is answered.
    pub place: Option<Place>,
}

/// A place among those that wait: given back when it is dropped.
#[derive(Debug)]
pub enum Place {
    /// Of a call, among those of its organization.
    Call(OwnedSemaphorePermit),
    /// Of an account that timers have put.
    Timer(Timer),
}

impl Job {
    /// About how many steps it takes.
    pub fn cost(&self) -> u64 {
        match &self.work {
            Work::Open(opening) => 1 + opening.steps,
            Work::Settle { cost, .. } => 1 + cost,
            // How far ahead is for the account to say.
            Work::Roll { .. } => 1 + LONG,
            _ => 1,
        }
    }
}

/// The accounts that timers have put and that are not done: none is put twice.
pub type Timers = Arc<Mutex<HashSet<AccountKey>>>;

/// An account that timers have put.
#[derive(Debug)]
pub struct Timer {
    key: AccountKey,
    timers: Timers,
}

impl Timer {
    /// The place of an account; none if it has one.
    pub fn of(key: &AccountKey, timers: &Timers) -> Option<Timer> {
        let is_new = lock(timers).insert(key.clone());
        is_new.then(|| Timer { key: key.clone(), timers: timers.clone() })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        lock(&self.timers).remove(&self.key);
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Work {
    /// To open it.
    Open(Box<Opening>),
    /// To put an input into its timeline.
    Submit(Box<Asked>, Show),
    /// To change a payment's status.
    PaymentStatus {
        /// Which payment.
        payment: Name,
        /// Whether it is valid.
        valid: bool,
        /// The input.
        asked: Box<Asked>,
    },
    /// To take back a held input.
    Withdraw(Name),
    /// To put customers on it.
    AddCustomers(Vec<AccountCustomer>),
    /// To roll its clock.
    Roll {
        /// To and including this moment.
        to: Time,
        /// Whether messages up to it are sent at once.
        webhooks: bool,
        /// What earlier slices of it did.
        done: Rolled,
    },
    /// To bring it up to its clock.
    Settle {
        /// Whether its whole journal is needed, as for a release.
        whole: bool,
        /// About how many steps that takes.
        cost: u64,
    },
}

/// A new account.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Of this product.
    pub product: ProductKey,
    /// On these terms.
    pub terms: Terms,
    /// Customers and external fields.
    pub profile: Profile,
    /// A hash of what was asked for.
    pub content_hash: Vec<u8>,
    /// Unsupported fields that were given.
    pub warnings: Vec<String>,
    /// About how many steps there are from its beginning until now.
    pub steps: u64,
    /// Why it lies too far back, unless its product holds its events.
    pub too_far_back: Option<Problem>,
}

/// What the answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// The line item that the input made.
    Item,
    /// The account.
    Account,
    /// The notices that are configured.
    Notices,
}

impl Work {
    /// Inputs that have to be loaded by name.
    pub fn names(&self, names: &mut Vec<Arc<str>>) {
        match self {
            Work::Submit(asked, _) => {
                names.push(asked.name.clone());
                names.extend(asked.refers_to());
            }
            Work::PaymentStatus { payment, .. } => names.push(payment.clone()),
            Work::Withdraw(name) => names.push(name.clone()),
            Work::Open(_) | Work::AddCustomers(_) | Work::Roll { .. } | Work::Settle { .. } => {}
        }
    }

    /// Whether the whole journal is surely needed.
    pub fn needs_all(&self) -> bool {
        use daybook_engine::timeline::Input;
        match self {
            Work::Submit(asked, _) => matches!(asked.input, Input::Reversal { .. } | Input::Waiver { .. }),
            Work::PaymentStatus { .. } => true,
            Work::Settle { whole, .. } => *whole,
            _ => false,
        }
    }
}

//! The jobs that can be requested of an account.

use super::queue::LONG;
use crate::account::book::{RequestedInput, Rolled};
use crate::account::changes::RequestedChange;
use crate::account::journal::refers_to;
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

/// An idempotency key: requests with the same key are the same request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The caller's key.
    pub key: String,
    /// A hash of the request.
    pub content_hash: Vec<u8>,
}

/// A request to an account.
#[derive(Debug)]
pub struct Job {
    /// The account.
    pub key: AccountKey,
    /// The work.
    pub work: Work,
    /// The idempotency key, if there is one.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Whether it is refused unless the account's product holds events.
    pub only_held: bool,
    /// The audit record to write if it changes something.
    pub record: Option<NewAuditRecord>,
    /// The channel for the response: JSON.
    pub reply: oneshot::Sender<Result<Bytes, Problem>>,
    /// Its place in the queue; released when it is answered.
    pub place: Option<QueuePlace>,
}

/// A place in the queue; dropping it releases it.
#[derive(Debug)]
pub enum QueuePlace {
    /// Of a request, in the limit of its organization.
    Call(OwnedSemaphorePermit),
    /// Of an account that timers queued.
    Timer(Timer),
}

impl Job {
    /// The approximate number of steps it takes.
    pub fn cost(&self) -> u64 {
        match &self.work {
            Work::Open(opening) => 1 + opening.steps,
            Work::Settle { cost, .. } => 1 + cost,
            // How far ahead it goes depends on the account.
            Work::Roll { .. } => 1 + LONG,
            _ => 1,
        }
    }
}

/// The accounts that timers queued and that are not done. None is queued twice.
pub type Timers = Arc<Mutex<HashSet<AccountKey>>>;

/// An account that timers queued.
#[derive(Debug)]
pub struct Timer {
    key: AccountKey,
    timers: Timers,
}

impl Timer {
    /// Reserves the place of an account; `None` if it already has one.
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

/// The work of a job.
#[derive(Clone, Debug)]
pub enum Work {
    /// Create the account.
    Open(Box<AccountOpening>),
    /// Submit an input.
    Submit(Box<RequestedInput>, Show),
    /// Withdraw a held input.
    Withdraw(Name),
    /// Change the loan.
    Change(Box<RequestedChange>),
    /// Withdraw a held or scheduled change.
    WithdrawChange(Name),
    /// Assign customers.
    AddCustomers(Vec<AccountCustomer>),
    /// Roll the clock.
    Roll {
        /// Up to and including this moment.
        to: Time,
        /// Whether messages up to it are sent at once.
        webhooks: bool,
        /// The results of earlier slices.
        done: Rolled,
    },
    /// Process the account up to its clock.
    Settle {
        /// Whether its whole journal is needed, as for a release.
        whole: bool,
        /// The approximate number of steps.
        cost: u64,
    },
}

/// A new account.
#[derive(Clone, Debug)]
pub struct AccountOpening {
    /// Its product.
    pub product: ProductKey,
    /// Its terms.
    pub terms: Terms,
    /// Customers and external fields.
    pub profile: Profile,
    /// A hash of the request's content.
    pub content_hash: Vec<u8>,
    /// Warnings about unsupported fields that were given.
    pub warnings: Vec<String>,
    /// The approximate number of steps from its beginning until now.
    pub steps: u64,
    /// The error if it begins too far back; it does not apply if the product holds events.
    pub too_far_back: Option<Problem>,
}

/// What the response shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// The line item that the input made, or the payment whose status it decides.
    Item,
    /// The account.
    Account,
    /// The configured notices.
    Notices,
    /// The change of the loan that the input is about.
    Change,
}

impl Work {
    /// Inputs that have to be loaded by name.
    pub fn names(&self, names: &mut Vec<Arc<str>>) {
        match self {
            Work::Submit(asked, _) => {
                names.push(asked.name.clone());
                names.extend(refers_to(&asked.input).cloned());
            }
            Work::Withdraw(name) => names.push(name.clone()),
            // Their whole journal is loaded.
            Work::Change(_) | Work::WithdrawChange(_) => {}
            Work::Open(_) | Work::AddCustomers(_) | Work::Roll { .. } | Work::Settle { .. } => {}
        }
    }

    /// Whether the whole journal is certainly needed.
    pub fn needs_all(&self) -> bool {
        use daybook_engine::timeline::Input;
        match self {
            Work::Submit(asked, _) => {
                matches!(
                    asked.input,
                    Input::Reversal { .. }
                        | Input::Waiver { .. }
                        | Input::PaymentStatus { .. }
                        | Input::CancelChange { .. }
                        | Input::RefundReversal { .. }
                )
            }
            Work::Change(_) | Work::WithdrawChange(_) => true,
            Work::Settle { whole, .. } => *whole,
            _ => false,
        }
    }
}

//! What can be asked of an account, and what is answered.

use crate::account::book::Asked;
use crate::account::profile::Profile;
use crate::problem::Problem;
use crate::view::AccountCustomer;
use bytes::Bytes;
use daybook_engine::item::Name;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_store::records::{AccountKey, ProductKey};
use std::sync::Arc;
use tokio::sync::oneshot;

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
    /// Where the answer goes: JSON.
    pub reply: oneshot::Sender<Result<Bytes, Problem>>,
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
    },
    /// To bring it up to its clock.
    Settle {
        /// Whether its whole journal is needed, as for a release.
        whole: bool,
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
            Work::Settle { whole } => *whole,
            _ => false,
        }
    }
}

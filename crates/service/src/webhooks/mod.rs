//! Webhooks: who is told, what they can be told, what became of it, and the keys by which they know that it was us.
//!
//! Accounts announce through the herald, everything else through the news; both write messages, signed, into the log
//! of their organization. What is here lets callers look at and steer what happens with them after that. The sending
//! itself is the dispatcher's, in the room next door; it is woken by [`Service::nudge`] and asks the [`office`] for what
//! only the service knows.
//!
//! ```text
//! herald, news ──► log ──► dispatcher ──► receivers
//!                             ▲   ▲
//!        nudge, subscriptions ┘   └ office: keys, what is said when a URL is paused
//! ```
//!
//! | file | what is there |
//! |---|---|
//! | `events` | every event there is: the one list |
//! | `catalogue`, `schema`, `samples` | what callers are told about events: JSON Schemas, and samples really folded |
//! | `subscriptions` | URLs: subscribing, pausing, removing; the console's own |
//! | `replaying` | sending dead letters again, and a test event at once |
//! | `deliveries` | what was tried, and what nobody took |
//! | `message` | one message with all that is known of it, and sending it again |
//! | `signing` | the key, and giving out another |
//! | `sending` | has the dispatcher send |
//! | `office` | what the dispatcher asks of the service |

pub mod catalogue;
pub mod deliveries;
pub mod events;
pub mod message;
pub mod office;
pub mod replaying;
pub(crate) mod samples;
pub(crate) mod schema;
pub mod sending;
pub mod signing;
pub mod subscriptions;

pub use daybook_webhooks::{dispatcher, guard, sender};

use crate::Service;
use crate::problem::Problem;
use daybook_webhooks::dispatcher::Nudge;
use daybook_webhooks::sender::Sender;
use guard::{Guard, Resolve};
use office::Office;
use std::sync::Arc;

/// How URLs are checked when they are subscribed.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub guard: Guard,
    pub resolve: Arc<dyn Resolve>,
    /// Through which messages leave, where they do.
    pub sender: Option<Sender>,
}

/// Public addresses only, by the machine's own resolver.
impl Default for Gate {
    fn default() -> Gate {
        Gate { guard: Guard::default(), resolve: Arc::new(guard::System), sender: None }
    }
}

impl Service {
    /// The same service, with URLs checked by this guard and names looked up by this resolver.
    pub fn with_guard(self, guard: Guard, resolve: Arc<dyn Resolve>) -> Service {
        Service { gate: Arc::new(Gate { guard, resolve, sender: None }), ..self }
    }

    /// Notified whenever there may be something to send, or no longer. For one who waits.
    pub fn nudge(&self) -> Nudge {
        self.nudge.clone()
    }

    /// What the dispatcher asks of the service.
    pub fn office(&self) -> Office {
        Office::new(self.store.clone(), self.catalog.clone(), self.clock.clone())
    }
}

fn no_subscription(uuid: &str) -> Problem {
    Problem::not_found("subscription", uuid)
}

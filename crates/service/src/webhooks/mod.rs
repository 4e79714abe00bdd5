//! Webhooks: subscriptions, types of events, delivery results, and the keys that receivers verify signatures with.
//!
//! The message writer announces events of accounts, `News` all others; both write signed messages into the log of their
//! organization. This module lets callers inspect and control what happens after that. The dispatcher, in the
//! `webhooks` crate, sends the messages; [`Service::nudge`] wakes it, and it gets data that only the service has from
//! the [`dispatcher_support`].
//!
//! ```text
//! writer, news ──► log ──► dispatcher ──► receivers
//!                             ▲   ▲
//!        nudge, subscriptions ┘   └ support: keys, the message about a paused URL
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `events` | the list of all event types |
//! | `event_ids` | the id of each event, unique in the installation |
//! | `catalogue`, `schema`, `samples` | documentation of events: JSON Schemas, and samples made by the real code |
//! | `subscriptions` | URLs: subscribing, pausing, removing; the console's own |
//! | `replaying` | replaying dead letters, and sending a test event |
//! | `deliveries` | delivery attempts and dead letters |
//! | `message`, `message_details` | one message with all its details, and resending it |
//! | `searching` | finding messages by id, account, event, time and state |
//! | `signing` | the signing key, and its rotation |
//! | `sending` | starts the dispatcher |
//! | `dispatcher_support` | data that the dispatcher needs from the service |

pub mod catalogue;
pub mod deliveries;
pub mod dispatcher_support;
pub mod event_ids;
pub mod events;
pub mod message;
pub mod message_details;
pub mod replaying;
pub(crate) mod samples;
pub(crate) mod schema;
pub mod searching;
pub mod sending;
pub mod signing;
pub mod subscriptions;

pub use daybook_webhooks::{dispatcher, guard, sender};

use crate::Service;
use crate::problem::Problem;
use daybook_store::records::OrgId;
use daybook_webhooks::dispatcher::Nudge;
use daybook_webhooks::sender::Sender;
use dispatcher_support::DispatcherSupport;
use guard::{Guard, LookupLimits, Resolve, SUBSCRIBING_LIMIT, UrlRefusal};
use std::sync::Arc;

/// How many names are resolved at the same time for the requests of one organization.
const LOOKUPS_AT_ONCE: usize = 4;

/// Checks URLs when they are subscribed.
#[derive(Debug)]
pub(crate) struct Gate {
    pub guard: Guard,
    pub resolve: Arc<dyn Resolve>,
    /// Limits how many names are resolved at the same time for one organization's requests.
    pub lookups: LookupLimits,
    /// The sender of messages, if messages are sent.
    pub sender: Option<Sender>,
}

/// Public addresses only, resolved by the machine's own resolver.
impl Default for Gate {
    fn default() -> Gate {
        Gate::new(Guard::default(), Arc::new(guard::System::default()), None)
    }
}

impl Gate {
    pub fn new(guard: Guard, resolve: Arc<dyn Resolve>, sender: Option<Sender>) -> Gate {
        Gate { guard, resolve, lookups: LookupLimits::new(LOOKUPS_AT_ONCE), sender }
    }

    /// Checks a URL that an organization wants to subscribe, with the addresses that its name currently has. A URL
    /// whose lookup gets no turn in time is accepted, as is one whose name server does not respond: the addresses are
    /// checked again at each connection.
    pub async fn check(&self, org: OrgId, url: &str) -> Result<(), UrlRefusal> {
        let turns = self.lookups.of(org);
        let Ok(Ok(_turn)) = tokio::time::timeout(SUBSCRIBING_LIMIT, turns.acquire()).await else {
            return self.guard.check_url(url).map(drop);
        };
        self.guard.check_at_subscribing(url, self.resolve.as_ref()).await
    }
}

impl Service {
    /// The same service, with this guard to check URLs and this resolver for names.
    pub fn with_guard(self, guard: Guard, resolve: Arc<dyn Resolve>) -> Service {
        Service { gate: Arc::new(Gate::new(guard, resolve, None)), ..self }
    }

    /// Notified whenever there may be something to send, or no longer.
    pub fn nudge(&self) -> Nudge {
        self.nudge.clone()
    }

    /// The data that the dispatcher needs from the service.
    pub fn dispatcher_support(&self) -> DispatcherSupport {
        DispatcherSupport::new(self.store.clone(), self.catalog.clone(), self.clock.clone())
    }
}

fn no_subscription(uuid: &str) -> Problem {
    Problem::not_found("subscription", uuid)
}

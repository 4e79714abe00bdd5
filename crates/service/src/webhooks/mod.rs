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
//! | `event_ids` | the id of each event, unique in the installation |
//! | `catalogue`, `schema`, `samples` | what callers are told about events: JSON Schemas, and samples really folded |
//! | `subscriptions` | URLs: subscribing, pausing, removing; the console's own |
//! | `replaying` | sending dead letters again, and a test event at once |
//! | `deliveries` | what was tried, and what nobody took |
//! | `message` | one message with all that is known of it, and sending it again |
//! | `searching` | finding messages by id, account, event, time and state |
//! | `signing` | the key, and giving out another |
//! | `sending` | has the dispatcher send |
//! | `office` | what the dispatcher asks of the service |

pub mod catalogue;
pub mod deliveries;
pub mod event_ids;
pub mod events;
pub mod message;
pub mod office;
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
use guard::{Guard, LookupLimits, Refusal, Resolve, SUBSCRIBING_LIMIT};
use office::Office;
use std::sync::Arc;

/// How many names are looked up at once for the calls of one organization.
const LOOKUPS_AT_ONCE: usize = 4;

/// How URLs are checked when they are subscribed.
#[derive(Debug)]
pub(crate) struct Gate {
    pub guard: Guard,
    pub resolve: Arc<dyn Resolve>,
    /// How many names are looked up at once for one organization's calls.
    pub lookups: LookupLimits,
    /// Through which messages leave, where they do.
    pub sender: Option<Sender>,
}

/// Public addresses only, by the machine's own resolver.
impl Default for Gate {
    fn default() -> Gate {
        Gate::new(Guard::default(), Arc::new(guard::System::default()), None)
    }
}

impl Gate {
    pub fn new(guard: Guard, resolve: Arc<dyn Resolve>, sender: Option<Sender>) -> Gate {
        Gate { guard, resolve, lookups: LookupLimits::new(LOOKUPS_AT_ONCE), sender }
    }

    /// Checks a URL that an organization wants to subscribe, with the addresses that its name has now. A URL that gets no
    /// turn to be looked up in time is let through, as one whose name server does not answer: the addresses are checked
    /// again at each connection.
    pub async fn check(&self, org: OrgId, url: &str) -> Result<(), Refusal> {
        let turns = self.lookups.of(org);
        let Ok(Ok(_turn)) = tokio::time::timeout(SUBSCRIBING_LIMIT, turns.acquire()).await else {
            return self.guard.check_url(url).map(drop);
        };
        self.guard.check_at_subscribing(url, self.resolve.as_ref()).await
    }
}

impl Service {
    /// The same service, with URLs checked by this guard and names looked up by this resolver.
    pub fn with_guard(self, guard: Guard, resolve: Arc<dyn Resolve>) -> Service {
        Service { gate: Arc::new(Gate::new(guard, resolve, None)), ..self }
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

//! A server in which cases are played: the real service, store and dispatcher, in memory, with a receiver.
//!
//! Opening a server takes longer than playing a case, so one server plays many cases in sequence, each in its own
//! organization. The server's clock is set to the times of the current case. So each case is cleaned up at its end;
//! otherwise its accounts would continue in the next case's time.

use super::inbox::Inbox;
use daybook_clock::Manual;
use daybook_engine::time::Time;
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::problem::Problem;
use daybook_webhooks::dispatcher::{Dispatcher, DispatcherSettings};
use daybook_webhooks::sender::Sender;
use daybook_webhooks::signature::SigningKey;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A database that exists as long as its server.
const DATABASE: &str = "sqlite::memory:";
/// The key for secrets of a database that only this process sees.
const SECRETS_KEY: [u8; 32] = *b"a key for what is never kept    ";
/// After this many cases a new server is opened: searching for due work and for messages to send visits every
/// organization. Of 4, 16, 64 and 256 this value took the least time for a thousand cases.
const MOST_PLAYED: usize = 64;

/// Service, clock, dispatcher and receiver.
pub(super) struct InMemoryServer {
    pub service: Service,
    pub clock: Arc<Manual>,
    pub dispatcher: Dispatcher,
    pub inbox: Arc<Inbox>,
    played: usize,
}

/// The organization of one case.
pub(super) struct CaseOrganization {
    pub who: Caller,
    subscription: String,
}

impl InMemoryServer {
    pub async fn open() -> Result<InMemoryServer, Problem> {
        let clock = Arc::new(Manual::at(Time::from_seconds(0)));
        let service = Service::open(DATABASE, clock.clone(), &SECRETS_KEY).await?;
        let inbox = Arc::new(Inbox::default());
        let sender = Sender::inside(inbox.clone())
            .map_err(|error| Problem::internal(format!("messages cannot be sent: {error}")))?;
        let service = service.with_sender(sender);
        let dispatcher = service
            .dispatcher(DispatcherSettings { batch_interval: Duration::ZERO, ..DispatcherSettings::default() })?;
        Ok(InMemoryServer { service, clock, dispatcher, inbox, played: 0 })
    }

    /// Whether it has played enough cases.
    pub fn is_worn(&self) -> bool {
        self.played >= MOST_PLAYED
    }

    /// Creates an organization for a case that begins at a point in time, and subscribes the receiver to all its
    /// events.
    pub async fn create_organization(&mut self, begins_at: Time) -> Result<CaseOrganization, Problem> {
        self.played += 1;
        self.clock.set(begins_at);
        let name = format!("case {}", self.played);
        self.service.create_organization(&name, "TEST").await?;
        let who = self.service.operator(Some(&name)).await?;
        let key = self.service.hmac_key(&who).await?;
        self.inbox.begin(SigningKey::from_text(key.hmac_secret_key));
        // The URL is only a name here: the sender passes everything to the receiver.
        let url = json!({ "webhook_url": format!("http://127.0.0.1:1/{}", self.played) });
        let subscription = self.service.subscribe(&who, None, crate::submit::read(&url)?).await?;
        Ok(CaseOrganization { who, subscription: text_of(&json_of(&subscription)?, "webhook_uuid") })
    }

    /// Sets the clock, and processes everything that is due.
    pub async fn go_to(&self, now: Time) -> Result<(), Problem> {
        self.clock.set(now);
        self.service.settle_due().await
    }

    /// Sends every pending message.
    pub async fn send(&self) -> Result<(), Problem> {
        self.dispatcher.settle().await?;
        Ok(())
    }

    /// Cleans up after a case: no work of it falls due later, and no message is sent.
    pub async fn clear_organization(
        &self,
        organization: &CaseOrganization,
        product: Option<&str>,
    ) -> Result<(), Problem> {
        if let Some(product) = product {
            self.hold(&organization.who, product, true).await?;
        }
        self.service.delete_subscription(&organization.who, None, &organization.subscription).await.map(drop)
    }

    /// Turns migration mode on or off.
    pub async fn hold(&self, who: &Caller, product: &str, on: bool) -> Result<(), Problem> {
        let form = crate::submit::read(&json!({ "migration_mode": on }))?;
        self.service.set_migration_mode(who, None, product, form).await.map(drop)
    }

    /// Stops the background tasks.
    pub async fn close(self) {
        self.dispatcher.stop().await;
        self.service.stop().await;
    }
}

/// Parses a response of the service.
pub(crate) fn json_of(bytes: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(bytes).map_err(|error| Problem::internal(format!("a response is not JSON: {error}")))
}

/// A view as the JSON that a client of the API gets.
pub(crate) fn json_of_view(view: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(view).map_err(|error| Problem::internal(format!("a view cannot be written: {error}")))
}

/// The value of a text field; empty if it is absent.
pub(crate) fn text_of(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

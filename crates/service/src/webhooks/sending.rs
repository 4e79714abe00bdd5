//! Sends messages.

use super::Gate;
use super::dispatcher_support::DispatcherSupport;
use crate::Service;
use crate::ids::mint_id;
use crate::lock::lock;
use crate::problem::Problem;
use async_trait::async_trait;
use daybook_store::outbox::{Outbox, Pause, Subscription};
use daybook_store::records::{MessageRow, OrgId};
use daybook_webhooks::dispatcher::{self, Dispatcher, DispatcherSettings};
use daybook_webhooks::sender::Sender;
use daybook_webhooks::signature::SigningKey;
use std::sync::Arc;

impl Service {
    /// The same service, with this sender for messages and its guard to check URLs.
    pub fn with_sender(self, sender: Sender) -> Service {
        let gate = Gate::new(sender.guard().clone(), sender.resolver(), Some(sender));
        Service { gate: Arc::new(gate), ..self }
    }

    /// The dispatcher of this service's messages, as a separate node. It does nothing until it is run.
    pub fn dispatcher(&self, settings: DispatcherSettings) -> Result<Dispatcher, Problem> {
        let sender = self.gate.sender.clone().ok_or_else(|| Problem::internal("the service has no sender"))?;
        let outbox: Arc<dyn Outbox> = self.store.clone();
        let (clock, dispatcher_support) = (self.clock.clone(), Arc::new(self.dispatcher_support()));
        Ok(Dispatcher::new(outbox, clock, dispatcher_support, sender, settings, mint_id("node"), self.nudge.clone()))
    }

    /// Starts to send messages in the background.
    pub fn run_webhooks(&self, settings: DispatcherSettings) -> Result<(), Problem> {
        let dispatcher = self.dispatcher(settings)?;
        // There is one dispatcher; the metrics of a second one would be lost.
        let dispatcher = self.dispatcher.get_or_init(|| dispatcher).clone();
        lock(&self.running).push(tokio::spawn(dispatcher.run(self.stop.subscribe())));
        Ok(())
    }
}

#[async_trait]
impl dispatcher::DispatcherSupport for DispatcherSupport {
    async fn keys(&self, org: OrgId) -> Result<Vec<SigningKey>, String> {
        DispatcherSupport::keys(self, org).await.map_err(|problem| problem.to_string())
    }

    async fn paused(&self, subscription: &Subscription, pause: &Pause) -> Result<MessageRow, String> {
        DispatcherSupport::paused(self, subscription, pause).await.map_err(|problem| problem.to_string())
    }
}

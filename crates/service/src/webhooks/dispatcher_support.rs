//! Data that the dispatcher needs from the service: the keys of an organization, and the message about a paused URL.

use super::event_ids::EventIds;
use super::events::OwnEvent;
use crate::announcing::News;
use crate::catalog::Catalog;
use crate::problem::Problem;
use crate::view::{self, time};
use daybook_clock::Clock;
use daybook_engine::time::Time;
use daybook_store::Store;
use daybook_store::outbox::{Backlog, Pause, Subscription};
use daybook_store::records::{MessageRow, OrgId};
use daybook_webhooks::signature::SigningKey;
use std::sync::Arc;

/// Provides data to the dispatcher.
#[derive(Clone, Debug)]
pub struct DispatcherSupport {
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
    clock: Arc<dyn Clock>,
}

impl DispatcherSupport {
    pub(crate) fn new(store: Arc<dyn Store>, catalog: Arc<Catalog>, clock: Arc<dyn Clock>) -> DispatcherSupport {
        DispatcherSupport { store, catalog, clock }
    }

    /// The keys that currently sign an organization's messages, the current one first. They are read from the store
    /// because another node may have rotated them.
    pub async fn keys(&self, org: OrgId) -> Result<Vec<SigningKey>, Problem> {
        self.catalog.signing_keys(org, self.clock.now()).await
    }

    /// The message that informs the other URLs that one is paused.
    pub async fn paused(&self, subscription: &Subscription, pause: &Pause) -> Result<MessageRow, Problem> {
        let signing = &self.catalog.fresh_organization(subscription.org).await?.signing;
        let backlogs = self.store.backlogs(subscription.org).await?;
        let own = backlogs.into_iter().find(|(id, _)| *id == subscription.id);
        let waiting = own.map_or_else(Backlog::default, |(_, backlog)| backlog);
        // The pause turns pending messages into dead letters.
        let backlog = Backlog { pending: 0, dead: waiting.pending + waiting.dead };
        Ok(paused_message(subscription, pause, backlog, self.clock.now(), signing))
    }
}

/// The message about a paused subscription.
pub(crate) fn paused_message(
    subscription: &Subscription,
    pause: &Pause,
    backlog: Backlog,
    now: Time,
    signing: &SigningKey,
) -> MessageRow {
    let paused = Subscription { paused: Some(pause.clone()), ..subscription.clone() };
    let object = view::Subscription::new(paused, backlog, now);
    News {
        event: OwnEvent::SubscriptionPaused,
        event_id: EventIds::of_pause(&object.webhook_uuid, pause.at),
        subject: &object.webhook_uuid,
        at: time::Stamp::Utc(time::Utc(pause.at)),
        now,
        object: &object,
    }
    .message(signing)
}

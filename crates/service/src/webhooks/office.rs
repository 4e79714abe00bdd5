//! What the dispatcher asks of the service: the keys of an organization, and what is said when a URL is paused.

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
use daybook_webhooks::signature::Key;
use std::sync::Arc;

/// Answers the dispatcher.
#[derive(Clone, Debug)]
pub struct Office {
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
    clock: Arc<dyn Clock>,
}

impl Office {
    pub(crate) fn new(store: Arc<dyn Store>, catalog: Arc<Catalog>, clock: Arc<dyn Clock>) -> Office {
        Office { store, catalog, clock }
    }

    /// The keys whose signatures a message of an organization carries now, the current one first. They are read afresh:
    /// another node may have rotated them.
    pub async fn keys(&self, org: OrgId) -> Result<Vec<Key>, Problem> {
        self.catalog.signing_keys(org, self.clock.now()).await
    }

    /// The message that tells the other URLs that one is paused.
    pub async fn paused(&self, subscription: &Subscription, pause: &Pause) -> Result<MessageRow, Problem> {
        let signing = &self.catalog.fresh_organization(subscription.org).await?.signing;
        let backlogs = self.store.backlogs(subscription.org).await?;
        let own = backlogs.into_iter().find(|(id, _)| *id == subscription.id);
        let waiting = own.map_or_else(Backlog::default, |(_, backlog)| backlog);
        // What waits becomes dead letters by the pause itself.
        let backlog = Backlog { pending: 0, dead: waiting.pending + waiting.dead };
        Ok(paused_message(subscription, pause, backlog, self.clock.now(), signing))
    }
}

/// The message about a subscription that is paused.
pub(crate) fn paused_message(
    subscription: &Subscription,
    pause: &Pause,
    backlog: Backlog,
    now: Time,
    signing: &Key,
) -> MessageRow {
    let paused = Subscription { paused: Some(pause.clone()), ..subscription.clone() };
    let object = view::Subscription::new(&paused, backlog, now);
    News {
        event: OwnEvent::SubscriptionPaused,
        event_id: EventIds::of_pause(&paused.uuid, pause.at),
        subject: &paused.uuid,
        at: time::Stamp::Utc(time::Utc(pause.at)),
        now,
        object: &object,
    }
    .message(signing)
}

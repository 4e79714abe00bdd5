//! Delivery attempts, newest first; and dead letters, oldest first.

use crate::Service;
use crate::access::{Caller, Right};
use crate::boxed;
use crate::form::EventName;
use crate::form::fields::{DeliveryOutcome, Reference};
use crate::paging::{Paging, no_mark, onward};
use crate::problem::Problem;
use crate::view;
use daybook_engine::time::Time;
use daybook_store::outbox::{DeadLetter, DeliveryFilter, SubscriptionId};
use std::sync::Arc;

/// Filters for attempts or dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryQuery {
    /// Of this subscription.
    pub webhook_uuid: Option<Reference>,
    /// Of this event.
    pub event: Option<EventName>,
    /// About this account.
    pub account_id: Option<Reference>,
    /// With this outcome; for attempts only.
    pub outcome: Option<DeliveryOutcome>,
    /// Attempted, or dead, at this moment or later.
    pub since: Option<Time>,
    /// Attempted, or dead, before this moment.
    pub until: Option<Time>,
}

impl Service {
    /// A page of delivery attempts.
    #[boxed]
    pub async fn list_deliveries(
        &self,
        who: &Caller,
        paging: Paging,
        query: DeliveryQuery,
    ) -> Result<view::Page<view::Delivery>, Problem> {
        who.may(Right::Read)?;
        onward(&paging)?;
        let after = paging.after.as_deref().map(|mark| mark.parse::<i64>().map_err(|_| no_mark())).transpose()?;
        let filter = self.delivery_filter(who, query).await?;
        let mut rows = self.store.attempts(who.org, &filter, after, paging.limit + 1).await?;
        let paging = one_way(paging.cut(&mut rows, |row| row.id.to_string()));
        Ok(view::Page { results: rows.into_iter().map(view::Delivery::new).collect(), paging })
    }

    /// A page of dead letters: messages that URLs did not get.
    #[boxed]
    pub async fn list_dead_letters(
        &self,
        who: &Caller,
        paging: Paging,
        query: DeliveryQuery,
    ) -> Result<view::Page<view::DeadLetter>, Problem> {
        who.may(Right::Read)?;
        onward(&paging)?;
        let after = paging.after.as_deref().map(|mark| read_place(mark).ok_or_else(no_mark)).transpose()?;
        let filter = self.delivery_filter(who, query).await?;
        let now = self.clock.now();
        let mut rows = self.store.dead_letters(who.org, &filter, now, after, paging.limit + 1).await?;
        let paging = one_way(paging.cut(&mut rows, place));
        Ok(view::Page { results: rows.into_iter().map(view::DeadLetter::new).collect(), paging })
    }

    async fn delivery_filter(&self, who: &Caller, query: DeliveryQuery) -> Result<DeliveryFilter, Problem> {
        Ok(DeliveryFilter {
            subscription: self.subscription_named(who, query.webhook_uuid.as_ref()).await?,
            event: query.event.map(|event| event.name().to_owned()),
            account: query.account_id.map(|id| Arc::from(id.as_str())),
            delivered: query.outcome.map(|outcome| outcome == DeliveryOutcome::Delivered),
            since: query.since,
            until: query.until,
        })
    }

    /// The number of the subscription that a field names.
    pub(super) async fn subscription_named(
        &self,
        who: &Caller,
        uuid: Option<&Reference>,
    ) -> Result<Option<SubscriptionId>, Problem> {
        let Some(uuid) = uuid else { return Ok(None) };
        let subscriptions = self.store.subscriptions(who.org).await?;
        let found = subscriptions.iter().find(|subscription| subscription.uuid == uuid.as_str());
        let missing = || Problem::invalid("webhook_uuid", "there is no subscription with this id");
        found.map(|found| Some(found.id)).ok_or_else(missing)
    }
}

pub(crate) fn one_way(paging: view::Paging) -> view::Paging {
    view::Paging { ending_before: None, ..paging }
}

fn place(row: &DeadLetter) -> String {
    format!("{}.{}", row.about.position, row.about.subscription)
}

fn read_place(mark: &str) -> Option<(i64, SubscriptionId)> {
    let (position, subscription) = mark.split_once('.')?;
    Some((position.parse().ok()?, subscription.parse().ok()?))
}

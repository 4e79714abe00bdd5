//! Replays dead letters, and sends a test event at once.

use super::event_ids::EventIds;
use super::events::OwnEvent;
use crate::Service;
use crate::access::{Caller, Right};
use crate::announcing::News;
use crate::audit::Act;
use crate::boxed;
use crate::form;
use crate::form::fields::ReplayState;
use crate::problem::Problem;
use crate::processor::job::IdempotencyKey;
use crate::view::{self, render, time};
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::batch::Unit;
use daybook_store::outbox::{DeliveryFilter, ReplayCounts};
use daybook_store::records::MessageRow;
use daybook_webhooks::signature::SigningKey;
use std::sync::Arc;

/// The largest number of delivered messages that one request sends again to one URL.
const MOST_DELIVERED: usize = 100_000;

impl Service {
    /// Sends dead letters of active URLs again, or messages that they accepted.
    #[boxed]
    pub async fn replay_failed_events(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        form: form::Replay,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        let filter = DeliveryFilter {
            subscription: self.subscription_named(who, form.webhook_uuid.as_ref()).await?,
            event: form.event.map(|event| event.name().to_owned()),
            account: form.account_id.as_ref().map(|id| Arc::from(id.as_str())),
            since: form.since.as_ref().map(|moment| *moment.get()),
            until: form.until.as_ref().map(|moment| *moment.get()),
            ..DeliveryFilter::default()
        };
        let state = form.state.unwrap_or(ReplayState::Dead);
        if state == ReplayState::Delivered && filter.since.is_none() {
            return Err(Problem::invalid(
                "since",
                "is required with state DELIVERED: messages delivered since then are sent again",
            ));
        }
        let dry_run = form.dry_run.unwrap_or(false);
        if !dry_run {
            let about = form.webhook_uuid.as_ref().map_or("", |uuid| uuid.as_str());
            // Each URL is a separate transaction.
            self.record_first(who, Act::on("replay_failed_events", "subscription", about).asked(&form)).await?;
        }
        let done = match state {
            ReplayState::Dead => self.store.replay(who.org, &filter, self.clock.now(), dry_run).await?,
            ReplayState::Delivered => self.replay_delivered(who, &filter, dry_run).await?,
        };
        if done.replayed > 0 && !dry_run {
            self.nudge.changed();
        }
        let answer = render(&view::Replayed { replayed: done.replayed, left_paused: done.left_paused });
        self.keep_answer(who, idempotency_key, answer).await
    }

    async fn replay_delivered(
        &self,
        who: &Caller,
        filter: &DeliveryFilter,
        dry_run: bool,
    ) -> Result<ReplayCounts, Problem> {
        let now = self.clock.now();
        let done = self.store.replay_delivered(who.org, filter, now, dry_run, MOST_DELIVERED).await?;
        let rule =
            format!("covers more than {MOST_DELIVERED} deliveries to one URL; set until as well, and replay in parts");
        done.ok_or_else(|| Problem::invalid("since", rule))
    }

    /// Sends a test event to every active URL at once.
    #[boxed]
    pub async fn send_test_event(&self, who: &Caller) -> Result<view::TestSent, Problem> {
        who.may(Right::Write)?;
        let subscriptions = self.store.subscriptions(who.org).await?;
        let active_urls = subscriptions.iter().filter(|subscription| subscription.paused.is_none()).count() as u64;
        let signing = &self.catalog.fresh_organization(who.org).await?.signing;
        let message = test_message(EventIds::of_test(), self.clock.now(), signing);
        let event_id = message.event_id.clone();
        let audit = self.recorded(who, Act::on("send_test_event", "message", &event_id)).into_iter().collect();
        let unit = Unit { messages: vec![(who.org, message)], audit, hurry: true, ..Unit::default() };
        if self.write_alone(who, unit, None, &Bytes::new()).await? {
            return Ok(view::TestSent { event: OwnEvent::TestEvent.name(), event_id, active_urls });
        }
        Err(Problem::unavailable("the test event could not be written: try again"))
    }
}

/// The message of a test event.
pub(crate) fn test_message(event_id: String, now: Time, signing: &SigningKey) -> MessageRow {
    let object = view::TestMessage { message: "This is a test: this URL receives the webhooks of the organization." };
    let at = time::Stamp::Utc(time::Utc(now));
    News { event: OwnEvent::TestEvent, event_id, subject: "", at, now, object: &object }.message(signing)
}

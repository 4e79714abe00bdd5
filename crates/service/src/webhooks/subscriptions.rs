//! Subscriptions: which URLs get which events.

use super::guard::{self, UrlRefusal};
use super::no_subscription;
use crate::Service;
use crate::access::{Caller, Right};
use crate::audit::Act;
use crate::boxed;
use crate::form::{self, fields::WebhookUrl};
use crate::ids::mint_uuid;
use crate::problem::Problem;
use crate::processor::job::IdempotencyKey;
use crate::view::{self, render};
use bytes::Bytes;
use daybook_store::outbox::{BY_A_PERSON, Backlog, OutOfOrder, Pause, Subscription, SuppliedSettings};
use std::collections::HashMap;

/// The maximum number of subscriptions of an organization.
pub const MOST_SUBSCRIPTIONS: usize = 100;

impl Service {
    /// Subscribes a URL, or changes the filter of one that is already subscribed.
    #[boxed]
    pub async fn subscribe(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        form: form::Subscribe,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        let filter = form.filter()?;
        let given = SuppliedSettings {
            max_per_second: form.max_per_second.is_some(),
            max_in_flight: form.max_in_flight.is_some(),
        };
        let (max_per_second, max_in_flight) =
            (form.max_per_second.and_then(|limit| limit.0), form.max_in_flight.and_then(|limit| limit.0));
        let url = form.webhook_url.into_string();
        let new = self.checked_subscription(who, url, filter, None).await?;
        let new = Subscription { max_per_second, max_in_flight, ..new };
        let act = Act::on("subscribe", "webhook_url", &new.url).with("events", new.filter.clone());
        let record = self.recorded(who, act);
        let subscribed = self.store.subscribe(&new, given, MOST_SUBSCRIPTIONS, record.as_ref()).await?;
        let subscription = subscribed.ok_or_else(one_too_many)?;
        self.nudge.changed();
        let answer = self.show_subscription(who, subscription).await?;
        self.keep_answer(who, idempotency_key, render(&answer)).await
    }

    /// A subscription to create, with a checked URL. `replaced` is the UUID of the subscription that it replaces, if
    /// any.
    async fn checked_subscription(
        &self,
        who: &Caller,
        url: String,
        filter: Option<Vec<String>>,
        replaced: Option<&str>,
    ) -> Result<Subscription, Problem> {
        let refused = |refusal: UrlRefusal| Problem::invalid("webhook_url", refusal.to_string());
        let url = guard::normal_form(&url).map_err(refused)?;
        self.gate.guard.check_url(&url).map_err(refused)?;
        // Cheap checks come before the name is resolved.
        let all = self.store.subscriptions(who.org).await?;
        let url = spelling_of(&all, url);
        if all.len() >= MOST_SUBSCRIPTIONS && replaced.is_none() && all.iter().all(|one| one.url != url) {
            return Err(one_too_many());
        }
        self.gate.check(who.org, &url).await.map_err(refused)?;
        Ok(Subscription {
            org: who.org,
            id: 0,
            uuid: mint_uuid(),
            url,
            filter,
            paused: None,
            consecutive_errors: 0,
            streak: 0,
            created_at: self.clock.now(),
            last_success_at: None,
            cursor: 0,
            version: 0,
            from_console: false,
            max_per_second: None,
            max_in_flight: None,
            held_until: None,
            ahead: OutOfOrder::default(),
        })
    }

    /// Makes a URL the console's own subscription, of which there is one; it gets all events. The previous one is
    /// removed, also if no URL is given. A URL that is already subscribed becomes the console's own and only its filter
    /// changes. Other subscriptions are not affected. Returns the subscription.
    #[boxed]
    pub async fn save_console_url(
        &self,
        who: &Caller,
        url: Option<&str>,
    ) -> Result<Option<view::Subscription>, Problem> {
        who.may(Right::Write)?;
        let Some(url) = url else {
            let record = self.recorded(who, Act::on("save_webhook_url", "webhook_url", ""));
            self.store.save_console_url(who.org, None, MOST_SUBSCRIPTIONS, record.as_ref()).await?;
            self.nudge.changed();
            return Ok(None);
        };
        let url = WebhookUrl::read(url).map_err(|rule| Problem::invalid("webhook_url", rule))?.into_string();
        let before = self.console_url(who).await?;
        let new = self.checked_subscription(who, url, None, before.as_deref()).await?;
        let record = self.recorded(who, Act::on("save_webhook_url", "webhook_url", &new.url));
        let saved = self.store.save_console_url(who.org, Some(&new), MOST_SUBSCRIPTIONS, record.as_ref()).await?;
        self.nudge.changed();
        self.show_subscription(who, saved.ok_or_else(one_too_many)?).await.map(Some)
    }

    /// The UUID of the console's own subscription, if there is one.
    #[boxed]
    pub async fn console_url(&self, who: &Caller) -> Result<Option<String>, Problem> {
        who.may(Right::Read)?;
        let all = self.store.subscriptions(who.org).await?;
        Ok(all.into_iter().find(|one| one.from_console).map(|one| one.uuid))
    }

    /// All subscriptions of the caller's organization.
    #[boxed]
    pub async fn list_subscriptions(&self, who: &Caller) -> Result<view::Results<view::Subscription>, Problem> {
        who.may(Right::Read)?;
        let rows = self.store.subscriptions(who.org).await?;
        let backlogs: HashMap<_, _> = self.store.backlogs(who.org).await?.into_iter().collect();
        let now = self.clock.now();
        let show = |row: Subscription| {
            let backlog = backlogs.get(&row.id).copied().unwrap_or_default();
            view::Subscription::new(row, backlog, now)
        };
        Ok(view::Results { results: rows.into_iter().map(show).collect() })
    }

    /// Pauses a subscription: from now on its messages are dead letters.
    #[boxed]
    pub async fn unsubscribe(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        uuid: &str,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        let pause = Pause { reason: BY_A_PERSON.to_owned(), at: self.clock.now(), probe_at: None };
        let record = self.recorded(who, Act::on("unsubscribe", "subscription", uuid));
        let subscription = self.store.pause(who.org, uuid, &pause, record.as_ref()).await?;
        self.changed(who, idempotency_key, subscription, uuid).await
    }

    /// Resumes a subscription: it gets messages announced from now on. Missed messages stay available for a replay. A
    /// subscription that is held because it answered 429 gets its pending messages at once.
    #[boxed]
    pub async fn resubscribe(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        uuid: &str,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        let record = self.recorded(who, Act::on("resubscribe", "subscription", uuid));
        let subscription = self.store.resume(who.org, uuid, self.clock.now(), record.as_ref()).await?;
        self.changed(who, idempotency_key, subscription, uuid).await
    }

    /// Removes a subscription and its pending messages.
    #[boxed]
    pub async fn delete_subscription(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        uuid: &str,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        let record = self.recorded(who, Act::on("delete_subscription", "subscription", uuid));
        if !self.store.unsubscribe(who.org, uuid, record.as_ref()).await? {
            return Err(no_subscription(uuid));
        }
        self.nudge.changed();
        let answer = render(&view::RemovedSubscription { webhook_uuid: uuid.to_owned(), deleted: true });
        self.keep_answer(who, idempotency_key, answer).await
    }

    async fn changed(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        subscription: Option<Subscription>,
        uuid: &str,
    ) -> Result<Bytes, Problem> {
        let subscription = subscription.ok_or_else(|| no_subscription(uuid))?;
        self.nudge.changed();
        let answer = self.show_subscription(who, subscription).await?;
        self.keep_answer(who, idempotency_key, render(&answer)).await
    }

    async fn show_subscription(&self, who: &Caller, subscription: Subscription) -> Result<view::Subscription, Problem> {
        let backlogs = self.store.backlogs(who.org).await?;
        let own = backlogs.into_iter().find(|(id, _)| *id == subscription.id);
        let backlog = own.map_or_else(Backlog::default, |(_, backlog)| backlog);
        Ok(view::Subscription::new(subscription, backlog, self.clock.now()))
    }
}

/// The spelling of a URL to store: its normal form, unless an earlier version stored the caller's spelling. If an
/// earlier version stored several spellings, the first subscribed one is used, unless the normal form is among them.
fn spelling_of(all: &[Subscription], normal_form: String) -> String {
    if all.iter().any(|one| one.url == normal_form) {
        return normal_form;
    }
    let same = all.iter().find(|one| guard::normal_form(&one.url).is_ok_and(|known| known == normal_form));
    same.map_or(normal_form, |one| one.url.clone())
}

fn one_too_many() -> Problem {
    let message = format!("an organization has at most {MOST_SUBSCRIPTIONS} subscriptions; remove one first");
    Problem::new("conflict", message)
}

//! One message in detail: its exact bytes, its attempts and state at each URL; and resending it.
//!
//! A message is found by its event's id. Ids of events about accounts contain the account and the message number, so
//! they need no index.

use super::no_subscription;
use crate::Service;
use crate::access::{Caller, Right};
use crate::audit::Act;
use crate::boxed;
use crate::form;
use crate::problem::{Problem, ProblemKind};
use crate::processor::job::IdempotencyKey;
use crate::view::{self, render};
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::outbox::{DeliveryRecords, ResendResult, Subscription, TO_EVERYBODY, TO_THE_OTHERS};
use daybook_store::records::{MessageRow, OrgId};
use daybook_webhooks::dispatcher::DispatcherSettings;
use daybook_webhooks::envelope;
use daybook_webhooks::sender::{CONTENT_TYPE, USER_AGENT};
use daybook_webhooks::signature::StandardKey;

pub use super::message_details::{MessageAttempt, MessageDetails, UrlStanding};
pub use daybook_store::outbox::{DeliveryAttempt, DeliveryStatus};

const PAUSED: &str = "the URL is paused: resume it first";
const SCHEDULED: &str = "the message is scheduled and is sent when it is due";
const CANCELLED: &str =
    "the message is never sent: it is a notice, and the account was closed before the notice was due";

impl Service {
    /// A message with all its details.
    #[boxed]
    pub async fn message(&self, who: &Caller, event_id: &str) -> Result<MessageDetails, Problem> {
        who.may(Right::Read)?;
        let row = self.message_row(who.org, event_id).await?;
        if row.data.is_empty() {
            return Err(Problem::internal(format!("the stored message {event_id} is damaged; run `daybook verify`")));
        }
        let standings = match row.position {
            Some(position) => self.store.delivery_records(who.org, &[position]).await?.pop().unwrap_or_default(),
            None => Vec::new(),
        };
        let keys = self.dispatcher_support().keys(who.org).await?;
        let keys: Vec<StandardKey> = keys.iter().map(daybook_webhooks::signature::SigningKey::standard).collect();
        let body = envelope::body(&row.event, &row.data, &row.signature);
        let now = self.clock.now();
        let urls = standings
            .into_iter()
            .map(|standing| url_standing(standing, &row, &body, &keys, (now, self.kept_since(now))))
            .collect();
        Ok(MessageDetails {
            account_id: row.account.as_deref().map(str::to_owned),
            position: row.position,
            due_at: row.due_at,
            cancelled_at: row.cancelled_at,
            effective_at: row.effective_at,
            recorded_at: row.recorded_at,
            event: row.event,
            event_id: row.event_id,
            signature: row.signature,
            body,
            urls,
        })
    }

    /// A message with all its details, as the API shows it.
    #[boxed]
    pub async fn get_message(&self, who: &Caller, event_id: &str) -> Result<view::WholeMessage, Problem> {
        let message = self.message(who, event_id).await?;
        let body = String::from_utf8(message.body.to_vec())
            .map_err(|_| Problem::internal(format!("the body of {event_id} is not text")))?;
        Ok(view::WholeMessage::new(message, body))
    }

    /// Sends a message again at once, as if for the first time, whether it was delivered or not: to one URL, or to all
    /// active URLs that get it.
    #[boxed]
    pub async fn resend_message(
        &self,
        who: &Caller,
        idempotency_key: Option<IdempotencyKey>,
        event_id: &str,
        form: form::Resend,
    ) -> Result<Bytes, Problem> {
        who.may(Right::Write)?;
        if let Some(answer) = self.answer_before(who, idempotency_key.as_ref()).await? {
            return Ok(answer);
        }
        let mut done = view::Resent { event_id: event_id.to_owned(), resent: Vec::new(), left_paused: Vec::new() };
        if let Some(uuid) = &form.webhook_uuid {
            self.send_again(who, uuid.as_str(), event_id).await?;
            done.resent.push(uuid.as_str().to_owned());
        } else {
            self.send_again_to_all(who, event_id, &mut done).await?;
        }
        self.keep_answer(who, idempotency_key, render(&done)).await
    }

    async fn send_again_to_all(&self, who: &Caller, event_id: &str, done: &mut view::Resent) -> Result<(), Problem> {
        let message = self.message(who, event_id).await?;
        let mut refused = match (message.cancelled_at, message.position) {
            (Some(_), _) => Some(Problem::new("conflict", CANCELLED)),
            (None, None) => Some(Problem::new("conflict", SCHEDULED)),
            (None, Some(_)) => None,
        };
        // The first transaction records the request.
        let mut who = who.clone();
        for one in
            message.urls.iter().filter(|one| !matches!(one.stand, DeliveryStatus::NotForIt | DeliveryStatus::Dropped))
        {
            if one.is_paused {
                done.left_paused.push(one.webhook_uuid.clone());
                continue;
            }
            match self.send_again(&who, &one.webhook_uuid, event_id).await {
                Ok(()) => {
                    who.is_recorded = true;
                    done.resent.push(one.webhook_uuid.clone());
                }
                // The URL was removed, paused or sent to in the meantime, or is due to get the message anyway.
                Err(problem) if problem.kind == ProblemKind::Conflict || problem.kind == ProblemKind::NotFound => {
                    refused = Some(problem);
                }
                Err(problem) => return Err(problem),
            }
        }
        match (done.resent.is_empty(), refused, done.left_paused.is_empty()) {
            (false, _, _) => Ok(()),
            (true, Some(refused), _) => Err(refused),
            (true, None, false) => Err(Problem::new("subscription_paused", PAUSED)),
            (true, None, true) => Err(Problem::new("conflict", "no webhook URL gets the message")),
        }
    }

    /// Sends a message again to one URL at once, as if for the first time, whether it was delivered or not.
    #[boxed]
    pub async fn send_again(&self, who: &Caller, webhook_uuid: &str, event_id: &str) -> Result<(), Problem> {
        who.may(Right::Write)?;
        if webhook_uuid.contains('\0') {
            return Err(no_subscription(webhook_uuid));
        }
        let conflict = |message: &str| Err(Problem::new("conflict", message));
        let row = self.message_row(who.org, event_id).await?;
        let Some(position) = row.position else {
            return conflict(if row.cancelled_at.is_some() { CANCELLED } else { SCHEDULED });
        };
        let act = Act::on("resend_message", "message", event_id).with("webhook_uuid", webhook_uuid);
        let record = self.recorded(who, act);
        let now = self.clock.now();
        match self.store.send_again(who.org, webhook_uuid, position, now, record.as_ref()).await? {
            ResendResult::Sent => {
                self.nudge.changed();
                Ok(())
            }
            ResendResult::NoSubscription => Err(no_subscription(webhook_uuid)),
            ResendResult::Paused => Err(Problem::new("subscription_paused", PAUSED)),
            ResendResult::Waiting => conflict("the message is already waiting to be sent to this URL"),
            ResendResult::NotForIt => conflict("the message was not for this URL"),
        }
    }

    /// The time since which all delivery results are kept.
    pub(super) fn kept_since(&self, now: Time) -> Time {
        let settings =
            self.dispatcher.get().map_or_else(DispatcherSettings::default, |dispatcher| dispatcher.settings().clone());
        let kept = settings.dead_letter_retention.min(settings.attempt_retention);
        now.plus_micros(-i64::try_from(kept.as_micros()).unwrap_or(i64::MAX / 2))
    }

    pub(super) async fn message_row(&self, org: OrgId, event_id: &str) -> Result<MessageRow, Problem> {
        if event_id.contains('\0') {
            return Err(Problem::not_found("message", event_id));
        }
        let organization = self.catalog.organization(org).await?;
        let about_account = organization.event_ids.account_and_number(event_id);
        let mut found = self.store.message(org, event_id, about_account).await?;
        if found.is_none() && about_account.is_some() {
            found = self.store.message(org, event_id, None).await?;
        }
        found.ok_or_else(|| Problem::not_found("message", event_id))
    }
}

/// Why a message is not for a subscription.
fn why_not_for_it(subscription: &Subscription, row: &MessageRow) -> &'static str {
    match row.event.as_str() {
        TO_THE_OTHERS if row.subject == subscription.uuid => "it is about this URL itself",
        _ if subscription.created_at > row.recorded_at => "the URL was subscribed after the message was recorded",
        TO_EVERYBODY => "it is a test, and the URL is paused",
        _ => "the URL's filter excludes the event",
    }
}

fn url_standing(
    standing: DeliveryRecords,
    row: &MessageRow,
    body: &Bytes,
    keys: &[StandardKey],
    (now, kept_since): (Time, Time),
) -> UrlStanding {
    let stand = standing.since(row, now, kept_since);
    let DeliveryRecords { subscription, failure, ranges: _, attempts } = standing;
    let failed = failure.map(|failure| failure.reason).filter(|reason| !reason.is_empty());
    let missed = || matches!(stand, DeliveryStatus::Dead(_)).then(|| "it was not sent: the URL was paused".to_owned());
    let why_dropped = match row.event.as_str() {
        TO_EVERYBODY => "the URL was paused when this test was recorded",
        _ => "the URL's filter was changed before it was sent, and excludes the event",
    };
    let dropped = || (stand == DeliveryStatus::Dropped).then(|| why_dropped.to_owned());
    let why_not_for_it = why_not_for_it(&subscription, row);
    let not_for_it = || (stand == DeliveryStatus::NotForIt).then(|| why_not_for_it.to_owned());
    let headers = |attempt: &DeliveryAttempt| {
        let timestamp_s = attempt.at.seconds();
        let signatures: Vec<String> = keys.iter().map(|key| key.sign(&row.event_id, timestamp_s, body)).collect();
        vec![
            ("content-type", CONTENT_TYPE.to_owned()),
            ("user-agent", USER_AGENT.to_owned()),
            ("webhook-id", row.event_id.clone()),
            ("webhook-timestamp", timestamp_s.to_string()),
            ("webhook-signature", signatures.join(" ")),
        ]
    };
    UrlStanding {
        webhook_uuid: subscription.uuid,
        webhook_url: subscription.url,
        is_paused: subscription.paused.is_some(),
        stand,
        reason: failed.or_else(missed).or_else(dropped).or_else(not_for_it),
        attempts: attempts.into_iter().map(|attempt| MessageAttempt { headers: headers(&attempt), attempt }).collect(),
    }
}

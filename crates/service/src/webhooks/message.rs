//! One message, for people: its exact bytes, what was tried with each URL, where it stands there; and sending it again.
//!
//! A message is found by its event's id. Ids of events about accounts say which account and which of its messages, so that
//! they need no index of their own.

use super::no_subscription;
use crate::Service;
use crate::access::{Caller, Right};
use crate::problem::Problem;
use bytes::Bytes;
use daybook_engine::time::Time;
use daybook_store::outbox::{Again, Standing};
use daybook_store::records::{MessageRow, OrgId};
use daybook_webhooks::envelope;
use daybook_webhooks::sender::{CONTENT_TYPE, USER_AGENT};
use daybook_webhooks::signature::StandardKey;

pub use daybook_store::outbox::{Attempt, Stand};

/// What the ids of all events begin with.
const EVENT: &str = "dbk_evt_";

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The event's name.
    pub event: String,
    /// The event's id; the `webhook-id` header of each delivery.
    pub event_id: String,
    /// The account it is about.
    pub account_id: Option<String>,
    /// Its position in the organization's log; nothing while it waits for its moment.
    pub position: Option<i64>,
    /// When it is announced, while it waits.
    pub due_at: Option<Time>,
    /// When it happened.
    pub effective_at: Time,
    /// When it was recorded.
    pub recorded_at: Time,
    /// The exact body of each delivery.
    pub body: Bytes,
    /// Every URL, by time of subscribing.
    pub urls: Vec<UrlStanding>,
}

/// A message and one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlStanding {
    /// The subscription.
    pub webhook_uuid: String,
    /// Where it goes.
    pub webhook_url: String,
    /// Whether the URL is paused.
    pub is_paused: bool,
    /// Where the message stands.
    pub stand: Stand,
    /// Why it is dead or tried again, as a sentence.
    pub reason: Option<String>,
    /// What was tried, the first attempt first.
    pub attempts: Vec<MessageAttempt>,
}

/// An attempt to deliver a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageAttempt {
    /// What was tried, and what was answered.
    pub attempt: Attempt,
    /// The headers, by name, but for those of the connection. The signatures are by the keys that sign now.
    pub headers: Vec<(&'static str, String)>,
}

impl Service {
    /// A message with all that is known of it.
    pub async fn message(&self, who: &Caller, event_id: &str) -> Result<Message, Problem> {
        who.may(Right::Read)?;
        let row = self.message_row(who.org, event_id).await?;
        let standings = match row.position {
            Some(position) => self.store.standings(who.org, position).await?,
            None => Vec::new(),
        };
        let keys = self.office().keys(who.org).await?;
        let keys: Vec<StandardKey> = keys.iter().map(daybook_webhooks::signature::Key::standard).collect();
        let body = envelope::body(&row.event, &row.data, &row.signature);
        let now = self.clock.now();
        let urls = standings.into_iter().map(|standing| url_standing(standing, &row, &body, &keys, now)).collect();
        Ok(Message {
            account_id: row.account.as_deref().map(str::to_owned),
            position: row.position,
            due_at: row.due_at,
            effective_at: row.effective_at,
            recorded_at: row.recorded_at,
            event: row.event,
            event_id: row.event_id,
            body,
            urls,
        })
    }

    /// Has a message sent again to one URL at once, as if for the first time, whether it was delivered or not.
    pub async fn send_again(&self, who: &Caller, webhook_uuid: &str, event_id: &str) -> Result<(), Problem> {
        who.may(Right::Write)?;
        if webhook_uuid.contains('\0') {
            return Err(no_subscription(webhook_uuid));
        }
        let conflict = |message: &str| Err(Problem::new("conflict", message));
        let Some(position) = self.message_row(who.org, event_id).await?.position else {
            return conflict("the message waits for its moment and is sent then");
        };
        match self.store.send_again(who.org, webhook_uuid, position, self.clock.now()).await? {
            Again::Sent => {
                self.nudge.changed();
                Ok(())
            }
            Again::NoSubscription => Err(no_subscription(webhook_uuid)),
            Again::Paused => conflict("the URL is paused: resubscribe it first"),
            Again::Waiting => conflict("the message waits to be sent to this URL"),
            Again::NotForIt => conflict("the message was not for this URL"),
        }
    }

    async fn message_row(&self, org: OrgId, event_id: &str) -> Result<MessageRow, Problem> {
        if event_id.contains('\0') {
            return Err(Problem::not_found("message", event_id));
        }
        let about_account = account_and_number(event_id);
        let mut found = self.store.message(org, event_id, about_account).await?;
        if found.is_none() && about_account.is_some() {
            found = self.store.message(org, event_id, None).await?;
        }
        found.ok_or_else(|| Problem::not_found("message", event_id))
    }
}

/// Which account, and which of its messages, an event's id names, if it is about one.
fn account_and_number(event_id: &str) -> Option<(&str, i64)> {
    let (account, number) = event_id.strip_prefix(EVENT)?.rsplit_once('.')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    Some((account, number.parse().ok()?))
}

fn url_standing(standing: Standing, row: &MessageRow, body: &Bytes, keys: &[StandardKey], now: Time) -> UrlStanding {
    let stand = standing.of(row, now);
    let Standing { subscription, failure, ranges: _, attempts } = standing;
    let failed = failure.map(|failure| failure.reason).filter(|reason| !reason.is_empty());
    let missed = || matches!(stand, Stand::Dead(_)).then(|| "it was not sent: the URL was paused".to_owned());
    let headers = |attempt: &Attempt| {
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
        reason: failed.or_else(missed),
        attempts: attempts.into_iter().map(|attempt| MessageAttempt { headers: headers(&attempt), attempt }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::account_and_number;

    #[test]
    fn an_id_about_an_account_names_it() {
        assert_eq!(account_and_number("dbk_evt_a1.7"), Some(("a1", 7)));
        assert_eq!(account_and_number("dbk_evt_a.b.c2.12"), Some(("a.b.c2", 12)));
        for other in ["dbk_evt_c1.c3", "dbk_evt_auto.m2", "dbk_evt_0123456789abcdefghjk", "a1.7", "dbk_evt_a1.", ""] {
            assert_eq!(account_and_number(other), None, "{other}");
        }
    }
}

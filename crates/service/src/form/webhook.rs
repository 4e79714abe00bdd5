//! Subscribing to webhooks, and replaying failed messages.

use super::fields::*;
use super::{FieldProblem, form};
use crate::webhooks::events::NAMES;
use std::collections::BTreeSet;

/// The maximum number of events in a filter.
const MOST_EVENTS: usize = 100;

form! {
    /// Subscribes a URL to events.
    Subscribe {
        /// The URL that messages are sent to: http or https, and not an address of a private network.
        webhook_url: WebhookUrl,
        ;
        /// The events it gets. Absent or null: all events, including those of later versions.
        #[serde(deserialize_with = "list::<_, _, MOST_EVENTS>")]
        #[schema(min_items = 1, max_items = 100)]
        filter_events: Vec<EventName>,
        /// The maximum number of messages per second. Absent: the previous limit stays; null: no limit.
        #[serde(deserialize_with = "limit")]
        #[schema(value_type = Option<PositiveCount>)]
        max_per_second: DeliveryLimit,
        /// The maximum number of messages in flight to it. Absent: the previous limit stays; null: no limit.
        #[serde(deserialize_with = "limit")]
        #[schema(value_type = Option<PositiveCount>)]
        max_in_flight: DeliveryLimit,
    }
}

/// A limit; `null` removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct DeliveryLimit(pub Option<u32>);

fn limit<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<DeliveryLimit>, D::Error> {
    let given = <Option<PositiveCount> as serde::Deserialize>::deserialize(deserializer)?;
    Ok(Some(DeliveryLimit(given.map(PositiveCount::get))))
}

impl Subscribe {
    /// The names of the events the subscription gets, without duplicates; `None` for all events.
    pub fn filter(&self) -> Result<Option<Vec<String>>, FieldProblem> {
        let Some(events) = &self.filter_events else { return Ok(None) };
        if events.is_empty() {
            return Err(FieldProblem::new(
                "filter_events",
                "must name at least one event; leave it out to get all events",
            ));
        }
        let mut seen = BTreeSet::new();
        let once = events.iter().map(|event| event.name()).filter(|name| seen.insert(*name));
        Ok(Some(once.map(str::to_owned).collect()))
    }
}

form! {
    /// Sends messages again: the dead letters, or the delivered messages, that match all given fields.
    Replay {
        ;
        /// `DEAD` for dead letters, `DELIVERED` for delivered messages, which require `since`. Default: `DEAD`.
        state: ReplayState,
        /// Only messages of this subscription.
        webhook_uuid: Reference,
        /// Only messages of this event.
        event: EventName,
        /// Only messages about this account.
        account_id: Reference,
        /// Only messages that became dead letters, or were delivered, at this moment or later.
        since: Moment,
        /// Only messages that became dead letters, or were delivered, before this moment.
        until: Moment,
        /// True only counts the messages. Default: false.
        dry_run: bool,
    }
}

form! {
    /// Sends a message again.
    Resend {
        ;
        /// The only subscription to send it to. Default: all active subscriptions that get it.
        webhook_uuid: Reference,
    }
}

/// The name of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventName(&'static str);

impl EventName {
    /// The name.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Parses text that is not JSON.
    pub fn read(text: &str) -> Result<EventName, String> {
        let known = NAMES.iter().find(|name| **name == text);
        known.map(|name| EventName(name)).ok_or_else(|| format!("must be one of {}", NAMES.join(", ")))
    }
}

impl<'de> serde::Deserialize<'de> for EventName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<EventName, D::Error> {
        read_word(deserializer, &NAMES).map(|place| EventName(NAMES[place]))
    }
}

impl serde::Serialize for EventName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl utoipa::PartialSchema for EventName {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(NAMES))
            .into()
    }
}

impl utoipa::ToSchema for EventName {}

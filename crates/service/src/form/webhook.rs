//! Subscribing to webhooks, and replaying failed messages.

use super::fields::*;
use super::{Problem, form};
use crate::webhooks::events::NAMES;
use std::collections::BTreeSet;

/// The maximum number of events in a filter.
const MOST_EVENTS: usize = 100;

form! {
    /// Subscribes a URL to events.
    Subscribe {
        /// Where messages are sent: http or https, and no address of a private network.
        webhook_url: WebhookUrl,
        ;
        /// The events it gets. Left out or null: all of them, and those to come.
        #[serde(deserialize_with = "list::<_, _, MOST_EVENTS>")]
        #[schema(min_items = 1, max_items = 100)]
        filter_events: Vec<EventName>,
        /// The most messages that are sent to it in a second. Left out, what was set before stays; null: no such limit.
        #[serde(deserialize_with = "limit")]
        #[schema(value_type = Option<PositiveCount>)]
        max_per_second: Limit,
        /// The most messages that are on their way to it at once. Left out, what was set before stays; null: no such limit.
        #[serde(deserialize_with = "limit")]
        #[schema(value_type = Option<PositiveCount>)]
        max_in_flight: Limit,
    }
}

/// A limit; `null` removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Limit(pub Option<u32>);

fn limit<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Limit>, D::Error> {
    let given = <Option<PositiveCount> as serde::Deserialize>::deserialize(deserializer)?;
    Ok(Some(Limit(given.map(PositiveCount::get))))
}

impl Subscribe {
    /// The names of the events the subscription gets, without duplicates; `None` for all events.
    pub fn filter(&self) -> Result<Option<Vec<String>>, Problem> {
        let Some(events) = &self.filter_events else { return Ok(None) };
        if events.is_empty() {
            return Err(Problem::new("filter_events", "must name at least one event; leave it out to get all events"));
        }
        let mut seen = BTreeSet::new();
        let once = events.iter().map(|event| event.name()).filter(|name| seen.insert(*name));
        Ok(Some(once.map(str::to_owned).collect()))
    }
}

form! {
    /// Sends messages again: all dead letters, or those that match; or messages that were delivered.
    Replay {
        ;
        /// `DEAD` for dead letters, `DELIVERED` for messages that the URL took: these need `since`. Default: `DEAD`.
        state: ReplayState,
        /// Only those of this subscription.
        webhook_uuid: Reference,
        /// Only those of this event.
        event: EventName,
        /// Only those about this account.
        account_id: Reference,
        /// Only those that are dead, or were delivered, at this moment or later.
        since: Moment,
        /// Only those that were dead, or delivered, before this moment.
        until: Moment,
        /// True only counts them. Default: false.
        dry_run: bool,
    }
}

form! {
    /// Sends a message again.
    Resend {
        ;
        /// To this subscription alone. Left out: to all that get it and are active.
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

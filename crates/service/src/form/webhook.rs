//! Subscribing to webhooks, and sending again what failed.

use super::fields::*;
use super::{Problem, form};
use crate::webhooks::events::NAMES;
use std::collections::BTreeSet;

/// The most events in a filter.
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
    }
}

impl Subscribe {
    /// The names of the events it gets, each once; nothing for all.
    pub fn filter(&self) -> Result<Option<Vec<String>>, Problem> {
        let Some(events) = &self.filter_events else { return Ok(None) };
        if events.is_empty() {
            return Err(Problem::new("filter_events", "must name an event at least: leave it out to get all events"));
        }
        let mut seen = BTreeSet::new();
        let once = events.iter().map(|event| event.name()).filter(|name| seen.insert(*name));
        Ok(Some(once.map(str::to_owned).collect()))
    }
}

form! {
    /// Sends dead letters again: all of them, or those that match.
    Replay {
        ;
        /// Only those of this subscription.
        webhook_uuid: Reference,
        /// Only those of this event.
        event: EventName,
        /// Only those that are dead since this moment or later.
        since: Moment,
        /// Only those that were dead before this moment.
        until: Moment,
        /// True only counts them. Default: false.
        dry_run: bool,
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

    /// Reads it from text that is not JSON.
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

//! The catalogue: every event, when it is sent, and its payload.

use super::pretty::pretty;
use crate::Console;
use crate::csv::{Cell, Csv};
use crate::form::Asked;
use crate::guard::Visitor;
use crate::page::{Answer, Page, PageError, Section, read};
use askama::Template;
use axum::extract::{Path, State};
use bytes::Bytes;
use daybook_service::problem::Problem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A type of event.
#[derive(Debug, Deserialize)]
struct EventType {
    name: String,
    sent_when: String,
    kind: String,
    schema: Box<RawValue>,
    sample: Box<RawValue>,
}

impl EventType {
    /// Whether it must be configured for each account.
    fn is_configurable(&self) -> bool {
        self.kind == "CONFIGURABLE"
    }

    /// The kind, in plain text.
    fn kind_words(&self) -> &'static str {
        if self.is_configurable() { "Configurable" } else { "Default" }
    }
}

#[derive(Debug, Deserialize)]
struct EventTypes {
    results: Vec<EventType>,
}

async fn all(console: &Console, visitor: &Visitor) -> Result<Vec<EventType>, PageError> {
    let EventTypes { results } = read(&console.service.event_types(visitor.caller()).await?)?;
    Ok(results)
}

#[derive(Template)]
#[template(path = "webhooks/events.html")]
struct EventsPage {
    page: Page,
    events: Vec<EventType>,
}

/// The list of events.
pub async fn show(State(console): State<Console>, visitor: Visitor, Asked(asked): Asked) -> Answer {
    let events = all(&console, &visitor).await?;
    if asked.get("format") == "csv" {
        let mut csv = Csv::new(&["name", "kind", "sent_when"]);
        for event in &events {
            csv.row(&[Cell::Text(&event.name), Cell::Text(&event.kind), Cell::Text(&event.sent_when)]);
        }
        return Ok(csv.file("events"));
    }
    crate::page::show(&EventsPage { page: Page::new("Events", Section::Webhooks, &visitor), events })
}

/// A field of `data`, from the schema.
struct FieldOf {
    name: String,
    kind: String,
    required: bool,
    description: String,
}

#[derive(Template)]
#[template(path = "webhooks/event.html")]
struct EventPage {
    page: Page,
    event: EventType,
    fields: Vec<FieldOf>,
    schema: String,
    sample: String,
}

/// One event.
pub async fn show_one(State(console): State<Console>, visitor: Visitor, Path(name): Path<String>) -> Answer {
    let found = all(&console, &visitor).await?.into_iter().find(|event| event.name == name);
    let event = found.ok_or_else(|| Problem::not_found("event", &name))?;
    crate::page::show(&EventPage {
        page: Page::new(name, Section::Webhooks, &visitor),
        fields: fields(&read(&Bytes::from(event.schema.get().to_owned()))?),
        schema: pretty(event.schema.get()),
        sample: pretty(event.sample.get()),
        event,
    })
}

/// The fields of `data`, one level deep.
fn fields(schema: &Value) -> Vec<FieldOf> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object();
    let field = |(name, rule): (&String, &Value)| FieldOf {
        name: name.clone(),
        kind: kind(rule),
        required: required.contains(&name.as_str()),
        description: rule["description"].as_str().unwrap_or_default().to_owned(),
    };
    properties.into_iter().flatten().map(field).collect()
}

fn kind(rule: &Value) -> String {
    match &rule["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => match rule["const"].as_str() {
            Some(word) => format!("“{word}”"),
            None => "object".to_owned(),
        },
    }
}

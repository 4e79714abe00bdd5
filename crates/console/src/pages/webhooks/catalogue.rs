//! The catalogue: every event, when it is sent, and its payload.

use super::pretty::pretty;
use crate::Console;
use crate::csv::{Cell, Csv};
use crate::form::QueryParameters;
use crate::guard::Visitor;
use crate::page::{PageError, PageFrame, PageResult, Section};
use askama::Template;
use axum::extract::{Path, State};
use daybook_service::problem::Problem;
use daybook_service::view::EventType;
use serde_json::Value;

/// The kind of an event, in words.
trait KindWords {
    /// Whether it must be configured for each account.
    fn is_configurable(&self) -> bool;

    /// The kind, in plain text.
    fn kind_words(&self) -> &'static str;
}

impl KindWords for EventType {
    fn is_configurable(&self) -> bool {
        self.kind == "CONFIGURABLE"
    }

    fn kind_words(&self) -> &'static str {
        if self.is_configurable() { "Configurable" } else { "Default" }
    }
}

async fn all(console: &Console, visitor: &Visitor) -> Result<&'static [EventType], PageError> {
    Ok(&console.service.event_types(visitor.caller()).await?.results)
}

#[derive(Template)]
#[template(path = "webhooks/events.html")]
struct EventsPage {
    page: PageFrame,
    events: &'static [EventType],
}

/// The list of events.
pub async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    QueryParameters(asked): QueryParameters,
) -> PageResult {
    let events = all(&console, &visitor).await?;
    if asked.get("format") == "csv" {
        let mut csv = Csv::new(&["name", "kind", "sent_when"])?;
        for event in events {
            csv.row(&[Cell::Text(event.name), Cell::Text(event.kind), Cell::Text(event.sent_when)])?;
        }
        return csv.file("events");
    }
    crate::page::show(&EventsPage { page: PageFrame::new("Events", Section::Webhooks, &visitor), events })
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
    page: PageFrame,
    event: &'static EventType,
    fields: Vec<FieldOf>,
    schema: String,
    sample: String,
}

/// One event.
pub async fn show_one(State(console): State<Console>, visitor: Visitor, Path(name): Path<String>) -> PageResult {
    let found = all(&console, &visitor).await?.iter().find(|event| event.name == name);
    let event = found.ok_or_else(|| Problem::not_found("event", &name))?;
    crate::page::show(&EventPage {
        page: PageFrame::new(name, Section::Webhooks, &visitor),
        fields: fields(&event.schema),
        schema: pretty(&event.schema.to_string()),
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

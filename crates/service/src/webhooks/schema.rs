//! JSON Schemas of event data, taken from the types that are serialized.
//!
//! The types describe themselves for the API reference. This module turns that into a self-contained schema: everything
//! it refers to is inside it (`$defs`), and of the fields that only some events have, it contains only those of the
//! event.

use super::events::{EventType, Thing};
use crate::account::event_data;
use crate::{announcing, view};
use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The JSON Schema dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Fields that only some events have.
const FURTHER: [&str; 7] =
    ["instalment", "paid", "previous_status", "recalculation", "change", "rows", "shortfall_cents"];
/// The prefix of references in the API reference, and in a self-contained schema.
const SHARED: (&str, &str) = ("#/components/schemas/", "#/$defs/");

/// The schema of an event's `data`.
pub(crate) fn of_event(event: &EventType) -> Value {
    let mut schema = match event.thing {
        Thing::Account => alone::<event_data::AccountEventData<'_, view::Account<'_>>, view::Account<'_>>(),
        Thing::LineItem => alone::<event_data::AccountEventData<'_, view::LineItem<'_>>, view::LineItem<'_>>(),
        Thing::Customer => alone::<announcing::OtherEventData<'_, view::Customer>, view::Customer>(),
        Thing::Release => {
            alone::<announcing::OtherEventData<'_, view::MigrationReleased<'_>>, view::MigrationReleased<'_>>()
        }
        Thing::Subscription => alone::<announcing::OtherEventData<'_, view::Subscription>, view::Subscription>(),
        Thing::Sentence => alone::<announcing::OtherEventData<'_, view::TestMessage>, view::TestMessage>(),
    };
    let carried = event.carries.iter().chain(event.may_carry).copied().collect::<Vec<_>>();
    let further = further_fields(&schema, &carried);
    if let (Some(properties), Value::Object(further)) = (schema["properties"].as_object_mut(), further) {
        properties.retain(|name, _| !FURTHER.contains(&name.as_str()));
        properties.extend(further);
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.extend(event.carries.iter().map(|name| json!(name)));
    }
    schema["title"] = json!(event.name);
    schema["description"] = json!(event.sent_when);
    keep_what_is_used(&mut schema);
    schema
}

/// The additional fields of this event, which are never null.
fn further_fields(schema: &Value, carries: &[&str]) -> Value {
    let field = |name: &&str| ((*name).to_owned(), not_null(schema["properties"][*name].clone()));
    Value::Object(carries.iter().map(field).collect())
}

/// The same schema, without null.
fn not_null(mut schema: Value) -> Value {
    let is_something = |schema: &Value| *schema != json!({"type": "null"}) && *schema != json!("null");
    if let Some(types) = schema["type"].as_array_mut() {
        types.retain(is_something);
        if let [one] = types.as_slice() {
            schema["type"] = one.clone();
        }
    }
    match schema["oneOf"].as_array() {
        Some(choices) => choices.iter().find(|choice| is_something(choice)).cloned().unwrap_or_default(),
        None => schema,
    }
}

/// A type's schema with everything it refers to inside. The caller names the type of its `object`.
fn alone<T: ToSchema, O: ToSchema>() -> Value {
    let mut shared = vec![(O::name().into_owned(), <O as PartialSchema>::schema())];
    O::schemas(&mut shared);
    T::schemas(&mut shared);
    let mut schema = written(&<T as PartialSchema>::schema());
    let shared: Map<String, Value> = shared.iter().map(|(name, schema)| (name.clone(), written(schema))).collect();
    schema["$schema"] = json!(DIALECT);
    schema["$defs"] = Value::Object(shared);
    redirect(&mut schema);
    schema
}

fn written(schema: &RefOr<Schema>) -> Value {
    serde_json::to_value(schema).unwrap_or_default()
}

/// Makes references point into the schema itself.
fn redirect(schema: &mut Value) {
    match schema {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(SHARED.0) {
                *text = format!("{}{name}", SHARED.1);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(redirect),
        Value::Object(fields) => fields.values_mut().for_each(redirect),
        _ => {}
    }
}

/// Removes definitions that nothing refers to.
fn keep_what_is_used(schema: &mut Value) {
    let mut defs = match schema["$defs"].take() {
        Value::Object(defs) => defs,
        _ => Map::new(),
    };
    let mut used = Map::new();
    let mut wanted = Vec::new();
    references(schema, &mut wanted);
    while let Some(name) = wanted.pop() {
        if let Some(definition) = defs.remove(&name) {
            references(&definition, &mut wanted);
            used.insert(name, definition);
        }
    }
    schema["$defs"] = Value::Object(used);
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(SHARED.1)) {
                found.push(name.to_owned());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

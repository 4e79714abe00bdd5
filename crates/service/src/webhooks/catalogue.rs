//! The catalogue of events: their names, their schemas, and samples made by the real code.

use super::events::EVENTS;
use super::{samples, schema};
use crate::Service;
use crate::access::{Caller, Right};
use crate::boxed;
use crate::problem::Problem;
use crate::view;
use std::sync::LazyLock;

/// The same for all callers; made when it is first requested.
static CATALOGUE: LazyLock<Result<view::Results<view::EventType>, Problem>> = LazyLock::new(make);

impl Service {
    /// All types of events.
    #[boxed]
    pub async fn event_types(&self, who: &Caller) -> Result<&'static view::Results<view::EventType>, Problem> {
        who.may(Right::Read)?;
        CATALOGUE.as_ref().map_err(Clone::clone)
    }
}

fn make() -> Result<view::Results<view::EventType>, Problem> {
    let samples = samples::of_all_events()?;
    let entry = |event: &super::events::EventType| {
        let sample = samples.get(event.name).cloned();
        Ok(view::EventType {
            name: event.name,
            sent_when: event.sent_when,
            kind: event.kind.name(),
            schema: schema::of_event(event),
            sample: sample.ok_or_else(|| Problem::internal(format!("there is no sample of {}", event.name)))?,
        })
    };
    let results = EVENTS.iter().map(entry).collect::<Result<Vec<_>, Problem>>()?;
    Ok(view::Results { results })
}

#[cfg(test)]
mod tests;

//! The catalogue of events: what can be subscribed to, what it carries, and a sample that was really folded.

use super::events::EVENTS;
use super::{samples, schema};
use crate::Service;
use crate::access::{Caller, Right};
use crate::problem::Problem;
use crate::view::{self, render};
use bytes::Bytes;
use std::sync::LazyLock;

/// The same for everybody, and made when it is first asked for.
static CATALOGUE: LazyLock<Result<Bytes, Problem>> = LazyLock::new(make);

impl Service {
    /// Every event there is.
    pub async fn event_types(&self, who: &Caller) -> Result<Bytes, Problem> {
        who.may(Right::Read)?;
        CATALOGUE.clone()
    }
}

fn make() -> Result<Bytes, Problem> {
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
    Ok(render(&view::Results { results }))
}

#[cfg(test)]
mod tests;

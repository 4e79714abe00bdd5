//! Compares the columns of messages that are not about an account (customers, releases, paused URLs, tests) with their
//! signed bytes.

use crate::webhooks::events::OwnEvent;
use daybook_engine::time::Time;
use daybook_store::records::{MessageRow, OrgId};
use daybook_store::upkeep::{Correction, OwnMessage};
use serde_json::Value;

/// The columns that the bytes give; `None` if they cannot be read.
fn given(kept: &MessageRow) -> Option<OwnMessage> {
    let said: Value = serde_json::from_slice(&kept.data).ok()?;
    let event_id = said["event_id"].as_str()?;
    let changed_at = said["changed_at"].as_str().and_then(Time::parse)?;
    let text = |name: &str| said["object"][name].as_str().map(str::to_owned);
    let (event, subject) = match event_id.rsplit_once('.') {
        Some((_, "c1")) => (OwnEvent::CustomerCreate, text("customer_id")?),
        Some((_, version)) if version.starts_with('c') => (OwnEvent::CustomerUpdate, text("customer_id")?),
        Some((_, version)) if version.starts_with('m') => (OwnEvent::MigrationReleased, text("product_id")?),
        Some((front, at)) if at.starts_with('p') => {
            (OwnEvent::SubscriptionPaused, front.strip_prefix("dbk_evt_")?.to_owned())
        }
        Some(_) => return None,
        None => (OwnEvent::TestEvent, String::new()),
    };
    // The bytes about a paused URL contain the moment of the pause, which may be earlier than the message.
    let is_pause = event == OwnEvent::SubscriptionPaused;
    let (effective_at, recorded_at) =
        if is_pause { (kept.effective_at, kept.recorded_at) } else { (changed_at, changed_at) };
    Some(OwnMessage {
        position: kept.position?,
        event: event.name().to_owned(),
        event_id: event_id.to_owned(),
        subject,
        effective_at,
        recorded_at,
    })
}

/// Compares a message that a stored key signed. Returns the difference, and the correction.
pub(super) fn compare(org: OrgId, kept: &MessageRow) -> Option<(String, Correction)> {
    let given = given(kept)?;
    let stored = OwnMessage {
        position: given.position,
        event: kept.event.clone(),
        event_id: kept.event_id.clone(),
        subject: kept.subject.clone(),
        effective_at: kept.effective_at,
        recorded_at: kept.recorded_at,
    };
    if stored == given && kept.cause.is_empty() && kept.sequence == 0 {
        return None;
    }
    let sentence = format!(
        "message {} at position {} is {} about \"{}\" of {}, but its bytes give {} about \"{}\" of {}",
        kept.event_id,
        given.position,
        kept.event,
        kept.subject,
        kept.recorded_at,
        given.event,
        given.subject,
        given.recorded_at
    );
    Some((sentence, Correction::OwnMessage(org, Box::new(given))))
}

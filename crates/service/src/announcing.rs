//! Messages about things that are no account: a customer, a product. Those about accounts are the herald's.

use crate::view::{self, time::Stamp};
use daybook_engine::time::Time;
use daybook_store::records::MessageRow;
use daybook_webhooks::signature::Key;
use serde::Serialize;

/// Something to announce.
pub(crate) struct News<'a, O> {
    /// The event's name.
    pub event: &'a str,
    /// The event's id, unique.
    pub event_id: String,
    /// Which thing it is about.
    pub subject: &'a str,
    /// When it happened, as its thing's clocks show it: it is recorded at once.
    pub at: Stamp<'a>,
    /// The same moment.
    pub now: Time,
    /// The thing.
    pub object: &'a O,
}

/// `data` of such a message.
#[derive(Serialize)]
struct Data<'a, O> {
    event_id: &'a str,
    changed_at: Stamp<'a>,
    effective_at: Stamp<'a>,
    account_sequence: i64,
    object: &'a O,
}

impl<O: Serialize> News<'_, O> {
    /// The message, signed.
    pub fn message(self, signing: &Key) -> MessageRow {
        let data = view::render(&Data {
            event_id: &self.event_id,
            changed_at: self.at,
            effective_at: self.at,
            account_sequence: 0,
            object: self.object,
        });
        MessageRow {
            position: None,
            due_at: None,
            account: None,
            sequence: 0,
            event: self.event.to_owned(),
            event_id: self.event_id,
            cause: String::new(),
            subject: self.subject.to_owned(),
            effective_at: self.now,
            recorded_at: self.now,
            signature: signing.sign(&data),
            data,
        }
    }
}

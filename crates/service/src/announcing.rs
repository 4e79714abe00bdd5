//! Messages about customers, products and subscriptions. The message writer writes those about accounts.

use crate::view::{self, time::Stamp};
use crate::webhooks::events::OwnEvent;
use daybook_engine::time::Time;
use daybook_store::records::MessageRow;
use daybook_webhooks::signature::SigningKey;
use serde::Serialize;
use utoipa::ToSchema;

/// An event to announce.
pub(crate) struct News<'a, O> {
    /// The event.
    pub event: OwnEvent,
    /// The unique id of the event.
    pub event_id: String,
    /// The id of the object it is about.
    pub subject: &'a str,
    /// When it happened, in the object's time zone. It is recorded at the same moment.
    pub at: Stamp,
    /// The same moment as a plain time.
    pub now: Time,
    /// The object.
    pub object: &'a O,
}

/// `data` of a message that is not about an account.
#[derive(Serialize, ToSchema)]
pub(crate) struct OtherEventData<'a, O> {
    /// The id of the event: unique, and the same each time the event is sent.
    event_id: &'a str,
    /// When the event was recorded.
    changed_at: Stamp,
    /// When the event happened.
    effective_at: Stamp,
    /// Always 0: the event is not about an account.
    account_sequence: i64,
    /// What the event is about, as it is right after the event: for example a customer, a product or a release.
    object: O,
}

impl<O: Serialize> News<'_, O> {
    /// The signed message.
    pub fn message(self, signing: &SigningKey) -> MessageRow {
        let data = view::render(&OtherEventData {
            event_id: &self.event_id,
            changed_at: self.at,
            effective_at: self.at,
            account_sequence: 0,
            object: self.object,
        });
        MessageRow {
            position: None,
            due_at: None,
            cancelled_at: None,
            account: None,
            sequence: 0,
            event: self.event.name().to_owned(),
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

//! The built-in receiver: receives every message of a case, and checks its signature.
//!
//! A message that arrives more than once counts as one. A message whose signature, in the body or in the header, is not
//! by the organization's key is refused and recorded.

use daybook_webhooks::sender::{Post, Receive};
use daybook_webhooks::signature::SigningKey;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

const TAKEN: u16 = 200;
const REFUSED: u16 = 400;

/// The messages received for the current case.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<Received>);

#[derive(Debug, Default)]
struct Received {
    key: Option<SigningKey>,
    /// Event names by message id.
    events: BTreeMap<String, String>,
    /// Messages whose signature is wrong.
    unsigned: Vec<String>,
}

#[derive(Deserialize)]
struct InboxMessage<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    /// The exact bytes that are signed.
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow)]
    hmac_signature: Cow<'a, str>,
}

impl Inbox {
    /// Starts a case whose messages are signed with this key.
    pub fn begin(&self, key: SigningKey) {
        *self.received() = Received { key: Some(key), ..Received::default() };
    }

    /// How many messages of each event were received.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for event in self.received().events.values() {
            *counts.entry(event.clone()).or_default() += 1;
        }
        counts
    }

    /// The messages whose signature was wrong.
    pub fn unsigned(&self) -> Vec<String> {
        self.received().unsigned.clone()
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Receive for Inbox {
    fn receive(&self, post: &Post<'_>) -> u16 {
        let mut received = self.received();
        match received.key.as_ref().and_then(|key| signed_event(key, post)) {
            Some(event) => {
                received.events.insert(post.id.to_owned(), event);
                TAKEN
            }
            None => {
                received.unsigned.push(post.id.to_owned());
                REFUSED
            }
        }
    }
}

/// The name of a message's event; `None` unless both of its signatures are by the key.
pub(crate) fn signed_event(key: &SigningKey, post: &Post<'_>) -> Option<String> {
    let message: InboxMessage<'_> = serde_json::from_slice(&post.body).ok()?;
    let header = key.standard().sign(post.id, post.timestamp_s, &post.body);
    let is_signed = key.verify(message.data.get().as_bytes(), &message.hmac_signature)
        && post.signature.split(' ').any(|signature| signature == header);
    is_signed.then(|| message.event.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use daybook_webhooks::envelope;

    fn post(key: &SigningKey, data: &str, signed: &str) -> (Bytes, String) {
        let body = envelope::body("payment_missed", data.as_bytes(), &key.sign(signed.as_bytes()));
        let header = key.standard().sign("m1", 7, &body);
        (body, header)
    }

    #[test]
    fn only_what_is_signed_counts_and_only_once() {
        let (key, other) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
        let inbox = Inbox::default();
        inbox.begin(key.clone());
        let send =
            |(body, signature): (Bytes, String)| inbox.receive(&Post { id: "m1", timestamp_s: 7, signature, body });
        let good = post(&key, "{\"a\":1}", "{\"a\":1}");
        assert_eq!((send(good.clone()), send(good.clone())), (TAKEN, TAKEN));
        assert_eq!(inbox.counts(), BTreeMap::from([("payment_missed".to_owned(), 1)]));
        assert_eq!(inbox.unsigned(), Vec::<String>::new());

        assert_eq!(send(post(&key, "{\"a\":2}", "{\"a\":1}")), REFUSED, "other data");
        assert_eq!(send(post(&other, "{\"a\":1}", "{\"a\":1}")), REFUSED, "another key");
        assert_eq!(send((good.0, post(&other, "{\"a\":1}", "{\"a\":1}").1)), REFUSED, "another header");
        assert_eq!(inbox.unsigned().len(), 3);
    }
}

//! What the signed bytes of messages say, and which messages a stored key must have signed.
//!
//! The journal alone cannot show whether it was altered. A value that only it and one other row hold is copied from the
//! journal only if a signed message confirms it.

use super::is_signed;
use crate::Service;
use crate::account::message_writer::external_fields;
use crate::problem::Problem;
use daybook_engine::time::Time;
use daybook_store::audit::{AuditFilter, NO_ORGANIZATION};
use daybook_store::records::{MessageRow, OrgId};
use daybook_webhooks::signature::SigningKey;
use serde_json::Value;

/// The largest number of audit records that a search examines.
const MOST_EXAMINED: usize = 1_000;

/// The stored signing keys of an organization.
#[derive(Clone, Debug)]
pub(crate) struct StoredKeys {
    pub keys: Vec<SigningKey>,
    /// Whether the organization never had other keys.
    pub are_all: bool,
}

impl Service {
    /// The stored keys of an organization. The last two are stored. The audit trail shows whether there were more, if
    /// it began before the organization.
    pub(super) async fn stored_keys(&self, org: OrgId) -> Result<StoredKeys, Problem> {
        let keys = self.catalog.remembered_keys(org).await?;
        if keys.len() == 1 {
            return Ok(StoredKeys { keys, are_all: true });
        }
        let name = self.catalog.organization(org).await?.row.name.clone();
        let of = |action: &str| AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
        let creation = AuditFilter { subject_id: Some(name), ..of("create_organization") };
        let created = self.store.audit_records(NO_ORGANIZATION, &creation, None, 1, MOST_EXAMINED).await?;
        let rotated = self.store.audit_records(org, &of("rotate_hmac_key"), None, 2, MOST_EXAMINED).await?;
        let are_all = !created.records.is_empty() && rotated.records.len() < 2;
        Ok(StoredKeys { keys, are_all })
    }
}

/// The messages of an account.
pub(super) struct SignedMessages<'a> {
    pub account: &'a str,
    /// In order of their numbers.
    pub messages: &'a [MessageRow],
    pub keys: &'a [SigningKey],
}

impl<'a> SignedMessages<'a> {
    /// The content of a message, if a stored key signed it and it is about the account.
    fn read(&self, message: &MessageRow) -> Option<Value> {
        let said: Value = is_signed(message, self.keys).then(|| serde_json::from_slice(&message.data).ok())??;
        (said["account_id"] == self.account).then_some(said)
    }

    fn objects_of_item(&self, id: &str) -> impl Iterator<Item = Value> {
        let about = self.messages.iter().filter(move |message| message.subject == id);
        let objects = about.filter_map(move |message| self.read(message)).map(|mut said| said["object"].take());
        objects.filter(move |object| object["line_item_id"] == id)
    }

    /// Whether a message says that a line item was created at this moment.
    pub(super) fn confirm_item_created(&self, id: &str, at: Time) -> bool {
        self.objects_of_item(id).any(|object| time(&object["created_at"]) == Some(at))
    }

    /// Whether a message says that a line item has these external fields.
    pub(super) fn confirm_item_fields(&self, id: &str, extra: Option<&str>) -> bool {
        let expected = serde_json::to_value(external_fields(extra)).unwrap_or_default();
        self.objects_of_item(id).any(|object| object["external_fields"] == expected)
    }

    /// Whether a message says that the account was created at this moment.
    pub(super) fn confirm_account_created(&self, at: Time) -> bool {
        let is_confirmed = |said: Value| {
            let object = &said["object"];
            !object["account_product"].is_null() && time(&object["created_at"]) == Some(at)
        };
        self.messages.iter().filter_map(|message| self.read(message)).any(is_confirmed)
    }

    /// The product that the last message names.
    pub(super) fn product(&self) -> Option<String> {
        let said = self.read(self.messages.last()?)?;
        let object = &said["object"];
        let named = object["product_id"].as_str().or(object["account_product"]["product_id"].as_str());
        named.map(str::to_owned)
    }
}

fn time(value: &Value) -> Option<Time> {
    value.as_str().and_then(Time::parse)
}

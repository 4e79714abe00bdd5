//! The audit trail.

use super::time::Utc;
use crate::secrets::hex;
use daybook_store::audit::AuditRow;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A record of the audit trail: the actor, the action and its subject, the time and the client's address.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AuditRecord {
    /// Its number in the trail of the organization: 1, 2, 3, …
    pub number: i64,
    /// When it was recorded.
    pub recorded_at: Utc,
    /// The client id of the key, `person:` and the id of the user, or `operator` for a command on the server's machine.
    pub actor: String,
    /// An identifier of the user's session; null for keys and commands.
    pub session: Option<String>,
    /// The client's address, if it is known.
    pub address: Option<String>,
    /// The `x-request-id` of the request, if it had one.
    pub request_id: Option<String>,
    /// The action, such as `record_payment`.
    pub action: String,
    /// The type of the subject, such as `account`.
    pub subject_type: String,
    /// The id of the subject.
    pub subject_id: Option<String>,
    /// The details of the request that are recorded.
    #[schema(value_type = Object)]
    pub details: Box<RawValue>,
    /// The hash that links it to the previous record, in hexadecimal.
    pub hash: String,
}

impl AuditRecord {
    /// The view of an audit record.
    pub fn new(row: AuditRow) -> AuditRecord {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let record = row.record;
        let origin = &record.origin;
        // Details that were changed by hand may not be JSON.
        let details = RawValue::from_string(record.details.clone());
        let as_text = || RawValue::from_string(serde_json::Value::from(record.details.as_str()).to_string());
        AuditRecord {
            number: row.seq,
            recorded_at: Utc(record.at),
            actor: origin.actor.clone(),
            session: given(&origin.session),
            address: given(&origin.address),
            request_id: given(&origin.request_id),
            action: record.action,
            subject_type: record.subject_type,
            subject_id: given(&record.subject_id),
            details: details.or_else(|_| as_text()).unwrap_or_default(),
            hash: hex(&row.hash),
        }
    }
}

//! The audit trail.

use super::time::Utc;
use crate::audit::hex;
use daybook_store::audit::AuditRow;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Who did what, to what, when, from where.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditRecord<'a> {
    /// Its number in the trail of the organization: 1, 2, 3, …
    pub number: i64,
    /// When.
    pub recorded_at: Utc,
    /// The client id of the key, `person:` and the id of the person, or `operator` for a command on the server's machine.
    pub actor: &'a str,
    /// A mark of the session that the person was signed in by; not there for keys and commands.
    pub session: Option<&'a str>,
    /// The client's address, where it is known.
    pub address: Option<&'a str>,
    /// The `x-request-id` of the call, where it had one.
    pub request_id: Option<&'a str>,
    /// What was done, such as `record_payment`.
    pub action: &'a str,
    /// What kind of thing it was done to, such as `account`.
    pub subject_type: &'a str,
    /// To which.
    pub subject_id: Option<&'a str>,
    /// What was asked for, as far as it is recorded.
    #[schema(value_type = Object)]
    pub details: Box<RawValue>,
    /// The hash that links it to the record before, in hexadecimal.
    pub hash: String,
}

impl<'a> AuditRecord<'a> {
    /// The view of an audit record.
    pub fn new(row: &'a AuditRow) -> AuditRecord<'a> {
        let given = |text: &'a String| Some(text.as_str()).filter(|text| !text.is_empty());
        let (record, origin) = (&row.record, &row.record.origin);
        // Details that were changed by hand may not be JSON.
        let details = RawValue::from_string(record.details.clone());
        let as_text = || RawValue::from_string(serde_json::Value::from(record.details.as_str()).to_string());
        AuditRecord {
            number: row.seq,
            recorded_at: Utc(record.at),
            actor: &origin.actor,
            session: given(&origin.session),
            address: given(&origin.address),
            request_id: given(&origin.request_id),
            action: &record.action,
            subject_type: &record.subject_type,
            subject_id: given(&record.subject_id),
            details: details.or_else(|_| as_text()).unwrap_or_default(),
            hash: hex(&row.hash),
        }
    }
}

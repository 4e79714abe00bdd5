//! Withdrawn records in the audit trail.
//!
//! A withdrawal removes records from a journal and leaves a gap in their numbers. Its audit record states these
//! numbers, so that `verify` can tell the gap from a lost record. Audit records of earlier builds do not state them.

use crate::secrets::Secrets;
use daybook_store::audit::{AuditRecord, NewAuditRecord};
use serde_json::{Map, Value};

/// The action of a withdrawal.
pub(crate) const WITHDRAWAL: &str = "withdraw_line_item";
/// The action of a withdrawal of a change.
pub(crate) const CHANGE_WITHDRAWAL: &str = "withdraw_change";
/// The detail with the numbers.
const RECORDS: &str = "records";
/// A withdrawal of more records than this does not state them.
const MOST_RECORDS: usize = 200;

/// The same audit record, with the numbers of the journal's records that were withdrawn.
pub(crate) fn with_records(mut audit: NewAuditRecord, records: &[i64], secrets: &Secrets) -> NewAuditRecord {
    if records.is_empty() || records.len() > MOST_RECORDS {
        return audit;
    }
    let Ok(mut details) = serde_json::from_str::<Map<String, Value>>(&audit.record.details) else { return audit };
    details.insert(RECORDS.to_owned(), records.into());
    audit.record.details = Value::Object(details).to_string();
    audit.digest = secrets.audit_digest(&audit.record.bytes());
    audit
}

/// The numbers of the records that a withdrawal removed; `None` if its audit record does not state them.
pub(crate) fn records_of(audit: &AuditRecord) -> Option<Vec<i64>> {
    let details: Value = serde_json::from_str(&audit.details).ok()?;
    details[RECORDS].as_array()?.iter().map(Value::as_i64).collect()
}

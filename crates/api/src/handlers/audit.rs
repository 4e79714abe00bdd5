//! The audit trail.

use crate::extract::Administrator;
use crate::parameters::AuditParameters;
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::view;

/// Lists audit records
///
/// Latest first. Every request that changes something writes one record, in the transaction of the change; a bulk
/// request writes one for all its lines. Paging is forward only, by `starting_after`.
///
/// `actor`, `subject_id` or an `action` other than `record_payment` alone finds its records at once. Every other search
/// examines at most 20,000 records for a page. The page may then be short or empty although `has_more` is true: request
/// the next page until `has_more` is false.
#[utoipa::path(get, path = Operation::ListAuditRecords.path(), tag = "Access", params(AuditParameters),
    responses((status = 200, description = "A page of records", body = view::Page<view::AuditRecord>)))]
pub async fn list_audit_records(
    State(api): State<Api>,
    Administrator(who): Administrator,
    parameters: AuditParameters,
) -> JsonResult {
    let paging = parameters.paging()?;
    Ok(Json::of(&api.service.list_audit_records(&who, paging, parameters.query()?).await?))
}

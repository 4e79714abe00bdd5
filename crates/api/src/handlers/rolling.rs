//! Rolling: processing an account up to a moment, for tests.

use crate::extract::{Administrator, Form};
use crate::parameters::RollParameters;
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::access::Caller;
use daybook_service::form::Roll;
use daybook_service::form::fields::{Moment, Reference};
use daybook_service::view;
use utoipa::IntoParams;

/// The parameters of a roll; each may also stand in the body.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "this describes what `Roll::from_query` reads")]
pub struct RollQuery {
    /// The account.
    #[param(inline)]
    account_id: Option<Reference>,
    /// Up to and including this moment.
    #[param(inline)]
    effective_at: Option<Moment>,
    /// Up to just before this moment, instead of `effective_at`.
    #[param(inline)]
    exclusive_end: Option<Moment>,
    /// Whether every webhook up to that moment is sent now. Default: false.
    roll_webhooks: Option<bool>,
}

/// Rolls an account to a moment
///
/// Processes the account's events up to that moment, which may be in the future; the account then keeps its own clock
/// until real time catches up. Refused for organizations in the environment `LIVE`, and while the product holds or
/// releases events. The parameters may be in the query or in the body.
#[utoipa::path(patch, path = Operation::RollAccount.path(), tag = "Rolling", params(RollQuery),
    request_body(content = Roll, example = json!({"account_id": "loan-1", "effective_at": "2025-03-01T00:00:00-05:00"})),
    responses((status = 200, description = "The result", body = view::Rolled)))]
pub async fn roll_account(
    State(api): State<Api>,
    Administrator(who): Administrator,
    RollParameters(query): RollParameters,
    call: Form<Roll>,
) -> JsonResult {
    roll(&api, &who, query, call).await
}

/// Rolls an account to a moment
///
/// The same as `PATCH`.
#[utoipa::path(post, path = Operation::RollAccountByPost.path(), tag = "Rolling", params(RollQuery),
    request_body(content = Roll, example = json!({"account_id": "loan-1", "effective_at": "2025-03-01T00:00:00-05:00"})),
    responses((status = 200, description = "The result", body = view::Rolled)))]
pub async fn roll_account_by_post(
    State(api): State<Api>,
    Administrator(who): Administrator,
    RollParameters(query): RollParameters,
    call: Form<Roll>,
) -> JsonResult {
    roll(&api, &who, query, call).await
}

async fn roll(api: &Api, who: &Caller, query: Roll, call: Form<Roll>) -> JsonResult {
    Ok(Json(api.service.roll_account(who, call.idempotency_key, query.or(call.form)).await?))
}

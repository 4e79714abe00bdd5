//! Access tokens.

use crate::extract::Form;
use crate::parameters::NoParameters;
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::{form, view};

/// Exchanges a client's id and secret for an access token
///
/// Send the token in the header `Authorization: Bearer <access_token>` of all other requests. When it has expired, they
/// are refused with 403 `not_authorized`: request a new one. The client secret itself is accepted in its place.
#[utoipa::path(post, path = Operation::CreateToken.path(), tag = "Access", security(()),
    request_body(content = form::TokenRequest, example = json!({"client_id": "my-client", "client_secret": "dbk_sk_…"})),
    responses((status = 200, description = "The token", body = view::Token)))]
pub async fn create_token(State(api): State<Api>, _: NoParameters, call: Form<form::TokenRequest>) -> JsonResult {
    Ok(Json::of(&api.service.issue_token(&call.form).await?))
}

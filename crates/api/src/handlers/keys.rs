//! Keys.

use crate::extract::{Administrator, Form, KeyPath};
use crate::parameters::NoParameters;
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::{form, view};

/// Lists the organization's API keys
#[utoipa::path(get, path = Operation::ListKeys.path(), tag = "Access",
    responses((status = 200, description = "All keys", body = view::Results<view::Key>)))]
pub async fn list_keys(State(api): State<Api>, Administrator(who): Administrator, _: NoParameters) -> JsonResult {
    Ok(Json::of(&api.service.list_keys(&who).await?))
}

/// Creates an API key
///
/// The response contains its secret, which is shown only once.
#[utoipa::path(post, path = Operation::CreateKey.path(), tag = "Access",
    request_body(content = inline(form::NewKey), example = json!({"name": "reporting", "role": "READ_ONLY"})),
    responses((status = 200, description = "The key, with its secret", body = view::NewKey)))]
pub async fn create_key(
    State(api): State<Api>,
    Administrator(who): Administrator,
    _: NoParameters,
    call: Form<form::NewKey>,
) -> JsonResult {
    Ok(Json::of(&api.service.create_key(&who, call.form).await?))
}

/// Revokes an API key
#[utoipa::path(delete, path = Operation::RevokeKey.path(), tag = "Access", params(KeyPath),
    responses((status = 200, description = "The key", body = view::Key)))]
pub async fn revoke_key(
    State(api): State<Api>,
    Administrator(who): Administrator,
    path: KeyPath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.revoke_key(&who, path.client_id.as_str()).await?))
}

//! Messages: search, one message with its deliveries, sending one again.

use crate::extract::{Form, MessagePath, Reader, Writer};
use crate::parameters::{MessageParameters, NoParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::problem::Problem;
use daybook_service::{form, view};

/// Searches for messages
///
/// Scheduled messages first, then the latest first. Paging is forward only, by `starting_after`. For each page, the
/// search reads a limited number of messages: a page may be short or empty while `paging.has_more` is true.
#[utoipa::path(get, path = Operation::ListMessages.path(), tag = "Webhooks", params(MessageParameters),
    responses((status = 200, description = "A page of messages", body = view::Page<view::Message>)))]
pub async fn list_messages(State(api): State<Api>, Reader(who): Reader, parameters: MessageParameters) -> JsonResult {
    let paging = parameters.paging()?;
    let view::Page { results, paging } = api.service.list_messages(&who, paging, parameters.query()?).await?;
    // This list has always had its fields in alphabetical order, as a JSON tree has them.
    let results = results.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
    let results = results.map_err(|error| Problem::internal(format!("a message cannot be written: {error}")))?;
    Ok(Json::of(&view::Page { results, paging }))
}

/// Gets a message
///
/// Its exact body, its state at each URL, and every attempt.
#[utoipa::path(get, path = Operation::GetMessage.path(), tag = "Webhooks", params(MessagePath),
    responses((status = 200, description = "The message", body = view::WholeMessage)))]
pub async fn get_message(
    State(api): State<Api>,
    Reader(who): Reader,
    path: MessagePath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.get_message(&who, &path.event_id).await?))
}

/// Sends a message again
///
/// Sends the same bytes at once, with a new retry schedule, even if the message was delivered: to all active URLs that
/// get it, or to one. The body may be omitted.
#[utoipa::path(post, path = Operation::ResendMessage.path(), tag = "Webhooks", params(MessagePath),
    request_body(content = form::Resend, example = json!({})),
    responses((status = 200, description = "The subscriptions that it is sent to", body = view::Resent)))]
pub async fn resend_message(
    State(api): State<Api>,
    Writer(who): Writer,
    path: MessagePath,
    _: NoParameters,
    call: Form<form::Resend>,
) -> JsonResult {
    Ok(Json(api.service.resend_message(&who, call.idempotency_key, &path.event_id, call.form).await?))
}

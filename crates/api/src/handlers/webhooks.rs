//! Webhooks: subscriptions, deliveries, the signing key, the catalogue of events.

use crate::error::Refusal;
use crate::extract::{Administrator, Bodiless, Form, Reader, SubscriptionPath, Writer};
use crate::parameters::{DeadLetterParameters, DeliveryParameters, NoParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use axum::http::StatusCode;
use daybook_operations::Operation;
use daybook_service::access::Caller;
use daybook_service::{form, view};

/// The response to subscribing.
type Created = Result<(StatusCode, Json), Refusal>;

/// Subscribes a URL
///
/// The URL gets the messages that are published from now on: those of `filter_events`, or all. A request with the same
/// URL replaces the filter of its subscription for messages that are not sent yet, and never resumes it. Another URL
/// adds a subscription. Addresses of private networks are refused.
#[utoipa::path(put, path = Operation::Subscribe.path(), tag = "Webhooks",
    request_body(content = form::Subscribe, example = json!({
        "webhook_url": "https://example.com/webhooks", "filter_events": ["payment_missed", "account_closed"]
    })),
    responses((status = 201, description = "The subscription", body = view::Subscription)))]
pub async fn subscribe(
    State(api): State<Api>,
    Writer(who): Writer,
    _: NoParameters,
    call: Form<form::Subscribe>,
) -> Created {
    create(&api, &who, call).await
}

/// Subscribes a URL
///
/// The same as `PUT`.
#[utoipa::path(post, path = Operation::SubscribeByPost.path(), tag = "Webhooks",
    request_body(content = form::Subscribe, example = json!({
        "webhook_url": "https://example.com/webhooks", "filter_events": ["payment_missed", "account_closed"]
    })),
    responses((status = 201, description = "The subscription", body = view::Subscription)))]
pub async fn subscribe_by_post(
    State(api): State<Api>,
    Writer(who): Writer,
    _: NoParameters,
    call: Form<form::Subscribe>,
) -> Created {
    create(&api, &who, call).await
}

async fn create(api: &Api, who: &Caller, call: Form<form::Subscribe>) -> Created {
    Ok((StatusCode::CREATED, Json(api.service.subscribe(who, call.idempotency_key, call.form).await?)))
}

/// Lists the organization's subscriptions
#[utoipa::path(get, path = Operation::ListSubscriptions.path(), tag = "Webhooks",
    responses((status = 200, description = "All subscriptions", body = view::Results<view::Subscription>)))]
pub async fn list_subscriptions(State(api): State<Api>, Reader(who): Reader, _: NoParameters) -> JsonResult {
    Ok(Json::of(&api.service.list_subscriptions(&who).await?))
}

/// Pauses a subscription
///
/// No messages are sent to it while it is paused; its messages, including pending retries, become its dead letters.
/// Repeating this has no effect.
#[utoipa::path(put, path = Operation::Unsubscribe.path(), tag = "Webhooks",
    params(SubscriptionPath),
    responses((status = 200, description = "The subscription", body = view::Subscription)))]
pub async fn unsubscribe(
    State(api): State<Api>,
    Writer(who): Writer,
    path: SubscriptionPath,
    _: NoParameters,
    call: Bodiless,
) -> JsonResult {
    Ok(Json(api.service.unsubscribe(&who, call.idempotency_key, path.webhook_uuid.as_str()).await?))
}

/// Pauses a subscription
///
/// The same as `PUT`.
#[utoipa::path(post, path = Operation::UnsubscribeByPost.path(), tag = "Webhooks",
    params(SubscriptionPath),
    responses((status = 200, description = "The subscription", body = view::Subscription)))]
pub async fn unsubscribe_by_post(
    State(api): State<Api>,
    Writer(who): Writer,
    path: SubscriptionPath,
    _: NoParameters,
    call: Bodiless,
) -> JsonResult {
    Ok(Json(api.service.unsubscribe(&who, call.idempotency_key, path.webhook_uuid.as_str()).await?))
}

/// Resumes a subscription
///
/// The URL gets the messages published from now on. Messages that it missed stay dead letters and can be replayed.
#[utoipa::path(put, path = Operation::Resubscribe.path(), tag = "Webhooks",
    params(SubscriptionPath),
    responses((status = 200, description = "The subscription", body = view::Subscription)))]
pub async fn resubscribe(
    State(api): State<Api>,
    Writer(who): Writer,
    path: SubscriptionPath,
    _: NoParameters,
    call: Bodiless,
) -> JsonResult {
    Ok(Json(api.service.resubscribe(&who, call.idempotency_key, path.webhook_uuid.as_str()).await?))
}

/// Resumes a subscription
///
/// The same as `PUT`.
#[utoipa::path(post, path = Operation::ResubscribeByPost.path(), tag = "Webhooks",
    params(SubscriptionPath),
    responses((status = 200, description = "The subscription", body = view::Subscription)))]
pub async fn resubscribe_by_post(
    State(api): State<Api>,
    Writer(who): Writer,
    path: SubscriptionPath,
    _: NoParameters,
    call: Bodiless,
) -> JsonResult {
    Ok(Json(api.service.resubscribe(&who, call.idempotency_key, path.webhook_uuid.as_str()).await?))
}

/// Removes a subscription
///
/// Its dead letters and its pending retries are removed with it.
#[utoipa::path(delete, path = Operation::DeleteSubscription.path(), tag = "Webhooks",
    params(SubscriptionPath),
    responses((status = 200, description = "The subscription is removed", body = view::RemovedSubscription)))]
pub async fn delete_subscription(
    State(api): State<Api>,
    Writer(who): Writer,
    path: SubscriptionPath,
    _: NoParameters,
    call: Bodiless,
) -> JsonResult {
    Ok(Json(api.service.delete_subscription(&who, call.idempotency_key, path.webhook_uuid.as_str()).await?))
}

/// Sends dead letters or delivered messages again
///
/// Sends all dead letters of active URLs, or those that match, with a new retry schedule. Dead letters of a paused URL
/// stay. With `state` `DELIVERED`, sends messages that active URLs accepted since a moment, for a receiver that lost
/// them. The body may be omitted.
#[utoipa::path(put, path = Operation::ReplayFailedEvents.path(), tag = "Webhooks",
    request_body(content = form::Replay, example = json!({"event": "payment_missed", "dry_run": true})),
    responses((status = 200, description = "The number of messages sent again", body = view::Replayed)))]
pub async fn replay_failed_events(
    State(api): State<Api>,
    Writer(who): Writer,
    _: NoParameters,
    call: Form<form::Replay>,
) -> JsonResult {
    Ok(Json(api.service.replay_failed_events(&who, call.idempotency_key, call.form).await?))
}

/// Sends a test event
///
/// The event is sent to every active URL at once, regardless of its filter. Although it is a `GET`, it requires a role
/// that may write.
#[utoipa::path(get, path = Operation::SendTestEvent.path(), tag = "Webhooks",
    responses((status = 200, description = "The event, and the number of URLs it is sent to", body = view::TestSent)))]
pub async fn send_test_event(State(api): State<Api>, Writer(who): Writer, _: NoParameters) -> JsonResult {
    Ok(Json::of(&api.service.send_test_event(&who).await?))
}

/// Gets the key that signs messages
///
/// The `hmac_signature` of a message is the HMAC-SHA256 of the bytes of `data`, in Base64. Its key is this text itself,
/// not decoded. The header `webhook-signature` follows Standard Webhooks. Its key is the bytes that the text decodes
/// to.
#[utoipa::path(get, path = Operation::GetHmacKey.path(), tag = "Webhooks",
    responses((status = 200, description = "The key", body = view::HmacKey)))]
pub async fn get_hmac_key(State(api): State<Api>, Administrator(who): Administrator, _: NoParameters) -> JsonResult {
    Ok(Json::of(&api.service.hmac_key(&who).await?))
}

/// Rotates the key that signs messages
///
/// Messages recorded from now on are signed with the new key; earlier ones keep their `hmac_signature`. For 24 hours,
/// the header `webhook-signature` carries a signature made with each key.
#[utoipa::path(post, path = Operation::RotateHmacKey.path(), tag = "Webhooks",
    responses((status = 200, description = "The new key", body = view::RotatedKey)))]
pub async fn rotate_hmac_key(State(api): State<Api>, Administrator(who): Administrator, _: NoParameters) -> JsonResult {
    Ok(Json::of(&api.service.rotate_hmac_key(&who).await?))
}

/// Lists event types
///
/// For each: when it is sent, the JSON Schema of its `data`, and a sample.
#[utoipa::path(get, path = Operation::ListEventTypes.path(), tag = "Webhooks",
    responses((status = 200, description = "All event types", body = view::Results<view::EventType>)))]
pub async fn list_event_types(State(api): State<Api>, Reader(who): Reader, _: NoParameters) -> JsonResult {
    Ok(Json::of(api.service.event_types(&who).await?))
}

/// Lists attempts to deliver messages
///
/// Latest first. Paging is forward only, by `starting_after`.
#[utoipa::path(get, path = Operation::ListDeliveries.path(), tag = "Webhooks", params(DeliveryParameters),
    responses((status = 200, description = "A page of attempts", body = view::Page<view::Delivery>)))]
pub async fn list_deliveries(
    State(api): State<Api>,
    Reader(who): Reader,
    parameters: DeliveryParameters,
) -> JsonResult {
    let paging = parameters.paging()?;
    Ok(Json::of(&api.service.list_deliveries(&who, paging, parameters.query()?).await?))
}

/// Lists dead letters
///
/// Messages that a URL did not accept, or that were published while it was paused, oldest first. Paging is forward
/// only, by `starting_after`. A replay sends them again.
#[utoipa::path(get, path = Operation::ListDeadLetters.path(), tag = "Webhooks", params(DeadLetterParameters),
    responses((status = 200, description = "A page of dead letters", body = view::Page<view::DeadLetter>)))]
pub async fn list_dead_letters(
    State(api): State<Api>,
    Reader(who): Reader,
    parameters: DeadLetterParameters,
) -> JsonResult {
    let paging = parameters.paging()?;
    Ok(Json::of(&api.service.list_dead_letters(&who, paging, parameters.query()?).await?))
}

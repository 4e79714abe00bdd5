//! Notices of an account that can be configured.

use crate::answering::answer_change;
use crate::extract::{AccountPath, Form, Reader, Writer};
use crate::parameters::{NoParameters, PreviewParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::changes::ChangeRequest;
use daybook_service::view::PreviewOr;
use daybook_service::{form, view};

/// Configures a notice of an account
///
/// `payment_due_date`, `late_fee_date` and `loan_end_date` take a `time_offset` from the date they are about;
/// `account_summary` takes an `interval`.
#[utoipa::path(put, path = Operation::SetNotificationConfig.path(), tag = "Notifications",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NotificationConfig, example = json!({
        "notification_type": "payment_due_date", "time_offset": "-3 days", "time": "09:00:00"
    })),
    responses((status = 200, description = "All notices of the account",
        body = PreviewOr<view::Results<view::NotificationSetting>>)))]
pub async fn set_notification_config(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NotificationConfig>,
) -> JsonResult {
    let change = ChangeRequest::Notice(call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Gets the notices of an account
#[utoipa::path(get, path = Operation::GetNotificationConfig.path(), tag = "Notifications", params(AccountPath),
    responses((status = 200, description = "All notices of the account", body = view::Results<view::NotificationSetting>)))]
pub async fn get_notification_config(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.get_notification_config(&who, path.account_id.as_str()).await?))
}

//! Accounts: opening them, their status, their schedule, their timeline.

use crate::answering::answer_change;
use crate::extract::{AccountPath, Form, Reader, Writer};
use crate::parameters::{AccountParameters, AsOfParameters, PageParameters, PreviewParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::changes::ChangeRequest;
use daybook_service::view::PreviewOr;
use daybook_service::{form, view};

/// Opens an account
///
/// An instalment loan needs no other request: `summary.initial_principal_cents` is the amount lent. `effective_at` may
/// be in the past; the account is then processed up to now.
#[utoipa::path(post, path = Operation::CreateAccount.path(), tag = "Accounts", params(PreviewParameters),
    request_body(content = form::NewAccount, example = json!({
        "account_id": "loan-1", "product_id": "auto-36", "effective_at": "2025-01-15T09:00:00-05:00",
        "summary": {"initial_principal_cents": 1200000}
    })),
    responses((status = 200, description = "The account", body = PreviewOr<view::Account>)))]
pub async fn create_account(
    State(api): State<Api>,
    Writer(who): Writer,
    parameters: PreviewParameters,
    call: Form<form::NewAccount>,
) -> JsonResult {
    if parameters.is_preview()? {
        return Json::of_long(api.service.preview_opening(&who, call.form).await?).await;
    }
    Ok(Json(api.service.create_account(&who, call.idempotency_key, call.form).await?))
}

/// Lists accounts
#[utoipa::path(get, path = Operation::ListAccounts.path(), tag = "Accounts", params(AccountParameters),
    responses((status = 200, description = "A page of accounts", body = view::Page<view::Account>)))]
pub async fn list_accounts(State(api): State<Api>, Reader(who): Reader, parameters: AccountParameters) -> JsonResult {
    let paging = parameters.paging()?;
    Ok(Json::of(&api.service.list_accounts(&who, paging, parameters.query()?).await?))
}

/// Gets an account
///
/// With `effective_as_of`: the account as of that moment; for a future moment, as it will be if no further events
/// happen. It is computed, not stored.
#[utoipa::path(get, path = Operation::GetAccount.path(), tag = "Accounts", params(AccountPath, AsOfParameters),
    responses((status = 200, description = "The account", body = view::Account)))]
pub async fn get_account(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    parameters: AsOfParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.get_account(&who, path.account_id.as_str(), parameters.as_of()?).await?))
}

/// Sets the status of an account
#[utoipa::path(put, path = Operation::SetAccountStatus.path(), tag = "Accounts", params(AccountPath, PreviewParameters),
    request_body(content = form::SetStatus, example = json!({"account_status": "SUSPENDED", "account_substatus": "BANKRUPTCY"})),
    responses((status = 200, description = "The account", body = PreviewOr<view::Account>)))]
pub async fn set_account_status(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::SetStatus>,
) -> JsonResult {
    let change = ChangeRequest::Status(call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Gets the amortization schedule
///
/// Past rows show what happened; future rows assume that everything is paid on time.
#[utoipa::path(get, path = Operation::GetAmortizationSchedule.path(), tag = "Accounts",
    params(AccountPath, AsOfParameters),
    responses((status = 200, description = "A row for each instalment", body = view::Schedule)))]
pub async fn get_amortization_schedule(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    parameters: AsOfParameters,
) -> JsonResult {
    let account = path.account_id.as_str();
    Json::of_long(api.service.get_amortization_schedule(&who, account, parameters.as_of()?).await?).await
}

/// Lists the events of an account
///
/// The timeline explains the account's balance. Each event has the time it happened, the time it was recorded, its
/// effect in cents, and the line items and webhooks that it produced.
#[utoipa::path(get, path = Operation::ListAccountEvents.path(), tag = "Accounts", params(AccountPath, PageParameters),
    responses((status = 200, description = "A page of events", body = view::Page<view::TimelineEvent>)))]
pub async fn list_account_events(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    parameters: PageParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.list_account_events(&who, path.account_id.as_str(), parameters.paging()?).await?))
}

/// Lists the status changes of an account
#[utoipa::path(get, path = Operation::ListAccountStatusChanges.path(), tag = "Accounts",
    params(AccountPath, PageParameters),
    responses((status = 200, description = "A page of status changes", body = view::Page<view::StatusChange>)))]
pub async fn list_account_status_changes(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    parameters: PageParameters,
) -> JsonResult {
    let account = path.account_id.as_str();
    Ok(Json::of(&api.service.list_account_status_changes(&who, account, parameters.paging()?).await?))
}

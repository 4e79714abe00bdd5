//! Changes of a loan: rates, due dates, instalments.

use crate::answering::answer_change;
use crate::extract::{AccountPath, Bodiless, ChangePath, Form, Reader, Writer};
use crate::parameters::{NoParameters, PageParameters, PreviewParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::changes::ChangeRequest;
use daybook_service::form::{self, LoanChange};
use daybook_service::view::{self, PreviewOr};

/// Lists the rates of an account
///
/// All rates and limits on the rate, in the order in which they were recorded. The product's rate applies to dates that
/// none of them covers.
#[utoipa::path(get, path = Operation::ListInterestRates.path(), tag = "Loan changes", params(AccountPath),
    responses((status = 200, description = "The rates", body = Vec<view::LoanChange>)))]
pub async fn list_interest_rates(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.list_interest_rates(&who, path.account_id.as_str()).await?))
}

/// Lists the promotions of an account
#[utoipa::path(get, path = Operation::ListTempPromos.path(), tag = "Loan changes", params(AccountPath),
    responses((status = 200, description = "The promotions", body = Vec<view::LoanChange>)))]
pub async fn list_temp_promos(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.list_temp_promos(&who, path.account_id.as_str()).await?))
}

/// Lists the changes of an account
#[utoipa::path(get, path = Operation::ListChanges.path(), tag = "Loan changes", params(AccountPath, PageParameters),
    responses((status = 200, description = "A page of changes", body = view::Page<view::LoanChange>)))]
pub async fn list_changes(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    parameters: PageParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.list_changes(&who, path.account_id.as_str(), parameters.paging()?).await?))
}

/// Gets a change
#[utoipa::path(get, path = Operation::GetChange.path(), tag = "Loan changes", params(ChangePath),
    responses((status = 200, description = "The change", body = view::LoanChange)))]
pub async fn get_change(State(api): State<Api>, Reader(who): Reader, path: ChangePath, _: NoParameters) -> JsonResult {
    Ok(Json::of(&api.service.get_change(&who, path.account_id.as_str(), path.change_id.as_str()).await?))
}

/// Withdraws a change that is held or scheduled
#[utoipa::path(delete, path = Operation::WithdrawChange.path(), tag = "Loan changes",
    params(ChangePath, PreviewParameters),
    responses((status = 200, description = "The withdrawn change", body = PreviewOr<view::LoanChange>)))]
pub async fn withdraw_change(
    State(api): State<Api>,
    Writer(who): Writer,
    path: ChangePath,
    parameters: PreviewParameters,
    call: Bodiless,
) -> JsonResult {
    let change = ChangeRequest::WithdrawChange(path.change_id.as_str().to_owned());
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Cancels a change
///
/// A change that is held or scheduled never takes effect. A processed one: under `REPLAY`, the account is recalculated
/// without it. Under `AS_POSTED`, a rate, a limit or a pause ends on the present date; any other change can be cancelled
/// only while no money has moved since it.
#[utoipa::path(post, path = Operation::CancelChange.path(), tag = "Loan changes",
    params(ChangePath, PreviewParameters), request_body(content = Option<form::ChangeCancel>, example = json!({})),
    responses((status = 200, description = "The cancelled change", body = PreviewOr<view::LoanChange>)))]
pub async fn cancel_change(
    State(api): State<Api>,
    Writer(who): Writer,
    path: ChangePath,
    parameters: PreviewParameters,
    call: Form<form::ChangeCancel>,
) -> JsonResult {
    let change = ChangeRequest::CancelChange(path.change_id.as_str().to_owned(), call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Sets a rate from a date on
///
/// A rate without tags applies from its start until its end, unless a rate with a later start covers the date too. With a
/// tag it is a limit on the rate. A start in the past needs no other request: see `backdating_policy`.
#[utoipa::path(post, path = Operation::CreateInterestRate.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = Option<form::NewInterestRate>, example = json!({"interest_rate": "9", "effective_at_inclusive_start": "2025-03-01"})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn create_interest_rate(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewInterestRate>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::InterestRate(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Replaces a rate
///
/// Cancels the rate and makes another one in its place.
#[utoipa::path(put, path = Operation::ReplaceInterestRate.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::ReplacedInterestRate, example = json!({"interest_rate_id": "rate-1", "interest_rate": "8.5", "effective_at_inclusive_start": "2025-03-01"})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn replace_interest_rate(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::ReplacedInterestRate>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::ReplacedRate(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Makes a promotion
///
/// Another rate, another flat late fee, or both, for a window of dates.
#[utoipa::path(post, path = Operation::CreateTempPromo.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewTempPromo, example = json!({"temp_promo_inclusive_start": "2025-03-01", "temp_promo_exclusive_end": "2025-06-01", "interest_rate_percent": 3.5})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn create_temp_promo(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewTempPromo>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::TempPromo(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Pauses interest
///
/// The dates of the window earn no interest.
#[utoipa::path(post, path = Operation::CreateInterestPause.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewInterestPause, example = json!({"start": "2025-03-01", "end": "2025-03-15"})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn create_interest_pause(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewInterestPause>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::InterestPause(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Moves a due date
///
/// The following due dates move with it.
#[utoipa::path(put, path = Operation::ChangeDueDate.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::DueDateChange, example = json!({"next_due_date": "2025-03-25"})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn change_due_date(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::DueDateChange>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::DueDate(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Skips instalments
///
/// The loan ends later, or the other instalments take the amounts.
#[utoipa::path(post, path = Operation::SkipInstallments.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = Option<form::NewSkip>, example = json!({"count": 1})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn skip_installments(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewSkip>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::Skip(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Adds instalments at the end
///
/// The amounts of the instalments ahead are recalculated.
#[utoipa::path(post, path = Operation::ExtendTerm.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewExtension, example = json!({"count": 6})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn extend_term(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewExtension>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::Extension(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Defers instalments
///
/// A later instalment asks for them.
#[utoipa::path(post, path = Operation::DeferPayments.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewDeferral, example = json!({"deferrals": [{"due_date": "2025-03-15", "deferred_to": "MATURITY"}]})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn defer_payments(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewDeferral>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::Deferral(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Defers instalments (second path)
///
/// The same as `payment_deferrals`.
#[utoipa::path(post, path = Operation::DeferInstallments.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewDeferral, example = json!({"deferrals": [{"due_date": "2025-03-15", "deferred_to": "MATURITY"}]})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn defer_installments(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewDeferral>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::Deferral(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Spreads past-due instalments over those ahead
///
/// Past-due instalments ask nothing more. The amounts of the instalments ahead are recalculated.
#[utoipa::path(post, path = Operation::ReAmortize.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = Option<form::NewReAmortization>, example = json!({"interest": "FIRST"})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn re_amortize(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewReAmortization>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::ReAmortization(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Replaces all unpaid instalments
///
/// New instalments replace the unpaid ones, and the account is no longer past due.
#[utoipa::path(post, path = Operation::ReAge.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewReAge, example = json!({"first_due_date": "2025-04-15", "installments": 24})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn re_age(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewReAge>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::ReAge(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Restructures a loan
///
/// A re-age that may also change the rate and forgive principal.
#[utoipa::path(post, path = Operation::Restructure.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewRestructure, example = json!({"am_len": 36, "interest_rate_percent": 9, "principal_forgiven_cents": 50000})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn restructure(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewRestructure>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::Restructure(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Turns interest or fees into principal
///
/// The interest that is owed becomes principal, and the unpaid fees if that is requested.
#[utoipa::path(post, path = Operation::Capitalize.path(), tag = "Loan changes",
    params(AccountPath, PreviewParameters),
    request_body(content = Option<form::NewCapitalization>, example = json!({"interest": "ALL", "fees": "NONE"})),
    responses((status = 200, description = "The change", body = PreviewOr<view::LoanChange>)))]
pub async fn capitalize(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewCapitalization>,
) -> JsonResult {
    let change = ChangeRequest::Loan(Box::new(LoanChange::Capitalization(call.form)));
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

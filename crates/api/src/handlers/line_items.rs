//! Line items: payments, reversals, fees, waivers, offsets.

use crate::answering::answer_change;
use crate::extract::{AccountPath, Bodiless, Form, LineItemPath, Reader, Writer};
use crate::parameters::{AsOfParameters, ItemParameters, PreviewParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::changes::ChangeRequest;
use daybook_service::view::PreviewOr;
use daybook_service::{form, view};

/// Lists the line items of an account
#[utoipa::path(get, path = Operation::ListLineItems.path(), tag = "Line items", params(AccountPath, ItemParameters),
    responses((status = 200, description = "A page of line items", body = view::Page<view::LineItem>)))]
pub async fn list_line_items(
    State(api): State<Api>,
    Reader(who): Reader,
    path: AccountPath,
    parameters: ItemParameters,
) -> JsonResult {
    let paging = parameters.paging()?;
    Ok(Json::of(&api.service.list_line_items(&who, path.account_id.as_str(), paging, parameters.query()?).await?))
}

/// Gets a line item
#[utoipa::path(get, path = Operation::GetLineItem.path(), tag = "Line items",
    params(LineItemPath, AsOfParameters),
    responses((status = 200, description = "The line item", body = view::LineItem)))]
pub async fn get_line_item(
    State(api): State<Api>,
    Reader(who): Reader,
    path: LineItemPath,
    parameters: AsOfParameters,
) -> JsonResult {
    let (account, item) = (path.account_id.as_str(), path.line_item_id.as_str());
    Ok(Json::of(&api.service.get_line_item(&who, account, item, parameters.as_of()?).await?))
}

/// Settles a payment that was pending or authorized
///
/// The new status is final. If a payment becomes `INVALID`, any debts that it paid are owed again.
#[utoipa::path(put, path = Operation::ChangeLineItem.path(), tag = "Line items", params(LineItemPath, PreviewParameters),
    request_body(content = form::ChangeLineItem, example = json!({"line_item_status": "VALID"})),
    responses((status = 200, description = "The line item", body = PreviewOr<view::LineItem>)))]
pub async fn change_line_item(
    State(api): State<Api>,
    Writer(who): Writer,
    path: LineItemPath,
    parameters: PreviewParameters,
    call: Form<form::ChangeLineItem>,
) -> JsonResult {
    let (account, item) = (path.account_id.as_str(), path.line_item_id.as_str());
    let change = ChangeRequest::PaymentStatus(item.to_owned(), call.form);
    answer_change(&api, &who, call.idempotency_key, account, change, &parameters).await
}

/// Withdraws an input that is still held
///
/// An input held by migration mode can be withdrawn until it is processed, also after its account failed in a release.
#[utoipa::path(delete, path = Operation::WithdrawLineItem.path(), tag = "Line items", params(LineItemPath, PreviewParameters),
    responses((status = 200, description = "The withdrawn line item", body = PreviewOr<view::LineItem>)))]
pub async fn withdraw_line_item(
    State(api): State<Api>,
    Writer(who): Writer,
    path: LineItemPath,
    parameters: PreviewParameters,
    call: Bodiless,
) -> JsonResult {
    let (account, item) = (path.account_id.as_str(), path.line_item_id.as_str());
    let change = ChangeRequest::Withdrawal(item.to_owned());
    answer_change(&api, &who, call.idempotency_key, account, change, &parameters).await
}

/// Records a payment
///
/// A payment that was received elsewhere; recording it moves no money. The amount is positive in the request and
/// negative in the line item.
#[utoipa::path(post, path = Operation::RecordPayment.path(), tag = "Line items",
    params(AccountPath, PreviewParameters),
    request_body(content = form::PaymentRecord, example = json!({
        "line_item_id": "payment-1", "original_amount_cents": 39857, "effective_at": "2025-02-15T09:00:00-05:00"
    })),
    responses((status = 200, description = "The payment, and the items that it paid down", body = PreviewOr<view::LineItem>)))]
pub async fn record_payment(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::PaymentRecord>,
) -> JsonResult {
    let change = ChangeRequest::Payment(call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Reverses a payment
///
/// For a payment that bounced. The debts that it paid are owed again, and a reversal fee may be charged. The line item
/// of the payment stays. Under `AS_POSTED`, everything posted since the payment stays as well; under `REPLAY`, the
/// account is recalculated without the payment.
#[utoipa::path(post, path = Operation::ReversePayment.path(), tag = "Line items",
    params(LineItemPath, PreviewParameters), request_body(content = Option<form::PaymentReversal>, example = json!({})),
    responses((status = 200, description = "The reversal", body = PreviewOr<view::LineItem>)))]
pub async fn reverse_payment(
    State(api): State<Api>,
    Writer(who): Writer,
    path: LineItemPath,
    parameters: PreviewParameters,
    call: Form<form::PaymentReversal>,
) -> JsonResult {
    let (account, item) = (path.account_id.as_str(), path.line_item_id.as_str());
    let change = ChangeRequest::Reversal(item.to_owned(), call.form);
    answer_change(&api, &who, call.idempotency_key, account, change, &parameters).await
}

/// Charges a fee
#[utoipa::path(post, path = Operation::ChargeManualFee.path(), tag = "Line items", params(AccountPath, PreviewParameters),
    request_body(content = form::ManualFee, example = json!({"line_item_id": "fee-1", "original_amount_cents": 2500})),
    responses((status = 200, description = "The fee", body = PreviewOr<view::LineItem>)))]
pub async fn charge_manual_fee(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::ManualFee>,
) -> JsonResult {
    let change = ChangeRequest::Fee(call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Waives a fee
///
/// The unpaid part of the fee is forgiven.
#[utoipa::path(post, path = Operation::WaiveFee.path(), tag = "Line items",
    params(LineItemPath, PreviewParameters), request_body(content = Option<form::FeeWaiver>, example = json!({})),
    responses((status = 200, description = "The waiver", body = PreviewOr<view::LineItem>)))]
pub async fn waive_fee(
    State(api): State<Api>,
    Writer(who): Writer,
    path: LineItemPath,
    parameters: PreviewParameters,
    call: Form<form::FeeWaiver>,
) -> JsonResult {
    let (account, item) = (path.account_id.as_str(), path.line_item_id.as_str());
    let change = ChangeRequest::Waiver(item.to_owned(), call.form);
    answer_change(&api, &who, call.idempotency_key, account, change, &parameters).await
}

/// Raises a balance
#[utoipa::path(post, path = Operation::CreditOffset.path(), tag = "Line items", params(AccountPath, PreviewParameters),
    request_body(content = form::Offset, example = json!({"original_amount_cents": 5000, "allocation": "PRINCIPAL"})),
    responses((status = 200, description = "The offset", body = PreviewOr<view::LineItem>)))]
pub async fn credit_offset(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::Offset>,
) -> JsonResult {
    let change = ChangeRequest::Credit(call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Lowers a balance
#[utoipa::path(post, path = Operation::DebitOffset.path(), tag = "Line items", params(AccountPath, PreviewParameters),
    request_body(content = form::Offset, example = json!({"original_amount_cents": 5000, "allocation": "INTEREST"})),
    responses((status = 200, description = "The offset", body = PreviewOr<view::LineItem>)))]
pub async fn debit_offset(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::Offset>,
) -> JsonResult {
    let change = ChangeRequest::Debit(call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Refunds surplus
///
/// Money that was received and not used for any debt is paid out to the borrower. Recording it moves no money.
#[utoipa::path(post, path = Operation::RefundSurplus.path(), tag = "Line items",
    params(AccountPath, PreviewParameters),
    request_body(content = form::NewRefund, example = json!({"line_item_id": "refund-1", "original_amount_cents": 2500})),
    responses((status = 200, description = "The refund", body = PreviewOr<view::LineItem>)))]
pub async fn refund_surplus(
    State(api): State<Api>,
    Writer(who): Writer,
    path: AccountPath,
    parameters: PreviewParameters,
    call: Form<form::NewRefund>,
) -> JsonResult {
    let change = ChangeRequest::Refund(call.form);
    answer_change(&api, &who, call.idempotency_key, path.account_id.as_str(), change, &parameters).await
}

/// Reverses a refund
///
/// For a refund that came back: the money is surplus again.
#[utoipa::path(post, path = Operation::ReverseRefund.path(), tag = "Line items",
    params(LineItemPath, PreviewParameters), request_body(content = Option<form::RefundReversal>, example = json!({})),
    responses((status = 200, description = "The reversal", body = PreviewOr<view::LineItem>)))]
pub async fn reverse_refund(
    State(api): State<Api>,
    Writer(who): Writer,
    path: LineItemPath,
    parameters: PreviewParameters,
    call: Form<form::RefundReversal>,
) -> JsonResult {
    let (account, item) = (path.account_id.as_str(), path.line_item_id.as_str());
    let change = ChangeRequest::RefundReversal(item.to_owned(), call.form);
    answer_change(&api, &who, call.idempotency_key, account, change, &parameters).await
}

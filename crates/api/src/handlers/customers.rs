//! Customers.

use crate::extract::{CustomerPath, Form, Reader, Writer};
use crate::parameters::{CustomerParameters, NoParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::{form, view};

/// Creates a customer
///
/// Only a name or a business name is required. A social security number is stored encrypted, and only its last four
/// digits are ever shown.
#[utoipa::path(post, path = Operation::CreateCustomer.path(), tag = "Customers",
    request_body(content = form::NewCustomer, example = json!({
        "customer_id": "ada", "name_first": "Ada", "name_last": "Lovelace", "email": "ada@example.com"
    })),
    responses((status = 200, description = "The customer", body = view::Customer)))]
pub async fn create_customer(
    State(api): State<Api>,
    Writer(who): Writer,
    _: NoParameters,
    call: Form<form::NewCustomer>,
) -> JsonResult {
    Ok(Json(api.service.create_customer(&who, call.idempotency_key, call.form).await?))
}

/// Lists customers
#[utoipa::path(get, path = Operation::ListCustomers.path(), tag = "Customers", params(CustomerParameters),
    responses((status = 200, description = "A page of customers", body = view::Page<view::Customer>)))]
pub async fn list_customers(State(api): State<Api>, Reader(who): Reader, parameters: CustomerParameters) -> JsonResult {
    let paging = parameters.paging()?;
    Ok(Json::of(&api.service.list_customers(&who, paging, parameters.query()?).await?))
}

/// Gets a customer
#[utoipa::path(get, path = Operation::GetCustomer.path(), tag = "Customers", params(CustomerPath),
    responses((status = 200, description = "The customer", body = view::Customer)))]
pub async fn get_customer(
    State(api): State<Api>,
    Reader(who): Reader,
    path: CustomerPath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.get_customer(&who, path.customer_id.as_str()).await?))
}

/// Changes a customer
///
/// Absent fields stay as they are; fields that are `null` are removed.
#[utoipa::path(put, path = Operation::UpdateCustomer.path(), tag = "Customers", params(CustomerPath),
    request_body(content = form::CustomerUpdate, example = json!({"phone_number": "+12125550123", "email": null})),
    responses((status = 200, description = "The customer", body = view::Customer)))]
pub async fn update_customer(
    State(api): State<Api>,
    Writer(who): Writer,
    path: CustomerPath,
    _: NoParameters,
    call: Form<form::CustomerUpdate>,
) -> JsonResult {
    Ok(Json(api.service.update_customer(&who, call.idempotency_key, path.customer_id.as_str(), call.form).await?))
}

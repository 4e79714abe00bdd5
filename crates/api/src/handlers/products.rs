//! Products, and their migration mode.

use crate::extract::{Form, ProductPath, Reader, Writer};
use crate::parameters::{NoParameters, PageParameters};
use crate::{Api, Json, JsonResult};
use axum::extract::State;
use daybook_operations::Operation;
use daybook_service::{form, view};

/// Creates a product
///
/// Every policy has a default, so a useful product needs only a few lines.
#[utoipa::path(post, path = Operation::CreateProduct.path(), tag = "Products",
    request_body(content = form::NewProduct, example = json!({
        "product_id": "auto-36",
        "product_overview": {"product_name": "Auto 36", "product_type": "INSTALLMENT"},
        "post_promotional_policies": {"post_promo_len": 36, "post_promo_default_interest_rate_percent": 12}
    })),
    responses((status = 200, description = "The product, with every default filled in", body = view::Product)))]
pub async fn create_product(
    State(api): State<Api>,
    Writer(who): Writer,
    _: NoParameters,
    call: Form<form::NewProduct>,
) -> JsonResult {
    Ok(Json(api.service.create_product(&who, call.idempotency_key, call.form).await?))
}

/// Lists products
#[utoipa::path(get, path = Operation::ListProducts.path(), tag = "Products", params(PageParameters),
    responses((status = 200, description = "A page of products", body = view::Page<view::Product>)))]
pub async fn list_products(State(api): State<Api>, Reader(who): Reader, parameters: PageParameters) -> JsonResult {
    Ok(Json::of(&api.service.list_products(&who, parameters.paging()?).await?))
}

/// Gets a product
#[utoipa::path(get, path = Operation::GetProduct.path(), tag = "Products", params(ProductPath),
    responses((status = 200, description = "The product", body = view::Product)))]
pub async fn get_product(
    State(api): State<Api>,
    Reader(who): Reader,
    path: ProductPath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.get_product(&who, path.product_id.as_str()).await?))
}

/// Turns migration mode on or off
///
/// While it is on, events of the product's accounts are recorded and held. Turning it off returns at once; the held
/// events are released in the background, and `GET` returns the progress.
#[utoipa::path(put, path = Operation::SetMigrationMode.path(), tag = "Products", params(ProductPath),
    request_body(content = form::SetMigrationMode, example = json!({"migration_mode": true})),
    responses((status = 200, description = "The new mode", body = view::MigrationMode)))]
pub async fn set_migration_mode(
    State(api): State<Api>,
    Writer(who): Writer,
    path: ProductPath,
    _: NoParameters,
    call: Form<form::SetMigrationMode>,
) -> JsonResult {
    Ok(Json(api.service.set_migration_mode(&who, call.idempotency_key, path.product_id.as_str(), call.form).await?))
}

/// Gets the progress of a release
#[utoipa::path(get, path = Operation::GetMigrationMode.path(), tag = "Products", params(ProductPath),
    responses((status = 200, description = "The progress of the release", body = view::MigrationProgress)))]
pub async fn get_migration_mode(
    State(api): State<Api>,
    Reader(who): Reader,
    path: ProductPath,
    _: NoParameters,
) -> JsonResult {
    Ok(Json::of(&api.service.get_migration_mode(&who, path.product_id.as_str()).await?))
}
